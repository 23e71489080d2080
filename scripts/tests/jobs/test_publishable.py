"""Jobs with private data publish no text written by a plugin."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.jobs.publishable import (
    OTHER_ERROR,
    SKIPPED,
    known_error,
    public_record,
    public_result,
    written_tests,
)
from brainscore_ci.planning.areas import PluginName
from brainscore_ci.reporting.results import Failure, PluginResult, SkippedTest
from brainscore_core.metrics import Score
from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics import sketch
from brainscore_core.statistics.averages import combined
from brainscore_core.statistics.influence import Influence
from brainscore_core.statistics.joint_errors import JointErrors

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
def test_common_errors_keep_their_name(name):
    assert known_error(name) == name


@given(st.text())
def test_error_names_made_by_a_plugin_are_hidden(name):
    assert known_error(f"Read{name}") == OTHER_ERROR
    assert known_error(f"Exit{name}1234") == OTHER_ERROR


def revision_of(kind, identifier):
    return f"{kind}-{identifier}"


def forged(kind, text):
    """Return a value of a type that contains `text` wherever the type allows a text."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return forged(parts[0], text)
    if origin is Literal:
        return parts[0]  # a free text is not allowed
    if origin in (Union, UnionType):
        return forged(next(part for part in parts if part is not NoneType), text)
    if origin is tuple:
        return (forged(parts[0], text),) * 2
    if origin is not None:
        return {forged(parts[0], text): forged(parts[1], text)}
    return {int: 8371, float: 0.8371, bool: True}.get(kind, text)


def texts_of(content):
    """Return all texts of parsed JSON, keys included."""
    if isinstance(content, dict):
        return {*content, *(text for value in content.values() for text in texts_of(value))}
    if isinstance(content, list):
        return {text for value in content for text in texts_of(value)}
    return {content} if isinstance(content, str) else set()


KINDS = {
    field.name: get_type_hints(ScoreRecord, include_extras=True)[field.name]
    for field in dataclasses.fields(ScoreRecord)
}
PAIR = {"model": "m", "benchmark": "b"}  # callers compare it with the plan


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", ["{}", "failed:{}", "skipped:{}", "failed:Read_{}"])
def test_public_record_contains_no_plugin_text(form, status):
    """This covers future fields too: texts are filled in by the type of each field."""
    filled = {name: forged(kind, form) for name, kind in KINDS.items()}
    assert sum(form in str(value) for value in filled.values()) >= 30
    told = ScoreRecord(**{**filled, **PAIR, "status": status.format(form)})
    kept = public_record(told, revision_of)
    assert public_record(kept, revision_of) == kept
    honest = public_record(ScoreRecord.without_score("scored", **PAIR), revision_of)
    known = texts_of(json.loads(honest.to_json())) | {f"failed:{OTHER_ERROR}", f"skipped:{SKIPPED}", "experiment"}
    assert abs(datetime.now(UTC) - datetime.fromisoformat(kept.created)) < timedelta(minutes=5)
    assert texts_of(json.loads(dataclasses.replace(kept, created=honest.created).to_json())) <= known


def test_public_record_keeps_numbers_and_known_names():
    told = dataclasses.replace(
        ScoreRecord.without_score("scored", **PAIR, duration_s=83.71, score=0.5, raw=0.25, interval=(0.4, 0.6)),
        peak_memory_bytes=123_456_789,
        normalization="explained_variance",
        error_over=("object_name", "neuroid"),
        seeds={"raw": 3, "ceiling": 10**14},
        created="2026-01-02T03:04:05+00:00",
        machine="Linux-aarch64",
        versions={"numpy": "2.4.6", "torch": "2.13.0+cpu", "pandas": FORMS[3], "odd": "1.0"},
    )
    kept = public_record(told, revision_of)
    assert (kept.status, kept.score, kept.raw, kept.interval) == ("scored", 0.5, 0.25, (0.4, 0.6))
    assert (kept.duration_s, kept.peak_memory_bytes) == (80.0, 100_000_000)
    assert (kept.created, kept.machine) == (told.created, told.machine)
    assert (kept.normalization, kept.error_over) == ("explained_variance", ("object_name", "neuroid"))
    assert (kept.seeds, kept.model_revision, kept.influence) == ({"raw": 3}, "model-m", None)
    assert kept.versions == {"numpy": "2.4.6", "torch": "2.13.0+cpu"}


