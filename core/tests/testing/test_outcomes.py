import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_core.errors import CorruptFileError
from brainscore_core.testing.outcomes import TestOutcome, read_outcomes, write_outcomes

OUTCOMES = st.lists(
    st.builds(
        TestOutcome,
        test=st.text(),
        part=st.sampled_from(["contract", "test.py"]),
        outcome=st.sampled_from(["passed", "failed", "error", "skipped", "deselected"]),
        seconds=st.floats(0, 1e5),
        reason=st.text(),
    )
)


@settings(deadline=None)  # files are as slow as the machine is busy
@given(OUTCOMES)
def test_what_is_written_is_read(tmp_path_factory, outcomes):
    file = tmp_path_factory.mktemp("outcomes") / "outcomes.json"
    write_outcomes(file, outcomes)
    assert read_outcomes(file) == tuple(outcomes)


@pytest.mark.parametrize("content", ["", "{}x", "[1]", "[{}]", "[[]]", "null", "[" * 100_000])
def test_anything_else_is_refused(tmp_path, content):
    (tmp_path / "outcomes.json").write_text(content)
    with pytest.raises(CorruptFileError):
        read_outcomes(tmp_path / "outcomes.json")


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00", b"[\xff]", "[".encode("utf-32"), b'["\xed\xa0\x80"]', b"\x80",
        b"<?xml version='1.0' encoding='no-such-encoding'?><testsuites/>",
    ],
)  # fmt: skip
def test_strange_encodings_are_refused(tmp_path, content):
    (tmp_path / "outcomes.json").write_bytes(content)
    with pytest.raises(CorruptFileError):
        read_outcomes(tmp_path / "outcomes.json")


@pytest.mark.parametrize(("key", "value"), [("part", "x"), ("outcome", "fine"), ("seconds", "1"), ("test", 1)])
def test_wrong_values_are_refused(tmp_path, key, value):
    entry = {"test": "t", "part": "contract", "outcome": "passed", "seconds": 1, "reason": "", key: value}
    (tmp_path / "outcomes.json").write_text(json.dumps([entry]))
    with pytest.raises(CorruptFileError):
        read_outcomes(tmp_path / "outcomes.json")


def test_no_file_and_no_plain_file_are_refused(tmp_path):
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(CorruptFileError):
            read_outcomes(path)
