"""Register responses of macaque V4 and IT to images of HvM, BOLD5000, Rust2012 and THINGS.

Single repetitions, dims (presentation, neuroid, time_bin). Time bins are numbered by ``time_bin_id``; number 0 is 70 to
170 ms after onset.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX_SANGHAVI = """@misc{Sanghavi2020,
  title={Sanghavi2020},
  author={Sanghavi, Sachi and DiCarlo, James J},
  publisher={OSF}, year={2020}, doi={10.17605/OSF.IO/CHWDK}
}"""
BIBTEX_SANGHAVIJOZWIK = """@misc{SanghaviJozwik2020,
  title={SanghaviJozwik2020},
  author={Sanghavi, Sachi and Jozwik, K M and DiCarlo, James J},
  publisher={OSF}, year={2020}, doi={10.17605/OSF.IO/FHY36}
}"""
BIBTEX_SANGHAVIMURTY = """@misc{SanghaviMurty2020,
  title={SanghaviMurty2020},
  author={Sanghavi, Sachi and Murty, N A R and DiCarlo, James J},
  publisher={OSF}, year={2020}, doi={10.17605/OSF.IO/FCHME}
}"""


data_registry["Sanghavi2020"] = BUCKET.assembly(
    "dicarlo.Sanghavi2020", sha1="12e94e9dcda797c851021dfe818b64615c785866", stimuli="hvm"
)
data_registry["SanghaviJozwik2020"] = BUCKET.assembly(
    "dicarlo.SanghaviJozwik2020", sha1="c5841f1e7d2cf0544a6ee010e56e4e2eb0994ee0", stimuli="BOLD5000"
)
data_registry["SanghaviMurty2020"] = BUCKET.assembly(
    "dicarlo.SanghaviMurty2020", sha1="6cb8e054688066d1d86d4944e1385efc6a69ebd4", stimuli="Rust2012"
)
data_registry["SanghaviMurty2020THINGS1"] = BUCKET.assembly(
    "dicarlo.SanghaviMurty2020THINGS1", sha1="718def227d38c8425f449512e47a2df81c04de62", stimuli="THINGS1"
)
data_registry["SanghaviMurty2020THINGS2"] = BUCKET.assembly(
    "dicarlo.SanghaviMurty2020THINGS2", sha1="80962139823cb145e2385c344e3945e99ed97fa2", stimuli="THINGS2"
)

stimulus_set_registry["BOLD5000"] = BUCKET.stimuli(
    "BOLD5000", csv_sha1="51ac47ea03ed2e72864a95065494c2fabe779f6e", zip_sha1="1a2e6d782dcd21bbe60460d85d83b13fa76a9543"
)
stimulus_set_registry["THINGS1"] = BUCKET.stimuli(
    "THINGS1", csv_sha1="e02469d805e1b9c1a18403e9b0b8a37ee6da5130", zip_sha1="fb716eb58c303157dd577a70caad5c8079e74e9b"
)
stimulus_set_registry["THINGS2"] = BUCKET.stimuli(
    "THINGS2", csv_sha1="86c8beda8f495cd69ed047d3457902dd98e4904c", zip_sha1="e7918dd10102b67464bc652fdb3ced25ee1fbe7a"
)
