import urllib.error

import pytest

from brainscore_core.errors import DownloadError, PrivateDataError
from brainscore_core.testing import machine
from brainscore_core.testing.contracts import Contract, data_available

pytest_plugins = ["pytester"]

SOURCE = """
from brainscore_core.testing.contracts import Contract

class SquareContract(Contract):
    kind, base = "square", "SquareContract"
    made = []

    def load(self):
        self.made.append(self.identifier)
        return int(self.identifier)

    def test_root(self):
        if self.loaded < 0:
            self.broken("is negative", "square a number")

    def test_even(self):
        if self.loaded % 2:
            self.broken("is odd", "double it")
"""


def test_subclasses_of_any_name_inherit_the_tests(pytester):
    pytester.makepyfile(
        squares=SOURCE,
        test_mine="""
        from squares import SquareContract
        class FourIsFine(SquareContract):
            identifier = "4"
        class TestNine(SquareContract):
            identifier = "9"
            registered_at = "x/__init__.py:7"
        class TestOne(SquareContract):
            identifier = "1"
            left_out = {"test_even": "one is odd"}
        class Base(SquareContract):
            pass
        def test_loaded_once():
            assert SquareContract.made == ["4", "9", "1"]
        """,
    )
    result = pytester.runpytest("-p", "no:cacheprovider", "-rs")
    result.assert_outcomes(passed=5, failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*TestNine.test_even*",
            "The square '9' is odd.",
            "x/__init__.py:7: registered here",
            "Fix: double it.",
            "*derive from SquareContract in test.py and name the test in left_out*",
            "SKIPPED*left out by the plugin: one is odd",
        ]
    )


def test_test_class_without_an_identifier_is_an_error(pytester):
    pytester.makepyfile(
        squares=SOURCE, test_mine="from squares import SquareContract\nclass TestNothing(SquareContract): pass"
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*TestNothing does not name an identifier to test: set identifier*"])


def test_left_out_tests_must_exist():
    with pytest.raises(TypeError, match="names 'test_evn', which is not a test; did you mean 'test_even'"):

        class Mine(Contract):
            left_out = {"test_evn": "because"}  # noqa: RUF012 - as plugins write it

            def test_even(self): ...


class Failing(Contract):
    identifier = ""  # not collected

    def __init__(self, error):
        self.error = error
        self.calls = 0
        self._loaded.clear()

    def load(self):
        self.calls += 1
        raise self.error


def test_private_data_skip_with_a_reason_and_are_requested_once():
    failing = Failing(PrivateDataError("no credentials for x"))
    for _ in range(2):
        with pytest.raises(pytest.skip.Exception, match=r"^private: no credentials for x"):
            _ = failing.loaded
    assert failing.calls == 1


@pytest.mark.parametrize(
    "error", [DownloadError("cannot"), urllib.error.URLError("x"), ConnectionRefusedError(), TimeoutError()]
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_failed_download_skips_only_without_network(monkeypatch, error, wrapped):
    def load():
        if not wrapped:
            raise error
        try:
            raise error
        except OSError as cause:
            raise RuntimeError("plugin wraps it") from cause

    monkeypatch.setattr(machine, "has_network", lambda: True)
    with pytest.raises((OSError, RuntimeError)), data_available():
        load()
    monkeypatch.setattr(machine, "has_network", lambda: False)
    with pytest.raises(pytest.skip.Exception, match=r"^network: "), data_available():
        load()
    monkeypatch.setattr(machine, "has_network", pytest.fail)
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    with pytest.raises(pytest.skip.Exception, match=r"^network: "), data_available():
        load()


def test_other_errors_fail_even_without_network(monkeypatch):
    monkeypatch.setattr(machine, "has_network", lambda: False)
    with pytest.raises(ZeroDivisionError), data_available():
        _ = 1 / 0
    failing = Failing(KeyError("x"))
    for _ in range(2):
        with pytest.raises(KeyError):
            _ = failing.loaded
    assert failing.calls == 1
