"""Open a pull request with a submitted plugin: ``python -m brainscore_ci submission``, as the workflows call it."""

import sys

from brainscore_ci.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["submission", *sys.argv[1:]]))
