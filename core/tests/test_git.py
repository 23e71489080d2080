"""Git on real repositories: its answers, its failures, and which addresses receive a token."""

import os
import subprocess

import pytest

from brainscore_core.errors import ConfigurationError, UploadError
from brainscore_core.git import BlobReader, ask_git, commit_named, environment_of_git, run_git

ALONE = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
AUTHOR = ("Ada", "ada@example.org")


@pytest.fixture
def repository(tmp_path):
    environment = environment_of_git(ALONE, author=AUTHOR, settings={"core.quotePath": "false"})
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "first"]):
        (tmp_path / "a.txt").write_bytes(b"\0" * 10 + b"\n" * 10)
        ask_git(tmp_path, *command, environment=environment)
    return tmp_path


def test_git_sets_the_author_and_returns_answers(repository):
    assert ask_git(repository, "log", "--format=%an <%ae> %cn") == b"Ada <ada@example.org> Ada\n"
    assert ask_git(repository, "hash-object", "--stdin", stdin=b"x") != ask_git(repository, "hash-object", "--stdin")
    assert commit_named(repository, "HEAD") == ask_git(repository, "rev-parse", "HEAD").decode().strip()
    assert commit_named(repository, "--all") is commit_named(repository, "absent") is None


def test_error_includes_the_message_of_git(repository, monkeypatch):
    with pytest.raises(UploadError, match=r"git show failed in .*absent"):
        ask_git(repository, "show", "absent", failure=UploadError)
    assert run_git(repository, "show", "absent").status == 128
    slow = run_git(repository, "-c", "alias.slow=!sleep 60", "slow", timeout_s=0.3)
    assert (slow.status, slow.stderr) == (124, b"git did not end within 0.3 s and was stopped")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigurationError, match="not installed"):
        run_git(repository, "status")


def test_token_is_sent_to_one_address_and_never_shown(repository):
    given = environment_of_git(ALONE, author=AUTHOR, settings={}, token="ghs_secret", address="https://example.org/")  # noqa: S106 - none
    for address, header in (("https://example.org/lab/x", "AUTHORIZATION: basic "), ("https://other.org/lab/x", "")):
        asked = run_git(repository, "config", "--get-urlmatch", "http.extraheader", address, environment=given)
        assert asked.stdout.decode()[:21] == header
    assert not [value for value in given.values() if "ghs_secret" in value]


def test_content_is_read_in_full_or_up_to_a_limit(repository):
    reader = BlobReader(repository)
    assert reader.read("HEAD:a.txt") == b"\0" * 10 + b"\n" * 10
    assert reader.read("HEAD:a.txt", most_bytes=12) == b"\0" * 10 + b"\n" * 2
    assert reader.read("HEAD:absent") is None
    assert reader.read("HEAD:a.txt") == b"\0" * 10 + b"\n" * 10
    reader.close()


def test_reading_outside_a_repository_gives_nothing(tmp_path):
    reader = BlobReader(tmp_path)
    assert reader.read("HEAD:a.txt") is None
    subprocess.run(["git", "--version"], check=True, capture_output=True)  # git itself works
    reader.close()
