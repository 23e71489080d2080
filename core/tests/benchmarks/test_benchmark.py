import pytest

from brainscore_core.benchmarks import Benchmark, BenchmarkBase, score_benchmark
from brainscore_core.errors import CeilingError
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


def test_identifier_version_and_reference_are_read_only_but_parent_is_not():
    benchmark = BenchmarkBase("b", lambda: 1, 1)
    assert benchmark.parent is None
    benchmark.parent = "IT"
    assert benchmark.parent == "IT"
    for name in ("identifier", "version", "bibtex", "ceiling"):
        with pytest.raises(AttributeError):
            setattr(benchmark, name, "other")


@pytest.mark.parametrize("value", [None, float("nan"), 0, -0.2, Score(float("nan")), "x"])
def test_unusable_ceiling_names_the_benchmark(value):
    with pytest.raises(CeilingError, match="'Mine2026-accuracy'"):
        _ = BenchmarkBase("Mine2026-accuracy", lambda: value, 1).ceiling


def test_a_failing_ceiling_function_is_asked_again():
    answers = iter([None, 0.5])
    benchmark = BenchmarkBase("b", lambda: next(answers), 1)
    with pytest.raises(CeilingError):
        _ = benchmark.ceiling
    assert float(benchmark.ceiling) == 0.5


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


def test_score_benchmark_looks_at_the_memory_first():
    events = []

    class Mine(BenchmarkBase):
        def preallocate_memory(self, candidate):
            events.append(("memory", candidate))

        def __call__(self, candidate):
            events.append(("call", candidate))
            return Score(0.3)

    assert float(score_benchmark(Mine("b", lambda: 1, 1), "model")) == 0.3
    assert events == [("memory", "model"), ("call", "model")]


def test_score_benchmark_stops_where_memory_is_short():
    class Hungry(BenchmarkBase):
        def preallocate_memory(self, candidate):
            raise MemoryError("too large")

        def __call__(self, candidate):
            raise AssertionError("must not run")

    with pytest.raises(MemoryError):
        score_benchmark(Hungry("b", lambda: 1, 1), None)
