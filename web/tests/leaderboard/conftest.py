"""Provide git for repositories of records."""

import subprocess


def git(folder, *arguments):
    """Run git with a hostile author name and return its output."""
    command = ["git", "-C", folder, "-c", "user.name=<b>a</b>", "-c", "user.email=a@b.c", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
