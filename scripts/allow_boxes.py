"""Make it possible on a runner of GitHub to put programs into boxes, which isolate plugins.

Installs bubblewrap where it is missing, and gives it the profile of AppArmor without which Ubuntu keeps ordinary users
from making namespaces: for that program alone, so that the restriction stays for all others. Needs nothing installed.
"""

import subprocess
import sys
from pathlib import Path

from brainscore_ci.jobs.boxes import profile_needed, steps_to_boxes


def main() -> int:
    """Do what is missing; exit code 0, also where boxes stay impossible: whoever needs one says why there is none."""
    for command, given in steps_to_boxes(profile_needed=profile_needed(Path("/"))):
        print(f"running: {' '.join(command)}", flush=True)
        done = subprocess.run(command, input=given, text=True, check=False)  # noqa: S603 - ours
        if done.returncode != 0:
            print(f"::warning::{command[1]} ended with status {done.returncode}: there may be no boxes here")
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
