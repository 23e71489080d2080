"""Models and benchmarks are selected by name, pattern or list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_core.scoring.pairs import is_pattern, select

KNOWN = ["alexnet", "pixels", "resnet18", "resnet50", "MajajHong2015.IT-pls", "MajajHong2015.V4-pls", "odd[1]*"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["pixels"], ["pixels"]),
        (["all"], KNOWN),
        (["resnet*"], ["resnet18", "resnet50"]),
        (["*-pls", "pixels", "Maj*IT*"], ["MajajHong2015.IT-pls", "MajajHong2015.V4-pls", "pixels"]),
        (["resnet[15]?"], ["resnet18", "resnet50"]),
        (["pixels", "all"], ["pixels", *(name for name in KNOWN if name != "pixels")]),
        (["odd[1]*"], ["odd[1]*"]),
    ],
)
def test_selects_names_patterns_and_all(wanted, found):
    assert select(wanted, KNOWN, "model") == found


def test_selects_names_listed_in_files(tmp_path):
    file = tmp_path / "models.txt"
    file.write_text("\ufeff# the small ones\n\npixels   # no network\n resnet*\r\nalexnet")
    assert select([f"@{file}", "pixels"], KNOWN, "model") == ["pixels", "resnet18", "resnet50", "alexnet"]
    file.write_text("zoo:a.B/c@1\nzo:a")
    with pytest.raises(UnknownIdentifierError, match=r"registered as 'zo:a' \(7 known\) \(.*, line 2\)\.$"):
        select(["zoo:b", f"@{file}"], KNOWN, "model", exists=lambda name: name.startswith("zoo:"))


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (["pixls"], "No model is registered as 'pixls' (7 known). Did you mean 'pixels'?"),
        (["MajajHong2016*"], "No model matches 'MajajHong2016*' (7 known). The nearest are 'MajajHong2015."),
        (["majajhong*"], "The nearest are 'MajajHong2015.IT-pls', 'MajajHong2015.V4-pls'."),
        (["x*", "resnet49"], "No model matches 'x*' (7 known). No model is registered as 'resnet49'"),
        (["ALL"], "No model is registered as 'ALL'"),
    ],
)
def test_unknown_names_get_suggestions(wanted, said):
    with pytest.raises(UnknownIdentifierError) as raised:
        select(wanted, KNOWN, "model")
    assert said in str(raised.value)


def test_unknown_name_in_a_file_is_reported_with_its_line(tmp_path):
    (tmp_path / "names.txt").write_text("pixels\n# comment\npixls\n")
    with pytest.raises(UnknownIdentifierError, match=r"names.txt, line 3\). Did you mean 'pixels'"):
        select([f"@{tmp_path}/names.txt"], KNOWN, "model")


@pytest.mark.parametrize("content", [None, b"\xff\xfe\xff", b"", b"# nothing\n\n"])
def test_rejects_unreadable_and_empty_lists(tmp_path, content):
    if content is not None:
        (tmp_path / "names.txt").write_bytes(content)
    with pytest.raises(ConfigurationError, match="one name per line"):
        select([f"@{tmp_path}/names.txt"], KNOWN, "model")


@given(st.lists(st.text(min_size=1), unique=True), st.data())
def test_each_known_name_selects_itself(known, data):
    names = data.draw(st.lists(st.sampled_from(known), unique=True)) if known else []
    assert select(names, known, "model") == names
    assert not any(is_pattern(name, known) for name in known)
