"""The ledger of a campaign: every pair gets exactly one outcome, whatever is lost."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.scoring.batches import Batch
from brainscore_core.scoring.cluster.running import Ledger


def play(ledger, chance, *, slots=4, loss=0.3):
    """Play a campaign whose workers may be lost within a piece; return the scored pairs and those given up."""
    scored, given_up = [], []
    with_workers = []
    while ledger.n_open:
        while len(with_workers) < slots and (piece := ledger.take()):
            with_workers.append(piece)
        assert with_workers, "pairs are open, and nothing is handed out"
        piece = with_workers.pop(chance.randrange(len(with_workers)))
        todo = ledger.left_of(piece.key)
        n_done = chance.randint(0, len(todo)) if chance.random() < loss else len(todo)
        names = [(pair.model, pair.benchmark) for pair in todo[:n_done]]
        scored.extend(name for name in names if ledger.done(*name))
        if n_done == len(todo):
            assert ledger.ended(piece.key) == ()
        elif (pair := ledger.lost(piece.key, begun=chance.random() < 0.8)) is not None:
            given_up.append((pair.model, pair.benchmark))
    return scored, given_up


@given(
    n_models=st.integers(1, 6),
    n_benchmarks=st.integers(1, 9),
    slots=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    most_losses=st.integers(1, 4),
)
def test_each_pair_has_exactly_one_outcome(pair_class, n_models, n_benchmarks, slots, seed, most_losses):
    chance = random.Random(seed)  # noqa: S311 - for a simulation
    pairs = [
        [pair_class(f"m{model}", f"b{each}", chance.choice([0.0, 1, 20, 500])) for each in range(n_benchmarks)]
        for model in range(n_models)
    ]
    ledger = Ledger([Batch(tuple(each)) for each in pairs], slots, most_losses=most_losses)
    scored, given_up = play(ledger, chance, slots=slots)
    expected = {(pair.model, pair.benchmark) for each in pairs for pair in each}
    assert sorted(scored + given_up) == sorted(expected)
    assert ledger.take() is None
    assert ledger.n_running == 0


def pieces_of(ledger):
    return list(iter(ledger.take, None))


def test_pieces_have_one_model_and_are_handed_out_longest_first(batches):
    ledger = Ledger(batches(["a", "b", "c"], 40, minutes=10.0), 2)
    taken = pieces_of(ledger)
    minutes = [piece.batch.minutes for piece in taken]
    assert sum(minutes) == 3 * 40 * 10
    assert minutes[0] == 150  # an eighth of 1,200 minutes: a quarter for each of two workers
    assert minutes[-1] == 10  # as short as a single pair
    assert all(later <= earlier for earlier, later in zip(minutes, minutes[3:], strict=False))
    assert len({piece.key for piece in taken}) == len(taken)


def test_piece_fits_a_job_unless_it_is_a_single_pair(batches, pair):
    made = [*batches(["a"], 10, minutes=30.0), Batch((pair("long", "b", 500.0),))]
    minutes = sorted(piece.batch.minutes for piece in pieces_of(Ledger(made, 1, most_minutes=60.0)))
    assert set(minutes) == {30, 60, 500}
    assert sum(minutes) == 10 * 30 + 500


def test_short_pairs_are_combined_into_pieces(batches):
    ledger = Ledger(batches(["a"], 25, minutes=0.5), 8, least_minutes=5.0)
    assert [len(piece.batch.pairs) for piece in pieces_of(ledger)] == [10, 10, 5]


def benchmarks_of(piece):
    return [pair.benchmark for pair in piece.batch.pairs]


def test_running_pair_is_blamed_for_a_lost_worker(batches):
    ledger = Ledger(batches(["a"], 3), 1, least_minutes=100.0, most_losses=2)
    piece = ledger.take()
    ledger.done("a", "b0")
    assert ledger.lost(piece.key, begun=True) is None
    pieces = {tuple(benchmarks_of(each)): each for each in pieces_of(ledger)}
    assert set(pieces) == {("b1",), ("b2",)}  # suspects are scored alone
    assert ledger.lost(pieces["b2",].key, begun=True) is None
    assert ledger.lost(pieces["b1",].key, begun=True).benchmark == "b1"
    assert benchmarks_of(ledger.take()) == ["b2"]
    assert ledger.n_open == 1


def test_wrongly_suspected_pair_is_cleared(batches):
    """The worker is lost right after a pair ends, before its outcome has arrived."""
    ledger = Ledger(batches(["a"], 3), 1, least_minutes=100.0, most_losses=2)
    given_up = []
    while piece := ledger.take():
        for pair in piece.batch.pairs:
            if pair.benchmark == "b1":
                given_up.append(ledger.lost(piece.key, begun=True))
                break
            if "b1" not in benchmarks_of(piece):
                ledger.done("a", pair.benchmark)
        else:
            ledger.ended(piece.key)
    assert [pair.benchmark for pair in given_up if pair] == ["b1"]
    assert ledger.n_open == 0


def test_no_pair_is_blamed_for_a_piece_that_had_not_begun(batches):
    ledger = Ledger(batches(["a"], 1), 1, most_losses=1)
    for _ in range(5):
        assert ledger.lost(ledger.take().key, begun=False) is None
    assert ledger.n_open == 1


def test_second_outcome_of_a_pair_is_ignored(batches):
    ledger = Ledger(batches(["a"], 2), 1)
    ledger.take()
    assert ledger.done("a", "b0")
    assert not ledger.done("a", "b0")
    assert not ledger.done("unknown", "b0")


def test_late_outcome_of_a_lost_piece_is_not_repeated(batches):
    """A worker that was taken for lost may still deliver while its pairs wait for another worker."""
    ledger = Ledger(batches(["a"], 2), 1, least_minutes=100.0)
    piece = ledger.take()
    ledger.lost(piece.key, begun=True)
    assert ledger.done("a", "b0")
    assert [pair.benchmark for pair in ledger.take().batch.pairs] == ["b1"]
    assert ledger.done("a", "b1")
    assert ledger.take() is None


def test_unknown_piece_changes_nothing(batches):
    ledger = Ledger(batches(["a"], 2), 1)
    assert ledger.lost("77", begun=True) is None
    assert ledger.ended("77") == ()
    assert ledger.n_open == 2


@pytest.fixture(scope="module")
def pair_class():
    """Return a class of pairs that all examples share, as hypothesis requires."""
    from dataclasses import make_dataclass

    fields = [("model", str), ("benchmark", str), ("minutes", float, 1.0), ("memory_gb", float, 0.1)]
    return make_dataclass("Pair", [*fields, ("private", bool, False)], frozen=True)
