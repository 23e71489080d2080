"""Measure what a newcomer waits for: the import of the package and the score of `pixels` on the embedded benchmark."""

import sys
import tempfile

from harness import keep, medians, options_of, run, size

HEAVY = ("torch", "boto3", "sklearn", "xarray", "pandas", "numpy")
IMPORT = f"import brainscore_vision, sys; print([m for m in {HEAVY} if m in sys.modules])"
SCORE = ("-m", "brainscore_vision", "score", "--model", "pixels", "--benchmark", "SimulatedCortex2026.V1-pls")


if __name__ == "__main__":
    options_of(__doc__)
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
        }
    keep("first_score", results)
