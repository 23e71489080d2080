"""VGG-16, in the version that torchvision publishes weights for."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

__all__ = ["VGG16"]

_WIDTHS = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


class VGG16(nn.Module):
    """Thirteen convolutions of 3 x 3 in five stages and three fully connected layers; 138,357,544 parameters.

    Configuration D of [1]_. Takes pictures (picture, 3, 224, 224), gives (picture, 1000). The stages end with
    ``features.4``, ``9``, ``16``, ``23`` and ``30``, whose resolution is 112, 56, 28, 14 and 7.

    References
    ----------
    .. [1] Simonyan & Zisserman (2015), ICLR, https://doi.org/10.48550/arXiv.1409.1556
    """

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(*_stages())
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(4096, 4096),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(4096, 1000),
        )

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return the logits of the classes."""
        pooled = self.avgpool(self.features(pictures))
        logits: torch.Tensor = self.classifier(pooled.flatten(1))
        return logits


def _stages() -> Iterator[nn.Module]:
    channels = 3
    for widths in _WIDTHS:
        for width in widths:
            yield nn.Conv2d(channels, width, kernel_size=3, padding=1)
            yield nn.ReLU()
            channels = width
        yield nn.MaxPool2d(kernel_size=2, stride=2)
