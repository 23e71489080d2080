"""Register similarities of human fMRI responses to whole and occluded objects (Coggan and Tong 2024).

24 conditions, 8 objects in 3 conditions of occlusion. Dims (presentation, presentation, neuroid): each of the 36
entries of neuroid holds the correlations between the patterns of one ``subject`` in one ``region``.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuroidAssembly)

BIBTEX = """@article{Tong.Coggan2024.fMRI,
  title={Evidence of strong amodal completion in both early and high-level visual cortices},
  author={Coggan, David D. and Tong, Frank},
  journal={under review}, year={2024}
}"""

stimulus_set_registry["Coggan2024_fMRI"] = BUCKET.stimuli(
    "tong.Coggan2024_fMRI",
    csv_sha1="0089f5f8fd3f2de14de12ed736a0f88575f8e1ee",
    zip_sha1="e26fdea4d866799526dea183f5bfb9792718822a",
    csv_version_id="kAS9zqRPf7zmLCN73I2VB5gBvhrZoU0p",
    zip_version_id="jmiuKdlsh6.1suR_5FvLFDyg.PCzEZTn",
)
data_registry["Coggan2024_fMRI"] = BUCKET.assembly(
    "tong.Coggan2024_fMRI",
    sha1="da3adbca5247d0491d366f94e8431fb3e4e58db2",
    version_id="LRYpTHYG7IoNCexbzZdQM4_LjML_M3CS",
    stimuli="Coggan2024_fMRI",
)
