"""Measure how fast models of video are recorded from, beside the published system.

Forty-eight pictures of 160 x 160 pixels are shown for one second, at 10 frames per second, to a network of two
convolutions over space and time: as a whole, and causally in clips of four frames. All three layers are recorded, with
nothing cached, on one thread.
"""

from harness import Case, measure_cases, size, timed
from made_up_data import pictures

CASES = {"whole": Case("48 pictures as videos, whole"), "causal": Case("the same, causally in clips of four frames")}


def measure(case, folder):
    """Return the seconds of one way of showing pictures as videos; runs in both systems."""
    import torch

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

    layers = {"early": "CTHW", "late": "CTHW", "fc": "C"}
    options = {"inferencer_cls": TemporalInferencer}
    if case == "causal":
        options = {"inferencer_cls": CausalInferencer, "num_frames": 4}
    wrapper = PytorchWrapper(
        "network", Network(), preprocessing, fps=10, layer_activation_format=layers, max_workers=1, **options
    )
    with timed() as spent:
        wrapper([*map(str, sorted(folder.glob("*.png")))], list(layers), stimuli_identifier=False)
    return spent


if __name__ == "__main__":
    measure_cases(
        __doc__,
        CASES,
        measure,
        prepare=lambda folder: pictures(folder, size(48, 2), 160),
        by="wall_s",
        calls=3,
        RESULTCACHING_DISABLE="1",
    )
