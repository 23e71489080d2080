"""Register drawings and vernier thresholds of Malania, Herzog and Westheimer (2007).

Sets are named after the flankers: length relative to the vernier, and number. Models learn from those with ``_fit``.
``image_label`` is the side of a drawing's offset, ``vernier_offset_arcsec`` its size; thresholds are in seconds of arc,
NaN for those who did not take part.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@article{malania2007,
  author={Malania, Maka and Herzog, Michael H. and Westheimer, Gerald},
  title={Grouping of contextual elements that affect vernier thresholds},
  journal={Journal of Vision}, volume={7}, number={2}, pages={1--1}, year={2007}, issn={1534-7362}, doi={10.1167/7.2.1},
  url={https://doi.org/10.1167/7.2.1}
}"""

BUCKET = Bucket("brainscore-storage/brainio-brainscore", PropertyAssembly)

STIMULI = (  # length and number of flankers, digests of table and archive
    ("equal", "2", "36f3c92a1335895b10c4150f5c25a68ab4576d4a", "80be52e8701ecb8e7fbb81c0bff9c148ddc2b401"),
    ("equal", "16", "14f9f7098831691811abf9953766951edc952203", "5127e88eaed1ef64247c7cb4262868533fb4ebae"),
    ("long", "2", "153b987c4c6b8a22efb88be26aaa46bd36912c9b", "07bb413d56ac77fc71823559780cdb16e4df563d"),
    ("long", "16", "6c5d45b489bc290e41013d211d18570368012c9b", "10944e5b65e8da9e52087d3cbbdc6575538c2847"),
    ("short", "2", "c8bb84c5468a43348149afe24d5c0ebda233d54e", "1739226e7e32f60a7bb060fecc14c4a6353ca2ad"),
    ("short", "4", "181c912c03fdb3e4f89a737584a3a0816859f816", "820019a7f68db60fac11a5c5f3e42037cf205248"),
    ("short", "6", "57813230e337a09c4c423da927c1f33e62054547", "dab58e8e996f91af643a0b61247e7ef87f35338d"),
    ("short", "8", "3df9a38605a4590eac8a1151779ba68c3cd54dc1", "7626364e0776b2809ae36d9cb713c6ff9a0d0c05"),
    ("short", "16", "9f5f4e3597006c50530017ce769c8689d43b06f5", "b67b1e70e8ba698907c95614bcb16eea6ff2f090"),
)
TO_FIT = (  # the same for drawings that models learn from
    ("equal", "2", "b7105f44d5d781f5e06159008a3f63c9f774c2d1", "ba5c1bacbb4afe40c5a19eddb07fc9f98312ec69"),
    ("equal", "16", "2ff7f2f97250b9bcce3d2753be6e5b98e083892b", "db07ef4862fd9cb65c1e726cacc5914821296a5b"),
    ("long", "2", "8b6d1557879e6271554c0fcb67bf6b2941dad2c8", "66205529af748ffd88579caef86b107838c0b0da"),
    ("long", "16", "603dc8edb169f39e322f8980972eda1930c300ed", "a67330e18f1e5d9ad3829d8d8c000487fe3e4d48"),
    ("short", "2", "600c754811aa27d80a155c8ac643a81f2347ce3a", "a1a121dbbbf761caea0a086c2a74ab511f296ed5"),
    ("short", "4", "65af7b5d3845a7ea284aefba21734e1d298742c8", "5234b449c05a43e726543029137fe26930157b09"),
    ("short", "6", "ea7eb26b42fe9e4fc1ac2ed6e9bad439e8077ce1", "895e69c835b22b07ee66a0f5f53e7a108ac8287c"),
    ("short", "8", "2782c818056b374e86195cbdb0ab1a52ef0d01da", "ec2fa2a261d965455ffa81acdb0fddef447ad4ff"),
    ("short", "16", "5bc0314a6c16095a70049fa5e8df5e9b94345f30", "0ca3930831ca926ea8b8c3600695b639ff05ddb5"),
)
THRESHOLDS = (  # length and number of flankers, digest
    ("equal", "2", "277b2fbffed00e16b6a69b488f73eeda5abaaf10"),
    ("equal", "16", "ef49506238e8d2554918b113fbc60c133077186e"),
    ("long", "2", "9076a5b693948c4992b6c8e753f04a7acd2014a1"),
    ("long", "16", "3106cf1f2fa9e66617ebf231df05d29077fc478f"),
    ("short", "2", "85fb65ad76de48033c704b9c5689771e1ea0457d"),
    ("short", "4", "75506be9a26ec38a223e41510f1a8cb32d5b0bc9"),
    ("short", "6", "2901be6b352e67550da040d79d744819365b8626"),
    ("short", "8", "6daf47b086cb969d75222e320f49453ed8437885"),
    ("short", "16", "8ae0898caad718b747f85fce5888416affc3a569"),
)

for flankers, number, csv_sha1, zip_sha1 in STIMULI:
    stimulus_set_registry[f"Malania2007.{flankers}{number}"] = BUCKET.stimuli(
        f"Malania2007_{flankers}-{number}", csv_sha1=csv_sha1, zip_sha1=zip_sha1
    )
for flankers, number, csv_sha1, zip_sha1 in TO_FIT:
    stimulus_set_registry[f"Malania2007.{flankers}{number}_fit"] = BUCKET.stimuli(
        f"Malania2007_{flankers}-{number}_fit", csv_sha1=csv_sha1, zip_sha1=zip_sha1
    )
for flankers, number, sha1 in THRESHOLDS:
    data_registry[f"Malania2007.{flankers}{number}"] = BUCKET.assembly(f"Malania2007_{flankers}-{number}", sha1=sha1)
stimulus_set_registry["Malania2007.vernier_only"] = BUCKET.stimuli(
    "Malania2007_vernier-only",
    csv_sha1="c71f654fccf1265a95dd0585c186232a2519e944",
    zip_sha1="eadff359975c3ba250224ce1942544b091415095",
)
data_registry["Malania2007.vernier_only"] = BUCKET.assembly(
    "Malania2007_vernier-only", sha1="1cf83e8b6141f8b0d67ea46994f342325f62001f"
)
