"""Register distributions of V1 properties over neurons, collected by Marques et al., and their stimuli.

Gratings and textures lie at (y, x) = (.5, .5) degrees, except those of ``Marques2020_receptive_field``, which are
spread over the screen. Gratings span 12 degrees, textures 8; columns hold the condition. Properties have dims (neuroid,
neuronal_property), with the edges of their histograms.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", PropertyAssembly)

BIBTEX = """@article{marques2021multiscale,
  title={Multi-scale hierarchical neural network models that bridge from single neurons in the primate primary visual
    cortex to object recognition behavior},
  author={Marques, Tiago and Schrimpf, Martin and DiCarlo, James J},
  journal={bioRxiv},
  year={2021}, doi={10.1101/2021.03.01.433495}
}
@inproceedings{dapello2020simulating,
  title={Simulating a primary visual cortex at the front of {CNNs} improves robustness to image perturbations},
  author={Dapello, Joel and Marques, Tiago and Schrimpf, Martin and Geiger, Franziska and Cox, David and
    DiCarlo, James J},
  booktitle={Advances in Neural Information Processing Systems},
  volume={33}, pages={13073--13087}, year={2020}
}"""

ASSEMBLIES = (  # name, packaged name, digest, stimuli
    ("Cavanaugh2002a", "movshon.Cavanaugh2002a", "d4b24f4bbf8a14138a8e98391ab03796c2c05e7d", "size"),
    ("DeValois1982a", "devalois.DeValois1982a", "8f4fd70e987c3c566b5b6c6bf15ef27637618b2c", "orientation"),
    ("DeValois1982b", "devalois.DeValois1982b", "611176eefdac09feaa4c07f081784c24067629e1", "spatial_frequency"),
    ("Ringach2002", "shapley.Ringach2002", "0f3e19140bd9f930109879a38e574471d9576cf5", "orientation"),
    ("Schiller1976c", "schiller.Schiller1976c", "58daa02ba2680e75dcb11b37eb6085c4afb6576e", "spatial_frequency"),
)
STIMULI = (  # name, digests of table and archive
    ("blank", "c02d44b0d3e157b29c6b96c5c5a478a8b37dc70b", "5c4eef94691d6d63f8b1610918728b8531fc861e"),
    ("receptive_field", "e3681c69122b20ff3dd22486f546a26b3a97e057", "fc21a9302bb0fca85350049ab740af80f2307ece"),
    ("orientation", "b316c6d9c6ddb58f8f21e79ae2b59b03933c0068", "6a02466e221ac314da2db2969c89688dff64ab1b"),
    ("spatial_frequency", "31d0293c8aa1590f4680bb8a9446f56135b8d646", "6fdeee4366514b9a0ff9c52e52c13762a62ceaab"),
    ("size", "0fd0aeea8fa6ff2b30ee9a6a684d4600590d631f", "11122de2784218b7dd4cd0b557e62583ca7ee283"),
)

for name, packaged, sha1, stimuli in ASSEMBLIES:
    data_registry[name] = BUCKET.assembly(
        packaged, sha1=sha1, stimuli=f"Marques2020_{stimuli}", merge_stimulus_set_meta=False
    )
data_registry["FreemanZiemba2013_V1_properties"] = BUCKET.assembly(
    "movshon.FreemanZiemba2013_V1_properties",
    sha1="e665522d9a32e6cd6c3ebc61ff65fd3899c8d3e6",
    stimuli="FreemanZiemba2013_properties",
    merge_stimulus_set_meta=False,
)
for name, csv_sha1, zip_sha1 in STIMULI:
    stimulus_set_registry[f"Marques2020_{name}"] = BUCKET.stimuli(
        f"Marques2020_{name}", csv_sha1=csv_sha1, zip_sha1=zip_sha1
    )
stimulus_set_registry["FreemanZiemba2013_properties"] = BUCKET.stimuli(
    "FreemanZiemba2013_properties",
    csv_sha1="6f7bcb5d0c01e81c9fbdcec9bf586cbb579a9b02",
    zip_sha1="c64a0d6b447676a6d5cff3d3625a5f294e62ff97",
)
