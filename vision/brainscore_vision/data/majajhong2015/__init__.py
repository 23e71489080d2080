"""Register multi-unit activity from V4 and IT of two macaques that saw objects (Majaj, Hong et al. 2015).

The images (``hvm``) show 64 objects on natural backgrounds at three levels of ``variation``: 0 and 3 are public, and 6,
with the largest changes of view, is private. ``MajajHong2015`` and its two parts have one time bin, 70 to 170 ms after
onset; ``temporal`` ones have several, ``temporal-10ms`` bins of 10 ms. Recordings hold single repetitions of 168 IT and
88 V4 sites.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX = """@article{majajhong2015simple,
  title={Simple learned weighted sums of inferior temporal neuronal firing rates accurately predict human core object
    recognition performance},
  author={Majaj, Najib J and Hong, Ha and Solomon, Ethan A and DiCarlo, James J},
  journal={Journal of Neuroscience}, volume={35}, number={39}, pages={13402--13418}, year={2015},
  doi={10.1523/JNEUROSCI.5181-14.2015}
}"""


ASSEMBLIES = (  # name, digest, stimuli
    ("MajajHong2015", "bf8f8d01010d727e3db3f85a9bd5f95f9456b7ec", "hvm"),
    ("MajajHong2015.temporal", "4c5cfe25ad53162c5c716d64004de269162eff38", "hvm"),
    ("MajajHong2015.temporal-10ms", "3a43db05db722b456d156f53b7215413c994e5b5", "hvm"),
    ("MajajHong2015.public", "13d28ca0ce88ee550b54db3004374ae19096e9b9", "hvm-public"),
    ("MajajHong2015.private", "7a40d16148d6f82939155f0bd976d310857fb156", "hvm-private"),
    ("MajajHong2015.temporal.public", "093ac35b3e8464c676d24cf38238415d4d6a9448", "hvm-public"),
    ("MajajHong2015.temporal.private", "804ea9e7c08ae9ab7a7d705c9c7e68582750e2ea", "hvm-private"),
)
STIMULI = (  # name, digests of table and archive
    ("hvm", "a56f55205904d5fb5ead4d0dc7bfad5cc4083b94", "6fd5080deccfb061699909ffcb86a26209516811"),
    ("hvm-public", "5ca7a3da00d8e9c694a9cd725df5ba0ad6d735af", "8aa44e038d7b551efa8077467622f9d48d72e473"),
    ("hvm-private", "6ff4981722fa05feb73a2bd26bbbba8b50dc29a6", "d7b1ca1876dad87e15b0242b4c82c0203ff3cbd3"),
)

for name, sha1, stimuli in ASSEMBLIES:
    data_registry[name] = BUCKET.assembly(f"dicarlo.{name}", sha1=sha1, stimuli=stimuli)
for name, csv_sha1, zip_sha1 in STIMULI:
    stimulus_set_registry[name] = BUCKET.stimuli(name, csv_sha1=csv_sha1, zip_sha1=zip_sha1)
