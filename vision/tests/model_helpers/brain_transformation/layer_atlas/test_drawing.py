import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from brainscore_core.errors import ConfigurationError, RequirementsError
from brainscore_vision.model_helpers.brain_transformation.layer_atlas import draw_atlas, records, save_atlas

SVG = "{http://www.w3.org/2000/svg}"


def choice(region, **changes):
    scores = [
        records.LayerScore(layer="conv1", score=0.2, error=0.02, interval=(0.16, 0.24)),
        records.LayerScore(layer="conv2 & more", score=0.5, error=0.02, interval=(0.46, 0.54)),
        records.LayerScore(layer="head", score=None, note="too few units"),
    ]
    given = {
        "benchmark": f"Some2026.{region}-pls", "simulated": False, "scores": scores, "layer": "conv2 & more",
        "runner_up": "conv1", "margin": 0.3, "margin_interval": (0.2, 0.4), "nested_score": 0.45, "fold_score": 0.47,
        "nested_error": 0.02, "n_folds": 5, "n_same": 5, "seed": 0,
    }  # fmt: skip
    return records.RegionChoice(region=region, **{**given, **changes})


@pytest.fixture
def atlas():
    regions = [choice("V1"), choice("IT", simulated=True, margin_interval=(-0.1, 0.4))]
    return records.LayerAtlas(model="some <net>", layers=["conv1", "conv2 & more", "head"], regions=regions)


def test_every_number_has_a_mark_at_its_place(atlas):
    figure = draw_atlas(atlas)
    marks = {line.get_gid(): line.get_xydata() for axes in figure.axes for line in axes.lines if line.get_gid()}
    assert marks["score:V1:conv1"].tolist() == [[0.2, 0]]
    assert marks["interval:V1:conv1"].tolist() == [[0.16, 0], [0.24, 0]]
    assert marks["score:IT:conv2 & more"].tolist() == [[0.5, 1]]
    np.testing.assert_allclose(marks["honest:IT"], [[0.48, 1]])  # 0.5 - (0.47 - 0.45)
    assert len(marks) == 2 * (2 + 2 + 1)
    shapes = {line.get_gid(): line.get_marker() for axes in figure.axes for line in axes.lines if line.get_gid()}
    assert (shapes["score:V1:conv1"], shapes["score:V1:conv2 & more"], shapes["honest:V1"]) == ("o", "s", "D")


def test_the_svg_has_every_word_as_text_and_every_mark_by_name(atlas, tmp_path):
    root = ET.parse(save_atlas(atlas, tmp_path / "atlas.svg")).getroot()  # noqa: S314 - our own file
    text = " ".join("".join(each.itertext()) for each in root.iter(f"{SVG}text"))
    for word in ("some <net>", "V1", "IT", "conv1", "conv2 & more", "head", "cannot be scored", "Some2026.V1-pls"):
        assert word in text
    assert "Some2026.IT-pls (SIMULATED)" in text
    assert "conv2 & more, separable" in text
    assert "conv2 & more, not separable" in text
    names = {each.get("id") for each in root.iter(f"{SVG}g")}
    assert {"score:V1:conv1", "interval:IT:conv1", "honest:V1"} <= names
    assert "some <net>" in "".join(root.itertext())


def test_the_same_atlas_gives_the_same_file(atlas, tmp_path):
    first, second = (save_atlas(atlas, tmp_path / name).read_bytes() for name in ("a.svg", "b.svg"))
    assert first == second


def test_the_png_is_a_picture_that_grows_with_layers_and_regions(atlas, tmp_path):
    with Image.open(save_atlas(atlas, tmp_path / "small.PNG")) as small:
        sizes = small.size
    layers = [f"layer{index}" for index in range(30)]
    scores = [records.LayerScore(layer=layer, score=0.5) for layer in layers]
    many = [choice(region, scores=scores, layer="layer3") for region in ("V1", "V2", "V4", "IT")]
    large = records.LayerAtlas(model="large", layers=layers, regions=many)
    with Image.open(save_atlas(large, tmp_path / "large.png")) as picture:
        assert picture.size[0] > 1.5 * sizes[0]
        assert picture.size[1] > 2 * sizes[1]


def test_without_a_nested_score_there_is_no_diamond(atlas):
    alone = records.LayerAtlas(
        model="net",
        layers=atlas.layers,
        regions=[choice("V1", nested_score=None, margin_interval=None), choice("IT", runner_up=None)],
    )
    figure = draw_atlas(alone)
    assert "honest:V1" not in {line.get_gid() for line in figure.axes[0].lines}
    said = ["\n".join(text.get_text() for text in axes.texts) for axes in figure.axes]
    assert "conv2 & more, then conv1" in said[0]
    assert "only layer" in said[1]


def test_no_global_state_is_touched(atlas):
    for name in [name for name in sys.modules if name.startswith("matplotlib.pyplot")]:
        del sys.modules[name]
    draw_atlas(atlas)
    assert "matplotlib.pyplot" not in sys.modules


def test_other_endings_are_refused_before_anything_is_drawn(atlas, tmp_path):
    with pytest.raises(ConfigurationError, match=r"\.svg, \.png, \.pdf"):
        save_atlas(atlas, tmp_path / "atlas.jpeg")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_extra_is_named(atlas, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "brainscore_core.plots.drawing", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(RequirementsError, match=r"brainscore-core\[figures\]"):
        save_atlas(atlas, tmp_path / "atlas.svg")
    assert list(tmp_path.iterdir()) == []
