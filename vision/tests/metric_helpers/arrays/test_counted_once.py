import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_vision.metric_helpers.arrays.influence import Influences, counted_once


def test_of_a_multiple():
    doubled = Influences(np.ones(3), np.ones(2), np.ones((3, 2))) * 2.0
    assert {part.max() for part in (doubled.stimuli, doubled.neuroids, doubled.cells)} == {2.0}


@given(part=st.floats(0, 2))
def test_what_pairs_do_is_taken_out_once_but_no_more_than_half(part):
    influences = np.random.default_rng(0).normal(size=9)
    total = influences @ influences
    kept = counted_once(influences, part * total)
    assert kept @ kept / total == pytest.approx(max(1 - part, 0.5))


def test_without_influences_there_is_nothing_to_take_out():
    assert not counted_once(np.zeros(3), 1.0).any()
