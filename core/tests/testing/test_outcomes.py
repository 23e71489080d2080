import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.errors import CorruptFileError
from brainscore_core.testing.outcomes import MOST_TESTS, TestOutcome, read_outcomes, write_outcomes
from brainscore_core.untrusted import MOST_BYTES

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


@given(OUTCOMES)
def test_outcomes_survive_a_round_trip(tmp_path_factory, outcomes):
    file = tmp_path_factory.mktemp("outcomes") / "outcomes.json"
    write_outcomes(file, outcomes)
    assert read_outcomes(file) == tuple(outcomes)


def entries(n=1, **changes):
    return json.dumps([{"test": "t", "part": "contract", "outcome": "passed", "seconds": 1, **changes}] * n).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{}x", b"[1]", b"[{}]", b"[[]]", b"null", b"[" * 100_000, b" " * (MOST_BYTES + 1),
        b"\xff\xfe\x00", b"[\xff]", "[".encode("utf-32"), b'["\xed\xa0\x80"]', b"\x80", b"<testsuites/>",
        entries().replace(b"{", b'{"test": "t", ', 1),
        entries(part="x"), entries(outcome="fine"), entries(test=1), entries(test="n" * 401), entries(more=1),
        entries(line=-1), entries(traceback="t" * 64_001), entries(MOST_TESTS + 1),
        *(entries().replace(b": 1", f": {time}".encode()) for time in ("NaN", "Infinity", "-1", '"1"', "1e400")),
    ],
    ids=lambda content: str(content[-30:]),
)  # fmt: skip
def test_rejects_any_other_content(tmp_path, content):
    (tmp_path / "outcomes.json").write_bytes(content)
    with pytest.raises(CorruptFileError, match="is not a valid file of test outcomes"):
        read_outcomes(tmp_path / "outcomes.json")


def test_rejects_absent_files_and_folders(tmp_path):
    (tmp_path / "outcomes.json").write_bytes(entries())
    assert len(read_outcomes(tmp_path / "outcomes.json")) == 1
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(CorruptFileError):
            read_outcomes(path)
