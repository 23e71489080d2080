"""Register human fMRI responses to animals, objects, and objects that look like animals (Bracci et al. 2019).

27 conditions, patterns of all subjects side by side along neuroid: ``subject``, ``voxels``, and ``roi``, which is 0 in
V1, 1 in posterior and 2 in anterior ventral temporal cortex.
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainio-brainscore", NeuroidAssembly)

BIBTEX = """@article{bracci2019ventral,
  title={The ventral visual pathway represents animal appearance over animacy, unlike human behavior and deep neural
    networks},
  author={Bracci, Stefania and Ritchie, J Brendan and Kalfas, Ioannis and Op de Beeck, Hans P},
  journal={Journal of Neuroscience}, volume={39}, number={33}, pages={6513--6525}, year={2019},
  doi={10.1523/JNEUROSCI.1714-18.2019}
}"""

stimulus_set_registry["Bracci2019"] = BUCKET.stimuli(
    "Bracci2019",
    csv_sha1="05b1af9b8e6ed478ea49339e11b0024c2da8c35f",
    zip_sha1="a79b249e758421f46ec781301cd4b498f64853ce",
)
# Without stimuli, as it is published; its benchmarks load them.
data_registry["Bracci2019"] = BUCKET.assembly("Bracci2019", sha1="cbec165bb20f09d0527fddba7cfbf115a396a2f3")
