"""Register images and human choices of Lonnqvist et al. (2025): 20 ways to draw an object, and two joint sets.

The column ``truth`` of the images holds the category, ``percentage_elements`` the share that is drawn. Choices have one
presentation per trial; values are the chosen categories.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BIBTEX = """@article{lonnqvist2025contour,
  title={Contour integration underlies human-like vision},
  author={Lonnqvist, Ben and Scialom, Elsa and Gokce, Abdulkadir and Merchant, Zehra and Herzog, Michael H. and
    Schrimpf, Martin},
  journal={arXiv preprint arXiv:2504.05253}, year={2025}, url={https://arxiv.org/abs/2504.05253}
}"""

BUCKET = Bucket("brainscore-storage/brainio-brainscore", BehavioralAssembly)


def texts(stimuli: StimulusSet) -> StimulusSet:
    """Convert two columns to strings, as in the choices, even if a table holds only numbers."""
    for column in ("percentage_elements", "condition"):
        stimuli[column] = stimuli[column].astype(str)
    return stimuli


STIMULI = (  # condition, digests of table and archive
    ("rgb", "c7e66eca214ffd9e38a5ebc1de159ef5f7755df9", "6dce0513eb20c6d501a4e2e574028d12f910a1da"),
    ("contours", "378ea511a906a1c440d556bd9b6232d433ba186e", "70a2277a327b7aa150654f46f46ea4bd247c5273"),
    ("phosphenes-12", "762a114b716b8414322d0de620bd800f35beb02b", "701ecb4e2c87fac322a9d06b238e361d4c45b5bd"),
    ("phosphenes-16", "40979a641232dab1515b7061171921221d86a13a", "26563eff7a42561204fb6c158ae00ef4acf62e4d"),
    ("phosphenes-21", "72cffd4c0c8d30b815825475d864a87b7eb6e386", "22f9ecd333fcc177c16ed6c005989fe04f63700c"),
    ("phosphenes-27", "94e91373299e82bcaa413e626bcaab6c914a9649", "69f17f8b1121a19738625da78b4b73de2b151926"),
    ("phosphenes-35", "dc5657b53cf5d77dc6b62db856d7c2fd6151284c", "e26e6e5fabca6bd52d85b38416df92de0b16b81e"),
    ("phosphenes-46", "5838fabb81840bba4fc667e48c1e82569fcbff29", "6bb41a20bea70b3e521320258682dba1bef7a0e6"),
    ("phosphenes-59", "126123ae0596ebe93bb8b0fb985b3fd6e2db1aea", "3e7d106796050a0fd4868567c8ef2325f294a13c"),
    ("phosphenes-77", "04eccad03672f7122b2821c667e8ba352eca8262", "5b5ae2437193d75d26f5ffa87245ee479ce2674a"),
    ("phosphenes-100", "f75998b7e2624edbdf511a4f88d4665a0258e377", "b416d47663cd6e5d747f75f2f15eb52637313509"),
    ("segments-12", "c9de15f5aec2d2fbbd3669e8f3620ae4e884556b", "0e04090ea7cc6cabc9efa7695dab5d217ebad70b"),
    ("segments-16", "dc66edcd3f6e051418878e07002c06d2a936d142", "2aa3cb8c89bf5956ea5c7a6c0f86ce8759056b41"),
    ("segments-21", "c461e47b42f17c05399387c16b3d76db6389d05f", "e8116c9b1b2822bf2235b7ef91193baf2a7f47fb"),
    ("segments-27", "31e35368dbe090fe2748765b82bc0dd956818887", "607d8589a270220046455e150d3589095d8270b1"),
    ("segments-35", "3758af9739943817254ed79e12b441bb055858b9", "1df725d457f8092b2cc75a7f1509359383ae5420"),
    ("segments-46", "5c2982d3b079f5dd15dc18b5f127624256ca75b8", "1f0bd6bcb476bff6937dc2bb0bf9222b381e41d5"),
    ("segments-59", "22df0dcfec63af39a3df97555c085ccd57a5ec09", "63cd9ee774ed4aeca54b8aa54c037037a67537d6"),
    ("segments-77", "350f3c1ad3ae52150783e8be0135d79ef1f88c9f", "be2c2039e5eea7c3dcd90b885243fb6a1ebd40b9"),
    ("segments-100", "d2d7e231c7420730d5b3118c82b859a684d89a5b", "9d7ccb70f2231c8e62aecf18f1f48c160046c98b"),
    ("phosphenes-all", "16276359d917b16fc84c736881cf70b5de3d9c5c", "c2c26b17a4b4d152d1f20e78fe085e321080bcf6"),
    ("segments-all", "4e66191b81517f3601e7bb27c9c3a84b9ee51a89", "59b279b2c65be4cdab50bf17b7295da2426744ee"),
)
ASSEMBLIES = (  # condition, digest
    ("rgb", "b79217a6b700760b96ffe60a948d6c2af9e7a615"),
    ("contours", "9487edf9f10d019968a77792908fb853fd73f818"),
    ("phosphenes-12", "1badbc7d08e2d135b2383a25e39ca7d22a3cd7ff"),
    ("phosphenes-16", "1059a8126039ca01e8f293bfbe90539ea829b86f"),
    ("phosphenes-21", "ac28102c6b165a759b102f670a99b33a67c7fc9a"),
    ("phosphenes-27", "3bb9adfcdb294a9ecfec14af381f3dbdc7f6dfeb"),
    ("phosphenes-35", "fa27c3931f76a696b1f1dde4c67a6733d682bcb2"),
    ("phosphenes-46", "11f42e777a0938879473baa7a4efaefd27681c54"),
    ("phosphenes-59", "f9e6ecb9013871f357fa56a9bfaa43c80eb0d9f5"),
    ("phosphenes-77", "f3e3c50983b859eff094b75ca53939bf156b0f3f"),
    ("phosphenes-100", "b97bda0f9ea10a684b81cf2118578edb483d9e27"),
    ("segments-12", "fec2104fc53f04af727174ca54fec2c9ad3b553d"),
    ("segments-16", "4e30fc27bf98fa374af29a3bbb0de27c95ff845c"),
    ("segments-21", "280dde1bb8ad226307ce25505a54f852197d0686"),
    ("segments-27", "249148aaf4bed26ac2dcf07e4ab1d4dd19fc6531"),
    ("segments-35", "67b729721928c5f1e85fc5f48e0c574ecfa196e4"),
    ("segments-46", "2e8e7f937407eb74a77e006d09df4364945f24bf"),
    ("segments-59", "ba161343f424673e2dbc123bc058b49ffa16af07"),
    ("segments-77", "1f29d37fa6b84defd268cb35d8e26c6798c63714"),
    ("segments-100", "298823d65ceacccd3247fe05e21b2df85c46343d"),
    ("phosphenes-all", "ae0fd1095846f0c637e54ad8ff96e44bdac8117d"),
    ("segments-all", "0ecd8e45b4eb5a2afba91b5fe06cacc8696e5925"),
)

for condition, csv_sha1, zip_sha1 in STIMULI:
    stimulus_set_registry[f"Scialom2024_{condition}"] = BUCKET.stimuli(
        f"Scialom2024_{condition}", csv_sha1=csv_sha1, zip_sha1=zip_sha1, prepare=texts
    )
for condition, sha1 in ASSEMBLIES:
    data_registry[f"Scialom2024_{condition}"] = BUCKET.assembly(
        f"Scialom2024_{condition}", sha1=sha1, stimuli=f"Scialom2024_{condition}"
    )
