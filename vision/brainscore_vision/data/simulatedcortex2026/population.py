"""Compute the responses of simulated populations of neurons to image patches, as pure functions on arrays.

Image -> Gabor quadrature energy -> divisive normalisation: the V1-like population. Random sparse subunits on the
normalised maps -> threshold -> spatial pooling -> normalisation -> sparse mixture -> threshold: the IT-like one. Spike
counts are Poisson. Nothing is fitted to recordings.
"""

from dataclasses import dataclass

import numpy as np

__all__ = [
    "PopulationParameters",
    "expected_counts",
    "gabor_pair",
    "it_drive",
    "normalized_amplitude",
    "poisson_counts",
    "quadrature_energy",
    "time_course",
    "v1_drive",
]


@dataclass(frozen=True, kw_only=True)
class PopulationParameters:
    """Every number of the simulation.

    Attributes
    ----------
    n_orientations
        Preferred orientations, evenly spaced over 180 degrees.
    frequencies
        Preferred spatial frequencies in cycles per patch width.
    bandwidth
        Standard deviation of the Gabor envelope in cycles; 0.5 gives about 1.3 octaves.
    grid
        Side of the lattice of receptive-field centres.
    exponent, semi_saturation
        ``n`` and ``sigma`` of the divisive normalisation, on amplitudes, in units of a typical patch's.
    pool_width
        Standard deviation of the spatial pools in patch widths.
    v1_per_type
        V1 neuroids for each pair of orientation and frequency.
    it_neuroids, it_subunits, it_inputs
        IT neuroids; second-stage features; how many inputs a subunit and a neuroid each draw.
    it_subunit_threshold, it_threshold
        Thresholds in standard deviations of the drive, of a subunit over positions and stimuli, of a neuroid over
        stimuli.
    spontaneous_count, evoked_count
        Expected spikes in the window without drive; their mean increase over the stimuli.
    """

    n_orientations: int = 12
    frequencies: tuple[float, ...] = (3.0, 6.0, 12.0)
    bandwidth: float = 0.5
    grid: int = 8
    exponent: float = 1.0
    semi_saturation: float = 0.3
    pool_width: float = 0.15
    v1_per_type: int = 2
    it_neuroids: int = 96
    it_subunits: int = 10
    it_inputs: int = 4
    it_subunit_threshold: float = 0.5
    it_threshold: float = -2.0
    spontaneous_count: float = 1.0
    evoked_count: float = 4.0
    repetitions: int = 20
    seed: int = 2026


def gabor_pair(
    size_px: int, *, orientation: float, frequency: float, centre: tuple[float, float], bandwidth: float
) -> np.ndarray:
    r"""Return an even and an odd Gabor filter of unit norm and zero mean, shape (2, size_px, size_px).

    .. math:: g(p) = \exp(-|p - c|^2 / 2 s^2) \cos(2 \pi f \, u + \phi), \quad s = b / f, \quad \phi \in \{0, \pi/2\}

    The carrier is modulated in direction `orientation`, radians. The frequency ``f`` is in cycles per patch width, the
    centre ``c``, (row, column), in patch widths; ``b`` is the envelope's standard deviation in cycles.

    References
    ----------
    Daugman (1985), doi:10.1364/JOSAA.2.001160.
    """
    axis = (np.arange(size_px) + 0.5) / size_px
    rows, columns = axis[:, None] - centre[0], axis[None, :] - centre[1]
    envelope = np.exp(-(rows**2 + columns**2) * frequency**2 / (2 * bandwidth**2))
    phase = 2 * np.pi * frequency * (columns * np.cos(orientation) + rows * np.sin(orientation))
    filters = np.stack([envelope * np.cos(phase), envelope * np.sin(phase)])
    # A filter that answers to mean luminance would break the invariance of the pair.
    filters -= envelope * filters.sum(axis=(1, 2), keepdims=True) / envelope.sum()
    return filters / np.linalg.norm(filters, axis=(1, 2), keepdims=True)


def quadrature_energy(images: np.ndarray, parameters: PopulationParameters) -> np.ndarray:
    r"""Return the energy of every quadrature pair, :math:`E = (g_{even} \cdot I)^2 + (g_{odd} \cdot I)^2`.

    Images have shape (n_images, size, size) and luminance 0 to 1; energies have shape (n_images, n_orientations,
    n_frequencies, grid, grid). They are weighted by the squared frequency, as natural images' amplitude falls with it
    (Field 1987).

    References
    ----------
    Adelson and Bergen (1985), doi:10.1364/JOSAA.2.000284.
    Field (1987), doi:10.1364/JOSAA.4.002379.
    """
    n_images, size_px = images.shape[0], images.shape[-1]
    flat = images.reshape(n_images, -1)
    lattice = (np.arange(parameters.grid) + 0.5) / parameters.grid
    shape = (n_images, parameters.n_orientations, len(parameters.frequencies), parameters.grid, parameters.grid)
    energy = np.empty(shape)
    for i in range(parameters.n_orientations):
        for j, frequency in enumerate(parameters.frequencies):
            pairs = np.stack(
                [
                    gabor_pair(
                        size_px,
                        orientation=np.pi * i / parameters.n_orientations,
                        frequency=frequency,
                        centre=(row, column),
                        bandwidth=parameters.bandwidth,
                    )
                    for row in lattice
                    for column in lattice
                ]
            )
            responses = flat @ pairs.reshape(-1, size_px**2).T
            pair_energy = (responses.reshape(n_images, -1, 2) ** 2).sum(axis=-1)
            energy[:, i, j] = frequency**2 * pair_energy.reshape(n_images, parameters.grid, parameters.grid)
    return energy


