"""Enable boxes, which isolate plugins, on a GitHub runner with nothing installed; fail on Linux without any."""

import shutil
import subprocess
import sys
from pathlib import Path

from brainscore_ci.jobs.boxes import profile_needed, steps_to_boxes

TRIAL = ("--unshare-all", "--ro-bind", "/", "/", "true")
STOPS = "no plugin is run and nothing is scored"


def main() -> int:
    """Run the missing steps and try a box; exit code 1 if there is none."""
    if sys.platform != "linux":
        print("Boxes are of Linux: tests of boxes are skipped here.")
        return 0
    for command, given in steps_to_boxes(profile_needed=profile_needed(Path("/"))):
        print(f"running: {' '.join(command)}", flush=True)
        done = subprocess.run(command, input=given, text=True, check=False)  # noqa: S603 - ours
        if done.returncode != 0:
            print(f"::error::{command[1]} ended with status {done.returncode}: {STOPS}")
            return 1
    program = shutil.which("bwrap")
    if program is None or subprocess.run([program, *TRIAL], check=False).returncode != 0:  # noqa: S603 - ours
        print(f"::error::No box can be made here: {STOPS}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
