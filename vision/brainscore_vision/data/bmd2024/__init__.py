"""Register textured and dotted objects and people's names for them."""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@misc{bmd2024,
  title={BMD2024: human recognition of textured and dotted objects},
  howpublished={Distributed with Brain-Score}, year={2024}, note={The article has not appeared yet}
}"""
BUCKET = Bucket("brainscore-storage/brainio-brainscore", BehavioralAssembly)


stimulus_set_registry["BMD2024.texture_1"] = BUCKET.stimuli(
    "BMD_2024_texture_1",
    csv_sha1="395911b2933d675b98dda7bae422f11648d8e86d",
    zip_sha1="cfde36c93dc9070ef5dfaa0a992c9d2420af3460",
)
data_registry["BMD2024.texture_1"] = BUCKET.assembly(
    "BMD_2024_texture_1", sha1="050cef2bd38fe0e0c6d55c9a4ba0b1c57550a072", stimuli="BMD2024.texture_1"
)

stimulus_set_registry["BMD2024.texture_2"] = BUCKET.stimuli(
    "BMD_2024_texture_2",
    csv_sha1="98ff8e3a1ca6f632ebc2daa909804314bc1b7e31",
    zip_sha1="31c9d8449b25da8ad3cb034eee04db9193027fcb",
)
data_registry["BMD2024.texture_2"] = BUCKET.assembly(
    "BMD_2024_texture_2", sha1="1f9f4ee938df509c0cbeaec7fdfe0f40997da331", stimuli="BMD2024.texture_2"
)

stimulus_set_registry["BMD2024.dotted_1"] = BUCKET.stimuli(
    "BMD_2024_dotted_1",
    csv_sha1="de4214666237a0be39810ec4fefd6ec8d2a2e881",
    zip_sha1="b4ab1355665b5bf3bf81b7aa6eccfd396c96bda2",
)
data_registry["BMD2024.dotted_1"] = BUCKET.assembly(
    "BMD_2024_dotted_1", sha1="eb16feffe392087b4c40ef249850825f702e7911", stimuli="BMD2024.dotted_1"
)

stimulus_set_registry["BMD2024.dotted_2"] = BUCKET.stimuli(
    "BMD_2024_dotted_2",
    csv_sha1="4555daa5257dee10c6c6a5625d3bb2d94452e294",
    zip_sha1="20337c1fac66ed0eec16410c6801cca830e6c20c",
    zip_version_id="dzELAKHsBx1DKkrWAR9uteJ7K1.FtlAm",
)
data_registry["BMD2024.dotted_2"] = BUCKET.assembly(
    "BMD_2024_dotted_2", sha1="297833a094513b99ae434e581df09ac64cd6582f", stimuli="BMD2024.dotted_2"
)
