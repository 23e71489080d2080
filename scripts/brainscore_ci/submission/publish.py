"""Turn a submission into a pull request, from a fresh clone.

Repeating it with the same files changes nothing. New files from the same issue become another commit on the branch.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import quote, urlsplit

from brainscore_ci.checks.runner import check_named, workplace
from brainscore_ci.github.client import API, HttpGitHub
from brainscore_ci.planning.metadata import read_values
from brainscore_ci.planning.policy import read_policy
from brainscore_ci.reporting.step import append_summary
from brainscore_ci.submission.archive import Archive, ArchivePolicy, Fault, Rejection, inspect_archive
from brainscore_ci.submission.place import compare, extract
from brainscore_ci.submission.request import (
    DIGEST_KEY,
    FORMAT,
    Draft,
    Issue,
    Owner,
    Submission,
    Submitter,
    answer,
    branch_of,
    draft,
    is_attachment,
    read_owners,
    read_request,
)
from brainscore_core.command_line import FAILED, show
from brainscore_core.errors import BrainScoreError, ConfigurationError, DownloadError, UploadError
from brainscore_core.git import environment_of_git, run_git, said
from brainscore_core.plugin_management.registrations import find_registrations, parse

if TYPE_CHECKING:
    from brainscore_ci.checks.findings import Finding

# -- Call GitHub for a submission --------------------------------------------------------------------------------------

_MOST_REDIRECTS = 3
_STORAGE = (".githubusercontent.com", ".s3.amazonaws.com")


class HttpForge(HttpGitHub):
    """Access for submissions to one repository; arguments are those of `HttpGitHub`."""

    def issue(self, number: int) -> Issue:
        """Return an issue."""
        entry = self._object("GET", f"/issues/{number}")
        user = entry.get("user") or {}
        return Issue(
            number=number,
            author=str(user.get("login") or ""),
            author_id=int(user.get("id") or 0),
            body=str(entry.get("body") or ""),
            is_pull_request="pull_request" in entry,
        )

    def attachment(self, url: str, most_bytes: int) -> bytes:
        """Return a file attached to an issue, fetched without a token.

        Raises
        ------
        ConfigurationError
            If the URL is not an attachment's.
        DownloadError
            If it cannot be fetched, is too large, or redirects outside of GitHub's storage.
        """
        if not is_attachment(url):
            raise ConfigurationError(
                f"{url!a} is not an attachment: expected https://github.com/user-attachments/files/<number>/<name>.zip."
            )
        answer = self._send("GET", url, most_bytes=most_bytes, elsewhere=True)
        for _ in range(_MOST_REDIRECTS):
            if not answer.location:
                break
            host = urlsplit(answer.location).hostname or ""
            if not host.endswith(_STORAGE):
                raise DownloadError(f"{url} is stored at {host!a}, where GitHub does not store attachments.")
            answer = self._send("GET", answer.location, most_bytes=most_bytes, elsewhere=True)
        if answer.status != 200:
            raise DownloadError(
                f"{url} cannot be fetched (status {answer.status}). In a private repository only a person can fetch "
                "it: download it and pass the file."
            )
        return answer.body

    def pull_request_of(self, branch: str) -> int | None:
        """Return the open pull request from a branch of this repository; None if there is none."""
        owner = self._repository.partition("/")[0]
        for entry in self._pages("/pulls", {"state": "open", "head": f"{owner}:{branch}"}):
            head = entry["head"]
            is_here = (head.get("repo") or {}).get("full_name", "").lower() == self._repository.lower()
            if head["ref"] == branch and is_here:  # a fork may use the same branch name
                return int(entry["number"])
        return None

    def open_pull_request(self, *, branch: str, base: str, title: str, body: str) -> int:
        """Open a pull request and return its number.

        Raises `UploadError` if GitHub refuses it.
        """
        content = {"title": title, "head": branch, "base": base, "body": body, "maintainer_can_modify": False}
        return int(self._object("POST", "/pulls", content)["number"])

    def progress(self, number: int) -> dict[str, Any]:
        """Return the ``state`` of a pull request (open, merged or closed) and its ``checks``.

        Each check has ``name``, ``state`` (such as success, failure or in_progress) and ``url``.
        """
        pull = self._object("GET", f"/pulls/{number}")
        runs = self._pages(f"/commits/{quote(str(pull['head']['sha']))}/check-runs", {}, "check_runs")
        checks = [
            {"name": str(run["name"]), "state": str(run["conclusion"] or run["status"]), "url": str(run["html_url"])}
            for run in runs
        ]
        return {"state": "merged" if pull.get("merged") else str(pull["state"]), "checks": checks}

    def _object(self, method: str, path: str, content: object = None) -> dict[str, Any]:
        answer = self._send(method, f"{self._base}{quote(path)}", content=content)
        failure = DownloadError if method == "GET" else UploadError
        try:
            data = json.loads(answer.body)
        except ValueError:
            data = None
        if answer.status not in {200, 201} or not isinstance(data, dict):
            message = str(data.get("message", ""))[:200] if isinstance(data, dict) else ""
            raise failure(
                f"GitHub answered {method} {path} with status {answer.status} ({message!a}). Check the number, the "
                "permissions of the job, and that the settings of the repository let Actions open pull requests."
            )
        return data


# -- open or update the pull request -----------------------------------------------------------------------------------

_AUTHOR = ("github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com")
_GIT_TIMEOUT_S = 600.0


Check: TypeAlias = "Callable[[Path, Path], Iterable[Finding]]"
"""``check(top of a checkout, plugin's folder)`` returns findings without importing the plugin."""


@dataclass(frozen=True, kw_only=True)
class Remote:
    """Repository to clone from and push to."""

    url: str  # URL or folder, without credentials
    base: str = "main"  # target branch of the pull request
    token: str = ""  # sent in a header: no argument, address or file holds it. Empty: none is needed.


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
        # Even if a reviewer made the same change: the digest must count as submitted.
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


# -- commands ----------------------------------------------------------------------------------------------------------


def run(issue: int, *, url: str, archive: Path | None, base: str, remote: str, reply: bool) -> int:
    """Run the command `submission`: open a pull request with the plugin that is attached to an issue."""
    forge, target = _github(base, remote)
    outcome = submit(
        forge,
        target,
        issue,
        check=_check_against(base),
        url=url,
        file=archive,
        policy=ArchivePolicy(libraries=read_policy(Path()).libraries),
        reply=reply,
    )
    show(str(outcome))
    append_summary(outcome.answer() + "\n")
    return FAILED if outcome.state == "refused" else 0


def portal_submission(
    file: Path, libraries: Sequence[str], submitter: tuple[int, str, int] | None, *, base: str, remote: str
) -> int:
    """Run the command `portal-submission`; `submitter` is issue, login and number of the account."""
    archive = inspect_archive(file, policy=ArchivePolicy(libraries=tuple(libraries)))
    if isinstance(archive, Rejection):
        show(json.dumps({"findings": [str(problem) for problem in archive.problems], "plugins": [], "pulls": []}))
        return 0
    plugins = (archive, *archive.rest)
    findings: list[str] = []
    pulls = []
    if submitter is not None:
        issue, login, number = submitter
        request = Submission(
            issue=issue,
            submitter=Submitter(login=login, account=number),
            description="From the portal.",
            is_shared=True,
        )
        forge, target = _github(base, remote)
        for at, plugin in enumerate(plugins):
            outcome = publish(plugin, request, forge, target, check=_check_against(base), beside=plugins[:at])
            findings += map(str, outcome.problems)
            if outcome.state == "refused":
                break
            pulls += [] if outcome.pull is None else [outcome.pull]
    listed = [
        {
            "plugin": str(plugin.plugin),
            "files": sorted(plugin.files),
            "notes": plugin.notes,
            "identifiers": _identifiers(plugin),
        }
        for plugin in plugins
    ]
    show(json.dumps({"findings": findings, "plugins": listed, "pulls": pulls}))
    return 0


def _identifiers(plugin: Archive) -> list[str]:
    """Return the identifiers that the source of a plugin registers."""
    try:
        registrations, _ = find_registrations(parse(plugin.files.get("__init__.py", b"")))
    except (SyntaxError, RecursionError, ValueError):  # as the check says later
        return []
    return sorted({registration.identifier for registration in registrations})


def portal_pulls(numbers: Sequence[int]) -> int:
    """Run the command `portal-pulls`: print the state and the checks of pull requests."""
    forge, _ = _github("", "")
    show(json.dumps({str(number): forge.progress(number) for number in numbers}))
    return 0


def _github(base: str, remote: str) -> tuple[HttpForge, Remote]:
    name, token = (os.environ.get(key, "") for key in ("GITHUB_REPOSITORY", "GITHUB_TOKEN"))
    server = os.environ.get("GITHUB_SERVER_URL") or "https://github.com"
    target = Remote(url=remote or f"{server}/{name}.git", base=base, token="" if remote else token)
    return HttpForge(name, token, api=os.environ.get("GITHUB_API_URL") or API), target


def _check_against(base: str) -> Check:
    return lambda checkout, folder: check_named(workplace(checkout), [str(folder)], f"origin/{base}").findings
