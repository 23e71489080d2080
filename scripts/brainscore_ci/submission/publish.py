"""Turn a submission into a pull request, from a fresh clone.

Repeating it with the same files changes nothing. New files from the same issue become another commit on the branch.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from brainscore_ci.planning.metadata import read_values
from brainscore_ci.submission.archive import Archive, ArchivePolicy, Fault, Rejection, inspect_archive
from brainscore_ci.submission.owners import FORMAT, Owner, read_owners
from brainscore_ci.submission.place import compare, extract
from brainscore_ci.submission.request import DIGEST_KEY, Draft, Submission, answer, branch_of, draft, read_request
from brainscore_core.errors import BrainScoreError, ConfigurationError, DownloadError, UploadError
from brainscore_core.git import environment_of_git, run_git, said

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding
    from brainscore_ci.submission.forge import HttpForge

_AUTHOR = ("github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com")
_GIT_TIMEOUT_S = 600.0


Check: TypeAlias = "Callable[[Path, Path], Iterable[Finding]]"
"""``check(top of a checkout, plugin's folder)`` returns findings without importing the plugin."""


@dataclass(frozen=True, kw_only=True)
class Remote:
    """Repository to clone from and push to."""

    url: str  # URL or folder, without credentials
    base: str = "main"  # target branch of the pull request
    token: str = ""  # sent in a header, so that no argument, address or file holds it. Empty: none is needed.


@dataclass(frozen=True, kw_only=True)
class Publication:
    """Outcome of a submission."""

    # 'opened' (new pull request), 'updated' (new commit on its branch), 'unchanged' or 'refused'
    state: Literal["opened", "updated", "unchanged", "refused"]
    problems: tuple[Fault, ...] = ()
    pull: int | None = None
    branch: str = ""
    # Those of earlier plugins of the same zip file; after a refusal the others are not tried
    before: tuple[Publication, ...] = ()

    def answer(self) -> str:
        """Phrase the reply in the issue, as Markdown."""
        answers = [
            answer(outcome.problems, pull=outcome.pull, changed=outcome.state != "unchanged")
            for outcome in (*self.before, self)
        ]
        return "\n\n".join(answers)

    def __str__(self) -> str:
        if self.before:
            return "\n".join(map(str, (*self.before, replace(self, before=()))))
        if self.state == "refused":
            return "\n".join(["Nothing was submitted:", *(f"- {problem}" for problem in self.problems)])
        where = f"pull request #{self.pull} from branch {self.branch}" if self.pull is not None else "the repository"
        return {"opened": "Opened", "updated": "Updated", "unchanged": "Nothing to do for"}[self.state] + f" {where}."


def submit(
    forge: HttpForge,
    remote: Remote,
    issue: int,
    *,
    check: Check,
    policy: ArchivePolicy,
    url: str = "",
    file: Path | None = None,
    reply: bool = False,
) -> Publication:
    """Process a submission.

    Raises `DownloadError` or `UploadError` if GitHub or git fails; the call may be repeated.

    Parameters
    ----------
    url
        Attachment to use; empty: the newest.
    file
        A local zip file.
    """
    said = forge.issue(issue)
    comments = [] if said.is_pull_request else list(forge.comments(issue))
    later = [comment.body for comment in comments if comment.author == said.author]
    request = read_request(said, later, url=url, is_local=file is not None)
    outcome = _carried_out(forge, remote, request, check=check, file=file, policy=policy)
    if reply and not said.is_pull_request:
        text = outcome.answer()
        if text not in {comment.body for comment in comments}:  # do not repeat a reply
            forge.create_comment(issue, text)
    return outcome


def _carried_out(
    forge: HttpForge,
    remote: Remote,
    request: Submission | Rejection,
    *,
    check: Check,
    file: Path | None,
    policy: ArchivePolicy,
) -> Publication:
    if isinstance(request, Rejection):
        return Publication(state="refused", problems=request.problems)
    source = file if file is not None else forge.attachment(request.url, policy.most_archive_bytes)
    archive = inspect_archive(source, policy=policy)
    if isinstance(archive, Rejection):
        return Publication(state="refused", problems=archive.problems)
    before: tuple[Publication, ...] = ()
    plugins = (archive, *archive.rest)
    for number, plugin in enumerate(plugins):
        outcome = publish(plugin, request, forge, remote, check=check, beside=plugins[:number])
        outcome = replace(outcome, before=before)
        if outcome.state == "refused":
            break
        before = (*before, replace(outcome, before=()))
    return outcome


def publish(
    archive: Archive,
    request: Submission,
    forge: HttpForge,
    remote: Remote,
    *,
    check: Check,
    beside: Iterable[Archive] = (),
) -> Publication:
    """Push the branch of a submission and open its pull request, unless both exist.

    `beside` are plugins that the check finds in the checkout too: those submitted before in the same zip file.

    Raises `DownloadError` or `UploadError` if GitHub or git fails; the call may be repeated.
    """
    branch = branch_of(archive, request)
    with tempfile.TemporaryDirectory(prefix="submission-") as folder:
        git = _Git(Path(folder).resolve() / "clone", remote)
        git.clone()
        placement = compare(archive, git.folder, update=request.update)
        if placement.exists and placement.changes_nothing:
            return Publication(state="unchanged", branch=branch)
        if placement.problems:
            return Publication(state="refused", problems=placement.problems, branch=branch)
        file = git.folder / archive.path / "metadata.yml"  # of the existing plugin, not of the submitted one
        contact = read_values(file.read_bytes()).get("contact") if file.is_file() else None
        pull = forge.pull_request_of(branch)
        pushed = git.fetch(branch)
        if pull is not None and pushed is not None:
            if archive.digest in git.digests(f"origin/{remote.base}", pushed):
                return Publication(state="unchanged", pull=pull, branch=branch)
            git.switch(branch, pushed)
        else:  # leftovers of an earlier submission are not reviewed
            git.switch(branch, f"origin/{remote.base}")
        update = compare(archive, git.folder, update=True).exists
        for earlier in beside:
            extract(earlier, git.folder, update=compare(earlier, git.folder, update=True).exists)
        findings = list(check(git.folder, extract(archive, git.folder, update=update)))
        if any(finding.is_error for finding in findings):
            return Publication(state="refused", problems=_faults_of(findings), branch=branch)
        hints = [f"{finding.path}: {finding.message}. {finding.fix}" for finding in findings]
        text = draft(
            archive,
            placement,
            request,
            hints,
            owners=git.owners(archive.path),
            contact=contact if isinstance(contact, str) else "",
        )
        git.commit(archive.path, text)
        git.push(branch, pushed)
    if pull is not None:
        return Publication(state="updated", pull=pull, branch=branch)
    pull = forge.open_pull_request(branch=branch, base=remote.base, title=text.title, body=text.body)
    return Publication(state="opened", pull=pull, branch=branch)


def _faults_of(findings: Iterable[Finding]) -> tuple[Fault, ...]:
    return tuple(
        Fault(what=finding.message, fix=finding.fix, names=(f"{finding.path}:{finding.line}",), count=1)
        for finding in findings
        if finding.is_error
    )


class _Git:
    """Git in its own clone, without settings of the machine, hooks or prompts."""

    def __init__(self, folder: Path, remote: Remote) -> None:
        self.folder = folder
        self._remote = remote
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "GITHUB_"))}
        isolated = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ALLOW_PROTOCOL": "https:file"}
        self._environment = environment_of_git(
            {**inherited, **isolated},
            author=_AUTHOR,
            settings={"core.autocrlf": "false", "core.quotePath": "false"},
            token=remote.token,
            address=remote.url,
        )

    def clone(self) -> None:
        options = ("--quiet", "--no-tags", "--single-branch", "--template=", f"--branch={self._remote.base}")
        self._run("clone", *options, "--", self._remote.url, str(self.folder), failure=DownloadError, cwd=None)

    def fetch(self, branch: str) -> str | None:
        """Fetch a branch of the remote and return its commit; None if there is none."""
        listed = self._run("ls-remote", "--heads", "origin", f"refs/heads/{branch}", failure=DownloadError)
        if not listed.strip():
            return None
        commit = listed.split()[0]
        self._run("fetch", "--quiet", "--no-tags", "origin", f"refs/heads/{branch}", failure=DownloadError)
        return commit

    def digests(self, base: str, head: str) -> set[str]:
        trailers = f"--format=%(trailers:key={DIGEST_KEY},valueonly)"
        return set(self._run("log", trailers, f"{base}..{head}", "--").split())

    def owners(self, path: str) -> list[Owner]:
        return read_owners(self._run("log", FORMAT, f"origin/{self._remote.base}", "--", path))

    def switch(self, branch: str, start: str) -> None:
        self._run("checkout", "--quiet", "--no-track", "-B", branch, start, "--")

    def commit(self, path: str, text: Draft) -> None:
        """Commit a folder, and verify that the commit holds nothing else."""
        self._run("add", "--force", "--all", "--", path)  # this plugin's files count even if git ignores them elsewhere
        # Even if a reviewer made the same change, so that the digest counts as submitted.
        self._run(
            "commit", "--quiet", "--allow-empty", "--no-verify", "--cleanup=verbatim", f"--message={text.message}"
        )
        names = self._run("diff-tree", "-z", "-r", "--no-commit-id", "--name-only", "HEAD").split("\0")
        strange = [name for name in names if name and not name.startswith(f"{path}/")]
        if strange:
            raise UploadError(f"The commit would change {strange[0]!a}, outside of {path}; nothing was pushed.")

    def push(self, branch: str, expected: str | None) -> None:
        lease = f"--force-with-lease=refs/heads/{branch}:{expected or ''}"
        self._run("push", "--quiet", lease, "origin", f"HEAD:refs/heads/{branch}", failure=UploadError)

    def _run(self, *arguments: str, failure: type[BrainScoreError] = UploadError, cwd: bool | None = True) -> str:
        folder = self.folder if cwd else None
        try:
            done = run_git(folder, *arguments, environment=self._environment, timeout_s=_GIT_TIMEOUT_S)
        except ConfigurationError as error:
            raise failure(f"git {arguments[0]} failed: {error}") from error
        if done.status != 0:
            raise failure(f"git {arguments[0]} failed: {said(done)!a}. Run this again later.")
        return done.stdout.decode("utf-8", "replace")
