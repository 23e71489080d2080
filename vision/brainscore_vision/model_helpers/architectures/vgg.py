"""VGG-16 and VGG-19, in torchvision's versions."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import nn

__all__ = ["VGG16", "VGG19"]

_WIDTHS = (64, 128, 256, 512, 512)


class VGG16(nn.Module):
    """Thirteen convolutions of 3 x 3 in five stages and three fully connected layers; 138,357,544 parameters.

    Configuration D of [1]_. Takes pictures (picture, 3, 224, 224), gives (picture, 1000). The stages end with
    ``features.4``, ``9``, ``16``, ``23`` and ``30``, whose resolution is 112, 56, 28, 14 and 7.

    References
    ----------
    .. [1] Simonyan & Zisserman (2015), ICLR, https://doi.org/10.48550/arXiv.1409.1556
    """

    n_convolutions: ClassVar[Sequence[int]] = (2, 2, 3, 3, 3)  # of each stage

    def __init__(self, n_classes: int = 1000) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for width, count in zip(_WIDTHS, self.n_convolutions, strict=True):
            for _ in range(count):
                layers += [nn.Conv2d(channels, width, kernel_size=3, padding=1), nn.ReLU()]
                channels = width
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(4096, 4096),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(4096, n_classes),
        )

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        pooled = self.avgpool(self.features(pictures))
        logits: torch.Tensor = self.classifier(pooled.flatten(1))
        return logits


class VGG19(VGG16):
    """Sixteen convolutions, configuration E; 143,667,240 parameters. The stages end with 4, 9, 18, 27 and 36."""

    n_convolutions = (2, 2, 4, 4, 4)
