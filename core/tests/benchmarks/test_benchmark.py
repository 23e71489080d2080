import math

import numpy as np
import pytest

from brainscore_core.benchmarks import Benchmark, BenchmarkBase, InSequence, ceil_score, score_benchmark
from brainscore_core.errors import AssemblyError, CeilingError, ContractError, NotApplicableError
from brainscore_core.metrics import Score
from brainscore_core.metrics.errors import attach_influence
from brainscore_core.records.from_score import format_record
from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics.influence import Influence
from brainscore_core.testing.synthetic import assembly_of


def test_int_ceiling_becomes_a_score():
    ceiling = BenchmarkBase("b", ceiling_func=lambda: 1, version=1).ceiling
    assert isinstance(ceiling, Score)
    assert 0 < ceiling <= 1
    assert hasattr(ceiling, "attrs")


def test_ceiling_is_computed_on_demand_and_once_per_object():
    calls = []

    def ceiling_func():
        calls.append(1)
        return Score(0.5 + 0.1 * len(calls))

    first = BenchmarkBase("same-name", ceiling_func=ceiling_func, version=1)
    second = BenchmarkBase("same-name", ceiling_func=ceiling_func, version=2)
    assert not calls
    assert first.ceiling is first.ceiling
    assert float(first.ceiling) == pytest.approx(0.6)
    # Two benchmarks with the same name share nothing, so a new version or variant never gets a stale ceiling.
    assert float(second.ceiling) == pytest.approx(0.7)
    assert len(calls) == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: BenchmarkBase("b", lambda: Score(0.7), 3, "V1", "@article{}"),
        lambda: BenchmarkBase("b", Score(0.7), 3, "V1", "@article{}"),
        lambda: BenchmarkBase(identifier="b", ceiling=0.7, version=3, parent="V1", bibtex="@article{}"),
    ],
    ids=["function", "score in its place", "keyword"],
)
def test_ceiling_may_be_a_function_a_score_or_a_keyword(make):
    benchmark = make()
    assert float(benchmark.ceiling) == 0.7
    assert (benchmark.identifier, benchmark.version, benchmark.parent, benchmark.bibtex) == ("b", 3, "V1", "@article{}")


def test_benchmark_may_set_its_own_ceiling_attribute():
    class Halves(BenchmarkBase):  # as published: the function is set before the base class is initialised
        def __init__(self):
            self._ceiling = lambda assembly: assembly / 2
            super().__init__("halves", version=1, ceiling_func=lambda: self._ceiling(1.0))

    benchmark = Halves()
    assert float(benchmark.ceiling) == 0.5
    assert benchmark._ceiling(3.0) == 1.5


def test_every_property_but_parent_is_read_only():
    benchmark = BenchmarkBase("b", lambda: 1, 1)
    assert benchmark.parent is None
    benchmark.parent = "IT"
    assert benchmark.parent == "IT"
    for name in ("identifier", "version", "bibtex", "ceiling"):
        with pytest.raises(AttributeError):
            setattr(benchmark, name, "other")


@pytest.mark.parametrize("value", [None, float("nan"), 0, -0.2, Score(float("nan")), "x", 1.7, Score(100)])
def test_unusable_ceiling_names_the_benchmark(value):
    with pytest.raises(CeilingError, match="'Mine2026-accuracy'"):
        _ = BenchmarkBase("Mine2026-accuracy", lambda: value, 1).ceiling


def test_failed_ceiling_is_retried_and_may_exceed_1_by_rounding():
    answers = iter([None, 1 + 1e-9])
    benchmark = BenchmarkBase("b", lambda: next(answers), 1)
    with pytest.raises(CeilingError):
        _ = benchmark.ceiling
    assert float(benchmark.ceiling) == 1 + 1e-9
    with pytest.raises(CeilingError, match=r"is 1\.7; expected at most 1.*percent"):
        _ = BenchmarkBase("b", ceiling=1.7, version=1).ceiling


