"""Read what ``pytest --junit-xml`` writes: what failed, where, why, and what to do about it.

The file may come from anybody, since the tests of a plugin run in the process that writes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.parsers import expat

from brainscore_ci.reporting.results import (
    MOST_FAILURES,
    MOST_LINE,
    MOST_MESSAGE,
    MOST_NAME,
    MOST_PATH,
    MOST_SKIPS,
    Failure,
    PluginResult,
    SkipKind,
    SkippedTest,
    Status,
)
from brainscore_ci.reporting.schema import MOST_BYTES, shown
from brainscore_core.errors import CorruptFileError

if TYPE_CHECKING:
    from brainscore_ci.planning.areas import PluginName

__all__ = ["from_junit"]

MOST_TESTS = 50_000
_LOCATION = re.compile(r"^(?P<file>[^\s:<>][^:\n]{0,400}\.py):(?P<line>\d{1,7}):", re.MULTILINE)
_SKIP_KINDS: tuple[tuple[str, SkipKind], ...] = (
    (r"private", "private"),
    (r"memory", "memory"),
    (r"slow", "slow"),
    (r"gpu|cuda", "gpu"),
    (r"network|offline|internet|download", "network"),
)
_FIXES = (
    (
        r"No module named '(?P<name>[\w.]{1,80})'",
        "add {name!r} to requirements.txt of the plugin, or correct the import",
    ),
    (r"PrivateDataError", "mark the test with @pytest.mark.private_access, or use public data"),
    (
        r"DownloadError|ConnectionError|TimeoutError|URLError|gaierror",
        "mark the test with @pytest.mark.network, or test with data that are generated",
    ),
    (
        r"UnknownIdentifierError",
        "name an identifier that a plugin registers; nox -s plan shows what this change registers",
    ),
    (r"fixture '(?P<name>\w{1,80})' not found", "define the fixture {name!r} in test.py or in conftest.py beside it"),
    (r"SyntaxError|IndentationError", "correct the syntax; python -m compileall shows where"),
    (r"MemoryError|signal 9|Killed", "mark the test with @pytest.mark.memory_intense, or use less data"),
)


def from_junit(
    xml: bytes,
    plugin: PluginName,
    *,
    reproduce: str = "",
    duration_s: float | None = None,
    skipped: Sequence[SkippedTest] = (),
) -> PluginResult:
    """Make the result of a plugin from what ``pytest --junit-xml`` wrote.

    Parameters
    ----------
    xml : bytes
        The file. The first 100 failures and 500 skipped tests are kept in full, all are counted.
    plugin : PluginName
    reproduce : str
        Command line that gives the same.
    duration_s : float, optional
        How long it took; None means what the tests took together.
    skipped : sequence of SkippedTest
        Tests that were not even collected, such as those deselected by their marker.

    Raises
    ------
    CorruptFileError
        If it is too large, no XML, or declares a document type, which could hold entities that expand without end.
    """
    tests = _read_junit(xml)
    failures = [test for test in tests if test.outcome in {"failure", "error"}]
    skips = [*skipped, *(_skip(test) for test in tests if test.outcome == "skipped")]
    n_failed = sum(test.outcome == "failure" for test in tests)
    n_errors = len(failures) - n_failed
    n_passed = sum(test.outcome == "passed" for test in tests)
    status: Status = "error" if n_errors else "failed" if n_failed else "passed" if n_passed else "skipped"
    return PluginResult(
        plugin=plugin,
        status=status,
        n_passed=n_passed,
        n_failed=n_failed,
        n_errors=n_errors,
        n_skipped=len(skips),
        duration_s=sum(test.seconds for test in tests) if duration_s is None else duration_s,
        failures=tuple(_failure(test, plugin) for test in failures[:MOST_FAILURES]),
        skipped=tuple(
            SkippedTest(test=skip.test[:MOST_NAME], reason=skip.reason[:MOST_LINE], kind=skip.kind)
            for skip in skips[:MOST_SKIPS]
        ),
        reproduce=reproduce[:MOST_LINE],
    )


_OUTCOMES = frozenset({"failure", "error", "skipped"})


@dataclass
class _Test:
    name: str
    seconds: float
    file: str | None
    line: int | None
    outcome: str = "passed"
    message: str = ""
    text: str = ""


class _JUnitReader:
    """Take from the events of the parser what is needed."""

    def __init__(self) -> None:
        self.tests: list[_Test] = []
        self.in_test = False
        self.wanted = False  # inside of a failure; what a test printed stands elsewhere

    def refuse(self, *_: object) -> None:
        raise CorruptFileError("The JUnit file declares a document type; pytest writes none. Run the tests again.")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "testcase":
            if len(self.tests) >= MOST_TESTS:
                raise CorruptFileError(f"The JUnit file has more than {MOST_TESTS} tests.")
            self.tests.append(_test(attributes))
            self.in_test = True
        elif tag in _OUTCOMES and self.in_test:
            self.wanted = True
            self.tests[-1].outcome = tag
            self.tests[-1].message = attributes.get("message", "")[:MOST_MESSAGE]

    def end(self, tag: str) -> None:
        self.in_test = self.in_test and tag != "testcase"
        self.wanted = self.wanted and tag not in _OUTCOMES

    def characters(self, text: str) -> None:
        if self.wanted and len(self.tests[-1].text) < 16 * MOST_MESSAGE:
            self.tests[-1].text += text


def _read_junit(xml: bytes) -> list[_Test]:
    if len(xml) > MOST_BYTES:
        raise CorruptFileError(f"The JUnit file has more than {MOST_BYTES // 2**20} MiB.")
    reader, parser = _JUnitReader(), expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reader.refuse  # before the first entity, which only a document type can declare
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    try:
        parser.Parse(xml, True)
    except (expat.ExpatError, LookupError, UnicodeError) as error:
        raise CorruptFileError(f"The JUnit file is no XML: {shown(str(error))}. Run the tests again.") from error
    return reader.tests


def _test(attributes: dict[str, str]) -> _Test:
    line = attributes.get("line", "")
    try:
        seconds = float(attributes.get("time", "0"))
    except ValueError:
        seconds = 0.0
    return _Test(
        name=attributes.get("name", "")[:MOST_NAME],
        seconds=min(seconds, 1e6) if seconds > 0 else 0.0,
        file=attributes.get("file", "")[:MOST_PATH] or None,
        line=int(line) + 1 if re.fullmatch(r"[0-9]{1,7}", line) else None,  # pytest counts from 0 here
    )


def _failure(test: _Test, plugin: PluginName) -> Failure:
    """Say where a test failed: the last frame inside the plugin, or else the last one of the repository."""
    text = f"{test.message}\n{test.text}"
    places: list[tuple[str | None, int | None]]
    places = [(match["file"].replace("\\", "/"), int(match["line"])) for match in _LOCATION.finditer(test.text)]
    places = [place for place in places if not str(place[0]).startswith(("/", "../"))]
    own = [place for place in places if f"/{plugin}/" in f"/{place[0]}"]
    file, line = (own or places or [(test.file, test.line)])[-1]
    return Failure(
        test=test.name,
        # Of what cannot be collected, only the text says why.
        message=test.message if test.message not in {"", "collection failure"} else test.text.strip()[-MOST_MESSAGE:],
        file=file,
        line=line,
        fix=_fix(text),
    )


def _fix(text: str) -> str:
    for pattern, hint in _FIXES:
        match = re.search(pattern, text)
        if match:
            return hint.format(**match.groupdict())
    return ""


def _skip(test: _Test) -> SkippedTest:
    reason = test.message or test.text.strip()
    kind: SkipKind = next((kind for pattern, kind in _SKIP_KINDS if re.search(pattern, reason, re.IGNORECASE)), "other")
    return SkippedTest(test=test.name, reason=reason[:MOST_LINE], kind=kind)
