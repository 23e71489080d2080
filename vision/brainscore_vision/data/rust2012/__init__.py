"""Register spikes from V4 and IT of macaques, of neurons by themselves and from arrays (Rust and DiCarlo 2012)."""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuronRecordingAssembly)

BIBTEX = """@article{rust2012balanced,
  title={Balanced increases in selectivity and tolerance produce constant sparseness along the ventral visual stream},
  author={Rust, Nicole C and DiCarlo, James J},
  journal={Journal of Neuroscience}, volume={32}, number={30}, pages={10170--10182}, year={2012},
  doi={10.1523/JNEUROSCI.6125-11.2012}
}"""

data_registry["Rust2012.single"] = BUCKET.assembly(
    "dicarlo.Rust2012.single", sha1="4ef420e70fbd0de3745df5be7c83dfc0a8f2e528", stimuli="Rust2012"
)

data_registry["Rust2012.array"] = BUCKET.assembly(
    "dicarlo.Rust2012.array", sha1="6709b641751370acfccd9567e3d75b71865a71ab", stimuli="Rust2012"
)

stimulus_set_registry["Rust2012"] = BUCKET.stimuli(
    "Rust2012", csv_sha1="482da1f9f4a0ab5433c3b7b57073ad30e45c2bf1", zip_sha1="7cbf5dcec235f7705eaad1cfae202eda77e261a2"
)
