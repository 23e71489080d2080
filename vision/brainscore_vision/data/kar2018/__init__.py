"""Register responses of macaque IT to the images of HvM and to photographs in grey (Kar et al. 2018)."""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX = """@article{kar2018evidence,
  title={Evidence that recurrent circuits are critical to the ventral stream's execution of core object recognition
    behavior},
  author={Kar, Kohitij and Kubilius, Jonas and Schmidt, Kailyn and Issa, Elias B and DiCarlo, James J},
  journal={bioRxiv}, year={2018}, doi={10.1101/354753}
}"""

data_registry["Kar2018hvm"] = BUCKET.assembly(
    "dicarlo.Kar2018hvm", sha1="96ccacc76c5fa30ee68bdc8736d1d43ace93f3e7", stimuli="hvm"
)

data_registry["Kar2018cocogray"] = BUCKET.assembly(
    "dicarlo.Kar2018cocogray", sha1="4202cb3992a5d71f71a7ca9e28ba3f8b27937b43", stimuli="Kar2018cocogray"
)

stimulus_set_registry["Kar2018cocogray"] = BUCKET.stimuli(
    "Kar2018cocogray",
    csv_sha1="be9bb267b80fd7ee36a88d025b73ae8a849165da",
    zip_sha1="1457003ee9b27ed51c018237009fe148c6e71fd3",
)
