"""Register measurements of people who saw objects (Cichy et al. 2019)."""

from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", DataAssembly)

BIBTEX = """@article{CICHY201912,
  title={The spatiotemporal neural dynamics underlying perceived similarity for real-world objects},
  author={Cichy, Radoslaw M. and Kriegeskorte, Nikolaus and Jozwik, Kamila M. and {van den Bosch}, Jasper J.F. and
    Charest, Ian},
  journal={NeuroImage}, volume={194}, pages={12--24}, year={2019}, doi={10.1016/j.neuroimage.2019.03.031}
}"""

stimulus_set_registry["Cichy2019"] = BUCKET.stimuli(
    "Cichy2019",
    csv_sha1="281c4d9d0dd91a2916674638098fe94afb87d29a",
    zip_sha1="d2166dd9c2720cb24bc520f5041e6830779c0240",
)
data_registry["Cichy2019"] = BUCKET.assembly(
    "aru.Cichy2019", sha1="701e63be62b642082d476244d0d91d510b3ff05d", stimuli="Cichy2019"
)
