"""Register silhouettes of animals, whole or disturbed, and people's answers to them (Baker & Elder, 2022)."""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@article{baker2022,
  title={Deep learning models fail to capture the configural nature of human shape perception},
  author={Baker, Nicholas and Elder, James H.},
  journal={iScience}, volume={25}, number={9}, pages={104913}, year={2022}, doi={10.1016/j.isci.2022.104913}
}"""
BUCKET = Bucket("brainscore-storage/brainio-brainscore", BehavioralAssembly)


stimulus_set_registry["Baker2022_normal_distortion"] = BUCKET.stimuli(
    "Baker2022_normal_distortion",
    csv_sha1="17d4db7458a29a787d12bb29c34e91daef1872bf",
    zip_sha1="2c726abaf081c8a9828269a559222f8c6eea0e4f",
)
data_registry["Baker2022_normal_distortion"] = BUCKET.assembly(
    "Baker2022_normal_distortion",
    sha1="46c79a48bf2dbd995a9305d8fbc03a134a852e17",
    stimuli="Baker2022_normal_distortion",
)

stimulus_set_registry["Baker2022_inverted_distortion"] = BUCKET.stimuli(
    "Baker2022_inverted_distortion",
    csv_sha1="91e452e4651024c2b382694edfcbc7bdc6c3189b",
    zip_sha1="4740a096af994c2232350469c664e53796f17a05",
)
data_registry["Baker2022_inverted_distortion"] = BUCKET.assembly(
    "Baker2022_inverted_distortion",
    sha1="b76fb57b25a58ca68db78d188fd0a783e1dcaf73",
    stimuli="Baker2022_inverted_distortion",
)
