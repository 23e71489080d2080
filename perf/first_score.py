"""Measure what a newcomer waits for: the import of the package and the score of `pixels` on the embedded benchmark."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
HEAVY = ("torch", "boto3", "sklearn", "xarray", "pandas", "numpy")
BENCHMARK = "SimulatedCortex2026.V1-pls"


def run(code_or_arguments: list[str], home: str) -> tuple[float, str]:
    """Run Python with arguments in a process of its own; return wall-clock seconds and what it printed."""
    environment = {**os.environ, "BRAINSCORE_HOME": home, "BS_INSTALL_DEPENDENCIES": "no"}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *code_or_arguments], capture_output=True, text=True, check=True, env=environment
    )
    return time.perf_counter() - started, done.stdout


def main() -> None:
    """Measure, print a table and write results/first_score.json."""
    score = ["-m", "brainscore_vision", "score", "--model", "pixels", "--benchmark", BENCHMARK]
    with tempfile.TemporaryDirectory() as home:
        run(["-c", "pass"], home)  # the interpreter itself comes from a warm disk
        bare = statistics.median(run(["-c", "pass"], home)[0] for _ in range(7))
        imported = statistics.median(run(["-c", "import brainscore_vision"], home)[0] for _ in range(7))
        code = f"import brainscore_vision, sys; print([m for m in {HEAVY} if m in sys.modules])"
        loaded = run(["-c", code], home)[1].strip()
        first, _ = run(score, home)
        again, _ = run(score, home)
    result = {
        "interpreter_s": round(bare, 3),
        "import_brainscore_vision_s": round(imported, 3),
        "heavy_modules_imported": loaded,
        "score_pixels_empty_home_s": round(first, 2),
        "score_pixels_again_s": round(again, 2),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "first_score.json").write_text(json.dumps(result, indent=2) + "\n")
    for name, value in result.items():
        print(f"{name:32} {value}")


if __name__ == "__main__":
    main()
