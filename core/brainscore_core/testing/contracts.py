"""Let a plugin inherit the tests that every plugin of its kind must pass.

A domain derives a class per kind from `Contract`, a plugin's ``test.py`` one per identifier from that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn

import pytest

from brainscore_core.errors import nearest
from brainscore_core.testing.machine import reason_of_absence


class Contract:
    """Tests of one identifier.

    Examples
    --------
    In the ``test.py`` of a benchmark::

        from mylibrary.testing import BenchmarkContract

        class TestMine(BenchmarkContract):
            identifier = "Mine2026.IT-pls"
            left_out = {"test_bibtex": "unpublished"}
    """

    identifier: ClassVar[str] = ""  # identifier under test; a class without it is not collected
    left_out: ClassVar[Mapping[str, str]] = {}  # contract tests that do not apply to this plugin -> reason for skipping
    registered_at: ClassVar[str] = ""  # ``path:line`` of the registration, if known
    # Kind of plugin and name of the class to derive from, for messages
    kind: ClassVar[str] = "plugin"
    base: ClassVar[str] = "Contract"

    _loaded: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._loaded = {}
        tests = cls.named_checks()
        for name in cls.left_out:
            if name not in tests:
                close = nearest(name, tests, 1) or tests
                raise TypeError(
                    f"{cls.__qualname__}.left_out names {name!r}, which is not a test; did you mean {close[0]!r}?"
                )

    @classmethod
    def named_checks(cls) -> list[str]:
        """Return the names of all tests."""
        return sorted(name for name in dir(cls) if name.startswith("test_"))

    @classmethod
    def teardown_class(cls) -> None:
        """Release the loaded object, which may be large."""
        cls._loaded.clear()

    @pytest.fixture(autouse=True)
    def _unless_left_out(self, request: pytest.FixtureRequest) -> None:
        if not self.identifier:
            pytest.fail(
                f"{type(self).__qualname__} does not name an identifier to test: set identifier = '...'.", pytrace=False
            )
        reason = self.left_out.get(request.function.__name__)
        if reason is not None:
            pytest.skip(f"other: left out by the plugin: {reason}")

    def load(self) -> Any:
        """Load the object under test; set by the domain."""
        raise NotImplementedError

    @property
    def loaded(self) -> Any:
        """The object under test, loaded once per class; tests skip if its data are unavailable."""
        return self.once("loaded", self.load)

    def once(self, what: str, make: Any) -> Any:
        """Return the result of a function called once per class, or raise its error again."""
        if what not in self._loaded:
            try:
                with data_available():
                    self._loaded[what] = make(), None
            except (Exception, pytest.skip.Exception) as error:
                self._loaded[what] = None, (error, error.__traceback__)
                raise
        value, earlier = self._loaded[what]
        if earlier is not None:
            failure, place = earlier
            raise failure.with_traceback(place)  # as raised, without the frames of other tests
        return value

    def broken(self, problem: str, fix: str) -> NoReturn:
        """Fail a test with a problem, continuing 'The model <identifier>', and its fix, such as 'pass x=1'."""
        __tracebackhide__ = True
        lines = [f"The {self.kind} {self.identifier!r} {problem}.", f"Fix: {fix}."]
        if self.registered_at:
            lines.insert(1, f"{self.registered_at}: registered here")
        lines.append(
            f"If the contract does not fit this {self.kind}, derive from {self.base} in test.py and name the test in "
            "left_out, with the reason."
        )
        pytest.fail("\n".join(lines), pytrace=False)

    def unfit(self, reason: str, remedy: str) -> NoReturn:
        """Skip a test that this contract cannot make; ``remedy`` is code for a derived class that can."""
        pytest.skip(f"other: {reason}; {remedy} in a class derived from {self.base}")


@contextmanager
def data_available() -> Iterator[None]:
    """Skip a test if its data are private, or cannot be downloaded without a network."""
    try:
        yield
    except Exception as error:
        reason = reason_of_absence(error)
        if reason is None:
            raise
        pytest.skip(reason)
