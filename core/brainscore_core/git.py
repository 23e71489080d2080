"""Run git, optionally without the user's configuration and with a token that stays hidden."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from brainscore_core.errors import BrainScoreError, ConfigurationError
from brainscore_core.processes import Captured, run_captured

_STOPPED = 124  # the status that `timeout` gives


def run_git(
    repository: Path | None,
    *arguments: str,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> Captured:
    """Run git, by default where this process is, and return its status (124 after `timeout_s`) and output.

    Raises `ConfigurationError` if git is not installed.
    """
    command = ["git", *(() if repository is None else ("-C", str(repository))), *arguments]
    try:
        return run_captured(command, environment=environment, stdin=stdin, timeout_s=timeout_s)
    except TimeoutError as error:
        return Captured(_STOPPED, b"", str(error).encode())
    except OSError as error:
        raise ConfigurationError(f"git is not installed or not on the PATH ({type(error).__name__}).") from None


def ask_git(
    repository: Path,
    *arguments: str,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    failure: type[BrainScoreError] = ConfigurationError,
) -> bytes:
    """Return the output of git, see `run_git`; raise `failure` if git fails."""
    done = run_git(repository, *arguments, stdin=stdin, environment=environment)
    if done.status != 0:
        raise failure(f"git {arguments[0]} failed in {repository}: {said(done)}")
    return done.stdout


def said(done: Captured) -> str:
    """Return git's error message, at most 500 characters."""
    return done.stderr.decode("utf-8", "replace").strip()[-500:]


def commit_named(repository: Path, name: str) -> str | None:
    """Return the commit that a branch, a tag or a digest names; None if there is none."""
    done = run_git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return done.stdout.decode().strip() if done.status == 0 else None


def environment_of_git(
    environment: Mapping[str, str],
    *,
    author: tuple[str, str],
    settings: Mapping[str, str],
    token: str = "",
    address: str = "",
) -> dict[str, str]:
    """Return environment variables that keep git from prompting, running hooks and showing a token.

    The token is sent in a header to addresses that start with `address`, so it is in no argument (readable by anybody
    on the machine), address or file. `author` is a name and an e-mail address.
    """
    settings = {"core.hooksPath": os.devnull, **settings}
    if token:
        basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings[f"http.{address}.extraheader"] = f"AUTHORIZATION: basic {basic}"
    variables = {**environment, "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_COUNT": str(len(settings))}
    for role in ("AUTHOR", "COMMITTER"):
        variables[f"GIT_{role}_NAME"], variables[f"GIT_{role}_EMAIL"] = author
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


class BlobReader:
    """Read many files from git's store, without a checkout; close it at the end."""

    def __init__(self, repository: Path) -> None:
        command = ["git", "-C", str(repository), "cat-file", "--batch"]
        self._git = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603 - no shell

    def read(self, name: str, most_bytes: int = 2**30) -> bytes | None:
        """Return an object's content, or its first bytes if it is large; None if it does not exist."""
        if self._git.stdin is None or self._git.stdout is None:
            return None
        try:
            self._git.stdin.write(f"{name}\n".encode())
            self._git.stdin.flush()
        except BrokenPipeError:  # not a repository
            return None
        head = self._git.stdout.readline().split()
        if len(head) != 3 or not head[2].isdigit():  # '... missing', or nothing at all
            return None
        content = self._git.stdout.read(min(int(head[2]), most_bytes))
        remaining_bytes = int(head[2]) + 1 - len(content)
        while remaining_bytes > 0 and (more := self._git.stdout.read(min(remaining_bytes, 2**20))):
            remaining_bytes -= len(more)
        return content

    def close(self) -> None:
        """End the program that reads."""
        self._git.communicate()
