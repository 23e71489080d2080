"""Register pictures of 48 kinds of objects, changed in eight ways, and what people called them (Kato & He 2026).

``Ori`` are the 240 photographs (of ImageNet), answered by 60 people; ``Fil``, ``Lin``, ``LinFil``, ``Sil``, ``SilTex``
and ``Tex`` other forms of them, ``Sparse`` and ``Dense`` of 171; each answered by ten people. The
column ``truth`` holds the object, such as ``kato2026_acorn``, and a ``stimulus_id`` is the name of the photograph and,
after the last ``_``, a code of the form. Choices have one presentation per trial; values are the named objects, or
empty or ``NaN`` without an answer.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@article{kato2026,
  title={Systematic image perturbations reveal persistent gaps between human and machine vision},
  author={Kato, Mugihiko and He, Biyu},
  journal={iScience}, year={2026}, doi={10.1016/j.isci.2026.117370}
}"""

BUCKET = Bucket("brainscore-storage/brainio-brainscore", BehavioralAssembly)

FILES = (  # form of the pictures, then digest and version of table, archive and assembly
    ("Ori", "8e3eee196d5b1bca058c8dad54234fa5340eeaca", "c8E0Uyj7rzX3Nq2b_kqfUchUmYGYQqXa",
     "75b5720f107eadaa9689e80bf812a173f1f099e9", "R4LflCnqCdpwRSmGjqmXkOSPhS5asmQA",
     "d5a22c25835da413b629d87ec77d6af834a43732", "IcDilVH2ryDcsNlCsOkktmEwEBI2g8Oa"),
    ("Fil", "469b6af5259450cda4eec7586ccbbcc5174aa0c4", "vx5ce2ks1s0aKgkmDVISRkNX8Nb1eWds",
     "9b7a45311b1caa9b2f16bc97bc4ee24eb197265b", "5MpFnt9mWZwrkjtrdhgoLuiKQJI8.xK0",
     "954498ac9cd106fb17443bc77ac2c00d1fe03f00", "N0nBBdEenaeyfZ2D7JyUMUpX868xTKVR"),
    ("Lin", "36b8045876aa47151a65f16ddee645cf9473f4fb", "YL0aw.aZX1pK2UllusVUPUhs_60QbnTl",
     "2b786b9901a05d1fd980ae34153536cf906a8aa1", "B9OkKyr5hLMsfikSGDEYR2sSN9U1SfKe",
     "ce681e8afca2d39166ae2f19ba665638f794b9d1", "br4S8gjoU3OlxgjNL.6n5._sDH6xgBYO"),
    ("SilTex", "ff982583d8d815247cc1a009255857772e07cd94", "H9jSJKHiCvXur81Ri5c0oLvOgvUbYA0L",
     "6cdc21439438e126f3ab401bb05af84300a4fe1e", "7v.w1CApejxHd8PqNrt7apuSw9JvwU5Z",
     "ce1474dea31dd0b7469ec634e5e61da55e414502", "PyJkPnNPsSDVPS.Ov25h72lA5HON1bb4"),
    ("Sil", "13a42a068aa79fd533fd7b5f00a09f67053b4425", "YhGqxxegXosVc3VArhgMPtLvX1qzbBJA",
     "0d02bea9d282d020d9b20ceb7daa50d185cdefe3", "u.yDFDHxFkT6YG3KcuA7V5SrKKrdAZEX",
     "4a21ce43ca5f7dc0b8d9c3d048ea2dda2ca7f47a", "xbEvAod60hmj6.59PqJkxT3E4gLMCOMr"),
    ("Tex", "cd533001022f56bef5b39ce43b00a4a4293a81d1", "ndXeBEGY2iZqcFb32TftiL5sd1t5mpp4",
     "fb6564cae35ca18172025b46cd653f4721015b3d", "UK7ewdy71NKV7qL9jLMf2mjvhxjbvpiS",
     "cb4d428412d4334f57e9b7b14c7e7d888bf838db", "96guBSPBcQnvhWBolcHRd85cW2SuAqr0"),
    ("LinFil", "9fbeb46e9a2a5ac0573ebf4ce6bb20fb9ddf3a33", "YHi84d2HphKadlfILlfpwLnZCeVscOcZ",
     "2ac934e65c3645b960c3e1126921cea783da6479", "N2tXSQgWGdyaZ224QwGniwqruq1CLyrW",
     "87f0227c3507e8cf1172ddf5398036f098a40c96", "i46dCvs_.gUhWrUV4MxesQNIOgxNVrQQ"),
    ("Sparse", "990d317b8d526590257d4acc0abf70e89a4f6661", "Qklfu769cHwUFh4Di18LDieEmE8F2fYW",
     "67569fca4b89b9ae4e893f4eeb71e3b2c2c67808", "hNOh64MuEOc_awIbxvNZPVDExCsWkyhY",
     "e933f23d2c09a2107b292657063a99d0a931119e", "DaFbWgSf3zK1SL2zwr4X4lt7g9zXE4gk"),
    ("Dense", "4e1b9387371d416a0c5758cd78ee683c23c7e191", "uGiSwGUkn8GY9eCTxowtp3wd_.LudjPk",
     "7557f8e1542cd14edd1f4cf79264ea4851861651", "hTYMs8YJThDsc7La1zb1oHOblyURWNjX",
     "49b2d952c314b51181f4b8262ac9bf2a49898bd6", "L6p2mXkQwISAbN5_J7kmoEYnmVpnfFoi"),
)  # fmt: skip

for form, csv, csv_version, archive, archive_version, sha1, version in FILES:
    stimulus_set_registry[f"Kato2026.{form}"] = BUCKET.stimuli(
        f"Kato2026.{form}", csv_sha1=csv, zip_sha1=archive, csv_version_id=csv_version, zip_version_id=archive_version
    )
    data_registry[f"Kato2026.{form}"] = BUCKET.assembly(
        f"Kato2026.{form}", sha1=sha1, version_id=version, stimuli=f"Kato2026.{form}"
    )
