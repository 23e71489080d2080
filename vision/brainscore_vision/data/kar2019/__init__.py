"""Register object solution times: when IT distinguishes the object in an image from others (Kar et al. 2019).

Dims (decoder, presentation), ms after image onset, for each image and decoder (``svm`` and ``logistic``); NaN if the
object is never distinguished. ``i1`` is the d' of monkeys.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", DataAssembly)

BIBTEX = """@article{kar2019evidence,
  title={Evidence that recurrent circuits are critical to the ventral stream's execution of core object recognition
    behavior},
  author={Kar, Kohitij and Kubilius, Jonas and Schmidt, Kailyn and Issa, Elias B and DiCarlo, James J},
  journal={Nature Neuroscience}, volume={22}, number={6}, pages={974--983}, year={2019}, doi={10.1038/s41593-019-0392-5}
}"""

data_registry["Kar2019"] = BUCKET.assembly(
    "dicarlo.Kar2019", sha1="147717ce397e11d56164d472063a84a83bbcbb94", stimuli="Kar2019"
)

stimulus_set_registry["Kar2019"] = BUCKET.stimuli(
    "Kar2019",
    csv_sha1="7f705bdea02c0a72a76d7f5e7b6963531df818a6",
    zip_sha1="75ab7b8b499fc8e86c813f717b79d268bcb986be",
    prepare=lambda stimuli: stimuli.drop_duplicates("stimulus_id"),
)
