"""Register spikes from V1 and V2 of macaques that saw textures and noise of the same spectra (Freeman, Ziemba 2013).

``aperture`` images have soft round edges, as the animals saw them; ``noaperture`` images are bare squares. 30 % of the
images are public; ``texture_type`` distinguishes textures and noise. Recordings hold every repetition of 102 V1 and 103
V2 neurons in time bins of 1 ms.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX = """@article{freeman2013functional,
  title={A functional and perceptual signature of the second visual area in primates},
  author={Freeman, Jeremy and Ziemba, Corey M and Heeger, David J and Simoncelli, Eero P and Movshon, J Anthony},
  journal={Nature Neuroscience}, volume={16}, number={7}, pages={974--981}, year={2013}, doi={10.1038/nn.3402}
}"""


data_registry["FreemanZiemba2013.public"] = BUCKET.assembly(
    "movshon.FreemanZiemba2013.public",
    sha1="761c08f796db4e342555cdb60eef23a4f19ead43",
    version_id="W2vx7jdh9utZdVumHHarXa4L1zOrA8Fd",
    stimuli="FreemanZiemba2013.aperture-public",
)

data_registry["FreemanZiemba2013.private"] = BUCKET.assembly(
    "movshon.FreemanZiemba2013.private",
    sha1="63f636fa2e2b51b47a676768a69b06ce95efdd8f",
    version_id="wx5LB7Nq42SV74RQ8Cw6EtyabywsnSyG",
    stimuli="FreemanZiemba2013.aperture-private",
)

data_registry["FreemanZiemba2013"] = BUCKET.assembly(
    "movshon.FreemanZiemba2013", sha1="f03f1630f0ab1e2dbd51816b47fbf2916876134e", stimuli="FreemanZiemba2013.aperture"
)

data_registry["FreemanZiemba2013.noaperture"] = BUCKET.assembly(
    "movshon.FreemanZiemba2013.noaperture", sha1="6176fd435ab840d284c2c426742c8211622739b5", stimuli="FreemanZiemba2013"
)

data_registry["FreemanZiemba2013.noaperture.public"] = BUCKET.assembly(
    "movshon.FreemanZiemba2013.noaperture.public",
    sha1="68dd9e1da7207dc2ae17dbbb1adf628e922d15fa",
    stimuli="FreemanZiemba2013.public",
)

data_registry["FreemanZiemba2013.noaperture.private"] = BUCKET.assembly(
    "movshon.FreemanZiemba2013.noaperture.private",
    sha1="9ffa772ce61754f6f5b7b391436680ebc25bb8dd",
    stimuli="FreemanZiemba2013.private",
)

stimulus_set_registry["FreemanZiemba2013.aperture-public"] = BUCKET.stimuli(
    "FreemanZiemba2013.aperture-public",
    csv_sha1="194c9b301a4e3e9cff02481d4c19b39331d52660",
    zip_sha1="3a6fec1fc28c212882d6833e267ea8654d289611",
)

stimulus_set_registry["FreemanZiemba2013.aperture-private"] = BUCKET.stimuli(
    "FreemanZiemba2013.aperture-private",
    csv_sha1="65bee31483dd743ae2a19c6af03b9abe5f4d5a41",
    zip_sha1="daa724a4797b23929df59c18744923790edf71cb",
    csv_version_id="Klo0lMygUX0IZPkLoypccXH55a1hZjf2",
    zip_version_id="nZES.el0vF3KXuRrB2ELQOqzCcxumFMY",
)

stimulus_set_registry["FreemanZiemba2013"] = BUCKET.stimuli(
    "FreemanZiemba2013",
    csv_sha1="de0e65a25c7de4c1740f48ac9b1ff513dcfa5caf",
    zip_sha1="bdfc3ba2d878d6aeaa842f9de6abeae50922f2f2",
)

stimulus_set_registry["FreemanZiemba2013.public"] = BUCKET.stimuli(
    "FreemanZiemba2013.public",
    csv_sha1="b4fee824f361fa0b78d7247ed4192b04cd675d4f",
    zip_sha1="3a5e2cb347eb97d02ff9f7294abc11c1b45a78dc",
)

stimulus_set_registry["FreemanZiemba2013.private"] = BUCKET.stimuli(
    "FreemanZiemba2013.private",
    csv_sha1="91bab3340410ff5171490a337c5931545f29da82",
    zip_sha1="e973cf0f98eac3d9673b00b314deb3b85e76c23c",
)

stimulus_set_registry["FreemanZiemba2013.aperture"] = BUCKET.stimuli(
    "FreemanZiemba2013.aperture",
    csv_sha1="4205eca54974da46accba7812fce25c1b6df58e0",
    zip_sha1="3eacddfecd825b18026da3e4c749d5d1bc9213ed",
)
