"""Register spikes of macaque V4 in four sessions with three animals (Cowley et al. 2026).

Each session has its own images (1,200; ``211022``: 1,600) and neurons. Spikes are those from 50 to 150 ms after onset,
dims (presentation, neuroid[, time_bin]); images have unequal numbers of repetitions, mostly 14. Images of all sessions
are called ``image0001`` and so on: the same names are other images.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@article{cowley2026compact,
  title={Compact deep neural network models of the visual cortex},
  author={Cowley, Benjamin R and Stan, Patricia L and Pillow, Jonathan W and Smith, Matthew A},
  journal={Nature}, volume={652}, number={8111}, pages={947--954}, year={2026}, doi={10.1038/s41586-026-10150-1}
}"""

BUCKET = Bucket("brainscore-storage/brainscore-vision/data/user_718", NeuroidAssembly)

FILES = (  # session, the day, then digest and version of table, archive and assembly
    ("190923", "7752f43fc809c193334dd97171867e733291b8fd", "4ZuvTJxZptY8V04ayk2CRLb209BihWis",
     "a14f9d4cfc98cb253f23d4eaa159c60666903668", "tWyQAXN_fM4Y2fLnQtITbi0QMLawr4Nd",
     "2ac7f60f21ccc5137074633c0614f52566acff6a", "kpX10KvUti_Vg4WAMHsiayllYlStMcgI"),
    ("201025", "9ed6f9711ed0966ab2461ce1fa72fe3d10077304", "vWd2MMs8i_7WkA1BRnISdeT003..N533",
     "a845c479d2c118ef0308394d52e12c4679691cee", "0svmbYxEvtL9iUhL8_cHcFXvehqQ1oVp",
     "78c6bad4c761b6a0ed969c88946f9a4238b26341", "1eGVyGwBqxNN_zYjCNNk9Gl5ZZp0k8Du"),
    ("210225", "9ed6f9711ed0966ab2461ce1fa72fe3d10077304", "gfZ7QtQQhthTjqiQAy9kGKPNroEoLSPN",
     "75aa2ed9c77406b6bb74c432a6c86abb3d5faa2c", "x6KRTVDpLrDHIgSEABSHCkNooJcJnkQI",
     "9923f48042e3609fa90aa53310f92dd06d77bf39", "uZY5jdVhXNbc8_Qq6iZMuifBt5RsSOTM"),
    ("211022", "d9d9c00d600c008bf45512961bd86124ced39a3d", "a5GHFYMYIJwpyph51sDxeL6xmDvk8uII",
     "32967e0cd1cac33c3ffa892b5f244617d2cbc3b9", "cycg7NDoRSzDz_Y_qOPczLjgg13bNtUb",
     "64cbb1b23208d29d7e6908f931e4adea8550ef80", "We7wLKhFc2ssl9hBeSzEBEHTcWvpGHwr"),
)  # fmt: skip

for day, csv, csv_version, archive, archive_version, sha1, version in FILES:
    stimulus_set_registry[f"Cowley2026.{day}"] = BUCKET.stimuli(
        f"Cowley2026.{day}", csv_sha1=csv, zip_sha1=archive, csv_version_id=csv_version, zip_version_id=archive_version
    )
    data_registry[f"Cowley2026.{day}"] = BUCKET.assembly(
        f"Cowley2026.{day}", sha1=sha1, version_id=version, stimuli=f"Cowley2026.{day}"
    )
