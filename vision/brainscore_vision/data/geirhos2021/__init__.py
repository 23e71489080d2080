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

stimulus_set_registry["Geirhos2021_colour"] = BUCKET.stimuli(
    "Geirhos2021_colour",
    csv_sha1="9c97c155fd6039a95978be89eb604c6894c5fa16",
    zip_sha1="d166f1d3dc3d00c4f51a489e6fcf96dbbe778d2c",
)
data_registry["Geirhos2021_colour"] = BUCKET.assembly(
    "brendel.Geirhos2021_colour", sha1="258862d82467614e45cc1e488a5ac909eb6e122d", stimuli="Geirhos2021_colour"
)

stimulus_set_registry["Geirhos2021_contrast"] = BUCKET.stimuli(
    "Geirhos2021_contrast",
    csv_sha1="f6ef69a2e8937e1d0d83c8a21b325b4273494cb5",
    zip_sha1="ebeeef2f9c6a7282e20ef2026dc77eefa026957b",
)
data_registry["Geirhos2021_contrast"] = BUCKET.assembly(
    "brendel.Geirhos2021_contrast", sha1="1e114c987dc035ccca43781ff8cee9689acd3c3f", stimuli="Geirhos2021_contrast"
)

stimulus_set_registry["Geirhos2021_cue-conflict"] = BUCKET.stimuli(
    "Geirhos2021_cue-conflict",
    csv_sha1="8d3ae89d8870fb7d7c5d5ff387085b1f0116e2b7",
    zip_sha1="7e601186b181102939cd0b43a4e8a3ca95c18259",
)
data_registry["Geirhos2021_cue-conflict"] = BUCKET.assembly(
    "brendel.Geirhos2021_cue-conflict",
    sha1="cc214e3595d34565b13963c5f56049769a39a5c9",
    stimuli="Geirhos2021_cue-conflict",
)

stimulus_set_registry["Geirhos2021_edge"] = BUCKET.stimuli(
    "Geirhos2021_edge",
    csv_sha1="fb57005ecb80e4e37b01e084f1f176fe7f59ff7f",
    zip_sha1="6c1199d90836a26be454aa799864a63c5efacaa1",
)
data_registry["Geirhos2021_edge"] = BUCKET.assembly(
    "brendel.Geirhos2021_edge", sha1="ab1dc9e188e248da07215b375eb3dbcc58fde7fb", stimuli="Geirhos2021_edge"
)

stimulus_set_registry["Geirhos2021_eidolonI"] = BUCKET.stimuli(
    "Geirhos2021_eidolonI",
    csv_sha1="049adbed36fed52c609d38d5230e6084336df6b9",
    zip_sha1="abaa45a225628dd66e424ec7d8e2b10a0c88bc0d",
)
data_registry["Geirhos2021_eidolonI"] = BUCKET.assembly(
    "brendel.Geirhos2021_eidolonI", sha1="0f01f351ae19eafc2cb5e504d98e5cd01b4c07b4", stimuli="Geirhos2021_eidolonI"
)

stimulus_set_registry["Geirhos2021_eidolonII"] = BUCKET.stimuli(
    "Geirhos2021_eidolonII",
    csv_sha1="1806ada128c260ab54db570d2e73aea71d679754",
    zip_sha1="2654ba55291f8ab972f18b36565f9ead80a45339",
)
data_registry["Geirhos2021_eidolonII"] = BUCKET.assembly(
    "brendel.Geirhos2021_eidolonII", sha1="499eea0f0c0817d02b5b97d2ebab89bc4c40a153", stimuli="Geirhos2021_eidolonII"
)

stimulus_set_registry["Geirhos2021_eidolonIII"] = BUCKET.stimuli(
    "Geirhos2021_eidolonIII",
    csv_sha1="ba0173b315f02df16d418dc3ff1df7dc498b4893",
    zip_sha1="d0304c0c0024d0f493ea9c0c47ae0221da391016",
)
data_registry["Geirhos2021_eidolonIII"] = BUCKET.assembly(
    "brendel.Geirhos2021_eidolonIII", sha1="e7c9a49e729f8666f8aedc6e47c746fbbe2ebe36", stimuli="Geirhos2021_eidolonIII"
)

stimulus_set_registry["Geirhos2021_false-colour"] = BUCKET.stimuli(
    "Geirhos2021_false-colour",
    csv_sha1="8a09a7af8ec44339bcae5500ae5900d9c4309042",
    zip_sha1="ec0ba347fc14d0c0587d38bfa96e4ab5d2f7979a",
)
data_registry["Geirhos2021_false-colour"] = BUCKET.assembly(
    "brendel.Geirhos2021_false-colour",
    sha1="4dc072264651c81575564ba4818a12b8e8039c65",
    stimuli="Geirhos2021_false-colour",
)

