"""Register curves that cross, and people's judgements of them in three experiments."""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@misc{lonnqvist2024,
  title={Lonnqvist2024: human tracing of curves that cross},
  author={Lonnqvist, Ben}, howpublished={Distributed with Brain-Score}, year={2024},
  note={The article has not appeared yet}
}"""
BUCKET = Bucket("brainscore-storage/brainio-brainscore", BehavioralAssembly)


data_registry["Lonnqvist2024_inlab-instructions"] = BUCKET.assembly(
    "Lonnqvist2024_inlab-instructions", sha1="64ec603ebc852d193e7437980eaabe8fc482d88b", stimuli="Lonnqvist2024_test"
)
data_registry["Lonnqvist2024_inlab-no-instructions"] = BUCKET.assembly(
    "Lonnqvist2024_inlab-no-instructions", sha1="ff248ca2058d4e36eee44dbc6f8ea6a79c70b715", stimuli="Lonnqvist2024_test"
)
data_registry["Lonnqvist2024_online-no-instructions"] = BUCKET.assembly(
    "Lonnqvist2024_online-no-instructions",
    sha1="04240330eaf371d160ab418fd5560a72ed42cecb",
    stimuli="Lonnqvist2024_test",
)
stimulus_set_registry["Lonnqvist2024_train"] = BUCKET.stimuli(
    "Lonnqvist2024_train",
    csv_sha1="2d6a95a8239aa647ddc6aedd449eabcebdf882cf",
    zip_sha1="8adbf4de94524892042d3e43629a4be2beeedcaf",
    filename_prefix="stimulus_",
)
stimulus_set_registry["Lonnqvist2024_test"] = BUCKET.stimuli(
    "Lonnqvist2024_test",
    csv_sha1="8bc98dfc9f334e5c21b68f6787b3255da0d8644a",
    zip_sha1="cf94b5341d956d250e7f7798044cf71bbd100721",
    filename_prefix="stimulus_",
)
