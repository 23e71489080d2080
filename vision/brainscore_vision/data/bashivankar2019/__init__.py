"""Register responses of macaque V4 to photographs and to images made to control them (Bashivan, Kar 2019)."""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX = """@article{bashivan2019neural,
  title={Neural population control via deep image synthesis},
  author={Bashivan, Pouya and Kar, Kohitij and DiCarlo, James J},
  journal={Science}, volume={364}, number={6439}, pages={eaav9436}, year={2019}, doi={10.1126/science.aav9436}
}"""

data_registry["BashivanKar2019.naturalistic"] = BUCKET.assembly(
    "dicarlo.BashivanKar2019.naturalistic",
    sha1="1ec2f32ef800f0c6e15879d883be1d55b51b8b67",
    stimuli="BashivanKar2019.naturalistic",
)

data_registry["BashivanKar2019.synthetic"] = BUCKET.assembly(
    "dicarlo.BashivanKar2019.synthetic",
    sha1="f687c8d26f8943dc379dbcbe94d3feb148400c6b",
    stimuli="BashivanKar2019.synthetic",
)

stimulus_set_registry["BashivanKar2019.naturalistic"] = BUCKET.stimuli(
    "BashivanKar2019.naturalistic",
    csv_sha1="48ef84282552b8796142ffe7d0d2c632f8ef061a",
    zip_sha1="d7b71b431cf23d435395205f1e38036a9e10acca",
)

stimulus_set_registry["BashivanKar2019.synthetic"] = BUCKET.stimuli(
    "BashivanKar2019.synthetic",
    csv_sha1="81da195e9b2a128b228fc4867e23ae6b21bd7abd",
    zip_sha1="e2de33f25c5c19bcfb400055c1db399d553487e5",
)
