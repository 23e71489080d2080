"""One benchmark against another: a dot for each model with both scores, and their correlation."""

import numpy as np
import pytest

from brainscore_core import plots
from brainscore_core.errors import UnknownIdentifierError
from brainscore_core.statistics.correlations import correlation_over_models

from .conftest import points_by_name, record, texts


def many(n, seed=0):
    rng = np.random.default_rng(seed)
    ability = rng.uniform(0, 0.5, n)
    return [
        record(f"m{number}", benchmark, float(ability[number] + 0.05 * rng.standard_normal()), 0.03)
        for benchmark in ("X", "Y")
        for number in range(n)
    ]


def drawn(figure):
    return {each.get_gid(): each for each in figure.axes[0].collections}


def test_dots_and_correlations_match_the_records():
    records = many(20)
    figure = plots.scatter(records, "X", "Y")
    in_order = sorted(records, key=lambda each: each.model)
    x, y = ([each.score for each in in_order if each.benchmark == of] for of in "XY")
    np.testing.assert_array_equal(drawn(figure)["scores"].get_offsets(), np.column_stack([x, y]))
    found = correlation_over_models(x, y), correlation_over_models(x, y, ranked=True)
    said = " ".join(texts(figure))
    for name, each in zip(("Pearson", "Spearman"), found, strict=True):
        assert f"{name} {each.r:.2f} [{each.low:.2f}, {each.high:.2f}]" in said
    assert "n = 20 models with both scores" in said
    horizontal = drawn(figure)["intervals:x"].get_segments()
    np.testing.assert_allclose([segment[0][1] for segment in horizontal[:20]], y)
    (low, high), margin = horizontal[0][:, 0], 1.959963984540054 * 0.03
    assert (low, high) == (pytest.approx(x[0] - margin), pytest.approx(x[0] + margin))


@pytest.mark.slow
def test_only_highlighted_models_have_intervals_if_there_are_many():
    figure = plots.scatter(many(70), "X", "Y", highlight=["m3"])
    lengths = {name: len(each.get_segments()) for name, each in drawn(figure).items() if name != "scores"}
    assert lengths == {"intervals:x": 0, "intervals:y": 0, "highlighted:x": 1, "highlighted:y": 1}
    assert "score:m3" in points_by_name(figure)
    assert "m3" in texts(figure)


def test_names_are_literal_and_models_without_a_score_are_listed(records):
    figure = plots.scatter(records, "X.IT-pls", "Y-i2n", highlight=["a$b$_c^2", "none"])
    assert "a$b$_c^2" in texts(figure)
    said = " ".join(texts(figure))
    assert "left out, a score is missing: none" in said
    assert "n = 2 models" in said
    assert "no correlation: too few models" in said
    with pytest.raises(UnknownIdentifierError, match="Y-i2n"):
        plots.scatter(records, "X.IT-pls", "Y-i2")


def test_scatter_without_common_models_is_empty():
    figure = plots.scatter([record("a", "X"), record("b", "Y")], "X", "Y")
    assert "n = 0 models" in " ".join(texts(figure))
    assert "equal" not in points_by_name(figure)
