"""Saved figures are reproducible, show names literally, avoid pyplot, and explain a missing matplotlib."""

import subprocess
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from brainscore_core import plots
from brainscore_core.errors import ConfigurationError, RequirementsError
from brainscore_core.plots.figures import THEMES, shortened

from .conftest import record

SVG = "{http://www.w3.org/2000/svg}"


def figures_of_each_kind(records):
    """Yield a figure of each kind."""
    yield plots.scores(records, "X.IT-pls", highlight=["plain"])
    yield plots.scores(records)
    yield plots.compare(records)
    yield plots.ceiling([record("a$b$", raw=0.4, ceiling=0.8)], "X.IT-pls")
    yield plots.neuroids([record("a$b$")], "a$b$", "X.IT-pls", values={"raw.neuroid": np.array([0.1, 0.3])})
    yield plots.scatter(records, "X.IT-pls", "Y-i2n", highlight=["a$b$_c^2"])
    yield plots.atlas([[0.1, 0.2]], ["a$b$_c^2", "<b>"], ["V1"], title="a$b$_c^2")


@pytest.mark.slow
def test_saving_a_figure_is_reproducible(records, tmp_path):
    starts = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
    saved = {kind: [] for kind in starts}
    for number, pair in enumerate(zip(figures_of_each_kind(records), figures_of_each_kind(records), strict=True)):
        for kind in list(starts)[: 3 if number < 2 else 1]:  # the slow formats only for the first two
            files = [plots.save(figure, tmp_path / f"figure.{kind}").read_bytes() for figure in pair]
            assert files[0] == files[1]
            assert files[0].startswith(starts[kind])
            saved[kind].append(files[0])
    assert all(len(set(files)) == len(files) for files in saved.values())


def test_names_are_never_rendered_as_formulas_or_markup(records, tmp_path):
    for figure in figures_of_each_kind(records):
        root = ET.parse(plots.save(figure, tmp_path / "f.svg")).getroot()  # noqa: S314 - our own file
        words = " ".join("".join(each.itertext()) for each in root.iter(f"{SVG}text"))
        assert "a$b$" in words
        assert not list(root.iter("b"))
        assert not list(root.iter(f"{SVG}script"))


def test_svg_has_title_and_group_ids_but_no_date(records, tmp_path):
    text = plots.save(plots.scores(records, "X.IT-pls"), tmp_path / "f.svg").read_text()
    assert 'id="score:a$b$_c^2"' in text
    assert 'id="score:\\frac{1}{2}&lt;b&gt;&amp;"' in text
    assert "<dc:title>X.IT-pls</dc:title>" in text
    assert "<dc:date>" not in text


def test_theme_colours_every_part(records, tmp_path):
    for theme, other in (("light", "dark"), ("dark", "light")):
        text = plots.save(plots.scores(records, "X.IT-pls", theme=theme), tmp_path / "f.svg").read_text()
        assert f"fill: {THEMES[theme].ground}" in text
        assert THEMES[theme].series[0] in text
        for colour in (THEMES[other].ground, THEMES[other].text, THEMES[other].series[0]):
            assert colour not in text


def test_notebook_display_does_not_import_pyplot(records):
    for name in [name for name in sys.modules if name.startswith("matplotlib.pyplot")]:
        del sys.modules[name]
    for figure in figures_of_each_kind(records):
        assert figure._repr_png_().startswith(b"\x89PNG")
    assert "matplotlib.pyplot" not in sys.modules


def test_importing_plots_does_not_import_matplotlib():
    code = "import sys, brainscore_core.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_save_rejects_unknown_suffixes(records, tmp_path):
    with pytest.raises(ConfigurationError, match=r"\.svg, \.png, \.pdf"):
        plots.save(plots.scores(records), tmp_path / "f.jpeg")
    assert list(tmp_path.iterdir()) == []


def test_save_rejects_a_figure_too_long_for_png(tmp_path):
    from matplotlib.figure import Figure

    long = Figure(figsize=(5, 410))
    with pytest.raises(ConfigurationError, match=r"px long.*write \.svg"):
        plots.save(long, tmp_path / "f.png")
    assert list(tmp_path.iterdir()) == []


def test_missing_matplotlib_error_names_the_extra(records, monkeypatch):
    monkeypatch.delitem(sys.modules, "brainscore_core.plots.drawing", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (plots.scores, plots.compare):
        with pytest.raises(RequirementsError, match=r"pip install 'brainscore-core\[figures\]'"):
            draw(records)
    with pytest.raises(RequirementsError, match="matplotlib"):
        plots.atlas([[0.1]], ["a"], ["V1"])


def test_names_are_shortened_unless_they_would_collide():
    assert shortened(["abcdefghij", "short"], most=7) == ["abc…hij", "short"]
    assert shortened(["abcXhij-a", "abcYhij-a"], most=5) == ["abcXhij-a", "abcYhij-a"]
    assert all(len(each) == 6 for each in shortened(["abcdefghij"], most=6))
