"""Collect the records of all jobs: ``python -m brainscore_ci collect``, as the workflows call it."""

import sys

from brainscore_ci.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["collect", *sys.argv[1:]]))
