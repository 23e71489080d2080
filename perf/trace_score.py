"""Trace one cold score: how many files and functions of the library it enters, and how often a call changes the file.

``python perf/trace_score.py [--list files|functions|changes]``; the first score in an empty home, in a process of its
own. Bodies of classes, lambdas and generator expressions count as functions, a resumed generator as a call.
"""

import os
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

from harness import ask, options_of, say

MODEL, BENCHMARK = "pixels", "SimulatedCortex2026.IT-pls"
ROOT = Path(__file__).resolve().parents[1]
ROOTS = tuple(f"{ROOT / folder}{os.sep}" for folder in ("core/brainscore_core", "vision/brainscore_vision"))


def trace() -> dict[str, list[tuple[str, int]]]:
    """Score, and return files, functions and changes of file, each with the number of calls, most first."""
    files: Counter[str] = Counter()
    functions: Counter[CodeType] = Counter()
    changes: Counter[tuple[str, str]] = Counter()
    last = ""

    def enter(frame: FrameType, event: str, _: object) -> None:
        nonlocal last
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOTS):
            return
        files[code.co_filename] += 1
        if code.co_name != "<module>":
            functions[code] += 1
        if last and last != code.co_filename:
            changes[last, code.co_filename] += 1
        last = code.co_filename

    sys.setprofile(enter)
    from brainscore_vision import score

    score(MODEL, BENCHMARK, report=False)
    sys.setprofile(None)

    def short(file: str) -> str:
        return str(Path(file).relative_to(ROOT))

    return {
        "files": [(short(file), n) for file, n in files.most_common()],
        "functions": [(f"{short(code.co_filename)}:{code.co_qualname}", n) for code, n in functions.most_common()],
        "changes": [(f"{short(a)} -> {short(b)}", n) for (a, b), n in changes.most_common()],
    }


if __name__ == "__main__":
    options = options_of(__doc__, list=("", "files, functions or changes"), measure=None)
    if options.measure:
        say(trace())
        sys.exit()
    counts = ask(sys.executable, __file__, "--measure", "all")
    print({name: sum(n for _, n in rows) if name == "changes" else len(rows) for name, rows in counts.items()})
    for name, n in counts.get(options.list, []):
        print(f"{n:7d} {name}")
