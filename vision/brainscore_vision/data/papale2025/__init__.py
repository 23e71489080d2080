"""Register multi-unit activity from V1, V4 and IT of two macaques that saw images of THINGS (Papale et al. 2025).

Training: 22,248 images, once each. Test: 100 images, 30 times each. 2,048 sites, including those that no image drives
(see ``reliability``).
"""

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import data_registry, stimulus_set_registry
from brainscore_vision.data_helpers import Bucket

BUCKET = Bucket("brainscore-storage/brainscore-vision/benchmarks/Papale2025", NeuroidAssembly)

BIBTEX = """@article{papale_extensive_2025,
  title={An extensive dataset of spiking activity to reveal the syntax of the ventral stream},
  author={Papale, Paolo and Wang, Feng and Self, Matthew W. and Roelfsema, Pieter R.},
  journal={Neuron}, volume={113}, year={2025}, doi={10.1016/j.neuron.2024.12.003}
}"""

stimulus_set_registry["Papale2025_stim_train"] = BUCKET.stimuli(
    "THINGS_TVSD_train_Stimuli",
    csv_sha1="4a094a7e4c2408abc333ba610215a7c30277d904",
    zip_sha1="0a97a7952097800207a23fe73281c256dfc90902",
    csv_version_id="kCt7PZx9jxXDrRhyow9y8hDUUDFAAp._",
    zip_version_id="S.DCjiAaGQ6PjCUs4QugwsHaZa9YiEuV",
)
stimulus_set_registry["Papale2025_stim_test"] = BUCKET.stimuli(
    "THINGS_TVSD_test_Stimuli",
    csv_sha1="b08c1c560f008cf3fb2982c22c881ea8ffce0410",
    zip_sha1="dfd6e8769414505afbf51de3ab207cb7a3cf49d6",
    csv_version_id="gEGUgT7PJB8z3roRkTiJ6zriSuehd2DI",
    zip_version_id="AGNDfuS5nyIjTuXrM4hWFze.sWM9py2Z",
)

data_registry["Papale2025_train"] = BUCKET.assembly(
    "THINGS_TVSD_train_Assembly",
    sha1="97e3e9ed2280441a30fa5c33e8537db1b45a9da8",
    version_id="q3sE0RZ5Fuq0C6vTVIiF48AsvG40.b7l",
    stimuli="Papale2025_stim_train",
)
data_registry["Papale2025_test"] = BUCKET.assembly(
    "THINGS_TVSD_test_Assembly",
    sha1="685025f67e90006e775ac153e8e0007e35b62bbc",
    version_id="XK0CVCAzfHNOrKgmNrLqFfwvs_gSWKb.",
    stimuli="Papale2025_stim_test",
)
