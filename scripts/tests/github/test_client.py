"""Test the GitHub client with answers in GitHub's format."""

import json
import time

import pytest

from brainscore_ci.github.client import Artifact, Comment, HttpGitHub, PullRequest, WorkflowRun
from brainscore_core.errors import ConfigurationError, DownloadError, UploadError

httpx = pytest.importorskip("httpx")
BASE = "https://api.github.com/repos/o/r"
STORE = "https://store.example/zip?signature=x"


class Server:
    """Answers requests from a list of rules; a request that matches no rule gets 404."""

    def __init__(self):
        self.requests, self.rules, self.waits = [], [], []

    def add(self, method, address, *answers):
        """Answer with each in turn, then repeat the last one."""
        self.rules.append((method, address, list(answers)))

    def __call__(self, request):
        self.requests.append(request)
        for method, address, answers in self.rules:
            if request.method == method and str(request.url).startswith(address):
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                if isinstance(answer, Exception):
                    raise answer
                return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)
        return httpx.Response(404, json={"message": "Not Found"})

    def github(self, **options):
        transport = httpx.MockTransport(self)
        return HttpGitHub("o/r", "secret-token", transport=transport, sleep=self.waits.append, pause_s=0, **options)

    def authorization_headers(self):
        return [request.headers.get("authorization") for request in self.requests]


@pytest.fixture
def server():
    return Server()


PULL = {"number": 7, "head": {"sha": "a" * 40, "ref": "branch", "repo": {"id": 12}}, "labels": [{"name": "ci-full"}]}
RUN = {
    "id": 5, "run_number": 3, "run_attempt": 2, "head_sha": "a" * 40, "head_branch": "branch", "event": "pull_request",
    "head_repository": {"id": 12}, "status": "completed", "conclusion": "success", "html_url": "https://github.com/o/r/5",
}  # fmt: skip


def test_lists_open_pull_requests(server):
    deleted_fork = {**PULL, "number": 8, "head": {**PULL["head"], "repo": None}, "labels": []}
    server.add("GET", f"{BASE}/pulls?", [PULL, deleted_fork])
    head = {"head_sha": "a" * 40, "head_branch": "branch"}
    first = PullRequest(number=7, **head, head_repository=12, labels=frozenset({"ci-full"}))
    second = PullRequest(number=8, **head, head_repository=None)
    assert server.github().pull_requests() == [first, second]
    (request,) = server.requests
    assert dict(request.url.params) == {"state": "open", "per_page": "100"}
    assert request.headers["authorization"] == "Bearer secret-token"


def test_lists_workflow_runs(server):
    waiting = {**RUN, "id": 6, "status": "queued", "conclusion": None, "head_branch": None, "head_repository": None}
    answer = {"total_count": 2, "workflow_runs": [RUN, waiting]}
    server.add("GET", f"{BASE}/actions/workflows/plugins.yml/runs?", answer)
    first, second = server.github().runs("plugins.yml", head_sha="a" * 40, event="pull_request")
    assert first == WorkflowRun(
        id=5, number=3, attempt=2, head_sha="a" * 40, head_branch="branch", head_repository=12, event="pull_request",
        status="completed", conclusion="success", url="https://github.com/o/r/5",
    )  # fmt: skip
    assert (second.conclusion, second.head_branch, second.head_repository) == (None, "", None)
    assert dict(server.requests[0].url.params) == {"head_sha": "a" * 40, "event": "pull_request", "per_page": "100"}


def test_artifacts_match_the_exact_name(server):
    entry = {"id": 1, "name": "report", "size_in_bytes": 9, "expired": False}
    server.add("GET", f"{BASE}/actions/runs/5/artifacts?", {"artifacts": [entry, {**entry, "name": "report-2"}]})
    assert server.github().artifacts(5, "report") == [Artifact(id=1, name="report", size_bytes=9)]


def test_changed_paths_include_old_names(server):
    server.add("GET", f"{BASE}/pulls/7/files", [{"filename": "a"}, {"filename": "c", "previous_filename": "b"}])
    assert server.github().changed_paths(7) == ["a", "c", "b"]


