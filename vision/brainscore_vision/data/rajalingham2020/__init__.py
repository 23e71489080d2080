"""Register responses of macaque IT to 616 images of letters, words and non-words (Rajalingham et al. 2020).

A neuroid has 27 to 33 repetitions; absent ones are NaN.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX = """@article{rajalingham2020inferior,
  title={The inferior temporal cortex is a potential cortical precursor of orthographic processing in untrained
    monkeys},
  author={Rajalingham, Rishi and Kar, Kohitij and Sanghavi, Sachi and Dehaene, Stanislas and DiCarlo, James J},
  journal={Nature Communications}, volume={11}, number={1}, pages={3886}, year={2020}, doi={10.1038/s41467-020-17714-3}
}"""

stimulus_set_registry["Rajalingham2020"] = BUCKET.stimuli(
    "Rajalingham2020",
    csv_sha1="9a9a6b3115d2d8ce5d54ec2522093d8a87ed13a0",
    zip_sha1="6097086901032e20f8ae764e9cc06e0a891a3e18",
)
data_registry["Rajalingham2020"] = BUCKET.assembly(
    "dicarlo.Rajalingham2020", sha1="ab95ae6c9907438f87b9b13b238244049f588680", stimuli="Rajalingham2020"
)
