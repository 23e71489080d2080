"""Register responses of 166 neurons in macaque V1 to 7,249 natural images and textures (Cadena et al. 2019).

Images were shown up to four times, and not to every neuron: absent responses are NaN.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly, walk_coords
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX = """@article{Cadena201764,
  title={Deep convolutional models improve predictions of macaque V1 responses to natural images},
  author={Cadena, Santiago A. and Denfield, George H. and Walker, Edgar Y. and Gatys, Leon A. and Tolias, Andreas S.
    and Bethge, Matthias and Ecker, Alexander S.},
  journal={bioRxiv}, year={2017}, doi={10.1101/201764}
}"""


def name_neuroids(assembly: NeuronRecordingAssembly) -> NeuronRecordingAssembly:
    """Add ``neuroid_id`` and the region V1; the file only numbers neurons."""
    coords = {name: (dims, values) for name, dims, values in walk_coords(assembly) if "neuroid" not in dims}
    coords["neuroid_id"] = "neuroid", assembly["neuroid"].values
    coords["region"] = "neuroid", ["V1"] * assembly.sizes["neuroid"]
    return type(assembly)(assembly.values, coords=coords, dims=assembly.dims, attrs=assembly.attrs)


stimulus_set_registry["Cadena2017"] = BUCKET.stimuli(
    "Cadena2017",
    csv_sha1="f55b174cc4540e5612cfba5e695324328064b051",
    zip_sha1="88cc2ce3ef5e197ffd1477144a2e6a68d424ef6c",
)
data_registry["Cadena2017"] = BUCKET.assembly(
    "tolias.Cadena2017", sha1="69bcaaa9370dceb0027beaa06235ef418c3d7063", stimuli="Cadena2017", prepare=name_neuroids
)
