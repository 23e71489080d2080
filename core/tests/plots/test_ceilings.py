"""Raw scores and their ceilings, for models and for the single neuroids stored with a record."""

import dataclasses

import numpy as np
import pytest

from brainscore_core import plots
from brainscore_core.errors import ConfigurationError, DataNotHereError, UnknownIdentifierError
from brainscore_core.plots.ceilings import highest_raw
from brainscore_core.records.record import record_path
from brainscore_core.records.values import write_values

from .conftest import points_by_name, record, texts


@pytest.fixture
def normalised():
    squared = {"ceiling": 0.81, "normalization": "explained_variance"}
    return [
        record("low", raw=0.3, raw_error=0.02, score=0.3**2 / 0.81, **squared),
        record("high", raw=0.95, raw_interval=(0.93, 0.99), score=0.95**2 / 0.81, **squared),
        record("failed", score=None, status="failed:ValueError"),
    ]


def collections(figure):
    return {each.get_gid(): each for panel in figure.axes for each in panel.collections}


def test_ceiling_line_is_the_raw_score_that_normalises_to_one(normalised):
    figure = plots.ceiling(normalised, "X.IT-pls")
    found = points_by_name(figure)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["high", "low"]
    assert found["score:high"] == [[0.95, 0]]
    assert found["interval:high"] == [[0.93, 0], [0.99, 0]]
    margin = 1.959963984540054 * 0.02
    np.testing.assert_allclose(found["interval:low"], [[0.3 - margin, 1], [0.3 + margin, 1]])
    strokes = collections(figure)["ceilings"].get_segments()
    assert [segment[0][0] for segment in strokes] == pytest.approx([0.9, 0.9])
    assert [tuple(segment[:, 1]) for segment in strokes] == [(-0.5, 0.5), (0.5, 1.5)]
    assert {"1.114 above", "0.111"} <= set(texts(figure))
    assert any("ceiling 0.810" in each and "n = 2 models" in each for each in texts(figure))
    assert "root of the reliability" in figure.axes[0].get_xlabel()


def test_ceiling_interval_is_drawn_on_the_raw_scale(normalised):
    told = {"ceiling_interval": (0.64, 0.9025), "ceiling_estimator": "split halves, $r_1$"}
    figure = plots.ceiling([dataclasses.replace(each, **told) for each in normalised[:2]], "X.IT-pls")
    bars = {
        each.get_gid(): each.get_extents().transformed(figure.axes[0].transData.inverted())
        for each in figure.axes[0].patches
    }
    for row, model in enumerate(("high", "low")):
        bar = bars[f"ceiling-interval:{model}"]
        assert [bar.x0, bar.x1] == pytest.approx([0.8, 0.95])
        assert sorted([bar.y0, bar.y1]) == pytest.approx([row - 0.5, row + 0.5])
    said = " ".join(texts(figure)).replace("\n", " ")
    assert "ceiling 0.810 [0.640, 0.902]; split halves, $r_1$" in said
    assert "with its 95 % interval" in figure.axes[0].get_xlabel().partition("line:")[2]
    long = [dataclasses.replace(normalised[0], ceiling_estimator=word * 60) for word in ("wide ", "narrow")]
    for each in long:
        lines = [line for text in texts(plots.ceiling([each], "X.IT-pls")) for line in text.split("\n")]
        assert max(map(len, lines)) <= 80
    unequal = plots.ceiling([normalised[0], dataclasses.replace(normalised[1], **told)], "X.IT-pls")
    assert not any("split halves" in each for each in texts(unequal))
    assert len(unequal.axes[0].patches) == 1


def test_plain_ceiling_is_itself_the_highest_raw_score():
    assert highest_raw(0.81, "ceil_score") == highest_raw(0.81, None) == 0.81
    assert np.isnan(highest_raw(-0.1, "explained_variance"))
    figure = plots.ceiling([record("m", raw=0.4, ceiling=0.8, normalization="ceil_score")], "X.IT-pls")
    assert collections(figure)["ceilings"].get_segments()[0][0][0] == 0.8
    assert "root" not in figure.axes[0].get_xlabel()


def test_most_limits_models_and_missing_raw_scores_are_rejected(normalised):
    figure = plots.ceiling(normalised, "X.IT-pls", most=1)
    assert set(points_by_name(figure)) == {"score:high", "interval:high"}
    assert any("the first 1 are drawn" in each for each in texts(figure))
    with pytest.raises(DataNotHereError, match="both a raw score and a ceiling"):
        plots.ceiling(normalised, "X.IT-pls", models=["failed"])
    with pytest.raises(UnknownIdentifierError, match=r"X\.IT-pls"):
        plots.ceiling(normalised, "X.IT-plz")
    with pytest.raises(ConfigurationError, match="at least 1"):
        plots.ceiling(normalised, "X.IT-pls", most=0)


@pytest.fixture
def neuroid_record(normalised, tmp_path):
    names = np.array(["n0", "n1", "n2"])
    values = {
        "raw.neuroid": np.array([0.2, 0.6, np.nan]),
        "ceiling.neuroid": np.array([0.25, 0.81, 0.49]),
        "raw.neuroid_id": names,
        "ceiling.neuroid_id": names,
    }
    path = record_path(tmp_path, "low", "X.IT-pls")
    low = dataclasses.replace(normalised[0], values=write_values(path, values))
    low.write(path)
    return tmp_path, low, values


def test_each_neuroid_is_drawn_at_its_ceiling_and_raw_score(neuroid_record):
    folder, low, values = neuroid_record
    figure = plots.neuroids(folder, "low", "X.IT-pls")
    np.testing.assert_allclose(collections(figure)["scores"].get_offsets(), [[0.5, 0.2], [0.9, 0.6]])
    assert "n = 2 of 3 neuroids" in texts(figure)
    found = points_by_name(figure)
    assert found["median:y"][0][1] == pytest.approx(0.4)
    assert found["median:x"][0][0] == pytest.approx(0.7)
    (start, end) = found["at-ceiling"]
    assert start[0] == start[1]
    assert end[0] == end[1]
    given = plots.neuroids([low], "low", "X.IT-pls", values=values)
    same = [collections(each)["scores"].get_offsets() for each in (given, figure)]
    np.testing.assert_array_equal(*same)


@pytest.mark.parametrize("change", ["ceiling.neuroid", "other names"])
def test_without_a_matching_ceiling_neuroids_are_in_a_histogram(neuroid_record, change):
    _, low, values = neuroid_record
    other = {**values, "ceiling.neuroid_id": np.array(["n0", "n2", "n1"])}
    given = other if change == "other names" else {name: each for name, each in values.items() if name != change}
    figure = plots.neuroids([low], "low", "X.IT-pls", values=given)
    assert sum(bar.get_height() for bar in figure.axes[0].patches) == 2
    assert points_by_name(figure)["median:x"][0][0] == pytest.approx(0.4)


def test_subjects_are_labelled_and_missing_values_are_explained(neuroid_record):
    folder, low, _ = neuroid_record
    figure = plots.neuroids([low], "low", "X.IT-pls", values={"raw.subject": np.array([0.2, 0.4])})
    assert "n = 2 subjects" in texts(figure)
    with pytest.raises(ConfigurationError, match="pass the folder of the records"):
        plots.neuroids([low], "low", "X.IT-pls")
    with pytest.raises(DataNotHereError, match="has no values"):
        plots.neuroids([dataclasses.replace(low, values=None)], "low", "X.IT-pls")
    with pytest.raises(UnknownIdentifierError, match="absent"):
        plots.neuroids(folder, "absent", "X.IT-pls")
