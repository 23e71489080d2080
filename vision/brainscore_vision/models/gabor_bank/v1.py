"""Primary visual cortex as a bank of Gabor filters with the tuning of recorded neurons: the front end of VOneNets.

It follows publications, with other random numbers: orientations after [1]_, preferred spatial frequencies after [2]_,
sizes of receptive fields after [3]_, their correlation and the arithmetic of simple and complex cells after [4]_.

References
----------
.. [1] De Valois, Yund & Hepler (1982), https://doi.org/10.1016/0042-6989(82)90112-2
.. [2] De Valois, Albrecht & Thorell (1982), https://doi.org/10.1016/0042-6989(82)90113-4
.. [3] Ringach (2002), https://doi.org/10.1152/jn.2002.88.1.455
.. [4] Dapello, Marques et al. (2020), NeurIPS 33, https://doi.org/10.1101/2020.06.16.154542
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import ndtr
from torch import nn

from brainscore_vision.model_helpers.architectures.gabor import gabor

# Neurons in bins around 0, 45, 90 and 135 degrees; by spatial frequency, cycles per degree; and by the size of their
# receptive fields in periods of the grating, along it (rows) and along its bars (columns).
ORIENTATION_COUNTS = (66, 49, 77, 54)
FREQUENCY_EDGES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6)
FREQUENCY_COUNTS = (4, 4, 8, 25, 32, 26, 28)
SIZE_EDGES = tuple(10 ** np.linspace(-1, 0.2, 6))
SIZE_COUNTS = (
    (2, 0, 1, 0, 0),
    (8, 9, 4, 1, 0),
    (1, 2, 19, 17, 3),
    (0, 0, 1, 7, 4),
)  # no neuron has the largest size along it
SIZE_FREQUENCY_CORRELATION = 0.75


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Preferences of cells, arrays (cell,).

    Attributes
    ----------
    frequency
        Cycles per degree, .5 to 5.6.
    theta
        Direction of change of the preferred grating, radians, 0 to pi.
    phase
        Radians, 0 to 2 pi.
    size_x, size_y
        Standard deviation of the receptive field along the grating and along its bars, in periods of the grating.
    colour
        The only channel (red 0, green 1, blue 2) that the cell sees.
    """

    frequency: np.ndarray
    theta: np.ndarray
    phase: np.ndarray
    size_x: np.ndarray
    size_y: np.ndarray
    colour: np.ndarray


def draw_tuning(n_cells: int, seed: int) -> Tuning:
    """Draw cells from the published distributions.

    Size along the grating and frequency are correlated through a Gaussian copula; the size along the bars depends on
    the bin of the size along the grating. Within a bin values (logarithms of sizes and frequencies) are equally likely.
    """
    random = np.random.default_rng(seed)
    correlation = [[1, SIZE_FREQUENCY_CORRELATION], [SIZE_FREQUENCY_CORRELATION, 1]]
    ranks = ndtr(random.multivariate_normal([0, 0], correlation, size=n_cells))
    counts = np.asarray(SIZE_COUNTS)
    size_edges = np.log(SIZE_EDGES)
    size_x = _quantile(ranks[:, 0], size_edges[:-1], counts.sum(axis=1))
    bins = np.clip(np.searchsorted(size_edges, size_x, side="right") - 1, 0, len(counts) - 1)
    uniform = random.random(n_cells)
    size_y = np.asarray([_quantile(rank, size_edges, counts[index]) for rank, index in zip(uniform, bins, strict=True)])
    degrees = _quantile(random.random(n_cells), np.arange(-22.5, 180, 45), ORIENTATION_COUNTS)
    return Tuning(
        frequency=np.exp(_quantile(ranks[:, 1], np.log(FREQUENCY_EDGES), FREQUENCY_COUNTS)),
        theta=np.deg2rad(degrees % 180),
        phase=random.uniform(0, 2 * np.pi, n_cells),
        size_x=np.exp(size_x),
        size_y=np.exp(size_y),
        colour=random.integers(3, size=n_cells),
    )


