"""Talk to GitHub: the few things that reporting on pull requests needs, over its REST interface."""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import quote, urljoin, urlsplit

from brainscore_core.errors import ConfigurationError, DownloadError, UploadError

if TYPE_CHECKING:
    import httpx

__all__ = ["API", "MOST_FILES", "Artifact", "Comment", "GitHub", "HttpGitHub", "PullRequest", "Run"]

API = "https://api.github.com"
MOST_FILES = 3_000  # GitHub lists no more files of a pull request
_MOST_PAGES, _PER_PAGE = 50, 100
_MOST_BYTES = 32 * 2**20  # of one page
_TRIES, _LONGEST_WAIT_S = 4, 60.0
_SAFE_TO_REPEAT = frozenset({"GET", "PATCH", "PUT", "DELETE"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class PullRequest:
    """An open pull request.

    Attributes
    ----------
    number : int
    head_sha, head_branch : str
        What is to be merged.
    head_repository : int or None
        Number of the repository it comes from; None if that was deleted.
    labels : frozenset of str
    """

    number: int
    head_sha: str
    head_branch: str
    head_repository: int | None
    labels: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a workflow.

    Attributes
    ----------
    id, number, attempt : int
        Its identity; its place among the runs of the workflow; how often it was started.
    head_sha, head_branch : str
    head_repository : int or None
        Where what it ran came from.
    event : str
        Such as 'pull_request'.
    status : str
        Such as 'queued', 'in_progress' or 'completed'.
    conclusion : str or None
        Such as 'success' or 'failure', once it is completed.
    url : str
        Its page.
    """

    id: int
    number: int
    attempt: int
    head_sha: str
    head_branch: str
    head_repository: int | None
    event: str
    status: str
    conclusion: str | None
    url: str


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A file that a run has left."""

    id: int
    name: str
    size_bytes: int
    expired: bool = False


@dataclass(frozen=True, kw_only=True)
class Comment:
    """A comment of a pull request."""

    id: int
    author: str
    body: str


class GitHub(Protocol):
    """What is needed of GitHub, for one repository; also a fake in the memory has these."""

    def pull_requests(self) -> Sequence[PullRequest]:
        """Return all open pull requests."""
        ...

    def runs(self, workflow: str, *, head_sha: str = "", branch: str = "", event: str = "") -> Sequence[Run]:
        """Return the runs of a workflow file; of a branch only the latest hundred."""
        ...

    def artifacts(self, run: int, name: str) -> Sequence[Artifact]:
        """Return the artifacts of a run that have a name."""
        ...

    def download(self, artifact: int, most_bytes: int) -> bytes:
        """Return the zip file of an artifact.

        Raises
        ------
        DownloadError
            If it cannot be fetched or is larger.
        """
        ...

    def changed_paths(self, number: int) -> Sequence[str]:
        """Return the paths that a pull request changes, old names included; at most `MOST_FILES` files."""
        ...

    def comments(self, number: int) -> Sequence[Comment]:
        """Return the comments of a pull request, oldest first."""
        ...

    def create_comment(self, number: int, body: str) -> None:
        """Add a comment to a pull request."""
        ...

    def update_comment(self, comment: int, body: str) -> None:
        """Replace the text of a comment."""
        ...

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        """Add labels to a pull request; those that do not exist yet are made."""
        ...

    def remove_label(self, number: int, label: str) -> None:
        """Remove a label from a pull request; one that is not there is no problem."""
        ...

    def start(self, workflow: str, branch: str, inputs: Mapping[str, str]) -> None:
        """Start a workflow that has ``workflow_dispatch``."""
        ...


class HttpGitHub:
    """GitHub over the network.

    Errors of the server and limits are waited for, up to four tries and a minute each. What is not safe to do twice is
    repeated only if it was certainly not done. The token goes to one host only: other hosts, where artifacts
    are kept, are asked without it.

    Parameters
    ----------
    repository : str
        Such as 'owner/name'.
    token : str
        Empty: read what is public.
    api : str
        Address of the REST interface, ``GITHUB_API_URL``.
    transport : httpx.BaseTransport, optional
        What connects; None means the network.
    timeout_s : float
        For connecting, and for each piece of an answer.
    pause_s : float
        Before each change: GitHub asks for a second between them.
    sleep : callable
        Waits some seconds.

    Raises
    ------
    ConfigurationError
        If the repository is not of that form, or a token would be sent without encryption.
    """

    def __init__(
        self,
        repository: str,
        token: str,
        *,
        api: str = API,
        transport: httpx.BaseTransport | None = None,
        timeout_s: float = 30.0,
        pause_s: float = 1.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        import httpx  # only talking to GitHub needs it: it comes with the extra "ci"

        if repository.count("/") != 1 or not all(part.strip(".") for part in repository.split("/")):
            raise ConfigurationError(
                f"{repository!r} is no repository: expected owner/name, as GITHUB_REPOSITORY has it."
            )
        address = urlsplit(api)
        if address.scheme != "https" and not (address.scheme == "http" and _is_this_machine(address.hostname)):
            raise ConfigurationError(f"{api!r} is not encrypted: expected an https address in GITHUB_API_URL.")
        self._api = api.rstrip("/")
        self._base = f"{self._api}/repos/{quote(repository)}"
        self._pause_s, self._sleep = pause_s, sleep
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "brainscore-ci",
        }
        self._authorization = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(headers=headers, timeout=timeout_s, transport=transport, follow_redirects=False)
        self._broken: type[Exception] = httpx.TransportError
        self._not_sent = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

    # -- reading

    def pull_requests(self) -> list[PullRequest]:
        """Return all open pull requests."""
        return [
            PullRequest(
                number=_get(entry, int, "number"),
                head_sha=_get(entry, str, "head", "sha"),
                head_branch=_get(entry, str, "head", "ref"),
                head_repository=_optional(entry, int, "head", "repo", "id"),
                labels=frozenset(_get(label, str, "name") for label in _get(entry, list, "labels")),
            )
            for entry in self._pages("/pulls", {"state": "open"})
        ]

    def runs(self, workflow: str, *, head_sha: str = "", branch: str = "", event: str = "") -> list[Run]:
        """Return the runs of a workflow file; of a branch only the latest hundred."""
        wanted = {"head_sha": head_sha, "branch": branch, "event": event}
        parameters = {key: value for key, value in wanted.items() if value}
        pages = self._pages(
            f"/actions/workflows/{quote(workflow)}/runs", parameters, "workflow_runs", 1 if branch else _MOST_PAGES
        )
        return [
            Run(
                id=_get(entry, int, "id"),
                number=_get(entry, int, "run_number"),
                attempt=_optional(entry, int, "run_attempt") or 1,
                head_sha=_get(entry, str, "head_sha"),
                head_branch=_optional(entry, str, "head_branch") or "",
                head_repository=_optional(entry, int, "head_repository", "id"),
                event=_get(entry, str, "event"),
                status=_get(entry, str, "status"),
                conclusion=_optional(entry, str, "conclusion"),
                url=_get(entry, str, "html_url"),
            )
            for entry in pages
        ]

    def artifacts(self, run: int, name: str) -> list[Artifact]:
        """Return the artifacts of a run that have a name."""
        return [
            Artifact(
                id=_get(entry, int, "id"),
                name=_get(entry, str, "name"),
                size_bytes=_get(entry, int, "size_in_bytes"),
                expired=_get(entry, bool, "expired"),
            )
            for entry in self._pages(f"/actions/runs/{run}/artifacts", {"name": name}, "artifacts")
            if _get(entry, str, "name") == name
        ]

    def download(self, artifact: int, most_bytes: int) -> bytes:
        """Return the zip file of an artifact, at most some bytes.

        Raises
        ------
        DownloadError
            If it cannot be fetched or is larger.
        """
        answer = self._send("GET", f"{self._base}/actions/artifacts/{artifact}/zip", most_bytes=most_bytes)
        if answer.location:
            answer = self._send("GET", answer.location, most_bytes=most_bytes, elsewhere=True)
        if answer.status != 200:
            raise DownloadError(_explain("GET", f"/actions/artifacts/{artifact}/zip", answer))
        return answer.body

    def changed_paths(self, number: int) -> list[str]:
        """Return the paths that a pull request changes, old names included."""
        entries = list(self._pages(f"/pulls/{number}/files", {}))
        names = [_get(entry, str, "filename") for entry in entries]
        return names + [name for entry in entries if (name := _optional(entry, str, "previous_filename")) is not None]

    def comments(self, number: int) -> list[Comment]:
        """Return the comments of a pull request, oldest first."""
        return [
            Comment(
                id=_get(entry, int, "id"),
                author=_optional(entry, str, "user", "login") or "",
                body=_optional(entry, str, "body") or "",
            )
            for entry in self._pages(f"/issues/{number}/comments", {})
        ]

    # -- writing

    def create_comment(self, number: int, body: str) -> None:
        """Add a comment to a pull request."""
        self._change("POST", f"/issues/{number}/comments", {"body": body})

    def update_comment(self, comment: int, body: str) -> None:
        """Replace the text of a comment."""
        self._change("PATCH", f"/issues/comments/{comment}", {"body": body})

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        """Add labels to a pull request."""
        self._change("POST", f"/issues/{number}/labels", {"labels": list(labels)})

    def remove_label(self, number: int, label: str) -> None:
        """Remove a label from a pull request."""
        self._change("DELETE", f"/issues/{number}/labels/{quote(label, safe='')}", None, also_fine=404)

    def start(self, workflow: str, branch: str, inputs: Mapping[str, str]) -> None:
        """Start a workflow that has ``workflow_dispatch``."""
        path = f"/actions/workflows/{quote(workflow)}/dispatches"
        self._change("POST", path, {"ref": branch, "inputs": dict(inputs)})

    # -- how

    def _pages(
        self, path: str, parameters: Mapping[str, str], key: str = "", most_pages: int = _MOST_PAGES
    ) -> Iterator[Any]:
        """Yield the entries of a list that GitHub gives in pages."""
        query = "".join(f"{name}={quote(value, safe='')}&" for name, value in parameters.items())
        address = f"{self._base}{path}?{query}per_page={_PER_PAGE}"
        for _ in range(most_pages):
            answer = self._send("GET", address)
            if answer.location:  # the repository has a new name
                answer = self._send("GET", answer.location)
            if answer.status != 200:
                raise DownloadError(_explain("GET", path, answer))
            try:
                content = json.loads(answer.body)
                entries = content[key] if key else content
            except (ValueError, TypeError, KeyError) as error:
                raise DownloadError(f"GitHub's answer to GET {path} is not as expected: {error!r}.") from error
            if not isinstance(entries, list):
                raise DownloadError(f"GitHub's answer to GET {path} is no list.")
            yield from entries
            if not answer.next_page:
                return
            address = answer.next_page
        if most_pages > 1:
            raise DownloadError(f"GitHub has more than {most_pages * _PER_PAGE} entries for GET {path}.")

    def _change(self, method: str, path: str, content: object, *, also_fine: int = 200) -> None:
        self._sleep(self._pause_s)
        answer = self._send(method, f"{self._base}{path}", content=content)
        if answer.status not in {200, 201, 202, 204, also_fine}:
            raise UploadError(_explain(method, path, answer))

    def _send(
        self,
        method: str,
        address: str,
        *,
        content: object = None,
        most_bytes: int = _MOST_BYTES,
        elsewhere: bool = False,
    ) -> _Answer:
        """Send a request, again where that helps, and return an answer that is no error of the server."""
        reason = ""
        for attempt in range(_TRIES):
            try:
                answer = self._send_once(method, address, content, most_bytes, elsewhere=elsewhere)
            except self._broken as error:
                reason = type(error).__name__
                may_be_done = not isinstance(error, self._not_sent)
                wait = 2.0**attempt
            else:
                limit = _limit_s(answer, time.time())
                if limit is None and answer.status < 500:
                    return answer
                reason = f"status {answer.status}" if limit is None else f"too many requests, wait {limit:.0f} s"
                may_be_done = limit is None  # what is over the limit is not carried out
                wait = 2.0**attempt if limit is None else limit
            if (may_be_done and method not in _SAFE_TO_REPEAT) or wait > _LONGEST_WAIT_S or attempt == _TRIES - 1:
                break
            self._sleep(wait)
        failure = DownloadError if method == "GET" else UploadError
        raise failure(f"GitHub did not answer {method} {urlsplit(address).path}: {reason}. Run this again later.")

    def _send_once(self, method: str, address: str, content: object, most_bytes: int, *, elsewhere: bool) -> _Answer:
        is_ours = _origin(address) == _origin(self._api)
        if not is_ours and not (elsewhere and urlsplit(address).scheme == "https"):
            raise DownloadError(f"GitHub points to {_origin(address)} instead of {_origin(self._api)}; not followed.")
        headers = self._authorization if is_ours else {}
        body = bytearray()
        with self._client.stream(method, address, json=content, headers=headers) as response:
            for piece in response.iter_bytes(65_536):
                body += piece
                if len(body) > most_bytes:
                    raise DownloadError(f"{urlsplit(address).path} has more than {most_bytes} bytes.")
        is_redirect = response.status_code in _REDIRECTS and "location" in response.headers
        return _Answer(
            status=response.status_code,
            headers=response.headers,
            body=bytes(body),
            location=urljoin(address, response.headers["location"]) if is_redirect else "",
            next_page=response.links.get("next", {}).get("url", ""),
        )


@dataclass(frozen=True, kw_only=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes
    location: str  # of a redirect
    next_page: str


def _limit_s(answer: _Answer, now: float) -> float | None:
    """Return how long GitHub asks to wait since there were too many requests; None: there were not."""
    if answer.status not in {403, 429}:
        return None
    after, reset = answer.headers.get("retry-after", ""), answer.headers.get("x-ratelimit-reset", "")
    if after.isdecimal():
        return float(after)
    if answer.headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        return max(1.0, float(reset) - now)
    return _LONGEST_WAIT_S if answer.status == 429 or b"secondary rate limit" in answer.body else None


def _explain(method: str, path: str, answer: _Answer) -> str:
    try:
        message = str(json.loads(answer.body)["message"])[:200]
    except (ValueError, TypeError, KeyError):
        message = "no message"
    return (
        f"GitHub answered {method} {path} with status {answer.status} ({message!a}). "
        "Check the name, and the permissions of the job."
    )


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc.lower()


def _is_this_machine(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _optional(entry: object, kind: type[T], *keys: str) -> T | None:
    """Return a value of an answer; None where it, or what holds it, is null or missing."""
    value = entry
    for key in keys:
        if not isinstance(value, dict):
            raise DownloadError(f"GitHub's answer has no {'.'.join(keys)} of type {kind.__name__}.")
        value = value.get(key)
        if value is None:
            return None
    if not isinstance(value, kind):
        raise DownloadError(f"GitHub's answer has no {'.'.join(keys)} of type {kind.__name__}.")
    return value


def _get(entry: object, kind: type[T], *keys: str) -> T:
    value = _optional(entry, kind, *keys)
    if value is None:
        raise DownloadError(f"GitHub's answer has no {'.'.join(keys)}.")
    return value
