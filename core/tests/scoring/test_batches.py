"""Which pairs are scored together."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.scoring.batches import Batch, make_batches
from brainscore_core.scoring.pairs import Pair


def pair_of(model, benchmark="b", minutes=1.0, memory_gb=1.0, private=False):
    return Pair(model, benchmark, minutes, memory_gb, private)


tasks = st.lists(
    st.builds(
        pair_of,
        model=st.sampled_from("abc"),
        benchmark=st.sampled_from(["u1", "u2", "v1", "v2", "w"]),
        minutes=st.sampled_from([0.5, 1.0, 7.0]),
        private=st.booleans(),
    ),
    unique_by=lambda task: (task.model, task.benchmark),
)


def stimuli_of(benchmark):
    return benchmark[0]


@given(tasks, st.sampled_from([1.0, 3.0, float("inf")]), st.randoms())
def test_batches_partition_the_pairs_by_model(pairs, most_minutes, shuffle):
    batches = make_batches(pairs, stimuli_of=stimuli_of, most_minutes=most_minutes)
    assert sorted(pair.benchmark + pair.model for batch in batches for pair in batch.pairs) == sorted(
        pair.benchmark + pair.model for pair in pairs
    )
    for batch in batches:
        assert {(pair.model, pair.private) for pair in batch.pairs} == {(batch.model, batch.private)}
        assert batch.minutes <= most_minutes or len(batch.pairs) == 1
        keys = [stimuli_of(benchmark) for benchmark in batch.benchmarks]
        runs = [key for key, before in zip(keys, [None, *keys], strict=False) if key != before]
        assert len(runs) == len(set(runs)), "benchmarks with the same stimuli follow each other"
    assert [batch.minutes for batch in batches] == sorted((batch.minutes for batch in batches), reverse=True)
    shuffled = list(pairs)
    shuffle.shuffle(shuffled)
    assert make_batches(shuffled, stimuli_of=stimuli_of, most_minutes=most_minutes) == batches


def test_unlimited_batch_has_a_whole_model_short_pairs_first():
    pairs = [
        pair_of("m", "u1", 5),
        pair_of("m", "v1", 1),
        pair_of("m", "u2", 1),
        pair_of("m", "v2", 2),
        pair_of("n", "w", 9.5),
    ]
    random.Random(0).shuffle(pairs)  # noqa: S311 - not for security
    longest, second = make_batches(pairs, stimuli_of=stimuli_of)
    assert (longest.model, second.benchmarks) == ("n", ("v1", "v2", "u2", "u1"))
    assert (second.minutes, second.memory_gb) == (9, 1)


def test_long_batch_is_split_where_the_stimuli_change():
    pairs = [pair_of("m", name, 2) for name in ("u1", "u2", "v1", "v2", "w")]
    parts = make_batches(pairs, stimuli_of=stimuli_of, most_minutes=6)
    assert [batch.benchmarks for batch in parts] == [("w", "u1", "u2"), ("v1", "v2")]


@pytest.mark.parametrize("pairs", [(), (pair_of("a"), pair_of("b")), (pair_of("a"), pair_of("a", "c", private=True))])
def test_batch_rejects_mixed_models_and_mixed_privacy(pairs):
    with pytest.raises(ValueError, match="pairs of a batch share one model"):
        Batch(pairs)