def _quantile(ranks, edges, counts) -> np.ndarray:
    """Return the values at ranks (0 to 1) of a distribution that is flat within each bin."""
    return np.interp(ranks, np.concatenate([[0], np.cumsum(counts) / np.sum(counts)]), edges)


class GaborBank(nn.Module):
    """Simple and complex cells at every position; simple ones are rectified, complex ones are energies.

    s = 25 relu(g_0 * I), c = 25 sqrt((g_0 * I)^2 + (g_90 * I)^2) / sqrt(2), where g_0 and g_90 are Gabor functions a
    quarter of a period apart, whose Gaussian has unit volume. Takes pictures (picture, 3, S, S), grey is 0,
    gives (picture, cell, S / stride, S / stride), simple cells first.

    Parameters
    ----------
    size_px
        Side of the filters; wider receptive fields are cut off.
    noise_seed
        Adds noise with variance equal to the mean, the same for every batch. None: no noise.
    """

    gain = 25.0
    noise_scale, noise_level = 0.35, 0.07  # of the published models: mean spikes in 50 ms, and without a stimulus

    def __init__(
        self,
        n_simple: int = 256,
        n_complex: int = 256,
        *,
        stride_px: int = 4,
        size_px: int = 25,
        px_per_degree: float = 28,
        seed: int = 0,
        noise_seed: int | None = None,
    ) -> None:
        super().__init__()
        self.tuning = draw_tuning(n_simple + n_complex, seed)
        self.n_simple, self.stride_px, self.noise_seed = n_simple, stride_px, noise_seed
        self.register_buffer("even", _filters(self.tuning, size_px, px_per_degree, shift=0))
        self.register_buffer("odd", _filters(self.tuning, size_px, px_per_degree, shift=np.pi / 2)[n_simple:])
        self.simple, self.complex, self.output = nn.ReLU(), nn.Identity(), nn.Identity()

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return the activity of all cells."""
        even = self._filter(pictures, self.even)
        odd = self._filter(pictures, self.odd)
        simple = self.simple(even[:, : self.n_simple])
        energy = even[:, self.n_simple :] ** 2 + odd**2
        complex_ = self.complex(torch.sqrt(energy / 2))
        mean = self.gain * torch.cat([simple, complex_], dim=1)
        return self.output(mean if self.noise_seed is None else self._noisy(mean, self.noise_seed))

    def _filter(self, pictures: torch.Tensor, filters: torch.Tensor) -> torch.Tensor:
        return nn.functional.conv2d(pictures, filters, stride=self.stride_px, padding=filters.shape[-1] // 2)

    def _noisy(self, mean: torch.Tensor, seed: int) -> torch.Tensor:
        noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(seed)).to(mean.device)
        spikes = self.noise_scale * mean + self.noise_level
        return ((spikes + noise * torch.sqrt(spikes) - self.noise_level) / self.noise_scale).clamp(min=0)


def _filters(tuning: Tuning, size_px: int, px_per_degree: float, shift: float) -> torch.Tensor:
    """Return Gabor functions (cell, colour, row, column) of unit volume under the Gaussian."""
    filters = torch.zeros(len(tuning.frequency), 3, size_px, size_px)
    for cell, (degrees, theta, phase, size_x, size_y, colour) in enumerate(
        zip(tuning.frequency, tuning.theta, tuning.phase, tuning.size_x, tuning.size_y, tuning.colour, strict=True)
    ):
        frequency = degrees / px_per_degree
        sigma_x, sigma_y = size_x / frequency, size_y / frequency
        wave = gabor(size_px, frequency=frequency, theta=theta, sigma_x=sigma_x, sigma_y=sigma_y, phase=phase + shift)
        filters[cell, colour] = wave / (2 * np.pi * sigma_x * sigma_y)
    return filters
