import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_vision.metric_helpers.arrays.influence import Influences, counted_once


def test_multiplying_scales_every_influence():
    doubled = Influences(np.ones(3), np.ones(2), np.ones((3, 2))) * 2.0
    assert {part.max() for part in (doubled.stimuli, doubled.neuroids, doubled.cells)} == {2.0}


@given(part=st.floats(0, 2))
def test_counted_once_subtracts_pair_effects_up_to_half(part):
    influences = np.random.default_rng(0).normal(size=9)
    total = influences @ influences
    kept = counted_once(influences, part * total)
    assert kept @ kept / total == pytest.approx(max(1 - part, 0.5))


def test_counted_once_leaves_zero_influences_at_zero():
    assert not counted_once(np.zeros(3), 1.0).any()
