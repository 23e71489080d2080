"""Make a library like this one whose models and benchmarks are made up, for measurements of the real judge and box.

A model takes as long to look as its name says; benchmarks are the mean of its answers to 300 pictures.
"""

import os
from pathlib import Path

import brainscore_vision

MODELS = """
import time
import numpy as np
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision import model_registry
from brainscore_vision.model_interface import BrainModel

class Slow(BrainModel):
    identifier = None

    def __init__(self, identifier, seconds, computes=False):
        self.identifier, self.seconds, self.computes = identifier, seconds, computes
        self.values = np.random.default_rng(0).random((300, 5_000), dtype=np.float32)

    def visual_degrees(self):
        return 8

    def start_recording(self, recording_target, time_bins):
        pass

    def look_at(self, stimuli, number_of_trials=1):
        end = time.process_time() + self.seconds
        if not self.computes:
            time.sleep(self.seconds)
        while self.computes and time.process_time() < end:
            pass
        coords = {name: ("presentation", stimuli[name].to_numpy()) for name in stimuli}
        coords["neuroid_id"] = "neuroid", [f"slow.{unit}" for unit in range(5_000)]
        return NeuroidAssembly(self.values, coords=coords, dims=["presentation", "neuroid"])

model_registry["slow-0"] = lambda: Slow("slow-0", 0)
model_registry["slow-60"] = lambda: Slow("slow-60", 60)
"""
BENCHMARKS = '''
from pathlib import Path
import numpy as np
from PIL import Image
from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import benchmark_registry

class Mean(BenchmarkBase):
    """The mean of the answers to 300 pictures."""

    def __call__(self, candidate):
        names = [f"p{number}" for number in range(300)]
        stimuli = StimulusSet({"stimulus_id": names, "object_name": ["dog", "cat"] * 150})
        folder = Path(__file__).parent
        stimuli.stimulus_paths = {name: folder / f"{name}.png" for name in names}
        for path in stimuli.stimulus_paths.values():
            path.exists() or Image.new("RGB", (224, 224)).save(path)
        candidate.start_recording("IT", [(70, 170)])
        score = Score(float(np.mean(candidate.look_at(stimuli).values)))
        score.attrs.update(raw=score.copy(), ceiling=self.ceiling)
        return score

'''


def make_library(folder: Path, *, n_busy: int = 0, busy_s: float = 5.0, n_benchmarks: int = 1) -> Path:
    """Make the library in an empty folder; return where to import it from.

    Its models are ``slow-0`` and ``slow-60``, and `n_busy` models ``busy-0`` ... that compute for `busy_s` seconds,
    with one thread, to answer once; its benchmarks are ``mean-0`` ..., all of the same pictures.
    """
    package = folder / "brainscore_vision"
    package.mkdir()
    for path in Path(brainscore_vision.__file__).parent.iterdir():
        if path.name not in ("models", "benchmarks", "__pycache__"):
            (package / path.name).symlink_to(path)
    busy = "".join(
        f'model_registry["busy-{n}"] = lambda: Slow("busy-{n}", {busy_s}, computes=True)\n' for n in range(n_busy)
    )
    means = "".join(
        f'benchmark_registry["mean-{n}"] = lambda: Mean("mean-{n}", ceiling=1.0, version=1)\n'
        for n in range(n_benchmarks)
    )
    for kind, source in (("models", MODELS + busy), ("benchmarks", BENCHMARKS + means)):
        (package / kind / "made_up").mkdir(parents=True)
        (package / kind / "made_up" / "__init__.py").write_text(source, encoding="utf-8")
    return folder


def environment_of(library: Path) -> dict[str, str]:
    """Return the variables of processes that use the library, as users have them: they may write byte code."""
    paths = [str(library), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    own = {"PYTHONPATH": os.pathsep.join(paths), "BRAINSCORE_OFFLINE": "1", "BRAINSCORE_HOME": f"{library}/home"}
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**given, **own}