@pytest.mark.parametrize(
    "arguments", [{"ceiling_func": lambda: 1}, {"version": 1}, {"version": 1, "ceiling_func": lambda: 1, "ceiling": 1}]
)
def test_rejects_missing_or_conflicting_arguments(arguments):
    with pytest.raises(TypeError, match="'b'"):
        BenchmarkBase("b", **arguments)


def test_contract_names_the_missing_method():
    benchmark = Benchmark()
    with pytest.raises(NotImplementedError, match="__call__"):
        benchmark(None)
    for name in ("identifier", "version", "ceiling", "bibtex"):
        with pytest.raises(NotImplementedError, match="BenchmarkBase"):
            getattr(benchmark, name)


class Returning(BenchmarkBase):
    """A benchmark that returns a given value."""

    def __init__(self, returned):
        super().__init__("Mine2026-x", ceiling=1, version=1)
        self.returned = returned

    def __call__(self, candidate):
        return self.returned


@pytest.mark.parametrize("returned", [0.5, None, "good", Score([0.1, 0.2], dims=["split"]), Score(float("inf"))])
def test_score_benchmark_names_the_benchmark_that_returned_no_score(returned):
    with pytest.raises(ContractError, match=r"^The benchmark 'Mine2026-x' returned .*; expected a"):
        score_benchmark(Returning(returned), None)
    with pytest.raises(ContractError, match=r"^The benchmark 'another' returned "):
        score_benchmark(Returning(returned), None, name="another")


def test_score_benchmark_adds_a_reason_to_every_nan():
    said = score_benchmark(Returning(Score(float("nan"))), None).attrs["not_applicable"]
    assert said.startswith("The benchmark 'Mine2026-x' returned NaN without a reason.")
    reason = {"not_applicable": "It answers the same to all."}
    assert score_benchmark(Returning(Score(float("nan"), attrs=reason)), None).attrs == reason


def test_score_benchmark_gives_nan_if_a_candidate_cannot_answer():
    def refuses(candidate):
        raise NotApplicableError(f"{candidate} has no memory.")

    score = score_benchmark(refuses, "it", name="function")
    assert math.isnan(float(score))
    assert math.isnan(float(score.raw))
    assert score.attrs["not_applicable"] == "it has no memory."


def test_score_benchmark_checks_memory_before_the_call():
    class Mine(BenchmarkBase):
        def preallocate_memory(self, candidate):
            events.append(("memory", candidate))
            if candidate == "large":
                raise MemoryError("too large")

        def __call__(self, candidate):
            events.append(("call", candidate))
            return Score(0.3)

    events = []
    assert float(score_benchmark(Mine("b", lambda: 1, 1), "model")) == 0.3
    with pytest.raises(MemoryError):
        score_benchmark(Mine("b", lambda: 1, 1), "large")
    assert events == [("memory", "model"), ("call", "model"), ("memory", "large")]
    assert float(score_benchmark(lambda candidate: Score(0.3), None, name="function")) == 0.3  # a plain function


IDS = [f"s{number:02d}" for number in range(40)]


def over_objects(objects, *, name="object_name", stimuli=IDS, cluster="object_name"):
    """Return a benchmark whose stimuli show objects, its score, and its score with errors over the objects."""
    rng = np.random.default_rng(0)
    raw, ceiling = (
        attach_influence(
            Score(value), 0.02 * Influence.of_mean(rng.standard_normal((40, 6)), np.array(IDS), np.arange(6))
        )
        for value in (0.4, 0.8)
    )
    benchmark = BenchmarkBase("b", ceiling=ceiling, version=1, stimulus_cluster=cluster)
    values = rng.standard_normal((len(stimuli), 6))
    assembly = assembly_of(values, stimulus_id=stimuli, **{"object_name": None, name: ("presentation", objects)})
    benchmark.measurement = lambda: assembly
    before = ceil_score(raw, ceiling)
    return benchmark, before, benchmark.over_clusters(before)


