"""Findings are sorted, printed on one line each, and cannot send commands to a runner or a terminal."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.checks.findings import Finding, as_json, as_text, github_annotations, printable


def finding(path="models/a/model.py", line=3, **changes):
    values = {"rule": "syntax", "message": "is wrong", "fix": "mend it", "severity": "error", **changes}
    return Finding(path=path, line=line, **values)


def test_text_lists_errors_before_suggestions():
    hint = finding(line=1, severity="hint", message="is odd")
    text = as_text([hint, finding(line=9), finding(line=3), finding(line=3)], ["models/a"])
    assert text.splitlines() == [
        *("Errors", "  models/a/model.py:3: syntax: is wrong: mend it"),
        *("  models/a/model.py:9: syntax: is wrong: mend it", "", "Suggestions"),
        *("  models/a/model.py:1: syntax: is odd: mend it", "", "2 errors, 1 suggestion in models/a"),
    ]


def test_text_without_findings():
    assert as_text([], ["models/a"]) == "0 errors, 0 suggestions in models/a"
    assert as_text([], list("abcdef")) == "0 errors, 0 suggestions in 6 plugins"


def test_json_counts_and_lists_findings():
    content = json.loads(as_json([finding(), finding(severity="hint")], ["models/a"]))
    assert (content["errors"], content["hints"], content["checked"]) == (1, 1, ["models/a"])
    assert content["findings"][0]["line"] == 3


def test_annotations_are_escaped():
    hostile = finding(path="models/a,b:c\n::error::x", message="100% wrong\r\n::set-env name=x::y")
    (line,) = github_annotations([hostile])
    assert line == (
        "::error file=models/a%2Cb%3Ac%0A%3A%3Aerror%3A%3Ax,line=3,title=syntax"
        "::100%25 wrong%0D%0A::set-env name=x::y: mend it"
    )


def test_annotations_stop_at_ten_of_a_kind_with_a_summary():
    lines = github_annotations([finding(line=number) for number in range(1, 13)] + [finding(severity="hint")])
    assert [line.split(" ")[0] for line in lines] == ["::error"] * 10 + ["::notice"] * 2
    assert lines[10] == "::notice title=check::2 more errors are in the log of this step"


@given(st.text())
def test_finding_stays_on_one_line(text):
    shown = printable(text)
    assert shown.isprintable()
    lines = as_text([finding(path=f"models/{text}", message=text, fix=text)], [text]).splitlines()
    assert len(lines) == 4
    annotated = github_annotations([finding(path=f"models/{text}", message=text)])
    assert len(annotated[0].splitlines()) == 1


@pytest.mark.parametrize("character", ["\x1b", "\u202e", "\x85", "\u2028", "\udcff"])
def test_control_characters_are_escaped(character):
    assert character not in str(finding(message=f"a{character}b"))
