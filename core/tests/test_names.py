"""Names are one identity or two; core, checks, records, board and portal ask the same functions."""

import pytest

from brainscore_core.names import folded, is_device_name, why_no_identifier

LOOK_ALIKES = {
    "net\u0435": "CYRILLIC SMALL LETTER IE",
    "ne\uff54": "FULLWIDTH LATIN SMALL LETTER T",
    "ne\u200bt": "ZERO WIDTH SPACE",
    "net ": "SPACE",
    "net\xa0": "NO-BREAK SPACE",
    "net\u202e": "RIGHT-TO-LEFT OVERRIDE",
    "n\x1bet": "'\\x1b'",
    "n\ud800et": "'\\ud800'",
}


@pytest.mark.parametrize("name", LOOK_ALIKES, ids=ascii)
def test_a_name_that_looks_like_another_is_no_identifier(name):
    why = why_no_identifier(name)
    assert f"the character {LOOK_ALIKES[name]}," in why
    assert why.isascii()


@pytest.mark.parametrize("name", ["net_1.5-b", "timm:a/b.c[layer4]@main+x", "net_iteration=1", "X"])
def test_a_name_as_published_ones_are_is_an_identifier(name):
    assert why_no_identifier(name) == ""


def test_an_empty_name_is_no_identifier():
    assert why_no_identifier("") == "is empty"


def test_case_and_separators_alone_tell_no_names_apart():
    assert {folded(name) for name in ("alex_net", "AlexNet", "alex.net", "ALEX-NET", "\uff41lexnet")} == {"alexnet"}
    assert len({folded(name) for name in ("net1", "net11", "net+1", "net/1", "net:1", "net@1", "net=1")}) == 7


@pytest.mark.parametrize("name", ["CON", "aux", "Aux.csv", "nul.tar.gz", "com1", "LPT9 .x"])
def test_a_device_of_windows_is_one_in_any_case_with_any_suffix(name):
    assert is_device_name(name)
    assert not is_device_name(f"x{name}")
