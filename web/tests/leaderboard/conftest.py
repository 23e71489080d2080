"""Repositories of records."""

import subprocess


def git(folder, *arguments):
    """Run git, as somebody whose name is no name, and return what it prints."""
    command = ["git", "-C", folder, "-c", "user.name=<b>a</b>", "-c", "user.email=a@b.c", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
