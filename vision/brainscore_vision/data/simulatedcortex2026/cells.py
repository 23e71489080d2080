"""Show gratings to simulated cells of V1, and find their preferred orientations.

A cell is the energy of a quadrature pair, divided by its semi-saturation (see `population`). Most cells at the place of
the gratings prefer orientations near 30 degrees, cells elsewhere near 120: choosing the wrong cells is then visible.
"""

import itertools
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from brainscore_core.config import settings
from brainscore_core.files import atomic_directory, locked
from brainscore_core.identity.digest import content_digest
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, PropertyAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_vision.metric_helpers.arrays.tuning import calc_preferred_orientation

from . import dataset, population

__all__ = ["KINDS", "draw_grating", "load_gratings", "load_preferences", "load_truth"]

SIZE_PX = 64
DEGREES = 8.0
PLACE = 0.5  # place of the gratings, degrees right of and below the centre
_EIGHT = tuple(np.arange(0, 180, 22.5))
CONDITIONS = ("position_y", "position_x", "contrast", "radius", "spatial_frequency", "orientation", "phase")
# Levels of `CONDITIONS` in each set: degrees, cycles per degree, degrees of angle; all combinations.
KINDS: dict[str, tuple[tuple[float, ...], ...]] = {
    "blank": ((PLACE,), (PLACE,), (0.0,), (1.0,), (1.0,), (0.0,), (0.0,)),
    "receptive_field": (
        (-0.5, 0.0, 0.5, 1.0, 1.5),
        (-0.5, 0.0, 0.5, 1.0, 1.5),
        (1.0,),
        (0.25,),
        (2.0,),
        _EIGHT[::2],
        (0.0, 90.0),
    ),
    "orientation": ((PLACE,), (PLACE,), (1.0,), (1.5,), (1.0, 2.0), _EIGHT, (0.0, 90.0, 180.0, 270.0)),
}
N_RECORDED = 240
N_OTHERS = 500  # the cells of another animal
N_ELSEWHERE = 100  # of them, the last ones
NUMBER_OF_TRIALS = 20
WINDOW_S = 0.1
BANDWIDTH = 0.5  # see `population`
BINS = np.linspace(0, 180, 13)
SEED = 2026


def load_gratings(kind: str) -> StimulusSet:
    """Load one set of gratings, a key of `KINDS`, drawing it on first use.

    Images have 64 x 64 pixels, and the columns `CONDITIONS`, ``degrees`` (8) and ``filename``, in the order of
    conditions, phases fastest. Places are degrees below and right of the centre of the image.
    """
    folder = settings().cache_home / "simulatedcortex2026" / f"{kind}-{content_digest(Path(__file__))}"
    rows = np.array(list(itertools.product(*KINDS[kind])))
    names = [f"{kind}_{number:03d}" for number in range(len(rows))]
    with locked(folder):
        if not all((folder / f"{name}.png").is_file() for name in names):
            shutil.rmtree(folder, ignore_errors=True)
            with atomic_directory(folder) as temporary:
                for name, row in zip(names, rows, strict=True):
                    pixels = draw_grating(**dict(zip(CONDITIONS, row, strict=True)))
                    Image.fromarray(np.round(255 * pixels).astype(np.uint8)).save(temporary / f"{name}.png")
                table = {"stimulus_id": names} | dict(zip(CONDITIONS, rows.T, strict=True))
                table |= {"degrees": [DEGREES] * len(rows), "filename": [f"{name}.png" for name in names]}
                pd.DataFrame(table).to_csv(temporary / "stimuli.csv", index=False)
    stimuli = StimulusSet.from_files(folder / "stimuli.csv", folder)
    stimuli.identifier = f"{dataset.IDENTIFIER}.{kind}"
    return stimuli


def draw_grating(
    *,
    position_y: float,
    position_x: float,
    contrast: float,
    radius: float,
    spatial_frequency: float,
    orientation: float,
    phase: float,
) -> np.ndarray:
    """Draw a grating in a round aperture on grey; shape (SIZE_PX, SIZE_PX), luminance 0 to 1.

    It modulates in the direction ``orientation``, degrees from rightwards to downwards; units as in `KINDS`.
    """
    axis = ((np.arange(SIZE_PX) + 0.5) / SIZE_PX - 0.5) * DEGREES
    down, right = axis[:, None] - position_y, axis[None, :] - position_x
    along = right * np.cos(np.deg2rad(orientation)) + down * np.sin(np.deg2rad(orientation))
    wave = contrast * np.cos(2 * np.pi * spatial_frequency * along + np.deg2rad(phase))
    return 0.5 + 0.5 * wave * (right**2 + down**2 <= radius**2)


