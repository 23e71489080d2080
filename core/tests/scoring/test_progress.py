"""Progress messages of a campaign."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.records.record import ScoreRecord
from brainscore_core.scoring.campaign import Progress, duration
from brainscore_core.scoring.pairs import Outcome, Pair


def pair_of(model, minutes=1.0):
    return Pair(model, "b", minutes)


def of(pair, status="scored", **fields):
    record = ScoreRecord.without_score(status, model=pair.model, benchmark=pair.benchmark, duration_s=2)
    return Outcome(dataclasses.replace(record, **fields))


def test_remaining_time_is_estimated_from_the_plan():
    now = [100.0]
    pairs = [pair_of("a", 1), pair_of("b", 3), pair_of("c", 4)]
    progress = Progress(pairs, lambda: now[0])
    assert progress.seconds_left() is None
    now[0] += 8
    progress.count(pairs[0], of(pairs[0]))
    assert progress.seconds_left() == 56  # 8 s per planned minute, and 7 planned minutes left
    now[0] += 8
    progress.count(pairs[1], of(pairs[1], "failed:X"))
    assert progress.seconds_left() == 16
    progress.count(pairs[2], of(pairs[2]))
    assert progress.seconds_left() == 0
    assert (progress.n_done, progress.n_failed) == (3, 1)


def test_line_has_count_score_and_time_left():
    pairs = [pair_of("a"), pair_of("b"), pair_of("c")]
    now = [0.0]
    progress = Progress(pairs, lambda: now[0])
    now[0] = 61
    outcomes = [of(pairs[0], score=0.51234, error=0.01), of(pairs[1], "failed:Timeout"), of(pairs[2])]
    lines = []
    for pair, outcome in zip(pairs, outcomes, strict=True):
        progress.count(pair, outcome)
        lines.append(progress.line(outcome))
    assert lines == [
        "[1/3] a on b: 0.5123 ± 0.0100 (2.0 s); about 2 min 2 s left",
        "[2/3] b on b: failed:Timeout; about 30.5 s left",
        "[3/3] c on b: not applicable",
    ]


def test_heartbeat_names_running_pairs():
    pairs = [pair_of(name) for name in "abcde"]
    now = [0.0]
    progress = Progress(pairs, lambda: now[0])
    assert progress.heartbeat() == "[0/5] running: nothing yet"
    assert progress.start(pairs[0]) == "[0/5] a on b: starts"
    now[0] = 75
    progress.start(pairs[1])
    assert progress.heartbeat() == "[0/5] running: a on b (1 min 15 s), b on b (0.0 s)"
    progress.count(pairs[0], of(pairs[0]))
    for pair in pairs[2:]:
        progress.start(pair)
    assert progress.heartbeat() == "[1/5] running: b on b (0.0 s), c on b (0.0 s), d on b (0.0 s) and 1 more"


@given(st.floats(min_value=0, max_value=1e7))
def test_durations_have_at_most_two_units(seconds):
    assert len(duration(seconds).split()) in (2, 4)
