"""Plan the tests and scores of a change: ``python -m brainscore_ci plan``, as the workflows call it."""

import sys

from brainscore_ci.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["plan", *sys.argv[1:]]))
