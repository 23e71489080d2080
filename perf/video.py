"""Measure how fast models of video are recorded from, beside the published system.

    python perf/video.py
    python perf/video.py --peer .nox/peer/bin/python

Forty-eight pictures of 160 x 160 pixels are shown for one second, at 10 frames per second, to a network of two
convolutions over space and time: as a whole, and causally in clips of four frames. All three layers are recorded, with
nothing cached, on one thread; best of three. Prints seconds, and how many times faster than the published system.
"""

import sys
import tempfile
from pathlib import Path

from harness import ask, options_of, say, timed

N_PICTURES = 48
REPEATS = 3


def measure():
    """Return the seconds of each way of showing pictures as videos; runs in both systems."""
    import numpy as np
    import torch
    from PIL import Image

    from brainscore_vision.model_helpers.activations.temporal.core import CausalInferencer, TemporalInferencer
    from brainscore_vision.model_helpers.activations.temporal.model import PytorchWrapper

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.early = torch.nn.Conv3d(3, 8, 3, stride=2, padding=1)
            self.late = torch.nn.Conv3d(8, 16, 3, stride=2, padding=1)
            self.fc = torch.nn.Linear(16, 10)

        def forward(self, clips):
            return self.fc(self.late(torch.relu(self.early(clips))).mean((2, 3, 4)))

    def preprocessing(video):
        return torch.Tensor(video.to_numpy() / 255.0).permute(3, 0, 1, 2)

    torch.set_num_threads(1)
    layers = {"early": "CTHW", "late": "CTHW", "fc": "C"}
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        paths = [str(Path(folder) / f"{number}.png") for number in range(N_PICTURES)]
        for path in paths:
            Image.fromarray(rng.integers(0, 256, (160, 160, 3), dtype=np.uint8)).save(path)
        for name, inferencer, options in (
            ("whole", TemporalInferencer, {}),
            ("causal", CausalInferencer, {"num_frames": 4}),
        ):
            wrapper = PytorchWrapper(
                "network", Network(), preprocessing, inferencer_cls=inferencer, fps=10, layer_activation_format=layers,
                max_workers=1, **options,
            )  # fmt: skip
            times = []
            for _ in range(REPEATS):
                with timed() as spent:
                    wrapper(paths, list(layers), stimuli_identifier=False)
                times.append(spent["wall_s"])
            seconds[name] = min(times)
    return seconds


def main():
    """Measure and print."""
    options = options_of(__doc__, ())
    if options.measure:
        say(measure())
        return
    uncached = {"RESULTCACHING_DISABLE": "1"}
    ours = ask(sys.executable, __file__, "--measure", "video", **uncached)
    published = ask(options.peer, __file__, "--measure", "video", **uncached) if options.peer else {}
    for name, seconds in ours.items():
        beside = f", published {published[name]:.2f} s: {published[name] / seconds:.2f} times" if published else ""
        print(f"{name}: {seconds:.2f} s for {N_PICTURES} pictures{beside}")


if __name__ == "__main__":
    main()
