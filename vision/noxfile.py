"""Let nox find its sessions from this folder too: they are those of the repository, and run there."""

import os
import runpy
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
os.chdir(_ROOT)
globals().update(runpy.run_path(str(_ROOT / "noxfile.py"), run_name="noxfile"))