def test_lists_comments(server):
    entries = [{"id": 1, "user": {"login": "x"}, "body": "text"}, {"id": 2, "user": None, "body": None}]
    server.add("GET", f"{BASE}/issues/7/comments", entries)
    assert server.github().comments(7) == [Comment(id=1, author="x", body="text"), Comment(id=2, author="", body="")]


def page(entries, following=None):
    headers = {"link": f'<{BASE}/page1>; rel="prev", <{following}>; rel="next"'} if following else {}
    return httpx.Response(200, json=entries, headers=headers)


def comment(number):
    return {"id": number, "user": {"login": "x"}, "body": ""}


def test_all_pages_are_read(server):
    server.add("GET", f"{BASE}/issues/7/comments?page=2", page([comment(2)]))
    server.add("GET", f"{BASE}/issues/7/comments", page([comment(1)], f"{BASE}/issues/7/comments?page=2"))
    assert [each.id for each in server.github().comments(7)] == [1, 2]


@pytest.mark.parametrize(
    ("following", "problem", "n_requests"),
    [("https://evil.example/next", r"evil\.example", 1), (f"{BASE}/issues/7/comments?page=2", "more than", None)],
    ids=["elsewhere", "without end"],
)
def test_foreign_or_endless_pages_are_errors(server, following, problem, n_requests):
    server.add("GET", BASE, page([comment(1)], following))
    with pytest.raises(DownloadError, match=problem):
        server.github().comments(7)
    assert n_requests in (None, len(server.requests))


def test_runs_of_a_branch_read_one_page(server):
    rest = httpx.Response(200, json={"workflow_runs": [RUN]}, headers={"link": f'<{BASE}/more>; rel="next"'})
    server.add("GET", f"{BASE}/actions/workflows/score.yml/runs?branch=main", rest)
    assert len(server.github().runs("score.yml", branch="main")) == 1


@pytest.mark.parametrize(
    "answer",
    [{"message": "x"}, [1], [{}], [{**PULL, "number": "7"}], [{**PULL, "head": None}], [{**PULL, "labels": "x"}]],
)
def test_malformed_answers_are_errors(server, answer):
    server.add("GET", BASE, answer)
    with pytest.raises(DownloadError, match="GitHub's answer"):
        server.github().pull_requests()


def test_error_quotes_github_without_the_token(server):
    server.add("GET", BASE, httpx.Response(403, json={"message": "Resource not accessible\n::error::x"}))
    with pytest.raises(DownloadError, match="status 403") as error:
        server.github().pull_requests()
    assert "Resource not accessible\\n" in str(error.value)
    assert "secret-token" not in str(error.value)


# -- artifacts ---------------------------------------------------------------------------------------------------------


def to(location):
    return httpx.Response(302, headers={"location": location})


def test_artifact_redirect_does_not_carry_the_token(server):
    server.add("GET", f"{BASE}/actions/artifacts/9/zip", to(STORE))
    server.add("GET", STORE, httpx.Response(200, content=b"zip"))
    assert server.github().download(9, 100) == b"zip"
    assert server.authorization_headers() == ["Bearer secret-token", None]


@pytest.mark.parametrize(
    ("location", "problem", "n_requests"),
    [
        *((f"{scheme}://store.example/zip", "not followed", 1) for scheme in ("http", "ftp", "file")),
        (STORE, "status 302", 2),  # redirected repeatedly
    ],
)
def test_artifact_needs_https_and_one_redirect_at_most(server, location, problem, n_requests):
    server.add("GET", f"{BASE}/actions/artifacts/9/zip", to(location))
    server.add("GET", STORE, to("https://third.example/"))
    with pytest.raises(DownloadError, match=problem):
        server.github().download(9, 100)
    assert len(server.requests) == n_requests


def test_large_artifact_is_not_read_to_its_end(server):
    sent = []

    def pieces():
        for _ in range(1000):
            sent.append(1)
            yield b"x" * 65_536

    server.add("GET", f"{BASE}/actions/artifacts/9/zip", to(STORE))
    server.add("GET", STORE, httpx.Response(200, content=pieces()))
    with pytest.raises(DownloadError, match="more than 100000 bytes"):
        server.github().download(9, 100_000)
    assert len(sent) < 10


