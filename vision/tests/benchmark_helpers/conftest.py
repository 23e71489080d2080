import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.benchmark_helpers import properties
from brainscore_vision.model_interface import BrainModel


@pytest.fixture(scope="session")
def make_recordings():
    """Label values of shape (presentation, neuroid[, time_bin]); two-dimensional ones are repeated in each time bin."""

    def make(values, *, stimulus_ids=None, time_bins=(), stimulus_set=None, attrs=None, **coords):
        values = np.asarray(values)
        if time_bins and values.ndim == 2:
            values = np.stack([values] * len(time_bins), axis=-1)
        n_stimuli = len(values)
        ids = stimulus_ids if stimulus_set is None else stimulus_set["stimulus_id"].tolist()
        ids = [f"s{i}" for i in range(n_stimuli)] if ids is None else list(ids)
        if time_bins:
            starts, ends = map(list, zip(*time_bins, strict=True))
            coords = {"time_bin_start": ("time_bin", starts), "time_bin_end": ("time_bin", ends), **coords}
        coords = {"object_name": [["x", "y"][i % 2] for i in range(n_stimuli)], **coords}
        known = {} if stimulus_set is None else {"stimulus_set": stimulus_set}
        recorded = assembly_of(values, stimulus_id=ids * (n_stimuli // len(ids)), **coords)
        return recorded.assign_attrs({**known, **(attrs or {})})

    return make


@pytest.fixture
def make_stimuli(write_stimuli):
    """Write pictures of 8 x 8 pixels and list them in a stimulus set called ``test-<prefix>``."""

    def make(folder, n, prefix="s"):
        pictures = {f"{prefix}{i}": np.full((8, 8, 3), (i, 0, 0)) for i in range(n)}
        objects = [["x", "y"][i % 2] for i in range(n)]
        return write_stimuli(pictures, f"test-{prefix}", folder, object_name=objects)

    return make


@pytest.fixture(scope="session")
def binned_recordings(make_recordings):
    """Recordings of two stimuli and three neuroids with different reliability."""

    def make(bins=((70, 80), (80, 95)), dtype=float):
        return make_recordings(
            np.arange(2 * 3 * len(bins), dtype=dtype).reshape(2, 3, len(bins)),
            stimulus_ids=["a", "b"],
            time_bins=bins,
            attrs={"kept": 1},
            neuroid_id=("neuroid", ["p", "q", "r"]),
            reliability=("neuroid", [0.1, 0.5, 0.3]),
        )

    return make


@pytest.fixture(scope="session")
def per_neuroid():
    """Make a score that is the median of some values and has the value of each neuroid as its `raw`."""

    def make(values, ids=None, subjects=None):
        values = np.asarray(values, dtype=float)
        score = Score(np.median(values))
        score.attrs["raw"] = Score(
            values,
            coords={
                "neuroid_id": ("neuroid", ids or [f"n{i}" for i in range(len(values))]),
                "subject": ("neuroid", subjects or ["one"] * len(values)),
            },
            dims=["neuroid"],
        )
        return score

    return make


POSITIONS = np.array([-0.5, 0.0, 0.5, 1.0])
ORIENTATIONS = np.arange(0, 180, 45.0)
GRATING = ("position_y", "position_x", "contrast", "radius", "spatial_frequency", "orientation", "phase")


def gratings(identifier, **levels):
    given = {name: [1.0] for name in GRATING} | {"position_x": [0.5], "position_y": [0.5]} | levels
    rows = list(itertools.product(*(given[name] for name in GRATING)))
    result = StimulusSet({name: [row[i] for row in rows] for i, name in enumerate(GRATING)})
    result["stimulus_id"] = [f"{identifier}-{i}" for i in range(len(rows))]
    result["degrees"] = 8.0
    result.identifier = identifier
    return result


SETS = {
    "Marques2020_blank": gratings("Marques2020_blank", contrast=[0.0]),
    "Marques2020_receptive_field": gratings(
        "Marques2020_receptive_field",
        position_x=POSITIONS,
        position_y=POSITIONS,
        orientation=ORIENTATIONS,
        phase=[0.0, 180.0],
    ),
    "Marques2020_orientation": gratings(
        "Marques2020_orientation", spatial_frequency=[1.0, 2.0], orientation=ORIENTATIONS, phase=[0.0, 180.0]
    ),
}


class V1(BrainModel):
    """Units with a Gaussian receptive field, a preferred orientation, and a spontaneous response."""

    def __init__(self, n=30, far=False, seed=0):
        rng = np.random.default_rng(seed)
        self.centres = rng.choice(POSITIONS, size=(n, 2)) if not far else np.full((n, 2), -0.5)
        self.preferred = rng.choice(ORIENTATIONS, size=n)
        self.gain = rng.uniform(1, 3, size=n)
        self.gain[0] = 0
        self.shown = []

    identifier = "v1"

    def visual_degrees(self):
        return 8.0

    def start_recording(self, recording_target, time_bins):
        self.recorded = recording_target, time_bins

    def look_at(self, stimuli, number_of_trials=1):
        self.shown.append((stimuli.identifier, number_of_trials))
        places = stimuli[["position_y", "position_x"]].to_numpy()
        distance = np.linalg.norm(places[:, None] - self.centres, axis=2)
        angle = np.deg2rad(stimuli["orientation"].to_numpy()[:, None] - self.preferred)
        drive = np.exp(-((distance / 0.2) ** 2)) * (1 + np.cos(2 * angle)) * stimuli["contrast"].to_numpy()[:, None]
        values = self.gain * (drive + 0.05) - 1e-9
        coords = {name: stimuli[name].to_numpy() for name in stimuli.columns}
        coords |= {"time_bin_start": ("time_bin", [70]), "time_bin_end": ("time_bin", [170])}
        return assembly_of(values[:, :, None], **coords, region=("neuroid", ["V1"] * values.shape[1]))


@pytest.fixture
def world(monkeypatch):
    """The setting shared by tests of single units: a V1 model, its registered stimulus sets, and the levels they vary
    over."""
    monkeypatch.setattr(properties, "load_stimulus_set", SETS.__getitem__)
    return SimpleNamespace(V1=V1, SETS=SETS, POSITIONS=POSITIONS, ORIENTATIONS=ORIENTATIONS, gratings=gratings)
