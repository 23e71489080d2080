import subprocess
import sys

import pytest

from brainscore_vision.metric_helpers.arrays.seeds import generator, seed_sequence


def test_same_path_same_draws():
    assert generator(3, "a", 1).random() == generator(3, "a", 1).random()


def test_other_seed_path_or_order_other_draws():
    paths = [(0,), (1,), (0, "a"), (0, "b"), (0, "a", "b"), (0, "b", "a"), (0, 1), (0, "1"), (0, "ab")]
    assert len({generator(*path).random() for path in paths}) == len(paths)


def test_draws_are_pinned_and_the_same_in_another_session():
    code = f"from {generator.__module__} import generator; print(generator(7, 'x').integers(10**9))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(other.stdout) == int(generator(7, "x").integers(10**9)) == 646124046


def test_the_root_without_a_path_is_the_plain_seed_of_numpy():
    assert seed_sequence(5).entropy == 5
    assert seed_sequence(5).spawn_key == ()


def test_negative_seed():
    with pytest.raises(ValueError, match="-1"):
        generator(-1, "x")
