"""Register fixations of people who searched for an object among others (Zhang et al. 2018).

Dims (presentation, fixation, position): 15 people, 300 searches, up to 8 fixations, x and y. Loading raises an error:
the published archive lacks files that its table lists.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", BehavioralAssembly)

BIBTEX = """@article{zhang2018finding,
  title={Finding any Waldo with zero-shot invariant and efficient visual search},
  author={Zhang, Mengmi and Feng, Jiashi and Ma, Keng Teck and Lim, Joo Hwee and Zhao, Qi and Kreiman, Gabriel},
  journal={Nature Communications}, volume={9}, number={1}, pages={3730}, year={2018}, doi={10.1038/s41467-018-06217-x}
}"""

data_registry["Zhang2018search_obj_array"] = BUCKET.assembly(
    "klab.Zhang2018search_obj_array",
    sha1="9357581c4082de3ed5031c914468fd24c57ac9cf",
    stimuli="Zhang2018.search_obj_array",
)

stimulus_set_registry["Zhang2018.search_obj_array"] = BUCKET.stimuli(
    "Zhang2018.search_obj_array",
    csv_sha1="e9c2f6b35b84256242d257e8d36261aa26d3ed4a",
    zip_sha1="eab5e52730cc236e71e583a2c401208380dc8628",
)