def load_preferences() -> PropertyAssembly:
    """Load the preferred orientations of 240 cells, degrees, 0 to 180, from the spikes in 20 trials of 100 ms."""
    wiring, spiking = (np.random.default_rng(seed) for seed in np.random.SeedSequence(SEED).spawn(2))
    stimuli = load_gratings("orientation")
    rates = _rates(_pixels(stimuli), _draw_cells(N_RECORDED, wiring, n_elsewhere=0))
    counts = population.poisson_counts(rates * WINDOW_S, NUMBER_OF_TRIALS, spiking).mean(axis=0)
    frequencies, orientations, phases = KINDS["orientation"][-3:]
    curves = counts.reshape(len(frequencies), len(orientations), len(phases), -1).mean(axis=(0, 2)).T
    preferred = calc_preferred_orientation(curves, orientations)
    return PropertyAssembly(
        preferred[:, np.newaxis],
        coords={
            "neuroid_id": ("neuroid", [f"simulated-cell-{number:03d}" for number in range(N_RECORDED)]),
            "region": ("neuroid", ["V1"] * N_RECORDED),
            "simulated": ("neuroid", [True] * N_RECORDED),
            "neuronal_property": ["preferred_orientation"],
        },
        dims=["neuroid", "neuronal_property"],
        attrs={
            "identifier": f"{dataset.IDENTIFIER}.preferences",
            "stimulus_set": stimuli,
            "stimulus_set_identifier": stimuli.identifier,
            "preferred_orientation_bins": BINS.tolist(),
            "number_of_trials": NUMBER_OF_TRIALS,
            "simulated": True,
            "seed": SEED,
        },
    )


def load_truth() -> NeuroidAssembly:
    """Load the expected rates of 500 other cells, drawn from the same distributions, to all gratings.

    Spikes per second, dims (presentation, neuroid). The receptive fields of the last 100 are elsewhere.
    """
    sets = [load_gratings(kind) for kind in KINDS]
    cells = _draw_cells(N_OTHERS, np.random.default_rng(SEED + 1), n_elsewhere=N_ELSEWHERE)
    columns = ("stimulus_id", *CONDITIONS)
    coords = {
        name: ("presentation", np.concatenate([stimulus_set[name].to_numpy() for stimulus_set in sets]))
        for name in columns
    }
    coords |= {
        "neuroid_id": ("neuroid", np.array([f"simulated-other-{number:03d}" for number in range(N_OTHERS)])),
        "region": ("neuroid", np.array(["V1"] * N_OTHERS)),
        "simulated": ("neuroid", np.full(N_OTHERS, fill_value=True)),
    }
    rates = np.concatenate([_rates(_pixels(stimulus_set), cells) for stimulus_set in sets])
    attrs = {"identifier": f"{dataset.IDENTIFIER}.preferences.truth", "simulated": True, "units": "spikes per second"}
    return NeuroidAssembly(rates, coords=coords, dims=["presentation", "neuroid"], attrs=attrs)


def _draw_cells(n: int, rng: np.random.Generator, *, n_elsewhere: int) -> dict[str, np.ndarray]:
    """Draw place (degrees), orientation (degrees), frequency (cycles per degree), gain and spontaneous rate."""
    here = np.arange(n) < n - n_elsewhere
    corners = np.array([[-0.5, -0.5], [-0.5, 1.5], [1.5, -0.5], [1.5, 1.5]])
    return {
        "place": np.where(here[:, None], PLACE, corners[rng.integers(len(corners), size=n)]),
        "orientation": (np.where(here, 30, 120) + rng.normal(0, 15, n)) % 180,
        "frequency": 2.0 ** rng.uniform(0, 1, n),
        "gain": rng.lognormal(np.log(50), 0.4, n),
        "spontaneous": rng.exponential(1.0, n),
    }


def _rates(images: np.ndarray, cells: dict[str, np.ndarray]) -> np.ndarray:
    """Return spikes per second, shape (n_images, n_cells)."""
    flat = images.reshape(len(images), -1)
    rates = np.empty((len(images), len(cells["gain"])))
    for number, (place, orientation, frequency, gain, spontaneous) in enumerate(
        zip(*(cells[name] for name in ("place", "orientation", "frequency", "gain", "spontaneous")), strict=True)
    ):
        pair = population.gabor_pair(
            SIZE_PX,
            orientation=np.deg2rad(orientation),
            frequency=frequency * DEGREES,
            centre=tuple(0.5 + place / DEGREES),
            bandwidth=BANDWIDTH,
        )
        energy = ((flat @ pair.reshape(2, -1).T) ** 2).sum(axis=1)
        # The response to its own grating at full contrast: pi / 2 times the squared width of its envelope.
        own = np.pi / 2 * (BANDWIDTH / frequency * SIZE_PX / DEGREES) ** 2
        rates[:, number] = spontaneous + gain * energy / own
    return rates


def _pixels(stimuli: StimulusSet) -> np.ndarray:
    """Return luminance, shape (n_images, SIZE_PX, SIZE_PX), 0 to 1."""
    pictures = []
    for name in stimuli["stimulus_id"]:
        with Image.open(stimuli.get_stimulus(name)) as image:
            pictures.append(np.asarray(image) / 255)
    return np.stack(pictures)
