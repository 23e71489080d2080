"""Read the command line of ``test_plugin``: names of plugins, options, and arguments that go on to pytest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from brainscore_core.errors import ConfigurationError

__all__ = ["ShardRequest", "TestOptions", "TestRequest", "read_request"]

_WITH_VALUE = ("--plan", "--shard", "--results")


@dataclass(frozen=True, kw_only=True)
class TestOptions:
    """How to test.

    Attributes
    ----------
    private : bool
        Whether tests with private data run. If not, they run without credentials in their environment.
    slow : bool
        Whether slow tests run.
    pytest_arguments : tuple of str
        Further arguments for pytest, such as ``('-k', 'ceiling')``.
    """

    __test__ = False  # a name that starts with Test is no test

    private: bool = True
    slow: bool = False
    pytest_arguments: tuple[str, ...] = ()

    @property
    def command_line(self) -> list[str]:
        """The same as options of ``test_plugin``."""
        flags = [*([] if self.private else ["--ci"]), *(["--slow"] if self.slow else [])]
        return [*flags, *self.pytest_arguments]


@dataclass(frozen=True, kw_only=True)
class ShardRequest:
    """Which part of a plan to test.

    Attributes
    ----------
    plan : Path
        File with the plan.
    shard : int
        Which job of the matrix this is, from 0.
    results : Path
        Folder for the results.
    """

    plan: Path
    shard: int
    results: Path


@dataclass(frozen=True, kw_only=True)
class TestRequest:
    """What a command line asks for: plugins by name, or a part of a plan."""

    __test__ = False  # see above

    names: tuple[str, ...]
    options: TestOptions
    shard: ShardRequest | None = None


def read_request(arguments: Sequence[str]) -> TestRequest:
    """Take a command line apart.

    Parameters
    ----------
    arguments : sequence of str
        Names come first; the first option that is none of ours, and what follows it, is for pytest.

    Raises
    ------
    ConfigurationError
        If a value is missing, is no number, or the parts do not go together.

    Examples
    --------
    >>> request = read_request(['pixels', 'rdm', '-k', 'ceiling', '--slow'])
    >>> request.names, request.options.slow, request.options.pytest_arguments
    (('pixels', 'rdm'), True, ('-k', 'ceiling'))
    """
    names: list[str] = []
    further: list[str] = []
    flags: set[str] = set()
    values: dict[str, str] = {}
    left = list(arguments)
    while left:
        argument = left.pop(0)
        option, equals, value = argument.partition("=")
        if argument in ("--ci", "--slow"):
            flags.add(argument)
        elif option in _WITH_VALUE:
            if not equals and not left:
                raise ConfigurationError(f"{option} needs a value.")
            values[option] = value if equals else left.pop(0)
        else:
            (further if further or argument.startswith("-") else names).append(argument)
    options = TestOptions(private="--ci" not in flags, slow="--slow" in flags, pytest_arguments=tuple(further))
    shard = _shard(values) if values else None
    if shard is not None and (names or options.private):
        raise ConfigurationError("--plan, --shard and --results go with --ci and without names of plugins.")
    if shard is None and not names:
        raise ConfigurationError("Name at least one plugin, such as: nox -s test_plugin -- pixels")
    return TestRequest(names=tuple(names), options=options, shard=shard)


def _shard(values: dict[str, str]) -> ShardRequest:
    missing = [option for option in _WITH_VALUE if option not in values]
    if missing:
        raise ConfigurationError(f"{' and '.join(_WITH_VALUE)} go together; missing: {', '.join(missing)}.")
    if not values["--shard"].isdecimal():
        raise ConfigurationError(f"--shard is {values['--shard']!r}; expected a number from 0, the job of the matrix.")
    return ShardRequest(plan=Path(values["--plan"]), shard=int(values["--shard"]), results=Path(values["--results"]))
