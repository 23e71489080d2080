"""AlexNet, in torchvision's and TF-Slim's versions for one processor."""

import torch
from torch import nn

__all__ = ["AlexNet", "AlexNetV2"]


class AlexNet(nn.Module):
    """Five convolutions and three fully connected layers; 61,100,840 parameters.

    Takes pictures (picture, 3, 224, 224), gives (picture, 1000). Widths are those of [2]_, without the local response
    normalisation of [1]_.

    References
    ----------
    .. [1] Krizhevsky et al. (2012), NeurIPS 25.
    .. [2] Krizhevsky (2014), https://doi.org/10.48550/arXiv.1404.5997
    """

    def __init__(self, n_classes: int = 1000) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(64, 192, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(192, 384, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(384, 256, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(256, 256, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(6)
        self.classifier = nn.Sequential(
            nn.Dropout(),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(4096, 4096),
            nn.ReLU(),
            nn.Linear(4096, n_classes),
        )

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return the logits of the classes."""
        pooled = self.avgpool(self.features(pictures))
        logits: torch.Tensor = self.classifier(pooled.flatten(1))
        return logits


class AlexNetV2(nn.Module):
    """`AlexNet` of TF-Slim: the last layers are convolutions, the first has no padding, ``features.8`` is wider.

    Takes pictures (picture, 3, 224, 224), gives (picture, `n_classes`). Mehrer et al. (2020), Nature Communications 11,
    https://doi.org/10.1038/s41467-020-19632-w, trained it from ten seeds.
    """

    def __init__(self, n_classes: int = 1000) -> None:
        super().__init__()
        features = AlexNet().features
        features[0] = nn.Conv2d(3, 64, kernel_size=11, stride=4)
        features[8] = nn.Conv2d(384, 384, kernel_size=3, padding=1)
        features[10] = nn.Conv2d(384, 256, kernel_size=3, padding=1)
        self.features = features
        self.classifier = nn.Sequential(
            nn.Conv2d(256, 4096, kernel_size=5),
            nn.ReLU(),
            nn.Dropout(),
            nn.Conv2d(4096, 4096, kernel_size=1),
            nn.ReLU(),
            nn.Dropout(),
            nn.Conv2d(4096, n_classes, kernel_size=1),
        )

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return the logits of the classes."""
        logits: torch.Tensor = self.classifier(self.features(pictures))
        return logits.flatten(1)
