import subprocess
import sys

import pytest

from brainscore_vision.metric_helpers.arrays.seeds import generator, seed_sequence


def test_equal_paths_give_equal_draws():
    assert generator(3, "a", 1).random() == generator(3, "a", 1).random()


def test_draws_depend_on_seed_path_and_order():
    paths = [(0,), (1,), (0, "a"), (0, "b"), (0, "a", "b"), (0, "b", "a"), (0, 1), (0, "1"), (0, "ab")]
    assert len({generator(*path).random() for path in paths}) == len(paths)


def test_draws_are_pinned_and_equal_in_another_process():
    code = f"from {generator.__module__} import generator; print(generator(7, 'x').integers(10**9))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(other.stdout) == int(generator(7, "x").integers(10**9)) == 646124046


def test_the_root_is_numpys_plain_seed():
    assert seed_sequence(5).entropy == 5
    assert seed_sequence(5).spawn_key == ()


def test_rejects_a_negative_seed():
    with pytest.raises(ValueError, match="-1"):
        generator(-1, "x")
