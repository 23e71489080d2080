"""The ranking draws every value in place, shows names literally and gives a reason for every blank."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_core import plots
from brainscore_core.errors import ConfigurationError, DataNotHereError, UnknownIdentifierError
from brainscore_core.records.comparison import compare_records
from brainscore_core.records.record import record_path
from brainscore_core.statistics.averages import FEWEST_ERRORS, average_tree

from .conftest import points_by_name, record, texts


def rows(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_ranking_shows_computed_values_in_order(records):
    figure = plots.scores(records, "X.IT-pls")
    found = points_by_name(figure)
    (compared,) = compare_records([each for each in records if each.benchmark == "X.IT-pls"], sorted(set(rows(figure))))
    assert rows(figure) == [r"\frac{1}{2}<b>&", "plain", "a$b$_c^2", "none"]
    assert found["score:plain"] == [[0.5, 1]]
    assert found["interval:plain"] == [[0.45, 1], [0.56, 1]]  # the interval in the record, which is not symmetric
    margin = 1.959963984540054 * 0.02
    np.testing.assert_allclose(found["interval:a$b$_c^2"], [[0.3 - margin, 2], [0.3 + margin, 2]], rtol=1e-12)
    assert r"interval:\frac{1}{2}<b>&" not in found
    assert not any(name.endswith(":none") for name in found)
    said = texts(figure)
    for place in compared.order[:3]:
        assert compared.ranks[place] in said
    assert set(compared.letters) - {""} <= set(said)
    assert "failed" in said
    assert any(each == "n = 3 of 4 models with a score; 100 stimuli, 20 to 21 neuroids" for each in said)


def test_score_above_the_ceiling_is_a_triangle(records):
    panel = plots.scores(records, "X.IT-pls").axes[0]
    shapes = {line.get_gid(): line.get_marker() for line in panel.lines}
    assert shapes[r"score:\frac{1}{2}<b>&"] == "^"
    assert shapes["score:plain"] == "o"
    assert "at-ceiling" in shapes
    assert "triangle: above the ceiling; no line: unknown error" in panel.get_xlabel()
    assert "triangle" not in plots.scores(records, "Y-i2n").axes[0].get_xlabel()


def test_average_is_taken_over_the_tree(records):
    parents = {"X.IT-pls": "neural", "Y-i2n": "behavior", "neural": "average", "behavior": "average"}
    figure = plots.scores(records, "average", parents=parents)
    of = {each.benchmark: each.estimate() for each in records if each.model == "plain"}
    tree = average_tree(of, parents)["average"]
    assert points_by_name(figure)["score:plain"][0][0] == tree.value == pytest.approx(0.35)
    assert [x for x, _ in points_by_name(figure)["interval:plain"]] == pytest.approx(tree.interval(), rel=1e-12)
    missing = points_by_name(figure)[r"score:\frac{1}{2}<b>&"][0][0]
    assert missing == pytest.approx(0.55)  # 1.1 and a missing score, which counts as 0
    assert r"interval:\frac{1}{2}<b>&" not in points_by_name(figure)
    assert rows(figure)[-2] == r"\frac{1}{2}<b>&"  # after the complete models, although its value is higher
    assert "1/2" in texts(figure)
    left_out = plots.scores(records, "average", parents=parents, missing="left out")
    assert points_by_name(left_out)[r"score:\frac{1}{2}<b>&"][0][0] == pytest.approx(1.1)
    alone = plots.scores(records)
    assert alone.axes[0].get_title(loc="left") == "average"
    assert points_by_name(plots.scores(records, "behavior", parents=parents))["score:plain"][0][0] == 0.2


def test_simulated_benchmarks_are_marked_and_averaged_separately(records):
    simulated = [record("plain", "Z.V1-pls", 0.9, simulated=True)]
    assert points_by_name(plots.scores([*records, *simulated]))["score:plain"][0][0] == pytest.approx(0.35)
    alone = plots.scores([*simulated, record("plain", "Z.V2-pls", 0.7, simulated=True)])
    assert alone.axes[0].get_title(loc="left") == "average (SIMULATED)"
    assert points_by_name(alone)["score:plain"][0][0] == pytest.approx(0.8)
    assert plots.scores(simulated).axes[0].get_title(loc="left") == "Z.V1-pls (SIMULATED)"


def test_folder_and_records_give_the_same_figure(tmp_path):
    records = [record("first"), record("second", score=0.3), record("third", score=None, status="skipped:too large")]
    for each in records:
        each.write(record_path(tmp_path, each.model, each.benchmark))
    drawn = [plots.save(plots.scores(of, "X.IT-pls"), tmp_path / "a.svg").read_bytes() for of in (tmp_path, records)]
    assert drawn[0] == drawn[1]


def test_one_model_with_or_without_a_score_is_drawn():
    assert points_by_name(plots.scores([record("only")])).keys() == {"score:only", "interval:only"}
    figure = plots.scores([record("left", score=None, status="skipped:too large")])
    assert points_by_name(figure) == {}
    assert "skipped" in texts(figure)


@pytest.mark.slow
def test_sixty_long_names_fit_the_figure(tmp_path):
    stem = "vit_large_patch14_reg4_dinov2_with_registers_and_a_long_story"
    many = [record(f"{stem}_{number:02}_distilled", score=number / 100) for number in range(60)]
    many += [record("x" * 120 + side + "y" * 120, score=0.9) for side in "ab"]
    figure = plots.scores(many, most=61)
    assert len(set(rows(figure))) == 61
    assert rows(figure)[2].startswith("vit_large_")
    assert len(rows(figure)[2]) == 44
    assert rows(figure)[0] == "x" * 120 + "a" + "y" * 120  # shortened, it would look like the other one
    assert any("the first 61 are drawn" in each for each in texts(figure))
    panel = plots.scores(many[:60]).axes[0]
    panel.figure.draw_without_rendering()
    inside, whole = panel.get_window_extent(), panel.figure.bbox
    assert inside.width > 0.3 * whole.width  # names leave room for the values
    assert all(label.get_window_extent().x0 >= 0 for label in panel.get_yticklabels())
    assert all(each.get_window_extent().x1 <= whole.x1 + 1 for each in panel.texts)


def test_figure_is_drawn_into_given_axes(records):
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plots.scores(records, "X.IT-pls", ax=right) is figure
    assert not left.lines
    assert right.lines


def test_models_can_be_chosen_and_highlighted(records):
    figure = plots.scores(records, "X.IT-pls", models=["plain", "none"], highlight=["plain"])
    assert rows(figure) == ["plain", "none"]
    (line,) = (line for line in figure.axes[0].lines if line.get_gid() == "score:plain")
    assert line.get_color() == "#c04d00"


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"benchmark": "X.IT-plz"}, UnknownIdentifierError, "'X.IT-pls'"),
        ({"models": ["plainn"]}, UnknownIdentifierError, "'plain'"),
        ({"highlight": ["absent"]}, UnknownIdentifierError, "absent"),
        ({"theme": "drak"}, ConfigurationError, "'dark'"),
        ({"most": 0}, ConfigurationError, "at least 1"),
        ({"parents": {"X.IT-pls": "a", "Y-i2n": "b"}}, ConfigurationError, "2 roots"),
        ({"benchmark": "b", "parents": {"absent": "b"}}, DataNotHereError, "No benchmark below 'b'"),
    ],
)
def test_rejects_arguments_that_cannot_be_drawn(records, arguments, error, said):
    with pytest.raises(error, match=said):
        plots.scores(records, **arguments)


def test_rejects_empty_and_duplicate_records(tmp_path):
    with pytest.raises(DataNotHereError, match="nothing to draw"):
        plots.scores([])
    with pytest.raises(DataNotHereError, match=str(tmp_path)):
        plots.scores(tmp_path)
    with pytest.raises(ConfigurationError, match="several records of one on"):
        plots.scores([record("one"), record("one")])


NUMBERS = st.floats(-2, 3, allow_nan=False)
SCORES = st.lists(st.tuples(st.none() | NUMBERS, st.none() | st.floats(0, 0.5)), min_size=1, max_size=8)


@pytest.mark.slow
@settings(max_examples=12)
@given(SCORES)
def test_every_interval_is_inside_the_axes_and_contains_its_score(drawn):
    many = [record(f"m{place}", score=score, error=error) for place, (score, error) in enumerate(drawn)]
    figure = plots.scores(many)
    found, panel = points_by_name(figure), figure.axes[0]
    low, high = sorted(panel.get_xlim())
    n_errors = sum(None not in pair for pair in drawn)
    for place, (score, error) in enumerate(drawn):
        assert (f"score:m{place}" in found) == (score is not None)
        if score is None:
            continue
        assert found[f"score:m{place}"][0][0] == score
        assert (f"interval:m{place}" in found) == (error is not None or n_errors >= FEWEST_ERRORS)
        if error is not None:
            (start, _), (end, _) = found[f"interval:m{place}"]
            assert low <= start <= score <= end <= high
