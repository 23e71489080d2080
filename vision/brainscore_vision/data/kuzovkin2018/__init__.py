"""Register intracranial recordings of people who saw pictures (Kuzovkin et al. 2018)."""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX = """@article{kuzovkin2018activations,
  title={Activations of deep convolutional neural networks are aligned with gamma band activity of human visual
    cortex},
  author={Kuzovkin, Ilya and Vicente, Raul and Petton, Mathilde and Lachaux, Jean-Philippe and Baciu, Monica and
    Kahane, Philippe and Rheims, Sylvain and Vidal, Juan R and Aru, Jaan},
  journal={Communications Biology}, volume={1}, number={1}, pages={107}, year={2018}, doi={10.1038/s42003-018-0110-y}
}"""

data_registry["Kuzovkin2018"] = BUCKET.assembly(
    "aru.Kuzovkin2018", sha1="c3787b30ffdc6816e245a8f8d8f2096d8bf85569", stimuli="Kuzovkin2018"
)

stimulus_set_registry["Kuzovkin2018"] = BUCKET.stimuli(
    "Kuzovkin2018",
    csv_sha1="f40cbe9f385c2f391952bcc91cec3878a18f0bc4",
    zip_sha1="9698c22f30b19d68bbb72195eaefbdf4a5899f57",
)
