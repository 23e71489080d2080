"""Test the decisions on parts and retries for arbitrary files and answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_web.upload import ATTEMPTS, is_received, parts_of, pause_before_retry


@given(st.integers(0, 10**6), st.integers(1, 10**5))
def test_parts_cover_a_file_once_and_in_order(size_bytes, part_bytes):
    parts = parts_of(size_bytes, max(part_bytes, size_bytes // 1000))
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
    ends = [0, *(part.begin + part.size_bytes for part in parts)]
    assert [part.begin for part in parts] == ends[:-1]
    assert ends[-1] == size_bytes
    assert all(part.size_bytes for part in parts[1:])


PARTS = parts_of(50, 10)
ENTRY = st.fixed_dictionaries(
    {"number": st.integers(1, 5), "size": st.sampled_from([9, 10]), "checksum": st.sampled_from(["a", "b"])}
)


@given(st.sampled_from(PARTS), st.sampled_from(["a", "b"]), st.lists(ENTRY))
def test_part_is_received_only_with_equal_bytes_and_place(part, sha256, received):
    same = {"number": part.number, "size": 10, "checksum": sha256}
    assert is_received(part, sha256, received) == (same in received)


@given(st.integers(400, 599), st.integers(1, 9))
def test_permanent_refusals_are_final_and_others_retried(status, attempt):
    pause_s = pause_before_retry(attempt, status)
    if status != 429 and status < 500:
        assert pause_s is None
    else:
        assert (pause_s is None) == (attempt >= ATTEMPTS)
    assert pause_before_retry(attempt, None) == pause_before_retry(attempt, 503)


@given(st.integers(1, 4), st.integers(0, 500))
def test_retry_waits_for_the_time_named_by_the_server(attempt, seconds):
    pause_s = pause_before_retry(attempt, 429, retry_after=str(seconds))
    assert (pause_s is None) == (seconds > 120)
    assert pause_s is None or pause_s >= seconds


@pytest.mark.parametrize(
    ("code", "message", "passes"),
    [
        ("AccessDenied", "Request has expired", True),
        ("BadDigest", "", True),
        ("RequestTimeTooSkewed", "", True),
        ("AccessDenied", "Access Denied", False),
        ("EntityTooLarge", "", False),
    ],
)
def test_s3_errors_are_retried_if_temporary(code, message, passes):
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    assert (pause_before_retry(1, 403, body) is not None) == passes
