"""Register fMRI responses to THINGS, Hebart et al. (2023): voxels of V1, V2, V4 and IT of three subjects.

8,640 training objects (720 concepts, 12 each, shown once) and 100 test objects (shown twelve times).
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.benchmark_helpers.recordings import name_neuroids_apart
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@article{hebart2023things,
  title={{THINGS}-data, a multimodal collection of large-scale datasets for investigating object representations in
    human brain and behavior},
  author={Hebart, M. N. and Contier, O. and Teichmann, L. and Rockter, A. H. and Zheng, C. Y. and Kidder, A. and
    Corriveau, A. and Vaziri-Pashkam, M. and Baker, C. I.},
  journal={eLife}, volume={12}, pages={e82580}, year={2023}, doi={10.7554/eLife.82580}
}"""

BUCKET = Bucket("brainscore-storage/brainscore-vision/benchmarks/Hebart2023_fmri", NeuroidAssembly)


stimulus_set_registry["Hebart2023_fmri_stim_train"] = BUCKET.stimuli(
    "THINGS_fMRI_train_Stimuli",
    csv_sha1="b424b1a55595a4666fbc140a5a801fcd184d1a44",
    zip_sha1="1c65c28c104e100e6e3fe2128656abe647e41bd9",
    csv_version_id="gioa1wYVzJVhnAOPJbj4q9ZdoCeWnUYX",
    zip_version_id="nRsfLuqfOMAoQ5qGWbKxKKW_WGtgGJGS",
)
stimulus_set_registry["Hebart2023_fmri_stim_test"] = BUCKET.stimuli(
    "THINGS_fMRI_test_Stimuli",
    csv_sha1="0ef71c62210d0a0bf91cb2cd8f0e1404477e0e3a",
    zip_sha1="41cd5a05fe9d5118b05fc6b35654e36ff021570d",
    csv_version_id="U6krcZSjVvO8sjPsTsGAaiOxw4Ozai1d",
    zip_version_id="11dAYDGOdwzma61sIZ.u3weJ.x7qcwaN",
)

# Each subject's neuroids are numbered from 0.
data_registry["Hebart2023_fmri_train"] = BUCKET.assembly(
    "THINGS_fMRI_train_Assembly",
    sha1="6d249e7cf4804ff78e9a38e482148cad74f90d19",
    version_id="U.I.Wsn52bZKdNQ9Y_OdisvCfkgMG7Ab",
    stimuli="Hebart2023_fmri_stim_train",
    prepare=name_neuroids_apart,
)
data_registry["Hebart2023_fmri_test"] = BUCKET.assembly(
    "THINGS_fMRI_test_Assembly",
    sha1="948bd3104fc8f0f0a15180f030666c74d69de2b3",
    version_id="LksBmANKvDyfqkl0U5Dy33Q4VAHOO5g3",
    stimuli="Hebart2023_fmri_stim_test",
    prepare=name_neuroids_apart,
)
