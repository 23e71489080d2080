"""Register EEG responses to THINGS, Gifford et al. (2022): 17 electrodes over the back of the head of ten subjects.

16,540 training objects (1,654 concepts, 10 each, shown four times) and 200 test objects (80 times), in 100 bins of 10
ms from 200 ms before onset; bins are in seconds. Training data, 9 GB, stay on disk.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.benchmark_helpers.recordings import name_neuroids_apart
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@article{gifford2022large,
  title={A large and rich {EEG} dataset for modeling human visual object recognition},
  author={Gifford, Alessandro T. and Dwivedi, Kshitij and Roig, Gemma and Cichy, Radoslaw M.},
  journal={NeuroImage}, volume={264}, pages={119754}, year={2022}, doi={10.1016/j.neuroimage.2022.119754}
}"""

BUCKET = Bucket("brainscore-storage/brainscore-vision/benchmarks/Gifford2022", NeuroidAssembly)


stimulus_set_registry["Gifford2022_stim_train"] = BUCKET.stimuli(
    "THINGS_EEG2_train_Stimuli",
    csv_sha1="a406afab99abca28b141bd4457daea8f3b001f75",
    zip_sha1="a46d5476b3caef89b481bdf50c70ecd9cac28fa4",
    csv_version_id="erlnWZh_o9Mk17tTx3id0Kq_G.2k4CRY",
    zip_version_id="T70I8pGBqcxt4bpdYfm0KU_iD67_3ryu",
)
stimulus_set_registry["Gifford2022_stim_test"] = BUCKET.stimuli(
    "THINGS_EEG2_test_Stimuli",
    csv_sha1="f79dd731e36a9e5c1b62fc6518ff30c8d71df182",
    zip_sha1="a1cdd468f02309dd805466219c019f1a7a2ffb44",
    csv_version_id="QCHnkzt7S.8ik.kuMORgxTT24Y4QA3zs",
    zip_version_id="4rTsFRxCmXcq7hAo.CCQgGoFXMWOQoVB",
)

# Each subject's neuroids are numbered from 0.
data_registry["Gifford2022_train"] = BUCKET.assembly(
    "THINGS_EEG2_train_Assembly",
    sha1="412002748b9fd4e61a279b4eb481964e9b309b5e",
    version_id=".hWjA5kCrxTbX.0b4s56ABGtk5aVbBm.",
    stimuli="Gifford2022_stim_train",
    memory_map=True,
    prepare=name_neuroids_apart,
)
data_registry["Gifford2022_test"] = BUCKET.assembly(
    "THINGS_EEG2_test_Assembly",
    sha1="8103ade9df6161566d885e9265ee62e0130b588b",
    version_id="2kux2JDyRBvJD4Y3mjBW4hqytl8FX5SJ",
    stimuli="Gifford2022_stim_test",
    memory_map=True,
    prepare=name_neuroids_apart,
)
