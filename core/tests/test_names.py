"""Core, checks, records, board and portal decide with the same functions whether two names are one identity."""

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
def test_rejects_identifiers_that_look_like_others(name):
    why = why_no_identifier(name)
    assert f"the character {LOOK_ALIKES[name]}," in why
    assert why.isascii()


@pytest.mark.parametrize("name", ["net_1.5-b", "timm:a/b.c[layer4]@main+x", "net_iteration=1", "X"])
def test_names_in_published_style_are_identifiers(name):
    assert why_no_identifier(name) == ""


def test_rejects_an_empty_identifier():
    assert why_no_identifier("") == "is empty"


def test_case_and_separators_do_not_distinguish_names():
    assert {folded(name) for name in ("alex_net", "AlexNet", "alex.net", "ALEX-NET", "\uff41lexnet")} == {"alexnet"}
    assert len({folded(name) for name in ("net1", "net11", "net+1", "net/1", "net:1", "net@1", "net=1")}) == 7


@pytest.mark.parametrize("name", ["CON", "aux", "Aux.csv", "nul.tar.gz", "com1", "LPT9 .x"])
def test_windows_device_names_match_in_any_case_with_any_suffix(name):
    assert is_device_name(name)
    assert not is_device_name(f"x{name}")