def normalized_amplitude(energy: np.ndarray, parameters: PopulationParameters) -> np.ndarray:
    r"""Divide amplitudes by their local average over orientations and frequencies.

    .. math:: R_i = \frac{A_i^n}{\sigma^n + \langle A_j^n \rangle_j}, \quad A = \sqrt{E}

    Energies have shape (n_images, n_orientations, n_frequencies, ...), in units of a typical energy; trailing axes are
    positions. Results are 0 (no contrast) to less than the number of orientations times frequencies.

    References
    ----------
    Heeger (1992), doi:10.1017/S0952523800009640. Carandini and Heeger (2012), equation 10, doi:10.1038/nrn3136.
    """
    amplitude = energy ** (parameters.exponent / 2)
    pool = amplitude.mean(axis=(1, 2), keepdims=True)
    return amplitude / (parameters.semi_saturation**parameters.exponent + pool)


def v1_drive(energy: np.ndarray, parameters: PopulationParameters) -> np.ndarray:
    """Return the drive of the V1-like population: complex cells of one hypercolumn at the centre of the patch.

    All cells pool energy (`quadrature_energy`, in units of a typical energy) with one Gaussian window. Shape (n_images,
    n_orientations * n_frequencies * v1_per_type), at least 0; cells of one type are adjacent.
    """
    distance = (np.arange(parameters.grid) + 0.5) / parameters.grid - 0.5
    window = np.exp(-(distance**2) / (2 * parameters.pool_width**2))
    window /= window.sum()
    pooled = np.einsum("nofyx,y,x->nof", energy, window, window)
    drive = normalized_amplitude(pooled, parameters).reshape(len(energy), -1)
    return np.repeat(drive, parameters.v1_per_type, axis=1)


def it_drive(energy: np.ndarray, parameters: PopulationParameters, rng: np.random.Generator) -> np.ndarray:
    """Return the drive of the deeper population: tolerant of position, selective for combinations.

    Each subunit adds :math:`k` random inputs from a 3 x 3 neighbourhood of the normalised maps with random signs, is
    thresholded at every place, and averaged over all; features are divided by their mean over subunits. Each neuroid
    adds :math:`k` features with random weights and is thresholded again.

    References
    ----------
    The cascade follows Riesenhuber and Poggio (1999), doi:10.1038/14819.
    """
    maps = normalized_amplitude(energy, parameters)
    maps = maps - maps.mean(axis=(0, 3, 4), keepdims=True)
    patches = np.lib.stride_tricks.sliding_window_view(maps, (3, 3), axis=(3, 4))
    n_inputs = parameters.it_inputs
    kinds = (parameters.n_orientations, len(parameters.frequencies), 3, 3)
    features = np.empty((len(maps), parameters.it_subunits))
    for unit in range(parameters.it_subunits):
        inputs = np.unravel_index(rng.choice(np.prod(kinds), n_inputs, replace=False), kinds)
        weights = rng.standard_normal(n_inputs)
        drive = sum(
            weight * patches[:, i, j, :, :, row, column]
            for weight, i, j, row, column in zip(weights, *inputs, strict=True)
        )
        threshold = parameters.it_subunit_threshold * drive.std()
        features[:, unit] = np.maximum(drive - threshold, 0).mean(axis=(1, 2)) / drive.std()
    features /= parameters.semi_saturation * features.mean() + features.mean(axis=1, keepdims=True)
    weights = np.zeros((parameters.it_subunits, parameters.it_neuroids))
    for neuroid in range(parameters.it_neuroids):
        weights[rng.choice(parameters.it_subunits, n_inputs, replace=False), neuroid] = rng.standard_normal(n_inputs)
    drive = features @ weights
    standardized = (drive - drive.mean(axis=0)) / drive.std(axis=0)
    return np.maximum(standardized - parameters.it_threshold, 0)


def expected_counts(drive: np.ndarray, parameters: PopulationParameters) -> np.ndarray:
    """Scale a drive to expected spike counts: spontaneous ones, and the same mean evoked count for each neuroid.

    The drive, shape (n_images, n_neuroids), is at least 0, not all 0.
    """
    return parameters.spontaneous_count + parameters.evoked_count * drive / drive.mean(axis=0)


def time_course(early: np.ndarray, late: np.ndarray, n_bins: int = 5) -> np.ndarray:
    """Turn an early pattern of responses into a late one, at equal strides.

    Expected spikes in the window, shape (n_images, n_neuroids), become as many in each bin, the last axis.
    """
    share = np.linspace(0, 1, n_bins)
    return early[..., np.newaxis] * (1 - share) + late[..., np.newaxis] * share


def poisson_counts(expected: np.ndarray, repetitions: int, rng: np.random.Generator) -> np.ndarray:
    """Draw independent Poisson counts by inverting the distribution function; shape (repetitions, *expected.shape).

    Each count takes one random number, so rounding cannot shift later draws. Expected counts are below about 700.

    References
    ----------
    Devroye (1986), Non-Uniform Random Variate Generation, section X.3.3, doi:10.1007/978-1-4613-8643-8.
    """
    uniform = rng.random((repetitions, *expected.shape))
    probability = np.broadcast_to(np.exp(-expected), uniform.shape).copy()
    cumulative = probability.copy()
    counts = np.zeros(uniform.shape)
    k = 0
    # Rounding may stop the sum below a uniform number next to 1.
    open_cells = uniform > cumulative
    while open_cells.any():
        k += 1
        probability *= expected / k
        grown = cumulative + probability
        counts[open_cells] = k
        open_cells &= (uniform > grown) & ((grown > cumulative) | (k <= expected))
        cumulative = grown
    return counts
