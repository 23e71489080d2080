"""Register fMRI responses to natural scenes, Allen et al. (2022), in the volume: single voxels of V1, V2, V4 and IT.

Natural Scenes Dataset, betas at 7 T: the 515 scenes that all eight subjects saw three times (412 for training, 103 for
test), and 1,000 (800 and 200) of the four who completed the experiment (subj01, subj02, subj05, subj07). The three
repetitions are averaged in training data and separate in test data.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@article{allen2022massive,
  title={A massive 7T fMRI dataset to bridge cognitive neuroscience and artificial intelligence},
  author={Allen, Emily J. and St-Yves, Ghislain and Wu, Yihan and Breedlove, Jesse L. and Prince, Jacob S. and Dowdle,
    Logan T. and Nau, Matthias and Caron, Brad and Pestilli, Franco and Charest, Ian and Hutchinson, J. Benjamin and
    Naselaris, Thomas and Kay, Kendrick},
  journal={Nature Neuroscience}, volume={25}, pages={116--126}, year={2022}, doi={10.1038/s41593-021-00962-x}
}"""

BUCKET = Bucket("brainscore-storage/brainscore-vision/benchmarks/Allen2022/Allen2022_fmri", NeuroidAssembly)


stimulus_set_registry["Allen2022_fmri_stim_train"] = BUCKET.stimuli(
    "Allen2022_fMRI_train_Stimuli",
    csv_sha1="b9119b9c430877ad2e0786888e0bb66fa50529c7",
    zip_sha1="158c4813355b10fa05130b070b7c45056d7cd5d6",
    csv_version_id="EoSt2r7Gzpj_K84RT8hVCbl0zoP3I3FK",
    zip_version_id="sasKQwanv3iv8GgoM10JkwqbD1UKMFpj",
)
stimulus_set_registry["Allen2022_fmri_stim_test"] = BUCKET.stimuli(
    "Allen2022_fMRI_test_Stimuli",
    csv_sha1="cfb0ae15fd841f660d4f9d77f2a13213a01f2078",
    zip_sha1="980f66d404f0bfbc898ffd8b299e9f9dd7211a9e",
    csv_version_id="FW75Q.eWtrETXk8B006W85G653J52F1K",
    zip_version_id="km7bSBf3iKc2F2p4BD4OB4z9UORIGQRf",
)
stimulus_set_registry["Allen2022_fmri_4subj_stim_train"] = BUCKET.stimuli(
    "Allen2022_fMRI_4subj_train_Stimuli",
    csv_sha1="c4037d0c6ba9bf69ecfb2571bee8d3b494b12d14",
    zip_sha1="c1547e3747c4963a77db23184a70a195d2ccb92d",
    csv_version_id="WoseNY.dEQJ4u7GEWPQGgCsqyCDOLJqg",
    zip_version_id="cWHAMDTXkmhGH0NdaVldk437p16fbrTg",
)
stimulus_set_registry["Allen2022_fmri_4subj_stim_test"] = BUCKET.stimuli(
    "Allen2022_fMRI_4subj_test_Stimuli",
    csv_sha1="4259c8ddffed135dc73d0968aaeff66046355250",
    zip_sha1="c489db0d7f0ec823ca28ecc53a7c25123fe851dd",
    csv_version_id="ElpofOBBOnY_RAD6yIxwmbOMQiQTgcV_",
    zip_version_id="W00CwAFvSofEdQSAkGtTZcCMQt8oLo7G",
)

data_registry["Allen2022_fmri_train"] = BUCKET.assembly(
    "Allen2022_fMRI_train_Assembly",
    sha1="5919ec2838f69bfb5d87e16f197868550713cde0",
    version_id="ZAHUcNkJV4zvRCJfrXbjqmVM9OgyQVE2",
    stimuli="Allen2022_fmri_stim_train",
)
data_registry["Allen2022_fmri_test"] = BUCKET.assembly(
    "Allen2022_fMRI_test_Assembly",
    sha1="3203ab79d48fab9b6e31f9d2a6301a11c512a0e9",
    version_id="27mm9BVBp_nyq6zlrywUtcR_TxePQCid",
    stimuli="Allen2022_fmri_stim_test",
)
data_registry["Allen2022_fmri_4subj_train"] = BUCKET.assembly(
    "Allen2022_fMRI_4subj_train_Assembly",
    sha1="db4493972a0fcc36757b9decda1173e9b9ab7a09",
    version_id="Dn4FwRGPUCmRmvt6ybn501DkLU.PmT42",
    stimuli="Allen2022_fmri_4subj_stim_train",
)
data_registry["Allen2022_fmri_4subj_test"] = BUCKET.assembly(
    "Allen2022_fMRI_4subj_test_Assembly",
    sha1="8b1a5e6378eff6a7499f6cb1ab0e3806d567bb4e",
    version_id="opZA1Oyvx9sQWTCfQdC9djv7Be0p8WzJ",
    stimuli="Allen2022_fmri_4subj_stim_test",
)
