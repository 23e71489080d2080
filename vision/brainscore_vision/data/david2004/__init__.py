"""Register spikes from V1 of macaques that saw natural images and gratings (David et al. 2004)."""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX = """@article{david2004natural,
  title={Natural stimulus statistics alter the receptive field structure of V1 neurons},
  author={David, Stephen V and Vinje, William E and Gallant, Jack L},
  journal={Journal of Neuroscience}, volume={24}, number={31}, pages={6991--7006}, year={2004},
  doi={10.1523/JNEUROSCI.1422-04.2004}
}"""

data_registry["David2004"] = BUCKET.assembly(
    "gallant.David2004", sha1="d2ed9834c054da2333f5d894285c9841a1f27313", stimuli="David2004"
)

stimulus_set_registry["David2004"] = BUCKET.stimuli(
    "David2004",
    csv_sha1="8ec76338b998cadcdf1e57edd2dd992e2ab2355b",
    zip_sha1="0200421d66a0613946d39cab64c00b561160016e",
)
