import math

import pytest

from brainscore_core.benchmarks import Benchmark, BenchmarkBase, score_benchmark
from brainscore_core.errors import CeilingError, ContractError, NotApplicableError
from brainscore_core.metrics import Score


def test_an_int_ceiling_becomes_a_score():
    ceiling = BenchmarkBase("b", ceiling_func=lambda: 1, version=1).ceiling
    assert isinstance(ceiling, Score)
    assert 0 < ceiling <= 1
    assert hasattr(ceiling, "attrs")


def test_ceiling_is_computed_on_demand_and_once_for_each_object():
    calls = []

    def ceiling_func():
        calls.append(1)
        return Score(0.5 + 0.1 * len(calls))

    first = BenchmarkBase("same-name", ceiling_func=ceiling_func, version=1)
    second = BenchmarkBase("same-name", ceiling_func=ceiling_func, version=2)
    assert not calls
    assert first.ceiling is first.ceiling
    assert float(first.ceiling) == pytest.approx(0.6)
    # Two benchmarks of one name share nothing: neither a new version nor another variant gets a stale ceiling.
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
def test_ways_to_give_the_ceiling(make):
    benchmark = make()
    assert float(benchmark.ceiling) == 0.7
    assert (benchmark.identifier, benchmark.version, benchmark.parent, benchmark.bibtex) == ("b", 3, "V1", "@article{}")


def test_a_benchmark_may_have_an_attribute_called_ceiling():
    class Halves(BenchmarkBase):  # as published: what computes the ceiling, set before the base class is
        def __init__(self):
            self._ceiling = lambda assembly: assembly / 2
            super().__init__("halves", version=1, ceiling_func=lambda: self._ceiling(1.0))

    benchmark = Halves()
    assert float(benchmark.ceiling) == 0.5
    assert benchmark._ceiling(3.0) == 1.5


def test_identifier_version_and_reference_are_read_only_but_parent_is_not():
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


def test_a_failing_ceiling_function_is_asked_again_and_it_may_be_1_but_for_rounding():
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
def test_missing_or_double_arguments(arguments):
    with pytest.raises(TypeError, match="'b'"):
        BenchmarkBase("b", **arguments)


def test_the_contract_says_what_is_missing():
    benchmark = Benchmark()
    with pytest.raises(NotImplementedError, match="__call__"):
        benchmark(None)
    for name in ("identifier", "version", "ceiling", "bibtex"):
        with pytest.raises(NotImplementedError, match="BenchmarkBase"):
            getattr(benchmark, name)


class Returning(BenchmarkBase):
    """Give whatever one likes."""

    def __init__(self, returned):
        super().__init__("Mine2026-x", ceiling=1, version=1)
        self.returned = returned

    def __call__(self, candidate):
        return self.returned


@pytest.mark.parametrize("returned", [0.5, None, "good", Score([0.1, 0.2], dims=["split"]), Score(float("inf"))])
def test_score_benchmark_says_who_returned_what_is_no_score(returned):
    with pytest.raises(ContractError, match=r"^The benchmark 'Mine2026-x' returned .*; expected a"):
        score_benchmark(Returning(returned), None)
    with pytest.raises(ContractError, match=r"^The benchmark 'another' returned "):
        score_benchmark(Returning(returned), None, name="another")


def test_score_benchmark_gives_no_nan_without_a_reason():
    said = score_benchmark(Returning(Score(float("nan"))), None).attrs["not_applicable"]
    assert said.startswith("The benchmark 'Mine2026-x' gives NaN and does not say why.")
    reason = {"not_applicable": "It answers the same to all."}
    assert score_benchmark(Returning(Score(float("nan"), attrs=reason)), None).attrs == reason


def test_score_benchmark_gives_nan_where_a_candidate_cannot_answer():
    def refuses(candidate):
        raise NotApplicableError(f"{candidate} has no memory.")

    score = score_benchmark(refuses, "it", name="function")
    assert math.isnan(float(score))
    assert math.isnan(float(score.raw))
    assert score.attrs["not_applicable"] == "it has no memory."


def test_score_benchmark_looks_at_the_memory_first_and_stops_where_it_is_short():
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
    assert float(score_benchmark(lambda candidate: Score(0.3), None, name="function")) == 0.3  # of no class at all
