"""List what plugins register: ``python -m brainscore_ci list-plugins``, as the workflows call it."""

import sys

from brainscore_ci.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["list-plugins", *sys.argv[1:]]))
