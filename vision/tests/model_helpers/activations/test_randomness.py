import random

import numpy as np
import pytest
import torch

from brainscore_vision.model_helpers.activations.trials import random_state_as_before, save_random_state


def draw():
    return random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002, S311 - the global generators


def test_saved_state_can_be_restored_repeatedly():
    restore = save_random_state()
    first = draw()
    for _ in range(2):
        draw()
        restore()
        assert draw() == first


def test_block_leaves_the_random_state_unchanged():
    restore = save_random_state()
    expected = draw()
    restore()
    with random_state_as_before():
        draw()
    assert draw() == expected


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_state_can_be_restored_only_after_an_error(error):
    restore = save_random_state()
    first, second = draw(), draw()
    restore()
    with random_state_as_before(only_after_an_error=True):
        assert draw() == first

    @random_state_as_before(only_after_an_error=True)
    def fail():
        draw()
        raise error

    with pytest.raises(error):
        fail()
    assert draw() == second
