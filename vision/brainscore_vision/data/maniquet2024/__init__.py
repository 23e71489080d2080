"""Register images and human choices of Maniquet, Op de Beeck and Costantino (2024).

People saw the images of ``Maniquet2024``; models learn from ``-train`` and are tested with ``-test``.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@article{Maniquet2024.04.02.587669,
  author={Maniquet, Tim and Op de Beeck, Hans and Costantino, Andrea Ivan},
  title={Recurrent issues with deep neural network models of visual recognition},
  elocation-id={2024.04.02.587669}, year={2024}, doi={10.1101/2024.04.02.587669},
  publisher={Cold Spring Harbor Laboratory}, url={https://www.biorxiv.org/content/early/2024/04/10/2024.04.02.587669},
  journal={bioRxiv}
}"""

BUCKET = Bucket("brainscore-storage/brainio-brainscore", BehavioralAssembly)

stimulus_set_registry["Maniquet2024"] = BUCKET.stimuli(
    "Maniquet2024",
    csv_sha1="ec61e1d7776a6c3b467fee862302edac8d4a156e",
    zip_sha1="bbdaf09528974c4ca3ee4cddbc91e0e03351291f",
)

stimulus_set_registry["Maniquet2024-test"] = BUCKET.stimuli(
    "Maniquet2024-test",
    csv_sha1="993089ba4aaeffbc61303acb2a5171a5fa271ea5",
    zip_sha1="39f9aaf13fdd66d284bcea99f187bb0c065144e4",
)

stimulus_set_registry["Maniquet2024-train"] = BUCKET.stimuli(
    "Maniquet2024-train",
    csv_sha1="da965af3ae5ab6e49d46c28f682ef4b75d0a2045",
    zip_sha1="6685effb52f6870175988c47892b3f9a916a0375",
)

data_registry["Maniquet2024"] = BUCKET.assembly("Maniquet2024", sha1="39b8b7b29fad080ebba6df8a46ac4426261342d5")
