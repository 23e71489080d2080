import numpy as np
import pytest
import torch
from torch import nn


class SmallNet(nn.Module):
    """A network of two blocks and a classifier."""

    def __init__(self, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.stem = nn.Conv2d(3, 4, 4, stride=4)
        self.blocks = nn.Sequential(*(nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU()) for _ in range(2)))
        self.fc = nn.Linear(4, 10)

    def forward(self, images):
        return self.fc(self.blocks(self.stem(images)).mean((2, 3)))


@pytest.fixture
def small_net():
    return SmallNet


@pytest.fixture
def stimuli(write_stimuli):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 32, 32, 3))
    return write_stimuli({f"s{number}": each for number, each in enumerate(pixels)})
