"""Call the parts of GitHub's REST interface that reporting on pull requests needs."""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, urljoin, urlsplit

import httpx
from pydantic import AliasPath, BeforeValidator, Field, Strict, TypeAdapter, ValidationError

from brainscore_core.errors import ConfigurationError, DownloadError, UploadError

API = "https://api.github.com"
MOST_FILES = 3_000  # GitHub lists no more files of a pull request
_MOST_PAGES, _PER_PAGE = 50, 100
_MOST_BYTES = 32 * 2**20  # entries of one page
_TRIES, _LONGEST_WAIT_S = 4, 60.0
_TIMEOUT_S = 30.0  # seconds to connect, and for each piece of an answer
_SAFE_TO_REPEAT = frozenset({"GET", "PATCH", "PUT", "DELETE"})
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
T = TypeVar("T")
Whole = Annotated[int, Strict()]
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]  # null where there is none


def _at(*path: str) -> Any:  # as `Field` does
    return Field(validation_alias=AliasPath(*path))


def _names(labels: object) -> object:
    return [label["name"] for label in labels] if isinstance(labels, list) else labels


@dataclass(frozen=True, kw_only=True)
class PullRequest:
    """An open pull request; its source repository is None if deleted."""

    number: Whole
    head_sha: Annotated[str, _at("head", "sha")]
    head_branch: Annotated[str, _at("head", "ref")]
    head_repository: Annotated[Whole | None, _at("head", "repo", "id")] = None
    labels: Annotated[frozenset[str], BeforeValidator(_names)] = frozenset()
    node_id: str = ""
    author: Annotated[Whole, _at("user", "id")] = 0  # number of the account
    draft: bool = False
    armed_by: Annotated[Text, _at("auto_merge", "enabled_by", "login")] = ""  # who lets GitHub merge it
    merged_at: Text = ""  # ISO 8601, with Z; empty if it is not merged


