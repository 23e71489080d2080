"""What a new plugin starts with is not what is merged."""

import pytest

from brainscore_ci.checks.placeholders import PLACEHOLDERS

METADATA = "access: public\nlicence: MIT\ncontact: jane@example.org\ncitation: {}\n"


@pytest.mark.parametrize("text", [each for each in PLACEHOLDERS if '"' not in each])
def test_placeholders_are_errors_wherever_they_stand(bench, text):
    found = bench.errors(**{"metadata.yml": METADATA.format(repr(f"a {text} b"))})
    assert found == [("placeholder", "metadata.yml", 4)]


def test_a_bucket_is_named(bench):
    code = 'from .x import load\ndata = load(\n    bucket="...",\n)\n'
    found = bench.errors(**{"x.py": "def load(bucket): ...\n", "loading.py": code})
    assert found == [("placeholder", "loading.py", 3)]


def test_other_texts_are_fine(bench):
    assert bench.errors(**{"metadata.yml": METADATA.format("'Titles of publications. Smith (2024)'")}) == []
