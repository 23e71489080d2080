"""What jobs with private data publish holds nothing that a plugin wrote."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.jobs import publishable
from brainscore_ci.jobs.publishable import OTHER_ERROR, known_error, public_record, public_result, written_tests
from brainscore_ci.planning.areas import PluginName
from brainscore_ci.reporting.results import Failure, PluginResult, SkippedTest
from brainscore_core.records.record import ScoreRecord

SECRET = "0.8371"  # noqa: S105 - what must not be published
FORMS = (SECRET, SECRET[::-1], SECRET.encode().hex(), "MC44Mzcx", "TUM0NE16Y3g=")  # plain, reversed, hex, base64, twice

TESTS = """
import pytest

def test_one(): pass

class TestTwo:
    async def test_inner(self): pass
    def test_again(self): pass
"""


@pytest.mark.parametrize("name", ["ValueError", "PrivateDataError", "KeyboardInterrupt", "Timeout", "SIGSEGV", "Exit3"])
def test_errors_that_everybody_knows_keep_their_name(name):
    assert known_error(name) == name


@given(st.text())
def test_names_that_a_plugin_makes_do_not_come_through(name):
    assert known_error(f"Read{name}") == OTHER_ERROR
    assert known_error(f"Exit{name}1234") == OTHER_ERROR


@pytest.mark.parametrize("form", FORMS)
def test_a_record_keeps_numbers_and_no_words(form):
    failed = ScoreRecord.without_score(
        f"failed:Read_{form.encode().hex()}", form, model="m", benchmark="b", duration_s=83.71
    )
    told = dataclasses.replace(failed, layers={"IT": form}, layer_origin={"IT": {"from": form}}, model_revision="r")
    kept = public_record(told)
    assert form not in kept.to_json()
    assert (kept.status, kept.duration_s, kept.model_revision) == (f"failed:{OTHER_ERROR}", 80.0, "r")
    assert public_record(kept) == kept
    scored = dataclasses.replace(told, status="scored", score=0.5, raw=0.25, ceiling=0.9, interval=(0.4, 0.6))
    kept = public_record(scored)
    assert (kept.status, kept.score, kept.raw, kept.interval) == ("scored", 0.5, 0.25, (0.4, 0.6))
    assert form not in kept.to_json()


def test_each_field_of_a_record_is_published_or_not_on_purpose():
    """Who adds a field decides whether a model could write into it."""
    withheld = {"message", "tail", "layers", "layer_origin", "weights", "values", "error_nan_reason"}
    withheld |= {"interval_nan_reason", "ceiling_nan_reason", "ceiling_estimator"}
    fields = {field.name for field in dataclasses.fields(ScoreRecord)}
    assert publishable._KEPT | {"status", "duration_s", "peak_memory_bytes"} | withheld == fields
    bare = ScoreRecord.without_score("scored", model="m", benchmark="b")
    told = dataclasses.replace(
        bare,
        message="x",
        tail="x",
        weights="x",
        values="x",
        error_nan_reason="x",
        interval_nan_reason="x",
        peak_memory_bytes=123_456_789,
    )
    kept = public_record(told)
    assert {getattr(kept, name) or None for name in withheld} == {None}
    assert kept.peak_memory_bytes == 100_000_000


@pytest.mark.parametrize("form", FORMS)
def test_tests_keep_counts_classes_and_names_that_stand_in_the_sources(tmp_path, form):
    file = tmp_path / "models/x/test.py"
    file.parent.mkdir(parents=True)
    file.write_text(TESTS)
    failures = (
        Failure(test=f"test_one[{form}]", message=f"ValueError: {form}", file=form, line=8371, fix=form),
        Failure(test=f"TestTwo::test_inner[{form}]", message=f"assert '{form}' == 0"),
        Failure(test=f"test_{form}", message=f"smalllibrary.Read{form}: x"),
        Failure(test="TestTwo::test_again", message=form),
    )
    skips = (SkippedTest(test=f"test_one[{form}]", reason=f"private: {form}", kind="private"),)
    result = PluginResult(
        plugin=PluginName("models", "x"),
        status="failed",
        n_failed=4,
        n_skipped=1,
        duration_s=8.371,
        failures=failures,
        skipped=skips,
    )
    kept = public_result(result, written_tests([file], tmp_path))
    assert form not in json.dumps(dataclasses.asdict(kept), default=str)
    assert [(each.test, each.message.partition(";")[0], each.file, each.line) for each in kept.failures] == [
        ("test_one", "ValueError", "models/x/test.py", 4),
        ("TestTwo::test_inner", "AssertionError", "models/x/test.py", 7),
        ("a test", OTHER_ERROR, None, None),
        ("TestTwo::test_again", OTHER_ERROR, "models/x/test.py", 8),
    ]
    assert kept.skipped == (SkippedTest(test="test_one", reason="private", kind="private"),)
    assert (kept.n_failed, kept.n_skipped, kept.duration_s) == (4, 1, 10.0)


def test_sources_that_cannot_be_read_name_no_test(tmp_path):
    (tmp_path / "test.py").write_text("def test(:\n")
    assert written_tests([tmp_path / "test.py", tmp_path / "absent.py"], tmp_path) == {}
