"""Register 15,000 images of ImageNet (Deng et al., 2009)."""

from brainscore_vision import stimulus_set_registry
from brainscore_vision.data_helpers import Bucket, cite_data

BIBTEX = cite_data("deng2009")

BUCKET = Bucket("brainscore-storage/brainio-brainscore")

stimulus_set_registry["ImageNetSlim15000"] = BUCKET.stimuli(
    "ImageNetSlim15000",
    csv_sha1="56f79de36060147bc43ae89778e26d50f73c3a63",
    zip_sha1="633d08474e3067add834f4ddf552642c538db112",
)
