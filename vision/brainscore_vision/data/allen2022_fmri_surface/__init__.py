"""Register fMRI responses to natural scenes, Allen et al. (2022), on the cortical surface: vertices of V1, V2, V4, IT.

Scenes, subjects and splits are those of ``allen2022_fmri``, which registers the stimuli.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import data_registry
from brainscore_vision.data_helpers import Bucket, cite_data

BIBTEX = cite_data("allen2022_fmri")

BUCKET = Bucket("brainscore-storage/brainscore-vision/benchmarks/Allen2022/Allen2022_fmri_surface", NeuroidAssembly)


data_registry["Allen2022_fmri_surface_train"] = BUCKET.assembly(
    "Allen2022_fMRI_surface_train_Assembly",
    sha1="67241ed5a84d8e7ae77f8c8d72e7219508fb9d7e",
    version_id="Ug1qir_TigXWwBuoamnDHj1r1Ca5FlEM",
    stimuli="Allen2022_fmri_stim_train",
)
data_registry["Allen2022_fmri_surface_test"] = BUCKET.assembly(
    "Allen2022_fMRI_surface_test_Assembly",
    sha1="8b4fcc132b5c1e81bb61e38ca51875a98619066b",
    version_id="XwzoT6lBFvUnn9l6WnD9GPPw_PafqAQ9",
    stimuli="Allen2022_fmri_stim_test",
)
data_registry["Allen2022_fmri_surface_4subj_train"] = BUCKET.assembly(
    "Allen2022_fMRI_surface_4subj_train_Assembly",
    sha1="5c1e7ab2d1444c140028599f8a30aeae34297c87",
    version_id="SiHRp_P1RPH6BB4XJbRz4GPiYD4jxIJJ",
    stimuli="Allen2022_fmri_4subj_stim_train",
)
data_registry["Allen2022_fmri_surface_4subj_test"] = BUCKET.assembly(
    "Allen2022_fMRI_surface_4subj_test_Assembly",
    sha1="1f8524de28ad6cd3a89feddcfb82d9ab67dd9656",
    version_id="kzuIe9w5y7AfuajgzUD1SYosbBs0tC69",
    stimuli="Allen2022_fmri_4subj_stim_test",
)
