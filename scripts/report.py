"""Report on a run: ``python -m brainscore_ci report``, as the workflows call it."""

import sys

from brainscore_ci.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["report", *sys.argv[1:]]))
