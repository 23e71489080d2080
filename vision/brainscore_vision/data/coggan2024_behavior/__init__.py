"""Register occluded objects and people's names for them (Coggan & Tong, 2024)."""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@unpublished{coggan2024behavior,
  title={Modeling human visual recognition of occluded objects},
  author={Coggan, David D. and Tong, Frank}, year={2024}, note={In preparation}
}"""

BUCKET = Bucket("brainscore-storage/brainio-brainscore", BehavioralAssembly)

stimulus_set_registry["Coggan2024_behavior"] = BUCKET.stimuli(
    "tong.Coggan2024_behavior",
    csv_sha1="01c312c4c16f7acc5afddaafcf826e5af58b13e2",
    zip_sha1="1c070b88fa45e9e69d58f95466cb6406a45a4873",
)
stimulus_set_registry["Coggan2024_behavior_fitting"] = BUCKET.stimuli(
    "tong.Coggan2024_behavior_fitting",
    csv_sha1="136e48992305ea78a4fb77e9dfc75dcf01e885d0",
    zip_sha1="24e68f5ba2f8f2105daf706307642637118e7d36",
)
data_registry["Coggan2024_behavior"] = BUCKET.assembly(
    "tong.Coggan2024_behavior", sha1="c1ac4a268476c35bbe40081358667a03d3544631", stimuli="Coggan2024_behavior"
)
