"""Residual networks, in torchvision's versions."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional

__all__ = [
    "BasicBlock",
    "Bottleneck",
    "ResNet",
    "resnet18",
    "resnet18_conv3",
    "resnet18_stl10",
    "resnet18_stride1",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
]

_WIDTHS = (64, 128, 256, 512)


class _ResidualBlock(nn.Module):
    """y = relu(F(x) + shortcut(x)), equation 2 of He et al. (2016); the shortcut is x unless the shape changes."""

    expansion: ClassVar[int] = 1

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out_channels = width * self.expansion
        self.relu = nn.ReLU()
        self._add_residual(channels, width, stride)
        self.downsample: nn.Module | None = None
        if stride != 1 or channels != out_channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels, out_channels, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(out_channels),
            )

    def _add_residual(self, channels: int, width: int, stride: int) -> None:
        raise NotImplementedError

    def _residual(self, inputs: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        shortcut = inputs if self.downsample is None else self.downsample(inputs)
        outputs: torch.Tensor = self.relu(self._residual(inputs) + shortcut)
        return outputs


class BasicBlock(_ResidualBlock):
    """Two convolutions of 3 x 3."""

    def _add_residual(self, channels: int, width: int, stride: int) -> None:
        self.conv1 = nn.Conv2d(channels, width, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, kernel_size=3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def _residual(self, inputs: torch.Tensor) -> torch.Tensor:
        hidden = self.relu(self.bn1(self.conv1(inputs)))
        residual: torch.Tensor = self.bn2(self.conv2(hidden))
        return residual


class Bottleneck(_ResidualBlock):
    """Convolutions of 1 x 1, 3 x 3 (which has the stride, other than in the article) and 1 x 1."""

    expansion = 4

    def _add_residual(self, channels: int, width: int, stride: int) -> None:
        self.conv1 = nn.Conv2d(channels, width, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width * self.expansion, kernel_size=1, bias=False)
        self.bn3 = nn.BatchNorm2d(width * self.expansion)

    def _residual(self, inputs: torch.Tensor) -> torch.Tensor:
        hidden = self.relu(self.bn1(self.conv1(inputs)))
        hidden = self.relu(self.bn2(self.conv2(hidden)))
        residual: torch.Tensor = self.bn3(self.conv3(hidden))
        return residual


class ResNet(nn.Module):
    """A convolution, four stages of residual blocks (`n_blocks` of each) and a classifier.

    Takes pictures (picture, 3, 224, 224), gives (picture, `n_classes`). The stages ``layer1`` to ``layer4`` have 56,
    28, 14 and 7 positions a side.

    References
    ----------
    He et al. (2016), CVPR, https://doi.org/10.1109/CVPR.2016.90
    """

    def __init__(self, block: type[_ResidualBlock], n_blocks: Sequence[int], n_classes: int = 1000) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU()
        self.maxpool: nn.Module = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        channels = 64
        for number, (width, count) in enumerate(zip(_WIDTHS, n_blocks, strict=True), start=1):
            first = block(channels, width, stride=1 if number == 1 else 2)
            channels = width * block.expansion
            others = [block(channels, width, stride=1) for _ in range(count - 1)]
            self.add_module(f"layer{number}", nn.Sequential(first, *others))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc: nn.Module = nn.Linear(channels, n_classes)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        hidden = self.maxpool(self.relu(self.bn1(self.conv1(pictures))))
        for number in range(1, len(_WIDTHS) + 1):
            hidden = self.get_submodule(f"layer{number}")(hidden)
        logits: torch.Tensor = self.fc(self.avgpool(hidden).flatten(1))
        return logits


def resnet18(n_classes: int = 1000) -> ResNet:
    """Return a network of 18 layers; 11,689,512 parameters."""
    return ResNet(BasicBlock, (2, 2, 2, 2), n_classes)


def resnet18_stride1(n_classes: int = 1000) -> ResNet:
    """Return `resnet18` with a first convolution of stride 1: all stages have twice as many positions a side.

    It was published as ``resnet18_fair`` with brainscore-vision 2.4.2, for pictures of 64 x 64 pixels.
    """
    network = resnet18(n_classes)
    network.conv1.stride = (1, 1)
    return network


def resnet18_conv3(n_classes: int = 1000) -> ResNet:
    """Return `resnet18` with a first convolution of 3 x 3 and stride 1, for pictures of 32 x 32 pixels (CIFAR).

    It was published as ``cifar_resnet18_1`` with brainscore-vision 2.4.2, whose pictures have 224 x 224 pixels.
    """
    network = resnet18(n_classes)
    network.conv1 = nn.Conv2d(3, 64, kernel_size=3, padding=1, bias=False)
    return network


class UnitLength(nn.Module):
    """Scale features (picture, feature) to Euclidean length 1 for each picture."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return functional.normalize(features, dim=1)


def resnet18_stl10(n_classes: int = 1000) -> ResNet:
    """Return `resnet18_conv3` without its first pooling, whose ``fc`` gives features of length 1, not `n_classes`.

    It was published as ``pr1_stl10_disentangled_alpha04`` with brainscore-vision 2.4.2, for pictures of 96 x 96 pixels.
    """
    network = resnet18_conv3(n_classes)
    network.maxpool, network.fc = nn.Identity(), UnitLength()
    return network


def resnet34(n_classes: int = 1000) -> ResNet:
    """Return a network of 34 layers; 21,797,672 parameters."""
    return ResNet(BasicBlock, (3, 4, 6, 3), n_classes)


def resnet50(n_classes: int = 1000) -> ResNet:
    """Return a network of 50 layers; 25,557,032 parameters."""
    return ResNet(Bottleneck, (3, 4, 6, 3), n_classes)


def resnet101(n_classes: int = 1000) -> ResNet:
    """Return a network of 101 layers; 44,549,160 parameters."""
    return ResNet(Bottleneck, (3, 4, 23, 3), n_classes)


def resnet152(n_classes: int = 1000) -> ResNet:
    """Return a network of 152 layers; 60,192,808 parameters."""
    return ResNet(Bottleneck, (3, 8, 36, 3), n_classes)
