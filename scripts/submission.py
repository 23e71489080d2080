"""Make a pull request of the plugin that somebody has attached to an issue as a zip file.

Reads GITHUB_REPOSITORY, GITHUB_TOKEN, GITHUB_API_URL and GITHUB_SERVER_URL from the environment. The token has to be
allowed to write contents and pull requests, and with --reply issues. Nothing of the zip file is imported or run.
"""

import argparse
import os
import sys
from pathlib import Path

from brainscore_ci.checks.runner import check_named, workplace
from brainscore_ci.github.client import API
from brainscore_ci.planning.policy import read_policy
from brainscore_ci.submission.archive import ArchivePolicy
from brainscore_ci.submission.forge import HttpForge
from brainscore_ci.submission.publish import Remote, submit
from brainscore_ci.submission.request import answer
from brainscore_core.command_line import EXIT_CODES, FAILED, run


def main() -> int:
    """Print what became of it; exit code 1 if it was refused."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXIT_CODES)
    parser.add_argument("--issue", type=int, required=True, help="number of the issue")
    parser.add_argument("--url", default="", help="attachment of the issue that is meant (default: the newest)")
    parser.add_argument("--archive", type=Path, help="the zip file, where it is not attached to the issue")
    parser.add_argument("--base", default="main", help="branch that the pull request goes to (default: main)")
    parser.add_argument("--remote", default="", help="what to clone and push to (default: the repository on GitHub)")
    parser.add_argument("--reply", action="store_true", help="write the outcome into the issue")
    parser.add_argument("--traceback", action="store_true", help="show the Python traceback of an error")
    options = parser.parse_args()
    return run(lambda: _submit(options), show_traceback=options.traceback)


def _submit(options: argparse.Namespace) -> int:
    name, token = (os.environ.get(key, "") for key in ("GITHUB_REPOSITORY", "GITHUB_TOKEN"))
    server = os.environ.get("GITHUB_SERVER_URL") or "https://github.com"
    outcome = submit(
        HttpForge(name, token, api=os.environ.get("GITHUB_API_URL") or API),
        Remote(url=options.remote or f"{server}/{name}.git", base=options.base, token="" if options.remote else token),
        options.issue,
        check=lambda checkout, folder: (
            check_named(workplace(checkout), [str(folder)], f"origin/{options.base}").findings
        ),
        url=options.url,
        file=options.archive,
        policy=ArchivePolicy(libraries=read_policy(Path()).libraries),
        reply=options.reply,
    )
    print(outcome)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as stream:
            stream.write(answer(outcome.problems, pull=outcome.pull, changed=outcome.state != "unchanged") + "\n")
    return FAILED if outcome.state == "refused" else 0


if __name__ == "__main__":
    sys.exit(main())