def test_renamed_repository_is_followed_on_the_same_host(server):
    elsewhere, moved = "https://evil.example/pulls", "https://api.github.com/repositories/1/pulls"
    server.add("GET", f"{BASE}/pulls", *(httpx.Response(301, headers={"location": at}) for at in (elsewhere, moved)))
    server.add("GET", moved, [PULL])
    with pytest.raises(DownloadError, match="not followed"):
        server.github().pull_requests()
    assert len(server.requests) == 1
    assert len(server.github().pull_requests()) == 1


# -- retries -----------------------------------------------------------------------------------------------------------


def test_server_errors_are_retried_a_few_times(server):
    passing = (httpx.Response(502), httpx.ReadTimeout("slow"), httpx.ConnectError("no"), httpx.Response(200, json=[]))
    server.add("GET", f"{BASE}/pulls", *passing)
    assert server.github().pull_requests() == []
    assert server.waits == [1, 2, 4]
    server.requests.clear()
    server.add("GET", BASE, httpx.Response(500))
    with pytest.raises(DownloadError, match="status 500"):
        server.github().comments(7)
    assert len(server.requests) == 4


def at_limit():
    reset = str(int(time.time()) + 20)
    return httpx.Response(403, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset})


@pytest.mark.parametrize(
    ("answer", "wait"),
    [
        (lambda: httpx.Response(403, headers={"retry-after": "7"}), 7),
        (lambda: httpx.Response(429, headers={"retry-after": "7"}), 7),
        (lambda: httpx.Response(403, json={"message": "You have exceeded a secondary rate limit."}), 60),
        (lambda: httpx.Response(429), 60),
        (at_limit, 20),
    ],
)
def test_waits_for_rate_limits(server, answer, wait):
    server.add("POST", f"{BASE}/issues/7/comments", answer(), httpx.Response(201, json={}))
    server.github().create_comment(7, "text")
    assert server.waits[1] == pytest.approx(wait, abs=2)
    assert len(server.requests) == 2


def test_long_rate_limit_is_an_error(server):
    server.add("GET", BASE, httpx.Response(403, headers={"retry-after": "3000"}))
    with pytest.raises(DownloadError, match="wait 3000 s"):
        server.github().pull_requests()
    assert server.waits == []


@pytest.mark.parametrize("trouble", [httpx.Response(502), httpx.ReadTimeout("slow")])
def test_uncertain_write_is_not_repeated(server, trouble):
    server.add("POST", f"{BASE}/issues/7/comments", trouble, httpx.Response(201, json={}))
    with pytest.raises(UploadError):
        server.github().create_comment(7, "text")
    assert len(server.requests) == 1
    server.add("POST", f"{BASE}/issues/8/comments", httpx.ConnectError("no"), httpx.Response(201, json={}))
    server.github().create_comment(8, "text")  # it was not sent
    assert len(server.requests) == 3


# -- writing -----------------------------------------------------------------------------------------------------------


def test_write_requests(server):
    github = server.github()
    for method, path, status, write, body in (
        ("POST", "issues/7/comments", 201, lambda: github.create_comment(7, "text"), {"body": "text"}),
        ("PATCH", "issues/comments/3", 200, lambda: github.update_comment(3, "new"), {"body": "new"}),
        ("POST", "issues/7/labels", 200, lambda: github.add_labels(7, ["a", "b"]), {"labels": ["a", "b"]}),
        ("DELETE", "issues/7/labels/a%20b%2Fc", 200, lambda: github.remove_label(7, "a b/c"), None),
        (
            *("POST", "actions/workflows/score.yml/dispatches", 204),
            lambda: github.start("score.yml", "main"),
            {"ref": "main", "inputs": {}},
        ),
    ):
        server.add(method, f"{BASE}/{path}", httpx.Response(status, json={}))
        write()
        content = server.requests[-1].content
        assert (json.loads(content) if content else None) == body
    assert set(server.authorization_headers()) == {"Bearer secret-token"}


