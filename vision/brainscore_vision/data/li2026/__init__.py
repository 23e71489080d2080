"""Register Neuropixels recordings of five macaques that saw 1,000 images of NSD (Li et al. 2026): V1, V2, V4, IT.

``stimulus_id`` is that of Allen2022: activations serve both. Mean firing rates, dims (presentation = stimulus, neuroid
= 47,503, time_bin): ``Li2026`` from 70 to 170 ms, ``Li2026.temporal`` in 30 bins of 10 ms. The split-half reliability
of units, stepped up, is in ``reliability_window`` (70 to 170 ms) and ``reliability`` (the best window of each unit).
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainscore-vision/benchmarks/Li2026", NeuronRecordingAssembly)

BIBTEX = """@article{li2026triplen,
  title={Triple-N dataset: large-scale fMRI-guided dense recordings of nonhuman primate neural responses to natural
    scenes},
  author={Li, Yipeng and Liu, Xieyi and Li, Wanru and Yang, Jia and Gong, Baoqi and Jin, Wei and Gong, Zhengxin and
    Wang, Kesheng and Luo, Jingqiu and Zhao, Zishuo and Bao, Pinglei},
  journal={Nature Neuroscience}, year={2026}, doi={10.1038/s41593-026-02322-z}
}"""

stimulus_set_registry["Li2026"] = BUCKET.stimuli(
    "Li2026_Stimuli",
    csv_sha1="3e3603f9080dcc1c5519a3ac66895d55a3c486a1",
    zip_sha1="76cef574cbb09e53cc18573690558a85f9470231",
    csv_version_id="gRAM7LbVvIAgPeDCgvzX8sPuLsbsBbTN",
    zip_version_id="jIe9AbMniKL7UXUJShW8ypdXwucfBg5N",
)


data_registry["Li2026"] = BUCKET.assembly(
    "Li2026_Assembly",
    sha1="bb59217628132183a57ef10bb9017d857816ed53",
    version_id="jJWOONfWTN3pbp6clmE3Ea8eQ9ZZb_D6",
    stimuli="Li2026",
)
data_registry["Li2026.temporal"] = BUCKET.assembly(
    "Li2026.temporal_Assembly",
    sha1="c27623909299dd4617672596c114fbe370ed271a",
    version_id="JmOzjXLy0K192AvgcpUxkN_X3B7z4i74",
    stimuli="Li2026",
)