@pytest.mark.parametrize("n_objects", [5, 10])
def test_errors_are_over_the_clusters_named_by_the_benchmark(n_objects):
    objects = [f"object{number % n_objects}" for number in range(40)]
    benchmark, before, after = over_objects(objects)
    for score in (after, after.attrs["raw"], after.ceiling, benchmark.ceiling):
        assert score.attrs["error_over"] == ["object_name", "neuroid"]
        assert score.attrs["n_clusters"] == len(score.attrs["influence"].stimuli) == n_objects
    assert float(after) == float(before)
    grouped = before.attrs["influence"].over_clusters(np.array(objects), "object_name")
    assert after.attrs["error"] == pytest.approx(grouped.error)
    assert after.attrs["influence"].degrees_of_freedom == pytest.approx(grouped.degrees_of_freedom)
    assert before.attrs["error_over"] == ["stimulus", "neuroid"]  # unchanged
    low, high = after.attrs["interval"]
    if n_objects < 8:
        assert after.attrs["few_clusters"].startswith("few clusters: 5 of object_name")
        assert low <= before.attrs["interval"][0]
        assert before.attrs["interval"][1] <= high
    else:
        assert "few_clusters" not in after.attrs
    assert benchmark.over_clusters(after).attrs["error"] == after.attrs["error"]  # applied only once
    benchmark.stimulus_cluster = None
    assert benchmark.over_clusters(before) is before


def test_errors_of_a_sequence_are_over_eight_consecutive_blocks():
    frames = np.random.default_rng(1).permutation(40)
    _, before, after = over_objects(frames * 0.04, name="time_s", cluster=InSequence("time_s"))
    blocks = before.attrs["influence"].over_clusters((frames // 5).astype(str), "stimulus_block")
    for score in (after, after.attrs["raw"], after.ceiling):
        assert score.attrs["error_over"] == ["stimulus_block", "neuroid"]
        assert score.attrs["n_clusters"] == 8
        assert "few_clusters" not in score.attrs
    assert after.attrs["error"] == pytest.approx(blocks.error)
    np.testing.assert_allclose(np.sort(after.attrs["influence"].by_stimulus), np.sort(blocks.by_stimulus))
    record = ScoreRecord.of_score(after, model="m", benchmark="b")
    assert "over new blocks of consecutive stimuli and neuroids" in format_record(record, None)
    with pytest.raises(AssemblyError, match="has values that are not numbers, such as 'a'"):
        over_objects(["a", *range(39)], name="time_s", cluster=InSequence("time_s"))


@pytest.mark.parametrize("n", [19, 20])
def test_score_warns_of_few_stimuli(n):
    table = np.random.default_rng(0).standard_normal((n, 6))
    raw = attach_influence(Score(0.4), 0.02 * Influence.of_mean(table, np.arange(n), np.arange(6)))
    raw.attrs["n_stimuli"] = n
    text = format_record(ScoreRecord.of_score(ceil_score(raw, Score(0.8)), model="m", benchmark="b"), None)
    assert ("few_stimuli" in raw.attrs) == ("few_stimuli" in ceil_score(raw, Score(0.8)).attrs) == (n < 20)
    assert f"{n} stimuli{' (few, so the error is uncertain)' if n < 20 else ''}; bench" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "object_names"}, "Did you mean 'object_names'?"),
        ({"objects": [None, *"a" * 39]}, "missing for 1 stimuli, such as 's00'"),
        ({"objects": [np.nan] * 2 + [1.0] * 38}, "missing for 2 stimuli"),
        ({"objects": ["a", "b", *"a" * 39], "stimuli": ["s00", *IDS]}, "not the same in all presentations of 1 "),
    ],
)
def test_rejects_ambiguous_clusters(change, message):
    with pytest.raises(AssemblyError, match="stimulus_cluster='object_name'") as refused:
        over_objects(**{"objects": ["a", "b"] * 20, **change})
    assert message in str(refused.value)


def test_every_stimulus_of_a_score_needs_a_cluster():
    with pytest.raises(ContractError, match="39 stimuli that the score depends on have no 'object_name'"):
        over_objects(["a"], stimuli=IDS[:1])
    with pytest.raises(NotImplementedError, match="has no assembly to read it from"):
        _ = BenchmarkBase("b", ceiling=1.0, version=1, stimulus_cluster="scene").ceiling
