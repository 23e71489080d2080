"""Print what every plugin of a library registers, as JSON; imports no plugin."""

import argparse
import json
import sys
from pathlib import Path

from brainscore_ci.planning.policy import read_policy
from brainscore_core.errors import BrainScoreError
from brainscore_core.plugin_management.index import PluginIndex, library_roots


def main() -> int:
    """Print folder -> plugin -> registry -> identifiers; exit code 2 for an unknown library, 1 for broken plugins."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", nargs="?", help="name of its package (default: the first here)")
    options = parser.parse_args()
    try:
        default = [Path(folder).name for folder in read_policy(Path(__file__).parents[1]).libraries]
        roots = library_roots(options.library or default[0])
    except BrainScoreError as error:
        print(error, file=sys.stderr)
        return 2
    listing = PluginIndex(roots).listing()
    print(json.dumps(listing, indent=2))
    return 1 if any("problem" in plugin for plugins in listing.values() for plugin in plugins.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