def test_each_record_field_is_published_or_withheld():
    """For each new field, decide whether a plugin could write into it."""
    withheld = {"message", "tail", "layers", "layer_origin", "weights", "values", "error_nan_reason", "plugins", "data"}
    withheld |= {"interval_nan_reason", "ceiling_nan_reason", "ceiling_estimator", "influence", "raw_influence"}
    withheld |= {"stimulus_set", "assembly", "library", "environment", "candidate_environment", "isolation"}
    withheld |= {"outside_plugins", "canonical", "data_access"}
    lawful = {"status": "scored", "duration_s": 10.0, "peak_memory_bytes": 10**8, "normalization": "ceil_score"}
    lawful |= {"error_over": ("stimulus",), "ceiling_error_over": ("subject",), "seeds": {"raw": 1}}
    filled = {
        **{name: forged(kind, "x") for name, kind in KINDS.items()},
        **PAIR,
        **lawful,
        "versions": {"numpy": "2.4"},
    }
    kept = vars(public_record(ScoreRecord(**filled), revision_of))
    assert {name for name in KINDS if not kept[name]} == withheld


def values_by_name(record, units):
    """Return the influence of each unit that its name reveals: from its bucket in the sketch, and its sign."""
    text = record.influence or record.raw_influence
    if text is None:
        return np.zeros(len(units))
    place, sign = sketch._places("Secret.recordings", units, b"unit")
    return sign * sketch.InfluenceSketch.from_text(text).buckets[1, place]


def test_neuroid_values_cannot_be_recovered_from_a_sketch():
    """An attacker who guesses the names of 72 neuroids and of the recordings reads their values from a record."""
    units = [f"neuroid_{number}" for number in range(72)]
    rng = np.random.default_rng(0)
    secret = rng.uniform(0.1, 0.8, len(units))
    influence = Influence.of_mean(
        secret + 0.3 * rng.standard_normal((200, len(units))), np.arange(200), np.array(units)
    )
    score = Score(secret.mean())
    score.attrs.update(influence=influence, stimulus_set="Secret", assembly="Secret.recordings", raw=Score(0.5))
    record = ScoreRecord.of_score(score, **PAIR)
    attacks = [values_by_name(each, units) for each in (record, public_record(record, revision_of))]
    before, after = (np.corrcoef(secret, attack + 1e-9 * rng.standard_normal(72))[0, 1] for attack in attacks)
    assert before > 0.9  # or the attack would prove nothing
    assert abs(after) < 0.3


def test_errors_without_sketches_are_bounds():
    told = [ScoreRecord.without_score("scored", **PAIR, score=0.5, error=error) for error in (0.03, 0.04)]
    first, second = (public_record(each, revision_of).estimate(of_same_benchmark=True) for each in told)
    errors = JointErrors.of_estimates([first, second])
    assert errors.pair_errors[0, 1] == pytest.approx(0.05)
    assert not errors.is_matched[0, 1]
    mean = combined({"first": first, "second": second}, {"first": 0.5, "second": 0.5})
    assert mean.error == pytest.approx(0.035)
    assert mean.is_bound


@pytest.mark.parametrize("form", FORMS)
def test_public_result_keeps_counts_and_names_in_sources(tmp_path, form):
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


def test_unreadable_sources_name_no_test(tmp_path):
    (tmp_path / "test.py").write_text("def test(:\n")
    assert written_tests([tmp_path / "test.py", tmp_path / "absent.py"], tmp_path) == {}
