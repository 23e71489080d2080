"""Untrusted JSON is bounded and checked strictly; errors about it are short and harmless."""

import json
from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import TypeAdapter

from brainscore_core.errors import CorruptFileError
from brainscore_core.untrusted import ADDRESS, Count, Flag, Line, Untrusted, at_most, parse, read, read_start, shown


@dataclass(frozen=True)
class Thing(Untrusted):
    name: Line
    counts: Annotated[tuple[Count, ...], at_most(5)] = ()
    flag: Flag = False


THING = TypeAdapter(Thing)


def test_expected_content_is_read():
    assert read(THING, '{"name": "\\udcff", "counts": [1, 2]}', "thing") == Thing("\udcff", (1, 2))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"name": 1}, "thing.name: expected a text of at most 1000 characters, found 1."),
        ({"name": "x" * 1001}, "thing.name: expected a text of at most 1000 characters, found 'xxxx"),
        ({"name": "", "flag": 1}, "thing.flag: "),
        ({"name": "", "counts": [0, True]}, "thing.counts[1]: "),
        ({"name": "", "counts": [1.0]}, "thing.counts[0]: "),
        ({"name": "", "counts": ["1"]}, "thing.counts[0]: "),
        ({"name": "", "counts": [0] * 6}, "thing.counts: "),
        ({"name": "", "counts": {"a": 1}}, "thing.counts: "),
        ({"name": "", "::error::\n": 1}, "thing.'::error::\\n': "),
        ({}, "thing.name: "),
        ([], "thing: "),
    ],
)
def test_error_names_the_place_of_the_problem(content, said):
    with pytest.raises(CorruptFileError) as caught:
        read(THING, json.dumps(content), "thing")
    assert str(caught.value).startswith(said)


def test_error_does_not_grow_with_the_number_of_wrong_entries():
    with pytest.raises(CorruptFileError) as caught:
        read(THING, json.dumps({"name": "", "counts": ["x"] * 100_000, "flag": 3, "more": 1}), "thing")
    assert str(caught.value).endswith("; and 1 more.")
    assert "counts[0]" in str(caught.value)


def test_size_is_bounded_before_parsing(tmp_path):
    file = tmp_path / "thing.json"
    file.write_text("[" * 100)
    assert len(read_start(file, 9)) == 10
    with pytest.raises(CorruptFileError, match="The thing: more than "):
        parse(read_start(file, 9), "thing", 9)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": 1, "a": 1}', "9" * 5000, "", b"\xff\xfe{"])
def test_rejects_malformed_json(text):
    with pytest.raises(CorruptFileError, match="The thing: "):
        parse(text, "thing")


def test_values_are_shown_short_and_harmless():
    assert shown("\u202e" * 100) == ascii("\u202e" * 100)[:77] + "..."
    assert shown(["x"] * 9) == "list of length 9"


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("https://doi.org/10.1523/JNEUROSCI.5181-14.2015", True),
        ("HTTP://[::1]:8000?x=1#y", True),
        ("https://xn--pple-43d.com/", True),
        ("https://аpple.com/", False),  # noqa: RUF001 - a Cyrillic letter
        ("https://example.org/ｅ", False),  # noqa: RUF001 - a full-width letter
        ("https://example.org/\u202egro", False),
        ("https://brain-score.org@evil.example/", False),
        ("https://\u212aernel.org/", False),  # Kelvin, which lower case makes a k
        *((f"https://example.org/{bad}", False) for bad in ("a b", "'", '"', "<", "\\", "`", "{")),
        *((text, False) for text in ("javascript:alert(1)", "ftp://x/", "https://", "//x/", "data:text/html,x")),
    ],
)
def test_addresses_must_be_ascii_and_on_the_web(address, is_one):
    assert (ADDRESS.fullmatch(address) is not None) is is_one


@pytest.mark.parametrize(
    "content",
    [
        *(b'{"a":1,"a":2}', b'{"a" :1,"b":{"a":1,"a"\t: 2}}', b'[[{"a":[],"a":[]}]]', b'{"a":"x","\\u0061":":"}'),
        *(b'{"a":"\\":","b":[{"c":"d:"}]}', b'{"a":NaN,"b":-0.0,"c":1e999,"d":123456789012345678901234567890}'),
        *(b'{"a":"\\ud800"}', b"\xef\xbb\xbf{}", b'"\xff"', b"[1,]", b"01", b"[" * 300 + b"]" * 300, b"[" * 10**5, b""),
    ],
)
def test_json_is_parsed_as_by_the_standard_library(content):
    keys = []
    try:
        expected = json.loads(
            content, object_pairs_hook=lambda pairs: keys.append([key for key, _ in pairs]) or dict(pairs)
        )
    except (ValueError, RecursionError):
        expected = CorruptFileError
    if expected is CorruptFileError or any(len(set(names)) < len(names) for names in keys):
        with pytest.raises(CorruptFileError):
            parse(content, "thing")
    else:
        assert repr(parse(content, "thing")) == repr(expected)
