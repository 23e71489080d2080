"""Find where in a contributor's code an error comes from."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Modules of plugins are `<library>.<folder of their kind>.<plugin>`, wherever their folder is.
_PLUGIN = re.compile(r"\w+\.(data|metrics|benchmarks|models)\.\S+")


@dataclass(frozen=True, kw_only=True)
class SourceLine:
    """A plugin's line that was running when an error was raised; `code` is empty if the file cannot be read."""

    file: Path
    line: int
    function: str
    code: str

    def __str__(self) -> str:
        here = Path.cwd()
        path = self.file.relative_to(here) if self.file.is_relative_to(here) else self.file
        inside = f" ({self.function})" if self.function != "<module>" else ""
        return f"{path}:{self.line}{inside}{f': {self.code}' if self.code else ''}"


def place_in_plugin(error: BaseException) -> SourceLine | None:
    """Return a plugin's last line on the way to an error; None if only the library is on it.

    The place of an error precedes the place of the error it was raised from.
    """
    for cause in chain(error):
        frames = list(traceback.walk_tb(cause.__traceback__))
        for frame, line in reversed(frames):
            if _PLUGIN.fullmatch(str(frame.f_globals.get("__name__"))):
                file = frame.f_code.co_filename
                code = linecache.getline(file, line).strip()
                return SourceLine(file=Path(file), line=line, function=frame.f_code.co_name, code=code)
    return None


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and the chain of its causes."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
