"""Fetch the published packages of Geirhos et al. (2021)."""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_core.supported_data_standards.brainio.s3 import load_assembly_from_s3, load_stimulus_set_from_s3
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import load_stimulus_set

BUCKET = "brainscore-storage/brainio-brainscore"

BIBTEX = """@inproceedings{geirhos2021partial,
  title={Partial success in closing the gap between human and machine vision},
  author={Geirhos, Robert and Narayanappa, Kantharaju and Mitzkus, Benjamin and Thieringer, Tizian and Bethge, Matthias
    and Wichmann, Felix A and Brendel, Wieland},
  booktitle={Advances in Neural Information Processing Systems},
  volume={34}, year={2021}, url={https://openreview.net/forum?id=QkljT4mrfs}
}"""


def load_images(identifier: str, *, csv_sha1: str, zip_sha1: str) -> StimulusSet:
    """Load one of the 17 sets of images; its ``truth`` column holds the category."""
    return load_stimulus_set_from_s3(
        identifier=identifier,
        bucket=BUCKET,
        csv_sha1=csv_sha1,
        zip_sha1=zip_sha1,
        csv_version_id="null",
        zip_version_id="null",
    )


def load_choices(identifier: str, *, sha1: str) -> BehavioralAssembly:
    """Load what people answered to one of the sets: one presentation a trial, values are the chosen categories."""
    return load_assembly_from_s3(
        identifier=f"brendel.{identifier}",
        version_id="null",
        sha1=sha1,
        bucket=BUCKET,
        cls=BehavioralAssembly,
        stimulus_set_loader=lambda: load_stimulus_set(identifier),
    )
