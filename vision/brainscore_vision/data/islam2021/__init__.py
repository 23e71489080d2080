"""Register images of 20 shapes in 5 textures each (Islam et al., 2021)."""

from brainscore_vision import stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@inproceedings{islam2021shape,
  title={Shape or Texture: Understanding Discriminative Features in {CNN}s},
  author={Islam, Md Amirul and Kowal, Matthew and Esser, Patrick and Jia, Sen and Ommer, Bj{\\"o}rn
    and Derpanis, Konstantinos G. and Bruce, Neil},
  booktitle={International Conference on Learning Representations}, year={2021},
  url={https://openreview.net/forum?id=NcFEZOi-rLa}
}"""

BUCKET = Bucket("brainscore-storage/brainio-brainscore")

stimulus_set_registry["Islam2021"] = BUCKET.stimuli(
    "Islam2021",
    csv_sha1="93ab0f6386d8d5fb56640da45980a819c7dd6efc",
    zip_sha1="e55b673117a472f463e0705ac3e330ef8dfd938b",
    filename_prefix="stimulus_",
)