stimulus_set_registry["Geirhos2021_high-pass"] = BUCKET.stimuli(
    "Geirhos2021_high-pass",
    csv_sha1="ddf523dcf43398cc15894c7b51c436d526e6c992",
    zip_sha1="12322bb17270a5dde206314fcdc125c4bb235e3b",
)
data_registry["Geirhos2021_high-pass"] = BUCKET.assembly(
    "brendel.Geirhos2021_high-pass", sha1="5df45c69127758f1ba3391671c521711050e3b4d", stimuli="Geirhos2021_high-pass"
)

stimulus_set_registry["Geirhos2021_low-pass"] = BUCKET.stimuli(
    "Geirhos2021_low-pass",
    csv_sha1="1264f9be407c7d428cf3d62a7bb1b1bb45a821bc",
    zip_sha1="ad087676e04e51adadea7c7c5c1fa28e4dd6360c",
)
data_registry["Geirhos2021_low-pass"] = BUCKET.assembly(
    "brendel.Geirhos2021_low-pass", sha1="75ab628d9e6d0d634290567b1cb261d7f8dc61e2", stimuli="Geirhos2021_low-pass"
)

stimulus_set_registry["Geirhos2021_phase-scrambling"] = BUCKET.stimuli(
    "Geirhos2021_phase-scrambling",
    csv_sha1="0cc87f7ac42c2266f98d3a08783f7173499ec2fc",
    zip_sha1="462e77ab9533072b7036118f1f697e8c9bf30ae4",
)
data_registry["Geirhos2021_phase-scrambling"] = BUCKET.assembly(
    "brendel.Geirhos2021_phase-scrambling",
    sha1="4124f9f5b86fb6ed82c98197d292eef50b608aba",
    stimuli="Geirhos2021_phase-scrambling",
)

stimulus_set_registry["Geirhos2021_power-equalisation"] = BUCKET.stimuli(
    "Geirhos2021_power-equalisation",
    csv_sha1="743935476b1fe4b7bd4d01a4eed24cd9ed5b3a22",
    zip_sha1="a0d5307525bccf8da8f3d293e7e324b9b20248c6",
)
data_registry["Geirhos2021_power-equalisation"] = BUCKET.assembly(
    "brendel.Geirhos2021_power-equalisation",
    sha1="0aba1b50a7e0802d76c41d332a121a3f96ef4f7d",
    stimuli="Geirhos2021_power-equalisation",
)

stimulus_set_registry["Geirhos2021_rotation"] = BUCKET.stimuli(
    "Geirhos2021_rotation",
    csv_sha1="2577831e9ead905669613fa17cb2651d0c48a455",
    zip_sha1="8f5d9cb217807e96ace61337144e429d0d4ba04c",
)
data_registry["Geirhos2021_rotation"] = BUCKET.assembly(
    "brendel.Geirhos2021_rotation", sha1="e51a5c3bc95ade159e71aa602232063730bcd57b", stimuli="Geirhos2021_rotation"
)

stimulus_set_registry["Geirhos2021_silhouette"] = BUCKET.stimuli(
    "Geirhos2021_silhouette",
    csv_sha1="fb57005ecb80e4e37b01e084f1f176fe7f59ff7f",
    zip_sha1="36c8a481f7876a2af2ad4fe80890b302fe3ae91e",
)
data_registry["Geirhos2021_silhouette"] = BUCKET.assembly(
    "brendel.Geirhos2021_silhouette", sha1="7dc94991465fe8009244e0d6fb8283419a1f9885", stimuli="Geirhos2021_silhouette"
)

stimulus_set_registry["Geirhos2021_sketch"] = BUCKET.stimuli(
    "Geirhos2021_sketch",
    csv_sha1="a5741b2f7bd08541a0dbefd7fb2d6a3845ca800b",
    zip_sha1="8e8712f08a5ad3655ea2bd8cd675db8cdf65129a",
)
data_registry["Geirhos2021_sketch"] = BUCKET.assembly(
    "brendel.Geirhos2021_sketch", sha1="6709850864cea16d99a29fb31ae3c4a489983562", stimuli="Geirhos2021_sketch"
)

stimulus_set_registry["Geirhos2021_stylized"] = BUCKET.stimuli(
    "Geirhos2021_stylized",
    csv_sha1="2265a540dee6915150bf7c61143eaf788f603866",
    zip_sha1="75d273e8de643b0d814fbe60cd237c31ebe19c44",
)
data_registry["Geirhos2021_stylized"] = BUCKET.assembly(
    "brendel.Geirhos2021_stylized", sha1="dcf15f292e787a88e1e0f271e6b2838d6bdadfd3", stimuli="Geirhos2021_stylized"
)

stimulus_set_registry["Geirhos2021_uniform-noise"] = BUCKET.stimuli(
    "Geirhos2021_uniform-noise",
    csv_sha1="89b62a6af878974d388278ed0e23e8ed1c2fd855",
    zip_sha1="ff4566542d65056028660293e2409b532e887714",
)
data_registry["Geirhos2021_uniform-noise"] = BUCKET.assembly(
    "brendel.Geirhos2021_uniform-noise",
    sha1="f5e8b2636738f978c71591b8df6f8a21a66b72d1",
    stimuli="Geirhos2021_uniform-noise",
)
