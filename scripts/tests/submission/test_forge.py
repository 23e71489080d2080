import json

import httpx
import pytest

from brainscore_ci.submission.publish import HttpForge
from brainscore_core.errors import ConfigurationError, DownloadError, UploadError

URL = "https://github.com/user-attachments/files/1/mine.zip"
STORAGE = "https://objects.githubusercontent.com/x?signature=1"


@pytest.fixture
def make_forge():
    """Return a function that maps {(method, address): answer} to a forge and the list of requests it sends."""

    def start(answers):
        sent = []

        def handle(request):
            sent.append(request)
            answer = answers[request.method, str(request.url).partition("&per_page")[0]]
            return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

        transport = httpx.MockTransport(handle)
        return HttpForge("owner/name", "t0ken", transport=transport, sleep=lambda _: None), sent

    return start


API = "https://api.github.com/repos/owner/name"


def test_reads_an_issue(make_forge):
    entry = {"number": 5, "user": {"login": "ada", "id": 42}, "body": None}
    forge, _ = make_forge(
        {("GET", f"{API}/issues/5"): entry, ("GET", f"{API}/issues/6"): {**entry, "pull_request": {}}}
    )
    said = forge.issue(5)
    assert (said.author, said.author_id, said.body, said.is_pull_request) == ("ada", 42, "", False)
    assert forge.issue(6).is_pull_request


def test_absent_issue_and_private_attachment_are_errors(make_forge):
    missing = httpx.Response(404, json={"message": "Not Found"})
    forge, _ = make_forge({("GET", f"{API}/issues/5"): missing, ("GET", URL): httpx.Response(404)})
    with pytest.raises(DownloadError, match=r"status 404 \('Not Found'\)"):
        forge.issue(5)
    with pytest.raises(DownloadError, match="only a person can"):  # the attachment of a private repository
        forge.attachment(URL, 100)


@pytest.mark.parametrize("is_there", [True, False])
def test_fetches_an_attachment_without_the_token(make_forge, is_there):
    moved = httpx.Response(302, headers={"location": STORAGE})
    forge, sent = make_forge(
        {("GET", URL): moved, ("GET", STORAGE): httpx.Response(200, content=b"PK") if is_there else moved}
    )
    if is_there:
        assert forge.attachment(URL, 100) == b"PK"
    else:
        with pytest.raises(DownloadError, match="status 302"):
            forge.attachment(URL, 100)
    assert len(sent) == (2 if is_there else 4)
    assert not any("authorization" in request.headers for request in sent)


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        ("https://evil.org/x", "stored at 'evil.org'"),
        ("https://evilgithubusercontent.com/x", "stored at 'evilgithubusercontent.com'"),
        ("http://objects.githubusercontent.com/x", "not followed"),
        ("https://169.254.169.254/latest/meta-data", "stored at '169.254.169.254'"),
    ],
)
def test_redirects_lead_only_to_attachment_storage(make_forge, location, problem):
    forge, sent = make_forge({("GET", URL): httpx.Response(302, headers={"location": location})})
    with pytest.raises(DownloadError, match=problem):
        forge.attachment(URL, 100)
    assert len(sent) == 1


def test_refuses_other_addresses_and_large_files(make_forge):
    forge, sent = make_forge({("GET", URL): httpx.Response(200, content=b"x" * 101)})
    with pytest.raises(ConfigurationError, match="is not an attachment"):
        forge.attachment("https://evil.org/user-attachments/files/1/a.zip", 100)
    assert not sent
    with pytest.raises(DownloadError, match="more than 100 bytes"):
        forge.attachment(URL, 100)


def test_finds_the_pull_request_of_a_branch(make_forge):
    def pull(number, name, branch="submission/1-x"):
        return {"number": number, "head": {"ref": branch, "repo": name and {"full_name": name}}}

    address = f"{API}/pulls?state=open&head=owner%3Asubmission%2F1-x"
    forge, _ = make_forge(
        {("GET", address): [pull(1, "eve/name"), pull(2, None), pull(3, "owner/name", "b"), pull(4, "Owner/name")]}
    )
    assert forge.pull_request_of("submission/1-x") == 4
    forge, _ = make_forge({("GET", address): []})
    assert forge.pull_request_of("submission/1-x") is None


def test_opens_a_pull_request_or_explains_the_refusal(make_forge):
    pull = {"branch": "b", "base": "main", "title": "t", "body": "text"}
    forge, sent = make_forge({("POST", f"{API}/pulls"): httpx.Response(201, json={"number": 9})})
    assert forge.open_pull_request(**pull) == 9
    assert json.loads(sent[0].content)["head"] == "b"
    assert sent[0].headers["authorization"] == "Bearer t0ken"
    message = "GitHub Actions is not permitted to create or approve pull requests"
    forge, _ = make_forge({("POST", f"{API}/pulls"): httpx.Response(403, json={"message": message})})
    with pytest.raises(UploadError, match=f"{message}.*let Actions open pull requests"):
        forge.open_pull_request(**pull)