def test_refused_write_is_an_error_and_missing_label_is_not(server):
    server.github().remove_label(7, "gone")
    with pytest.raises(UploadError, match="permissions"):
        server.github().update_comment(3, "new")


def test_writes_are_a_second_apart(server):
    server.add("POST", BASE, httpx.Response(201, json={}))
    transport = httpx.MockTransport(server)
    HttpGitHub("o/r", "t", transport=transport, sleep=server.waits.append).create_comment(7, "x")
    assert server.waits == [1]


@pytest.mark.parametrize(
    ("repository", "options", "problem"),
    [
        *(("o/r", {"api": api}, "https") for api in
          ("http://ghe.example/api/v3", "ftp://x", "api.github.com", "http://127.0.0.1.evil.example")),
        *((repository, {}, "owner/name") for repository in ("", "name", "a/b/c", "/b", "../b")),
    ],
)  # fmt: skip
def test_rejects_malformed_repository_or_unencrypted_api(repository, options, problem):
    with pytest.raises(ConfigurationError, match=problem):
        HttpGitHub(repository, "t", **options)


@pytest.mark.parametrize("api", ["http://127.0.0.1:8000/api/v3", "http://localhost:1", "https://ghe.example/api/v3/"])
def test_accepts_other_api_addresses(server, api):
    server.add("GET", f"{api.rstrip('/')}/repos/o/r/pulls", [PULL])
    assert len(server.github(api=api).pull_requests()) == 1


# -- merges ------------------------------------------------------------------------------------------------------------

JUDGED = PullRequest(number=7, head_sha="a" * 40, head_branch="branch", node_id="PR_7")


def test_arm_names_the_judged_head(server):
    server.add("POST", "https://api.github.com/graphql", {"data": {}})
    server.github().arm(JUDGED)
    (request,) = server.requests
    sent = json.loads(request.content)
    assert sent["variables"] == {"id": "PR_7", "head": "a" * 40}
    assert "expectedHeadOid: $head" in sent["query"]


def test_arm_merges_a_clean_pull_request_at_the_judged_head(server):
    refusal = {"errors": [{"message": "Pull request Pull request is in clean status"}]}
    server.add("POST", "https://api.github.com/graphql", refusal)
    server.add("PUT", f"{BASE}/pulls/7/merge", {"merged": True})
    server.github().arm(JUDGED)
    assert json.loads(server.requests[-1].content) == {"sha": "a" * 40, "merge_method": "squash"}


def test_arm_refused_otherwise_merges_nothing(server):
    refusal = {"errors": [{"message": "Head sha didn't match expected head oid"}]}
    server.add("POST", "https://api.github.com/graphql", refusal)
    for change in (server.github().arm, server.github().disarm):
        with pytest.raises(UploadError, match="Head sha didn't match"):
            change(JUDGED)
    assert {request.url.path for request in server.requests} == {"/graphql"}


def test_checks_count_only_github_actions(server):
    runs = [
        {"name": "gate", "app": {"slug": "github-actions"}, "conclusion": "failure"},
        {"name": "gate", "app": {"slug": "another-app"}, "conclusion": "success"},
        {"name": "library gate", "app": {"slug": "github-actions"}, "conclusion": None},
    ]
    server.add("GET", f"{BASE}/commits/{'a' * 40}/check-runs", {"check_runs": runs})
    assert server.github().checks("a" * 40) == {"gate": "failure", "library gate": ""}


def test_merged_since_lists_later_merges(server):
    pulls = [
        {**PULL, "number": 1, "merged_at": "2026-11-28T10:00:00Z", "user": {"id": 583231}},
        {**PULL, "number": 2, "merged_at": "2026-11-27T10:00:00Z"},
        {**PULL, "number": 3, "merged_at": None},
    ]
    server.add("GET", f"{BASE}/pulls?state=closed", pulls)
    (merged,) = server.github().merged_since("2026-11-28T00:00:00Z")
    assert (merged.number, merged.author) == (1, 583231)