@dataclass(frozen=True, kw_only=True)
class WorkflowRun:
    """One run of a workflow, with the numbers of the run and of the attempt; no conclusion until it is completed."""

    id: Whole
    number: Annotated[Whole, _at("run_number")]
    attempt: Annotated[Whole, BeforeValidator(lambda value: value or 1), _at("run_attempt")] = 1
    head_sha: str
    head_branch: Text = ""
    head_repository: Annotated[Whole | None, _at("head_repository", "id")] = None
    event: str
    status: str
    conclusion: str | None = None
    url: Annotated[str, _at("html_url")]


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A file that a run uploaded."""

    id: Whole
    name: str
    size_bytes: Annotated[Whole, _at("size_in_bytes")]
    expired: bool = False


@dataclass(frozen=True, kw_only=True)
class Comment:
    """A comment on a pull request."""

    id: Whole
    author: Annotated[Text, _at("user", "login")] = ""
    body: Text = ""


@dataclass(frozen=True, kw_only=True)
class _CheckRun:
    name: str
    app: Annotated[str, _at("app", "slug")]
    conclusion: Text = ""


@dataclass(frozen=True)
class _ChangedFile:
    filename: str
    previous_filename: str | None = None


class HttpGitHub:
    """Access one repository on GitHub.

    Server errors and rate limits are retried up to four times, waiting at most a minute each; unsafe requests only if
    they certainly had no effect. Only the API's host gets the token, if any. GitHub asks for `pause_s` before a change.
    """

    def __init__(
        self,
        repository: str,
        token: str,
        *,
        api: str = API,
        transport: httpx.BaseTransport | None = None,
        pause_s: float = 1.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if repository.count("/") != 1 or not all(part.strip(".") for part in repository.split("/")):
            raise ConfigurationError(
                f"{repository!r} is not a repository: expected owner/name, as in GITHUB_REPOSITORY."
            )
        address = urlsplit(api)
        if address.scheme != "https" and not (address.scheme == "http" and _is_this_machine(address.hostname)):
            raise ConfigurationError(f"{api!r} is not encrypted: expected an https address in GITHUB_API_URL.")
        self._repository = repository
        self._api = api.rstrip("/")
        self._base = f"{self._api}/repos/{quote(repository)}"
        self._pause_s, self._sleep = pause_s, sleep
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "brainscore-ci",
        }
        self._authorization = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(headers=headers, timeout=_TIMEOUT_S, transport=transport, follow_redirects=False)

    # -- reading

    def pull_requests(self) -> list[PullRequest]:
        """Return all open pull requests."""
        return [_read(PullRequest, entry) for entry in self._pages("/pulls", {"state": "open"})]

    def runs(self, workflow: str, *, head_sha: str = "", branch: str = "", event: str = "") -> list[WorkflowRun]:
        """Return the runs of a workflow file; at most the latest hundred of a branch."""
        query = {"head_sha": head_sha, "branch": branch, "event": event}
        parameters = {key: value for key, value in query.items() if value}
        pages = self._pages(
            f"/actions/workflows/{quote(workflow)}/runs", parameters, "workflow_runs", 1 if branch else _MOST_PAGES
        )
        return [_read(WorkflowRun, entry) for entry in pages]

    def artifacts(self, run: int, name: str) -> list[Artifact]:
        """Return the artifacts of a run with this name."""
        entries = self._pages(f"/actions/runs/{run}/artifacts", {"name": name}, "artifacts")
        return [artifact for entry in entries if (artifact := _read(Artifact, entry)).name == name]

    def download(self, artifact: int, most_bytes: int) -> bytes:
        """Return the zip file of an artifact, unless it is larger than allowed."""
        answer = self._send("GET", f"{self._base}/actions/artifacts/{artifact}/zip", most_bytes=most_bytes)
        if answer.location:
            answer = self._send("GET", answer.location, most_bytes=most_bytes, elsewhere=True)
        if answer.status != 200:
            raise DownloadError(_explain("GET", f"/actions/artifacts/{artifact}/zip", answer))
        return answer.body

    def changed_paths(self, number: int) -> list[str]:
        """Return the paths that a pull request changes, including old names; at most `MOST_FILES` files."""
        files = [_read(_ChangedFile, entry) for entry in self._pages(f"/pulls/{number}/files", {})]
        return [file.filename for file in files] + [name for file in files if (name := file.previous_filename)]

    def comments(self, number: int) -> list[Comment]:
        """Return the comments of a pull request, oldest first."""
        return [_read(Comment, entry) for entry in self._pages(f"/issues/{number}/comments", {})]

    def checks(self, commit: str) -> dict[str, str]:
        """Return the conclusion of each check of GitHub Actions of a commit; other apps may use the same names."""
        runs = [_read(_CheckRun, entry) for entry in self._pages(f"/commits/{commit}/check-runs", {}, "check_runs")]
        return {run.name: run.conclusion for run in runs if run.app == "github-actions"}

    def merged_since(self, moment: str) -> list[PullRequest]:
        """Return the pull requests merged since a time, ISO 8601 with Z, of the hundred that changed last."""
        query = {"state": "closed", "sort": "updated", "direction": "desc"}
        pulls = (_read(PullRequest, entry) for entry in self._pages("/pulls", query, "", 1))
        return [pull for pull in pulls if pull.merged_at >= moment]

    # -- writing

    def arm(self, pull: PullRequest) -> None:
        """Let GitHub merge a pull request as soon as its rules allow; not if its head has changed meanwhile.

        Only GraphQL can. GitHub refuses what could be merged at once, which is then merged, at this head too.
        """
        mutation = (
            "mutation($id: ID!, $head: GitObjectID!) {enablePullRequestAutoMerge(input: "
            "{pullRequestId: $id, expectedHeadOid: $head, mergeMethod: SQUASH}) {clientMutationId}}"
        )
        refusal = self._mutate(mutation, {"id": pull.node_id, "head": pull.head_sha})
        if "clean status" in refusal:
            self._change("PUT", f"/pulls/{pull.number}/merge", {"sha": pull.head_sha, "merge_method": "squash"})
        elif refusal:
            raise UploadError(f"GitHub refused to enable auto-merge for pull request {pull.number}: {refusal}.")

    def disarm(self, pull: PullRequest) -> None:
        """Take back what `arm` allowed."""
        mutation = "mutation($id: ID!) {disablePullRequestAutoMerge(input: {pullRequestId: $id}) {clientMutationId}}"
        if refusal := self._mutate(mutation, {"id": pull.node_id}):
            raise UploadError(f"GitHub refused to disable auto-merge for pull request {pull.number}: {refusal}.")

    def create_comment(self, number: int, body: str) -> None:
        """Add a comment to a pull request."""
        self._change("POST", f"/issues/{number}/comments", {"body": body})

    def update_comment(self, comment: int, body: str) -> None:
        """Replace a comment's text."""
        self._change("PATCH", f"/issues/comments/{comment}", {"body": body})

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        """Add labels to a pull request, creating missing ones."""
        self._change("POST", f"/issues/{number}/labels", {"labels": list(labels)})

    def remove_label(self, number: int, label: str) -> None:
        """Remove a label from a pull request, if it is set."""
        self._change("DELETE", f"/issues/{number}/labels/{quote(label, safe='')}", None, also_fine=404)

    def start(self, workflow: str, branch: str) -> None:
        """Start a workflow by ``workflow_dispatch``."""
        path = f"/actions/workflows/{quote(workflow)}/dispatches"
        self._change("POST", path, {"ref": branch, "inputs": {}})

    # -- how

    def _pages(
        self, path: str, parameters: Mapping[str, str], key: str = "", most_pages: int = _MOST_PAGES
    ) -> Iterator[Any]:
        query = "".join(f"{name}={quote(value, safe='')}&" for name, value in parameters.items())
        address = f"{self._base}{path}?{query}per_page={_PER_PAGE}"
        for _ in range(most_pages):
            answer = self._send("GET", address)
            if answer.location:  # the repository was renamed
                answer = self._send("GET", answer.location)
            if answer.status != 200:
                raise DownloadError(_explain("GET", path, answer))
            try:
                content = json.loads(answer.body)
                entries = content[key] if key else content
            except (ValueError, TypeError, KeyError) as error:
                raise DownloadError(f"GitHub's answer to GET {path} is not as expected: {error!r}.") from error
            if not isinstance(entries, list):
                raise DownloadError(f"GitHub's answer to GET {path} is not a list.")
            yield from entries
            if not answer.next_page:
                return
            address = answer.next_page
        if most_pages > 1:
            raise DownloadError(f"GitHub has more than {most_pages * _PER_PAGE} entries for GET {path}.")

    def _change(self, method: str, path: str, content: object, *, also_fine: int = 200, base: str = "") -> _Answer:
        """Change something below the repository's address, or another one."""
        self._sleep(self._pause_s)
        answer = self._send(method, f"{base or self._base}{path}", content=content)
        if answer.status not in {200, 201, 202, 204, also_fine}:
            raise UploadError(_explain(method, path, answer))
        return answer

    def _mutate(self, mutation: str, variables: Mapping[str, str]) -> str:
        """Send a mutation of GraphQL; return GitHub's refusal, if any, in ASCII."""
        content = {"query": mutation, "variables": variables}
        answer = self._change("POST", "/graphql", content, base=self._api.removesuffix("/v3"))
        errors = json.loads(answer.body).get("errors") or []
        return ", ".join(ascii(str(error.get("message", "")))[1:201] for error in errors)

    def _send(
        self,
        method: str,
        address: str,
        *,
        content: object = None,
        most_bytes: int = _MOST_BYTES,
        elsewhere: bool = False,
    ) -> _Answer:
        """Send a request, retrying where that helps."""
        reason = ""
        for attempt in range(_TRIES):
            try:
                answer = self._send_once(method, address, content, most_bytes, elsewhere=elsewhere)
            except httpx.TransportError as error:
                reason = type(error).__name__
                may_be_done = not isinstance(error, _NOT_SENT)
                wait = 2.0**attempt
            else:
                limit = _limit_s(answer, time.time())
                if limit is None and answer.status < 500:
                    return answer
                reason = f"status {answer.status}" if limit is None else f"too many requests, wait {limit:.0f} s"
                may_be_done = limit is None  # a request over the limit has no effect
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
    location: str  # target of a redirect
    next_page: str


def _limit_s(answer: _Answer, now: float) -> float | None:
    """Return the wait in seconds that GitHub's rate limit demands, if any."""
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


_ADAPTERS: Mapping[type, TypeAdapter[Any]] = {  # Any: each makes another class
    kind: TypeAdapter(kind) for kind in (PullRequest, WorkflowRun, Artifact, Comment, _CheckRun, _ChangedFile)
}


def _read(kind: type[T], entry: object) -> T:
    try:
        value: T = _ADAPTERS[kind].validate_python(entry)
    except (ValidationError, TypeError, KeyError) as error:
        what = type(error).__name__
        if isinstance(error, ValidationError):  # without the input, which may come from anybody
            what = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:2])
        raise DownloadError(f"GitHub's answer is not a {kind.__name__.strip('_')} as expected: {what}.") from None
    return value
