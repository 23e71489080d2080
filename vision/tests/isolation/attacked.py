import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from brainscore_core.benchmarks import BenchmarkBase
from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision import benchmark_registry


class Attacked(BenchmarkBase):
    def __init__(self, attack, metric=None, compute=np.mean):
        super().__init__(f"attacked-{metric or attack}", ceiling=1.0, version=1)
        self.attack, self.compute = attack, compute

    def __call__(self, candidate):
        with tempfile.TemporaryDirectory() as folder:
            stimuli = StimulusSet({"stimulus_id": ["a", "b", "c"]})
            stimuli.stimulus_paths = {name: Path(folder) / f"{name}.png" for name in "abc"}
            for path in stimuli.stimulus_paths.values():
                Image.new("RGB", (8, 8)).save(path)
            # A test may write the target of the attack next to this file.
            target = Path(__file__).with_name("target.txt")
            values = []
            for attack in self.attack.split("+"):
                candidate.start_recording(f"{attack}:{target.read_text() if target.exists() else ''}", [(0, 100)])
                values.append(candidate.look_at(stimuli).values)
        score = Score(float(sum(map(self.compute, values))) / 1000)  # files have hundreds of bytes, scores are about 1
        score.attrs.update(raw=score.copy(), ceiling=self.ceiling)
        return score


benchmark_registry["attacked-changes_libraries"] = lambda: Attacked("changes_libraries")
benchmark_registry["attacked-permuted"] = lambda: Attacked("permuted")
benchmark_registry["attacked-forges"] = lambda: Attacked("forges")
benchmark_registry["attacked-writes_garbage"] = lambda: Attacked("writes_garbage")
benchmark_registry["attacked-raises"] = lambda: Attacked("raises")
benchmark_registry["attacked-is_silent"] = lambda: Attacked("is_silent")
benchmark_registry["attacked-honest"] = lambda: Attacked("honest")
benchmark_registry["attacked-draws"] = lambda: Attacked("draws")
benchmark_registry["attacked-both"] = lambda: Attacked("draws+honest", "both")
benchmark_registry["attacked-largest"] = lambda: Attacked("draws", "largest", np.max)
