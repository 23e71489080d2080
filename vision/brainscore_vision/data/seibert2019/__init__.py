"""Register responses of 258 sites in two areas of three macaques to the images of HvM, many of them missing (NaN)."""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX = """@article{lee2019sensitivity,
  title={Sensitivity of inferotemporal cortex to naturalistic image statistics in developing macaques},
  author={Lee, Gerick M and Seibert, Darren A and Majaj, Najib J and Movshon, J Anthony and Kiorpes, Lynne},
  journal={Journal of Vision}, volume={19}, number={10}, pages={124}, year={2019}
}"""

data_registry["Seibert2019"] = BUCKET.assembly(
    "dicarlo.Seibert2019", sha1="eef41bb1f3d83c0e60ebf0e91511ce71ef5fee32", stimuli="hvm"
)
