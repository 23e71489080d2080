"""Test that comparisons are drawn: what is compared is in the picture, and the same gives the same bytes."""

import re

import pytest

from brainscore_core.errors import ConfigurationError, RequirementsError
from brainscore_core.scoring.comparison import compare_records
from brainscore_core.scoring.comparison_figure import draw_comparison, save_comparison
from brainscore_core.scoring.records import ScoreRecord


@pytest.fixture
def compared():
    pytest.importorskip("matplotlib")
    records = []
    for benchmark, model, score in (
        ("X", "one", 0.5),
        ("X", "two & more", 0.3),
        ("Y", "one", 0.2),
        ("Y", "two & more", None),
    ):
        empty = ScoreRecord.without_score("scored", model=model, benchmark=benchmark).to_json()
        values = {"score": score, "error": None if score is None else 0.01, "interval": None}
        for name, value in values.items():
            empty = re.sub(rf'"{name}": null', f'"{name}": {"null" if value is None else value}', empty, count=1)
        records.append(ScoreRecord.from_json(empty))
    return compare_records(records, ["one", "two & more"])


def test_every_score_is_in_the_picture(compared, tmp_path):
    text = save_comparison(compared, tmp_path / "drawn.svg").read_text()
    for name in ("score:X:one", "interval:X:one", "score:X:two &amp; more", "score:Y:one"):
        assert f'id="{name}"' in text
    assert 'id="score:Y:two &amp; more"' not in text
    assert "not applicable" in text
    assert "rank 2" in text
    assert text == save_comparison(compared, tmp_path / "again.svg").read_text()


def test_marks_are_where_the_numbers_are(compared):
    panel = draw_comparison(compared).axes[0]
    lines = {line.get_gid(): line for line in panel.lines}
    assert lines["score:X:two & more"].get_xdata().tolist() == [0.3]
    assert lines["interval:X:one"].get_xdata().tolist() == pytest.approx([0.5 - 0.0196, 0.5 + 0.0196], abs=1e-4)
    assert (
        lines["score:X:one"].get_ydata()[0]
        < lines["score:X:two & more"].get_ydata()[0]
        < lines["score:Y:one"].get_ydata()[0]
    )
    assert lines["score:X:one"].get_color() == lines["score:Y:one"].get_color()


def test_png_and_what_cannot_be_drawn(compared, tmp_path, monkeypatch):
    assert save_comparison(compared, tmp_path / "drawn.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigurationError, match="should end in"):
        save_comparison(compared, tmp_path / "drawn.gif")
    with pytest.raises(ConfigurationError, match="nothing to draw"):
        draw_comparison([])
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(RequirementsError, match="pip install"):
        draw_comparison(compared)
