"""Renormalising a record with a new ceiling gives what scoring the pair again would give."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_core.benchmarks import ceil_score, explained_variance
from brainscore_core.errors import CeilingError
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.records.recompute import NotFromRecordError, renormalise, renormalised
from brainscore_core.records.record import MADE, ScoreRecord, record_path
from brainscore_core.records.store import FolderStore, keep
from brainscore_core.records.values import digest_of, read_values, values_bytes
from brainscore_core.statistics.influence import Influence

STIMULI, UNITS = np.arange(60), np.arange(20)


def uncertain_score(value, scale, seed, quantity=None):
    """Return a score with influences, half of whose noise is shared between all seeds."""
    shared, own = (np.random.default_rng(each).standard_normal((60, 20)) for each in (0, seed))
    score = Score(value)
    attach_influence(score, Influence.of_mean(scale * (shared + own), STIMULI, UNITS), scale="fisher")
    score.attrs["split_error"] = 0.01
    if quantity:
        score.attrs["quantity"] = quantity
    return score


def exact(value, **attrs):
    score = Score(value)
    score.attrs.update(attrs)
    return score


def record_of(score, model="m"):
    return ScoreRecord.of_score(score, model=model, benchmark="b", benchmark_version=1)


def assert_same_score(one, other, *, rel=1e-9):
    """Assert that all fields that depend on the ceiling are equal."""
    for name in ("score", "raw", "ceiling", "error", "split_error", "error_df"):
        found, expected = getattr(one, name), getattr(other, name)
        assert found == (None if expected is None else pytest.approx(expected, rel=rel)), name
    assert one.interval == pytest.approx(other.interval, rel=rel)
    assert one.interval_nan_reason == other.interval_nan_reason


NORMALISATIONS = {
    "explained variance": explained_variance,
    "ratio": ceil_score,
    "above chance": lambda raw, ceiling: ceil_score(raw, ceiling, chance=0.25),
}


@pytest.mark.parametrize("normalise", NORMALISATIONS.values(), ids=NORMALISATIONS)
class TestAsIfScoredAgain:
    def test_score_without_influences(self, normalise):
        raw = exact(0.5, error=0.03, interval=(0.44, 0.56), split_error=0.01)
        found = renormalised(record_of(normalise(raw, exact(0.9))), exact(0.7))
        assert_same_score(found, record_of(normalise(raw, exact(0.7))))

    def test_exact_ceiling(self, normalise):
        raw = uncertain_score(0.5, 0.5, seed=1)
        found = renormalised(record_of(normalise(raw, exact(0.9))), exact(0.7))
        expected = record_of(normalise(raw, exact(0.7)))
        assert_same_score(found, expected)
        assert found.stimulus_error == pytest.approx(expected.stimulus_error)

    @pytest.mark.parametrize(
        "before", [exact(0.9), uncertain_score(0.9, 0.2, seed=3)], ids=["exact before", "uncertain before"]
    )
    def test_uncertain_ceiling(self, normalise, before):
        """The covariance of raw score and ceiling comes from sketches, which are accurate to about 2 %."""
        raw, ceiling = uncertain_score(0.5, 0.5, seed=1), uncertain_score(0.7, 0.3, seed=2)
        found = renormalised(record_of(normalise(raw, before)), ceiling)
        expected = record_of(normalise(raw, ceiling))
        assert found.score == pytest.approx(expected.score)
        assert found.error == pytest.approx(expected.error, rel=0.08)
        widths = [each.interval[1] - each.interval[0] for each in (found, expected)]
        assert widths[0] == pytest.approx(widths[1], rel=0.15)

    def test_exact_ceiling_replaces_an_uncertain_one(self, normalise):
        raw = uncertain_score(0.5, 0.5, seed=1)
        found = renormalised(record_of(normalise(raw, uncertain_score(0.9, 0.2, seed=2))), exact(0.7))
        assert_same_score(found, record_of(normalise(raw, exact(0.7))))

    def test_ceiling_fields_describe_the_new_ceiling(self, normalise):
        before, after = uncertain_score(0.9, 0.2, seed=2), uncertain_score(0.7, 0.3, seed=3)
        after.attrs["estimator"] = "another way"
        found = renormalised(record_of(normalise(uncertain_score(0.5, 0.5, seed=1), before)), after)
        told = (found.ceiling_error, found.ceiling_interval, found.ceiling_estimator)
        assert told == (after.attrs["error"], after.attrs["interval"], "another way")

    def test_same_ceiling_changes_nothing(self, normalise):
        record = record_of(normalise(uncertain_score(0.5, 0.5, seed=1), uncertain_score(0.9, 0.2, seed=2)))
        assert renormalised(record, uncertain_score(0.9, 0.2, seed=2)) == record


@pytest.mark.parametrize("changed", [{"error": 0.2}, {"interval": (0.1, 1.0)}, {"estimator": "another way"}])
def test_changed_uncertainty_of_a_ceiling_changes_the_record(changed):
    raw, before, after = exact(0.5, error=0.03), exact(0.7, error=0.01), exact(0.7, **{"error": 0.01, **changed})
    found = renormalised(record_of(ceil_score(raw, before)), after)
    assert found == dataclasses.replace(record_of(ceil_score(raw, after)), created=found.created)


def test_error_of_the_score_follows_the_error_of_the_ceiling():
    raw, after = uncertain_score(0.5, 0.5, seed=1), uncertain_score(0.9, 0.6, seed=2)
    found = renormalised(record_of(ceil_score(raw, uncertain_score(0.9, 0.2, seed=2))), after)
    expected = record_of(ceil_score(raw, after))
    assert (found.ceiling_error, found.ceiling_interval) == (expected.ceiling_error, expected.ceiling_interval)
    assert found.error == pytest.approx(expected.error, rel=0.08)


@settings(max_examples=30)
@given(
    raw=st.floats(-1, 1).filter(lambda value: abs(value) > 1e-3),
    before=st.floats(0.05, 1),
    after=st.floats(0.05, 1),
    is_squared=st.booleans(),
)
def test_changing_the_ceiling_back_restores_the_record(raw, before, after, is_squared):
    normalise = explained_variance if is_squared else ceil_score
    record = record_of(normalise(exact(raw, error=0.1, interval=(raw - 0.2, raw + 0.2)), exact(before)))
    back = renormalised(renormalised(record, exact(after)), exact(before))
    assert_same_score(back, record, rel=1e-6)


def test_uncertain_ceiling_near_0_gives_no_interval():
    record = record_of(ceil_score(uncertain_score(0.5, 0.5, seed=1), exact(0.9)))
    found = renormalised(record, uncertain_score(0.05, 5.0, seed=2))
    assert found.interval is None
    assert "does not differ from 0" in found.interval_nan_reason


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"score": None}, "has no score to divide"),
        ({"status": "failed:X", "score": None}, "failed:X"),
        ({"normalization": None}, "does not state its normalisation"),
        ({"normalization": "__import__"}, "does not state its normalisation"),
        ({"score": 0.7}, "combined from parts"),
    ],
)
def test_renormalise_rejects_incomplete_records(change, problem):
    record = dataclasses.replace(record_of(ceil_score(exact(0.5), exact(0.9))), **change)
    with pytest.raises(NotFromRecordError, match=problem):
        renormalised(record, exact(0.7))


@pytest.mark.parametrize("ceiling", [exact(0.0), exact(math.nan), exact(2.0), exact(0.8, quantity="accuracy")])
def test_renormalise_rejects_unusable_ceilings(ceiling):
    record = record_of(explained_variance(exact(0.5), exact(0.9)))
    with pytest.raises(CeilingError):
        renormalised(record, ceiling)


class TestFolder:
    @pytest.fixture
    def folder(self, tmp_path):
        """Return a folder with records of three models, one a combination of parts, and of another benchmark."""
        for number, model in enumerate(("a", "b", "c")):
            record = record_of(explained_variance(uncertain_score(0.3 + 0.1 * number, 0.5, number), exact(0.9)), model)
            record = dataclasses.replace(record, benchmark_revision="folder-old" if model != "b" else "planned")
            if model == "c":
                record = dataclasses.replace(record, score=0.123, normalization=None)
            values = {"raw.neuroid": np.arange(3.0), "ceiling.neuroid": np.full(3, 0.9)}
            content = values_bytes(values)
            keep(dataclasses.replace(record, values=digest_of(content)), record_path(tmp_path, model, "b"), content)
        dataclasses.replace(record, model="a", benchmark="other").write(record_path(tmp_path, "a", "other"))
        return tmp_path

    def bytes_of(self, folder):
        return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    def test_every_record_of_the_benchmark_is_renormalised(self, folder):
        other = record_path(folder, "a", "other").read_bytes()
        ceiling = exact(0.6)
        ceiling.attrs["raw"] = Score([0.5, 0.7], coords={"neuroid_id": ("neuroid", ["x", "y"])}, dims=["neuroid"])
        changes = renormalise(folder, "b", ceiling, version=2, revision="folder-new")
        assert [(each.before.model, each.is_new) for each in changes] == [("a", True), ("b", True), ("c", False)]
        assert "does not state its normalisation" in changes[2].problem
        store = FolderStore(folder)
        for model, raw, revision in (("a", 0.3, "folder-new"), ("b", 0.4, "planned")):
            record = store.get(model, "b")
            assert record.score == pytest.approx(raw**2 / 0.6)
            assert (record.ceiling, record.benchmark_version, record.benchmark_revision) == (0.6, 2, revision)
            values = read_values(record_path(folder, model, "b"), record.values)
            assert values["raw.neuroid"].tolist() == [0, 1, 2]
            assert values["ceiling.neuroid"].tolist() == [0.5, 0.7]
        assert store.get("c", "b").ceiling == 0.9
        assert record_path(folder, "a", "other").read_bytes() == other

    def test_dry_run_writes_nothing(self, folder):
        before = self.bytes_of(folder)
        changes = renormalise(folder, "b", exact(0.6), dry_run=True)
        assert changes[0].after.score == pytest.approx(0.15)
        assert self.bytes_of(folder) == before

    def test_interrupted_run_can_be_resumed(self, folder, monkeypatch):
        write = ScoreRecord.write

        def interrupted(record, path):
            if record.model == "b":
                raise KeyboardInterrupt
            return write(record, path)

        monkeypatch.setattr(ScoreRecord, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            renormalise(folder, "b", exact(0.6))
        first = record_path(folder, "a", "b").read_bytes()
        assert FolderStore(folder).get("b", "b").ceiling == 0.9
        monkeypatch.undo()
        changes = renormalise(folder, "b", exact(0.6))
        assert [each.is_new for each in changes] == [False, True, False]
        assert record_path(folder, "a", "b").read_bytes() == first
        assert FolderStore(folder).get("b", "b").ceiling == 0.6

    def test_only_fields_that_depend_on_the_ceiling_change(self, folder, monkeypatch):
        """Only the fields that vary between runs and those computed from the ceiling differ."""
        before = FolderStore(folder).get("a", "b")
        renormalise(folder, "b", exact(0.6))
        after = FolderStore(folder).get("a", "b")
        now = dataclasses.asdict(after)
        differing = {name for name, value in dataclasses.asdict(before).items() if value != now[name]}
        if "error_df" in differing:  # it is multiplied and divided back, which may change its last digit
            assert after.error_df == pytest.approx(before.error_df, rel=1e-14)
            differing.remove("error_df")
        expected = {"score", "ceiling", "error", "interval", "split_error", "stimulus_error", "influence", "values"}
        assert differing - set(MADE) == expected
