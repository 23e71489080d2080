"""CORnet-S, a shallow network with recurrence in four areas."""

from collections import OrderedDict

import torch
from torch import nn

__all__ = ["CORnetS", "RecurrentArea"]

_WIDENING = 4  # of the two inner convolutions


class CORnetS(nn.Module):
    """Areas V1, V2, V4 and IT, which run for 1, 2, 4 and 2 steps, and a linear decoder; 53,416,616 parameters.

    Takes pictures (picture, 3, 224, 224), gives (picture, 1000). ``<area>.output`` runs once in each step.

    References
    ----------
    Kubilius, Schrimpf et al. (2019), NeurIPS 32, https://doi.org/10.48550/arXiv.1909.06161
    """

    def __init__(self, n_classes: int = 1000) -> None:
        super().__init__()
        self.V1 = nn.Sequential(
            OrderedDict(
                conv1=nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False),
                norm1=nn.BatchNorm2d(64),
                nonlin1=nn.ReLU(),
                pool=nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
                conv2=nn.Conv2d(64, 64, kernel_size=3, padding=1, bias=False),
                norm2=nn.BatchNorm2d(64),
                nonlin2=nn.ReLU(),
                output=nn.Identity(),
            )
        )
        self.V2 = RecurrentArea(64, 128, steps=2)
        self.V4 = RecurrentArea(128, 256, steps=4)
        self.IT = RecurrentArea(256, 512, steps=2)
        self.decoder = nn.Sequential(
            OrderedDict(
                avgpool=nn.AdaptiveAvgPool2d(1),
                flatten=nn.Flatten(),
                linear=nn.Linear(512, n_classes),
                output=nn.Identity(),
            )
        )

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        logits: torch.Tensor = self.decoder(self.IT(self.V4(self.V2(self.V1(pictures)))))
        return logits


class RecurrentArea(nn.Module):
    """An area whose convolutions run again on their output, with a separate normalisation for each step.

    x_0 is the input after ``conv_input``; x_{t+1} = relu(F_t(x_t) + s_t), where F_t are three convolutions with the
    normalisations of step t. s_t is x_t, except in the first step, which halves the resolution, in F_0 and in s_0 =
    norm_skip(skip(x_0)).
    """

    def __init__(self, channels: int, width: int, steps: int) -> None:
        super().__init__()
        inner = width * _WIDENING
        self.steps = steps
        self.conv_input = nn.Conv2d(channels, width, kernel_size=1, bias=False)
        self.skip = nn.Conv2d(width, width, kernel_size=1, stride=2, bias=False)
        self.norm_skip = nn.BatchNorm2d(width)
        self.conv1 = nn.Conv2d(width, inner, kernel_size=1, bias=False)
        self.nonlin1 = nn.ReLU()
        self.conv2 = nn.Conv2d(inner, inner, kernel_size=3, padding=1, bias=False)
        self.nonlin2 = nn.ReLU()
        self.conv3 = nn.Conv2d(inner, width, kernel_size=1, bias=False)
        self.nonlin3 = nn.ReLU()
        self.output = nn.Identity()
        for step in range(steps):
            self.add_module(f"norm1_{step}", nn.BatchNorm2d(inner))
            self.add_module(f"norm2_{step}", nn.BatchNorm2d(inner))
            self.add_module(f"norm3_{step}", nn.BatchNorm2d(width))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the output of the last step."""
        state: torch.Tensor = self.conv_input(inputs)
        for step in range(self.steps):
            skip = state if step else self.norm_skip(self.skip(state))
            state = self.output(self.nonlin3(self._step(state, step) + skip))
        return state

    def _step(self, state: torch.Tensor, step: int) -> torch.Tensor:
        norm1, norm2, norm3 = (self.get_submodule(f"norm{number}_{step}") for number in (1, 2, 3))
        hidden = self.nonlin1(norm1(self.conv1(state)))
        self.conv2.stride = (1, 1) if step else (2, 2)
        hidden = self.nonlin2(norm2(self.conv2(hidden)))
        result: torch.Tensor = norm3(self.conv3(hidden))
        return result
