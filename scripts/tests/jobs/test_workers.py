import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.jobs.plugin_tests import choose_workers, count_tests, usable_cores

NUMBERS = st.integers(0, 5000)


@given(NUMBERS, st.integers(1, 300), st.none() | st.floats(0, 1e6))
def test_workers_are_none_or_at_most_cores_and_tests(n_tests, cores, seconds):
    workers = choose_workers(n_tests, cores, seconds)
    assert workers == 0 or 2 <= workers <= min(cores, n_tests, 8)


@pytest.mark.parametrize(
    ("n_tests", "cores", "seconds", "workers"),
    [(6, 8, None, 0), (48, 8, None, 4), (500, 2, None, 2), (500, 1, None, 0), (500, 8, 3.0, 0), (6, 8, 60.0, 6)],
)
def test_workers_start_only_if_they_save_time(n_tests, cores, seconds, workers):
    assert choose_workers(n_tests, cores, seconds) == workers


def test_tests_are_counted_without_running_them(tmp_path):
    (tmp_path / "test.py").write_text(
        "import pytest\nraise SystemExit\n"
        "@pytest.mark.parametrize('a', [1, 2, 3])\n@pytest.mark.parametrize(('b', 'c'), [(1, 2), (3, 4)])\n"
        "def test_six(a, b, c): pass\n"
        "@pytest.mark.parametrize('a', range(9))\ndef test_unknown(a): pass\n"
        "@pytest.mark.slow\nclass TestThings:\n    def test_in_class(self): pass\n    def helper(self): pass\n"
    )
    assert count_tests(tmp_path / "test.py") == 8
    (tmp_path / "test.py").write_text("def test_(:")
    assert count_tests(tmp_path / "test.py") == 0
    assert count_tests(tmp_path / "absent.py") == 0


def test_usable_cores_of_this_process():
    assert 1 <= usable_cores() <= os.cpu_count()
