"""Test dividing tasks among jobs."""

from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.planning.shards import divide

TASKS = st.lists(st.tuples(st.integers(0, 5), st.floats(0.1, 100)), max_size=60)


@given(tasks=TASKS, shard_minutes=st.floats(1, 60), most=st.integers(1, 10), grouped=st.booleans())
def test_each_task_is_in_one_of_a_bounded_number_of_jobs(tasks, shard_minutes, most, grouped):
    numbered = list(enumerate(tasks))
    shards = divide(
        numbered,
        lambda task: task[1][1],
        shard_minutes=shard_minutes,
        most=most,
        together=(lambda task: task[1][0]) if grouped else None,
    )
    placed = [task for shard in shards for task in shard.tasks]
    assert sorted(placed) == numbered
    assert all(shard.tasks for shard in shards)
    assert len(shards) <= most
    for shard in shards:
        assert abs(shard.minutes - sum(task[1][1] for task in shard.tasks)) < 1e-6


def test_jobs_take_similar_time():
    shards = divide([30, 1, 1, 29, 15, 15], float, shard_minutes=31, most=200)
    assert sorted(shard.minutes for shard in shards) == [30.0, 30.0, 31.0]


def test_pairs_of_one_model_stay_together():
    pairs = [(model, benchmark) for benchmark in range(5) for model in "abc"]
    shards = divide(pairs, lambda pair: 6.0, shard_minutes=30, most=200, together=lambda pair: pair[0])
    assert [{model for model, _ in shard.tasks} for shard in shards] == [{"a"}, {"b"}, {"c"}]


def test_jobs_are_longer_if_their_number_is_limited():
    shards = divide(range(1000), lambda task: 60.0, shard_minutes=30, most=200)
    assert len(shards) == 200
    assert {len(shard.tasks) for shard in shards} == {5}


def test_no_tasks_give_no_jobs():
    assert divide([], float, shard_minutes=30, most=200) == []
