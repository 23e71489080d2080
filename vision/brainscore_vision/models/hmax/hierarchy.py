"""HMAX: filters and maxima in turn, from oriented bars to parts of objects.

Sizes, wavelengths and pooling are from table 1 of [1]_. Prototypes are cut from seeded pictures of overlapping discs
with the statistics of scenes [2]_, not from photographs as in the article.

References
----------
.. [1] Serre et al. (2007), https://doi.org/10.1109/TPAMI.2007.56
.. [2] Lee et al. (2001), https://doi.org/10.1023/A:1011109015675
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from brainscore_vision.model_helpers.architectures.gabor import gabor

# Side of the filter, sigma and wavelength (pixels) of each scale; two neighbouring scales make a band.
SCALES = (
    (7, 2.8, 3.5), (9, 3.6, 4.6), (11, 4.5, 5.6), (13, 5.4, 6.8), (15, 6.3, 7.9), (17, 7.3, 9.1), (19, 8.2, 10.3),
    (21, 9.2, 11.5), (23, 10.2, 12.7), (25, 11.3, 14.1), (27, 12.3, 15.4), (29, 13.4, 16.8), (31, 14.6, 18.2),
    (33, 15.8, 19.7), (35, 17.0, 21.2), (37, 18.2, 22.8),
)  # fmt: skip
POOLING = (
    8,
    10,
    12,
    14,
    16,
    18,
    20,
    22,
)  # side of the pooling area of a C1 cell, for each band; neighbours overlap by half
ASPECT_RATIO = 0.3  # sigma over the length of the filter along its bars
N_ORIENTATIONS = 4
PROTOTYPE_SIDES = (4, 8, 12, 16)
_PROTOTYPE_BAND = 1  # the article's: C1 band 2
_SMALLEST_NORM = 1e-3  # lower contrast is not normalised


class HMAX(nn.Module):
    """Four stages; takes grey pictures (picture, 1, S, S) from 0 to 1, gives C2 (picture, prototype).

    S1: |<g, I>| / ||I|| under the filter g (of mean 0 and norm 1), so contrast does not matter.
    C1: the maximum of S1 over the two scales of a band and over positions.
    S2: exp(-beta ||X - P||^2) (equation 4) for a patch X of C1 with all orientations and each prototype P.
    C2: the maximum of S2 over all positions and bands.

    Recorded are ``c1.<band>`` (picture, orientation, row, column), ``s2.<band>`` (picture, unit; the smallest
    prototypes first) and ``c2``. beta, which the article leaves open, is 1 / the mean of ||P - P'||^2 over the
    `n_prototypes` prototypes of one size.
    """

    def __init__(self, n_prototypes: int = 100, seed: int = 0) -> None:
        super().__init__()
        for scale, (size_px, sigma, wavelength) in enumerate(SCALES):
            self.register_buffer(f"filters{scale}", _filters(size_px, sigma, wavelength))
        self.c1 = nn.ModuleList(nn.Identity() for _ in POOLING)
        self.s2 = nn.ModuleList(nn.Identity() for _ in POOLING)
        self.c2 = nn.Identity()
        for side, prototypes in zip(PROTOTYPE_SIDES, self._cut_prototypes(n_prototypes, seed), strict=True):
            self.register_buffer(f"prototypes{side}", prototypes)
            flat = prototypes.flatten(1).double()
            mean_distance = 2 * n_prototypes / (n_prototypes - 1) * flat.var(dim=0, correction=0).sum()
            self.register_buffer(f"beta{side}", 1 / mean_distance.float())

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return C2."""
        strongest = None
        for band in range(len(POOLING)):
            c1 = self.c1[band](self.pool(pictures, band))
            maps = [self.match(c1, side) for side in PROTOTYPE_SIDES]
            self.s2[band](torch.cat([s2.flatten(1) for s2 in maps], dim=1))
            best = torch.cat([s2.amax(dim=(2, 3)) for s2 in maps], dim=1)
            strongest = best if strongest is None else torch.maximum(strongest, best)
        return self.c2(strongest)

    def filter(self, pictures: torch.Tensor, scale: int) -> torch.Tensor:
        """Return S1 (picture, orientation, row, column) of a scale."""
        filters = self.get_buffer(f"filters{scale}")
        margin = filters.shape[-1] // 2
        column = torch.ones_like(filters[:1, :, :, :1])
        rows = functional.conv2d(pictures**2, column, padding=(margin, 0))  # the sum over a square is separable
        energy = functional.conv2d(rows, column.mT, padding=(0, margin))
        matched = functional.conv2d(pictures, filters, padding=margin).abs()
        return matched / energy.sqrt().clamp(min=_SMALLEST_NORM)

    def pool(self, pictures: torch.Tensor, band: int) -> torch.Tensor:
        """Return C1 (picture, orientation, row, column) of a band."""
        s1 = torch.maximum(self.filter(pictures, 2 * band), self.filter(pictures, 2 * band + 1))
        return functional.max_pool2d(s1, kernel_size=POOLING[band], stride=POOLING[band] // 2)

    def match(self, c1: torch.Tensor, side: int) -> torch.Tensor:
        """Return S2 (picture, prototype, row, column) for the prototypes of one size."""
        prototypes, beta = self.get_buffer(f"prototypes{side}"), self.get_buffer(f"beta{side}")
        patch_energy = functional.conv2d(c1**2, torch.ones_like(prototypes[:1]))
        prototype_energy = (prototypes**2).sum(dim=(1, 2, 3))[:, None, None]
        distance = patch_energy - 2 * functional.conv2d(c1, prototypes) + prototype_energy
        return torch.exp(-beta * distance.clamp(min=0))

    def _cut_prototypes(self, n_prototypes: int, seed: int) -> list[torch.Tensor]:
        random = np.random.default_rng(seed)
        pictures = torch.stack([dead_leaves(random) for _ in range(max(1, n_prototypes // 5))])
        with torch.no_grad():
            c1 = self.pool(pictures, _PROTOTYPE_BAND)
        cut = []
        for side in PROTOTYPE_SIDES:
            places = random.integers(
                [c1.shape[0], c1.shape[2] - side + 1, c1.shape[3] - side + 1], size=(n_prototypes, 3)
            )
            cut.append(torch.stack([c1[n, :, row : row + side, column : column + side] for n, row, column in places]))
        return cut


def dead_leaves(random: np.random.Generator, side_px: int = 224, n_leaves: int = 400) -> torch.Tensor:
    """Return a picture (1, side, side) of overlapping discs of random grey; radii r have a density of r^-3."""
    smallest, largest = 3.0, side_px / 2
    uniform = random.random(n_leaves)
    radii = (smallest**-2 + uniform * (largest**-2 - smallest**-2)) ** -0.5
    x, y = random.uniform(0, side_px, size=(2, n_leaves))
    columns, rows = np.meshgrid(np.arange(side_px), np.arange(side_px))
    picture = np.full((side_px, side_px), 0.5)
    for radius, left, top, grey in zip(radii, x, y, random.random(n_leaves), strict=True):
        picture[(columns - left) ** 2 + (rows - top) ** 2 <= radius**2] = grey
    return torch.from_numpy(picture).float()[None]


def _filters(size_px: int, sigma: float, wavelength: float) -> torch.Tensor:
    """Return S1 filters (orientation, 1, row, column) in a circle, of mean 0 and norm 1."""
    steps = torch.arange(size_px) - size_px // 2
    circle = steps[:, None] ** 2 + steps[None, :] ** 2 <= (size_px / 2) ** 2
    filters = []
    for orientation in range(N_ORIENTATIONS):
        wave = gabor(
            size_px,
            frequency=1 / wavelength,
            theta=torch.pi * orientation / N_ORIENTATIONS,
            sigma_x=sigma,
            sigma_y=sigma / ASPECT_RATIO,
        )
        wave = torch.where(circle, wave - wave[circle].mean(), 0)
        filters.append(wave / wave.norm())
    return torch.stack(filters)[:, None]
