"""Register the images of THINGS and people's choices of the odd one of three (Hebart et al., 2023)."""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@article{hebart2023,
  title={THINGS-data, a multimodal collection of large-scale datasets for investigating object representations in human
    brain and behavior},
  author={Hebart, Martin N and Contier, Oliver and Teichmann, Lina and Rockter, Adam H and Zheng, Charles Y
    and Kidder, Alexis and Corriveau, Anna and Vaziri-Pashkam, Maryam and Baker, Chris I},
  journal={eLife}, volume={12}, pages={e82580}, year={2023}, doi={10.7554/eLife.82580}
}"""

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

stimulus_set_registry["Hebart2023"] = BUCKET.stimuli(
    "Hebart2023",
    csv_sha1="8fd5a8d4d68cc206000878dd835829fd14a426e8",
    zip_sha1="f244ebfe07c98470885026188c801857ba2ec0ea",
    filename_prefix="stimulus_",
)
data_registry["Hebart2023"] = BUCKET.assembly(
    "Hebart2023", sha1="90f66d37c202dcd1c74d82854efd4a1e8c5fe82e", stimuli="Hebart2023"
)
