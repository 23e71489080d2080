"""Register images and human choices of Geirhos et al. (2021): 17 manipulations, 16 categories.

The column ``truth`` of the images holds the category. Choices have one presentation per trial; values are the chosen
categories.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@inproceedings{geirhos2021partial,
  title={Partial success in closing the gap between human and machine vision},
  author={Geirhos, Robert and Narayanappa, Kantharaju and Mitzkus, Benjamin and Thieringer, Tizian and Bethge, Matthias
    and Wichmann, Felix A and Brendel, Wieland},
  booktitle={Advances in Neural Information Processing Systems},
  volume={34}, pages={23885--23899}, year={2021}, url={https://openreview.net/forum?id=QkljT4mrfs}
}"""

BUCKET = Bucket("brainscore-storage/brainio-brainscore", BehavioralAssembly)

STIMULI = (  # manipulation, digests of table and archive
    ("colour", "9c97c155fd6039a95978be89eb604c6894c5fa16", "d166f1d3dc3d00c4f51a489e6fcf96dbbe778d2c"),
    ("contrast", "f6ef69a2e8937e1d0d83c8a21b325b4273494cb5", "ebeeef2f9c6a7282e20ef2026dc77eefa026957b"),
    ("cue-conflict", "8d3ae89d8870fb7d7c5d5ff387085b1f0116e2b7", "7e601186b181102939cd0b43a4e8a3ca95c18259"),
    ("edge", "fb57005ecb80e4e37b01e084f1f176fe7f59ff7f", "6c1199d90836a26be454aa799864a63c5efacaa1"),
    ("eidolonI", "049adbed36fed52c609d38d5230e6084336df6b9", "abaa45a225628dd66e424ec7d8e2b10a0c88bc0d"),
    ("eidolonII", "1806ada128c260ab54db570d2e73aea71d679754", "2654ba55291f8ab972f18b36565f9ead80a45339"),
    ("eidolonIII", "ba0173b315f02df16d418dc3ff1df7dc498b4893", "d0304c0c0024d0f493ea9c0c47ae0221da391016"),
    ("false-colour", "8a09a7af8ec44339bcae5500ae5900d9c4309042", "ec0ba347fc14d0c0587d38bfa96e4ab5d2f7979a"),
    ("high-pass", "ddf523dcf43398cc15894c7b51c436d526e6c992", "12322bb17270a5dde206314fcdc125c4bb235e3b"),
    ("low-pass", "1264f9be407c7d428cf3d62a7bb1b1bb45a821bc", "ad087676e04e51adadea7c7c5c1fa28e4dd6360c"),
    ("phase-scrambling", "0cc87f7ac42c2266f98d3a08783f7173499ec2fc", "462e77ab9533072b7036118f1f697e8c9bf30ae4"),
    ("power-equalisation", "743935476b1fe4b7bd4d01a4eed24cd9ed5b3a22", "a0d5307525bccf8da8f3d293e7e324b9b20248c6"),
    ("rotation", "2577831e9ead905669613fa17cb2651d0c48a455", "8f5d9cb217807e96ace61337144e429d0d4ba04c"),
    ("silhouette", "fb57005ecb80e4e37b01e084f1f176fe7f59ff7f", "36c8a481f7876a2af2ad4fe80890b302fe3ae91e"),
    ("sketch", "a5741b2f7bd08541a0dbefd7fb2d6a3845ca800b", "8e8712f08a5ad3655ea2bd8cd675db8cdf65129a"),
    ("stylized", "2265a540dee6915150bf7c61143eaf788f603866", "75d273e8de643b0d814fbe60cd237c31ebe19c44"),
    ("uniform-noise", "89b62a6af878974d388278ed0e23e8ed1c2fd855", "ff4566542d65056028660293e2409b532e887714"),
)
ASSEMBLIES = (  # manipulation, digest
    ("colour", "258862d82467614e45cc1e488a5ac909eb6e122d"),
    ("contrast", "1e114c987dc035ccca43781ff8cee9689acd3c3f"),
    ("cue-conflict", "cc214e3595d34565b13963c5f56049769a39a5c9"),
    ("edge", "ab1dc9e188e248da07215b375eb3dbcc58fde7fb"),
    ("eidolonI", "0f01f351ae19eafc2cb5e504d98e5cd01b4c07b4"),
    ("eidolonII", "499eea0f0c0817d02b5b97d2ebab89bc4c40a153"),
    ("eidolonIII", "e7c9a49e729f8666f8aedc6e47c746fbbe2ebe36"),
    ("false-colour", "4dc072264651c81575564ba4818a12b8e8039c65"),
    ("high-pass", "5df45c69127758f1ba3391671c521711050e3b4d"),
    ("low-pass", "75ab628d9e6d0d634290567b1cb261d7f8dc61e2"),
    ("phase-scrambling", "4124f9f5b86fb6ed82c98197d292eef50b608aba"),
    ("power-equalisation", "0aba1b50a7e0802d76c41d332a121a3f96ef4f7d"),
    ("rotation", "e51a5c3bc95ade159e71aa602232063730bcd57b"),
    ("silhouette", "7dc94991465fe8009244e0d6fb8283419a1f9885"),
    ("sketch", "6709850864cea16d99a29fb31ae3c4a489983562"),
    ("stylized", "dcf15f292e787a88e1e0f271e6b2838d6bdadfd3"),
    ("uniform-noise", "f5e8b2636738f978c71591b8df6f8a21a66b72d1"),
)

for manipulation, csv_sha1, zip_sha1 in STIMULI:
    stimulus_set_registry[f"Geirhos2021_{manipulation}"] = BUCKET.stimuli(
        f"Geirhos2021_{manipulation}", csv_sha1=csv_sha1, zip_sha1=zip_sha1
    )
for manipulation, sha1 in ASSEMBLIES:
    data_registry[f"Geirhos2021_{manipulation}"] = BUCKET.assembly(
        f"brendel.Geirhos2021_{manipulation}", sha1=sha1, stimuli=f"Geirhos2021_{manipulation}"
    )
