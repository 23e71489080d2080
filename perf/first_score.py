"""Measure what a newcomer waits for: the import of the package and the score of `pixels` on the embedded benchmark.

Beside it, a trace of the first score, in a process of its own: how many files and functions of the library it enters,
and how often a call changes the file; ``--list files|functions|changes`` prints them. Bodies of classes, lambdas and
generator expressions count as functions, a resumed generator as a call.
"""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

from harness import ask, keep, medians, options_of, run, say, size

HEAVY = ("torch", "boto3", "sklearn", "xarray", "pandas", "numpy")
IMPORT = f"import brainscore_vision, sys; print([m for m in {HEAVY} if m in sys.modules])"
SCORE = ("-m", "brainscore_vision", "score", "--model", "pixels", "--benchmark", "SimulatedCortex2026.V1-pls")
TRACED = ("pixels", "SimulatedCortex2026.IT-pls")
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

    score(*TRACED, report=False)
    sys.setprofile(None)

    def short(file: str) -> str:
        return str(Path(file).relative_to(ROOT))

    return {
        "files": [(short(file), n) for file, n in files.most_common()],
        "functions": [(f"{short(code.co_filename)}:{code.co_qualname}", n) for code, n in functions.most_common()],
        "changes": [(f"{short(a)} -> {short(b)}", n) for (a, b), n in changes.most_common()],
    }


if __name__ == "__main__":
    options = options_of(__doc__, list=(None, "files, functions or changes: trace alone"), measure=None)
    if options.measure:
        say(trace())
        sys.exit()
    traced = ask(sys.executable, __file__, "--measure", "trace")
    counts = {name: sum(n for _, n in rows) if name == "changes" else len(rows) for name, rows in traced.items()}
    if options.list:
        print(counts, *(f"{n:7d} {name}" for name, n in traced[options.list]), sep="\n")
        sys.exit()
    with tempfile.TemporaryDirectory() as home:

        def python(*arguments: str) -> tuple[dict[str, float], str]:
            return run(sys.executable, *arguments, BRAINSCORE_HOME=home)

        python("-c", IMPORT)  # the packages come from a warm disk
        results = {
            "interpreter": medians([python("-c", "pass")[0] for _ in range(size(7, 1))]),
            "import_brainscore_vision": medians([python("-c", IMPORT)[0] for _ in range(size(7, 1))]),
            "heavy_modules_imported": python("-c", IMPORT)[1].strip(),
            "score_pixels_empty_home": python(*SCORE)[0],
            "score_pixels_again": python(*SCORE)[0],
            "trace": counts,
        }
    keep("first_score", results)
