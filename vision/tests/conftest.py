import argparse
import collections
import csv
import datetime as dt
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet


@pytest.fixture
def write_stimuli(tmp_path):
    """Return a function that writes pictures (stimulus_id -> array of height, width, 3) and lists them in a set."""

    def write(pictures, identifier="pictures", folder=tmp_path, **columns):
        stimuli = StimulusSet({"stimulus_id": list(pictures), **columns})
        stimuli.stimulus_paths = {stimulus_id: folder / f"{stimulus_id}.png" for stimulus_id in pictures}
        stimuli.identifier = identifier
        for stimulus_id, pixels in pictures.items():
            Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(stimuli.stimulus_paths[stimulus_id])
        return stimuli

    return write


class Layout:
    """A line of `published_layouts.csv`: how the authors of some models lay out their checkpoints.

    It is taken from the code of the published `plugin`: the entry with the weights (`entry`) and the change of their
    names. ``module.{}`` puts ``module.`` before the network's names; ``features.module.{features.}`` replaces
    ``features.`` and takes precedence over later templates. The file also contains the names in `beside`, which the
    plugin ignores. `models` are patterns of identifiers.
    """

    def __init__(self, line):
        self.plugin, self.library, self.entry = line["plugin"], line["library"], line["entry"]
        self.models, self.templates, self.beside = (line[key].split() for key in ("models", "names", "beside"))

    def __str__(self):
        return "-".join([self.plugin, self.library or "ours", self.entry or "whole", *self.templates])

    def is_of(self, row):
        """Whether a row's checkpoint may have this layout."""
        has_one = row.weights not in {"", "random"}
        return has_one and any(fnmatchcase(row.identifier, pattern) for pattern in self.models)

    def name(self, name):
        """Return the name that a weight of the network has in the file."""
        for template in self.templates:
            before, _, prefix = template.rstrip("}").partition("{")
            if name.startswith(prefix):
                return before + name.removeprefix(prefix)
        raise AssertionError(f"{self} has no template for {name}")

    def content(self, state, misspelt=""):
        """Return a checkpoint with these weights, one of them misspelt, and the usual state of training."""
        values = next(iter(state.values()))
        content = {**dict.fromkeys(self.beside, values), **{self.name(name): each for name, each in state.items()}}
        content = {f"{name}_" if name == misspelt else name: each for name, each in content.items()}
        for key in self.entry.split("/")[::-1] if self.entry else ():
            content = {
                key: content,
                "args": argparse.Namespace(lr=0.1),
                "best": np.float64(76.1),
                "time": dt.timedelta(seconds=3),
                "history": collections.deque([1.0]),
            }
        return content


def pytest_generate_tests(metafunc):
    """Parametrise `published_layout` with the lines of the table; those of libraries only in `frameworks`."""
    if "published_layout" in metafunc.fixturenames:
        of_libraries = "frameworks" in metafunc.definition.path.parts
        lines = [each for each in LAYOUTS if bool(each.library) == of_libraries]
        metafunc.parametrize("published_layout", lines, ids=str)


with (Path(__file__).parent / "published_layouts.csv").open(encoding="utf-8", newline="") as table:
    LAYOUTS = [Layout(line) for line in csv.DictReader(table)]


@pytest.fixture(scope="session")
def layouts():
    """Return all lines of the table."""
    return LAYOUTS
