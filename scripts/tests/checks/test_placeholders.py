"""The placeholders of a new plugin cannot be merged."""

import pytest

from brainscore_ci.checks.metadata import PLACEHOLDERS

METADATA = "access: public\nlicence: MIT\ncontact: jane@example.org\ncitation: {}\n"


@pytest.mark.parametrize("text", [text for text in PLACEHOLDERS if '"' not in text and "'" not in text])
def test_placeholder_within_a_text_is_an_error(bench, text):
    found = bench.errors(**{"metadata.yml": METADATA.format(repr(f"a {text} b"))})
    assert found == [("placeholder", "metadata.yml", 4)]


@pytest.mark.parametrize("bucket", ["...", "brainscore-storage/brainscore-vision/data/..."])
def test_placeholder_bucket_is_an_error(bench, bucket):
    code = f'from .x import load\ndata = load(\n    bucket="{bucket}",\n)\n'
    found = bench.errors(**{"x.py": "def load(bucket): ...\n", "loading.py": code})
    assert found == [("placeholder", "loading.py", 3)]


def test_placeholder_citation_is_one_finding_with_all_places(bench):
    bench.write(**{"metadata.yml": METADATA.format("'Author, First'"), "x.bib": "@misc{a, title={Your Paper Title}}"})
    (finding,) = bench.check()
    assert finding.message == "the citation is a placeholder, also in x.bib:1"


def test_ordinary_texts_pass(bench):
    assert bench.errors(**{"metadata.yml": METADATA.format("'Titles of publications. Smith (2024)'")}) == []


@pytest.mark.parametrize(("first", "rule"), [("<", "placeholder"), ("\\x3c", "metadata")])
def test_unanswered_question_is_one_error(bench, first, rule):
    text = METADATA.format("Smith (2024)").replace("MIT", f'"{first}SPDX expression, such as CC-BY-4.0 or MIT>"')
    assert bench.errors(**{"metadata.yml": text}) == [(rule, "metadata.yml", 2)]
