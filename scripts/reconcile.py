"""Update pull requests and scores: ``python -m brainscore_ci reconcile``, as the workflows call it."""

import sys

from brainscore_ci.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["reconcile", *sys.argv[1:]]))
