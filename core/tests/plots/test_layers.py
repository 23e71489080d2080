"""The atlas draws markers at the given values and rejects arrays of the wrong shape."""

import numpy as np
import pytest

from brainscore_core import plots
from brainscore_core.errors import ContractError, UnknownIdentifierError

from .conftest import points_by_name, texts

SCORE = [[0.2, 0.5, np.nan], [0.1, 0.4, 0.3]]
LAYERS, REGIONS = ["conv1", "$conv_2$", "head"], ["V1", "IT"]


def test_atlas_draws_markers_at_the_values():
    interval = np.stack([np.array(SCORE) - 0.04, np.array(SCORE) + 0.05], axis=-1)
    figure = plots.atlas(
        SCORE, LAYERS, REGIONS, interval=interval, chosen=["$conv_2$", None], honest=[0.45, np.nan],
        notes=["x_1$", ""], title="Layers of $a$",
    )  # fmt: skip
    found = points_by_name(figure)
    assert found["score:V1:conv1"] == [[0.2, 0]]
    assert found["interval:IT:head"] == [[pytest.approx(0.26), 2], [pytest.approx(0.35), 2]]
    assert found["honest:V1"] == [[0.45, 1]]
    assert "honest:IT" not in found
    assert "score:V1:head" not in found
    assert {"cannot be scored", "Layers of $a$", "x_1$", "$conv_2$"} <= set(texts(figure))
    shapes = {line.get_gid(): line.get_marker() for panel in figure.axes for line in panel.lines}
    assert (shapes["score:V1:$conv_2$"], shapes["score:IT:$conv_2$"]) == ("s", "o")


def test_atlas_needs_only_scores():
    figure = plots.atlas(SCORE, LAYERS, REGIONS)
    assert len(points_by_name(figure)) == 5
    assert [each.get_text() for each in figure.legends[0].get_texts()] == ["layer, 95 % interval"]


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"score": np.transpose(SCORE)}, ContractError, r"\(3, 2\); expected \(2, 3\)"),
        ({"interval": SCORE}, ContractError, "interval"),
        ({"chosen": ["conv1"]}, ContractError, "1 chosen layers"),
        ({"chosen": ["conv", "conv1"]}, UnknownIdentifierError, "'conv1'"),
        ({"score": np.zeros((2, 0)), "layers": []}, ContractError, "0 layers"),
    ],
)
def test_atlas_rejects_arguments_that_do_not_fit(changes, error, said):
    with pytest.raises(error, match=said):
        plots.atlas(**{"score": SCORE, "layers": LAYERS, "regions": REGIONS, **changes})
