"""Make recordings and stimuli for the tests of the benchmark helpers."""

import numpy as np
import pytest
from PIL import Image

from brainscore_core.metrics import Score
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet


@pytest.fixture(scope="session")
def make_recordings():
    """Label values of shape (presentation, neuroid[, time_bin]); time bins repeat values of two dimensions."""

    def make(values, *, stimulus_ids=None, time_bins=(), stimulus_set=None, attrs=None, **coords):
        values = np.asarray(values)
        if time_bins and values.ndim == 2:
            values = np.stack([values] * len(time_bins), axis=-1)
        n_stimuli, n_neuroids = values.shape[:2]
        ids = stimulus_ids if stimulus_set is None else stimulus_set["stimulus_id"].tolist()
        ids = [f"s{i}" for i in range(n_stimuli)] if ids is None else list(ids)
        known = {} if stimulus_set is None else {"stimulus_set": stimulus_set}
        return NeuroidAssembly(
            values,
            coords={
                "stimulus_id": ("presentation", ids * (n_stimuli // len(ids))),
                "object_name": ("presentation", [["x", "y"][i % 2] for i in range(n_stimuli)]),
                "neuroid_id": ("neuroid", [f"n{i}" for i in range(n_neuroids)]),
                "region": ("neuroid", ["IT"] * n_neuroids),
                **({"time_bin_start": ("time_bin", [start for start, _ in time_bins])} if time_bins else {}),
                **({"time_bin_end": ("time_bin", [end for _, end in time_bins])} if time_bins else {}),
                **coords,
            },
            dims=["presentation", "neuroid", "time_bin"][: values.ndim],
            attrs={**known, **(attrs or {})},
        )

    return make


@pytest.fixture(scope="session")
def make_stimuli():
    """Write pictures of 8 x 8 pixels and list them in a stimulus set called ``test-<prefix>``."""

    def make(folder, n, prefix="s"):
        ids = [f"{prefix}{i}" for i in range(n)]
        paths = {each: folder / f"{each}.png" for each in ids}
        for number, path in enumerate(paths.values()):
            Image.new("RGB", (8, 8), (number, 0, 0)).save(path)
        stimulus_set = StimulusSet({"stimulus_id": ids, "object_name": [["x", "y"][i % 2] for i in range(n)]})
        stimulus_set.stimulus_paths = paths
        stimulus_set.identifier = f"test-{prefix}"
        return stimulus_set

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
    """The median of some values as a score that keeps them for each neuroid."""

    def make(values, ids=None):
        values = np.asarray(values, dtype=float)
        score = Score(np.median(values))
        score.attrs["raw"] = Score(
            values,
            coords={
                "neuroid_id": ("neuroid", ids or [f"n{i}" for i in range(len(values))]),
                "subject": ("neuroid", ["one"] * len(values)),
            },
            dims=["neuroid"],
        )
        return score

    return make
