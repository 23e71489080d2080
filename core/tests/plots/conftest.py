"""Records of a few models on two benchmarks, with names that a careless figure would render as formulas."""

import dataclasses

import pytest

from brainscore_core.records.record import ScoreRecord


@pytest.fixture(autouse=True)
def drawing():
    pytest.importorskip("matplotlib")


def record(model, benchmark="X.IT-pls", score=0.5, error=0.02, **values):
    """Return a record; pass `status` if it has no score."""
    empty = ScoreRecord.without_score("scored", model=model, benchmark=benchmark, source_revision=None)
    given = {"benchmark_version": 1, "score": score, "error": None if score is None else error, **values}
    return dataclasses.replace(empty, **given)


@pytest.fixture
def records():
    names = ("plain", "a$b$_c^2", r"\frac{1}{2}<b>&", "none")
    found = [
        record(names[0], score=0.5, interval=(0.45, 0.56), n_stimuli=100, n_neuroids=20),
        record(names[1], score=0.3, n_stimuli=100, n_neuroids=21),
        record(names[2], score=1.1, error=None, error_nan_reason="one subject"),
        record(names[3], score=None, status="failed:ValueError"),
    ]
    return found + [record(name, "Y-i2n", score) for name, score in zip(names[:2], (0.2, 0.6), strict=True)]


def points_by_name(figure):
    """Return the points (x, y) of every named line of a figure, by name."""
    lines = [line for panel in figure.axes for line in panel.lines]
    return {line.get_gid(): line.get_xydata().tolist() for line in lines if line.get_gid()}


def texts(figure):
    """Return every text of a figure."""
    found = [figure._suptitle] if figure._suptitle else []
    for panel in figure.axes:
        found += [*panel.texts, panel.title, panel._left_title, panel.xaxis.label, panel.yaxis.label]
        found += [*panel.get_yticklabels()]
    return [each.get_text() for each in found if each.get_text()]
