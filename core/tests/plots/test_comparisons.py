"""The figure shows the scores and differences of `compare_records`, in one block per benchmark."""

import numpy as np
import pytest

from brainscore_core import plots
from brainscore_core.errors import DataNotHereError, UnknownIdentifierError
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.records.comparison import averages_of, compare_records
from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics.influence import Influence

from .conftest import points_by_name, record, texts


def matched(n_models=3, benchmarks=("A", "B")):
    """Return records of models that find the same stimuli difficult."""
    rng = np.random.default_rng(0)
    found = []
    for benchmark in benchmarks:
        both = rng.standard_normal((60, 12))
        for number in range(n_models):
            table = both + 0.3 * rng.standard_normal((60, 12))
            score = Score(0.3 + 0.1 * number)
            attach_influence(score, Influence.of_mean(table, np.arange(60), np.arange(12)))
            score.attrs.update(stimulus_set=f"{benchmark}.stimuli", assembly=f"{benchmark}.data")
            found.append(ScoreRecord.of_score(score, model=f"m{number}", benchmark=benchmark, benchmark_version=1))
    return found


def test_figure_shows_the_computed_scores_and_differences():
    records, names = matched(), ["m0", "m1", "m2"]
    figure = plots.compare(records, names, reference="m1")
    found, words = points_by_name(figure), texts(figure)
    compared = compare_records(records, names)
    for each in [*compared, *averages_of(compared, records)]:
        comparison = each.comparison
        for place, model in enumerate(names):
            assert found[f"score:{each.name}:{model}"][0][0] == each.scores[place].value
            assert [x for x, _ in found[f"interval:{each.name}:{model}"]] == list(each.intervals[place])
            if model == "m1":
                assert f"score:difference:{each.name}:{model}" not in found
                continue
            value, margin = comparison.differences[place, 1], comparison.margins[place, 1]
            assert found[f"score:difference:{each.name}:{model}"][0][0] == value
            ends = [x for x, _ in found[f"interval:difference:{each.name}:{model}"]]
            assert ends == [value - margin, value + margin]
            p = comparison.p_holm[place, 1]
            assert ("p < 0.0001" if p < 0.0001 else f"p = {p:.4f}") in words
    assert "average of 2" in words
    assert words.count("reference") == 3


def test_marker_is_filled_if_models_differ_significantly():
    records = [record("a", "X", 0.5, 0.01), record("b", "X", 0.3, 0.01), record("c", "X", 0.495, 0.01)]
    right = plots.compare(records, ["a", "b", "c"]).axes[1]
    lines = {line.get_gid(): line for line in right.lines}
    (compared,) = compare_records(records, ["a", "b", "c"])
    assert compared.comparison.differs[1, 0]
    assert not compared.comparison.differs[2, 0]
    assert lines["score:difference:X:b"].get_color() == lines["interval:difference:X:b"].get_color()
    assert lines["score:difference:X:c"].get_color() == "#ffffff"
    assert lines["score:difference:X:c"].get_markeredgecolor() == lines["interval:difference:X:c"].get_color()
    assert any(each.startswith("~ p") for each in texts(right.figure))  # the covariance of the two is not known


def test_models_are_sorted_and_missing_scores_are_named(records):
    figure = plots.compare(records, ["none", "plain", "a$b$_c^2"])
    found, words = points_by_name(figure), texts(figure)
    assert found["score:X.IT-pls:plain"][0][1] < found["score:X.IT-pls:a$b$_c^2"][0][1]
    assert found["score:X.IT-pls:a$b$_c^2"][0][1] < found["score:Y-i2n:a$b$_c^2"][0][1]
    assert not any(name.startswith("score:difference") for name in found)  # the reference has no score
    assert {"failed", "not scored", "no difference: the reference has no score"} <= set(words)
    assert "100 stimuli, 20 to 21 neuroids" in words
    assert "no error" in texts(plots.compare(records, [r"\frac{1}{2}<b>&", "plain"]))


def test_benchmarks_can_be_chosen_and_simulated_ones_are_marked(records):
    figure = plots.compare([*records, record("plain", "Z", simulated=True)], ["plain"], benchmarks=["Z"])
    assert "Z (SIMULATED)" in texts(figure)
    assert len(figure.axes) == 1  # a single model has no differences
    assert set(points_by_name(figure)) == {"score:Z:plain", "interval:Z:plain"}


def test_model_has_the_same_colour_in_every_panel(records):
    lines = {line.get_gid(): line for panel in plots.compare(records, theme="dark").axes for line in panel.lines}
    assert lines["score:X.IT-pls:plain"].get_color() == lines["score:Y-i2n:plain"].get_color()
    assert lines["score:X.IT-pls:plain"].get_color() != lines["score:X.IT-pls:a$b$_c^2"].get_color()


@pytest.mark.parametrize("arguments", [{"models": ["plian"]}, {"benchmarks": ["X.IT-plz"]}, {"reference": "absent"}])
def test_rejects_unknown_names(records, arguments):
    with pytest.raises(UnknownIdentifierError, match="There is no record of the"):
        plots.compare(records, **arguments)


def test_rejects_models_and_benchmarks_without_a_common_record(records):
    with pytest.raises(DataNotHereError, match="none of these models has a record on these benchmarks"):
        plots.compare(records, ["none"], benchmarks=["Y-i2n"])
