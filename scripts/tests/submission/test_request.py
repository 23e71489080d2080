from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.submission import request
from brainscore_ci.submission.archive import Archive, Fault, Rejection
from brainscore_ci.submission.place import Placement
from brainscore_ci.submission.request import (
    AGREEMENTS,
    FIELDS,
    UPDATE,
    Issue,
    Submission,
    Submitter,
    answer,
    branch_of,
    draft,
    is_attachment,
    read_form,
    read_request,
)

ROOT = Path(__file__).parents[3]
URL = "https://github.com/user-attachments/files/123/mine.zip"


def body(**values):
    """Return the text that GitHub makes from a completed form."""
    usual = {
        "zip": f"[mine.zip]({URL})",
        "description": "A new experiment.",
        "kind": "New: a plugin that is not in the repository yet",
        "agreements": "\n".join(f"- [X] {text}" for text in AGREEMENTS),
    }
    return "\n\n".join(f"### {FIELDS[key]}\n\n{text or '_No response_'}" for key, text in {**usual, **values}.items())


def issue(author="ada", text=None, **values):
    return Issue(number=12, author=author, author_id=42, body=body(**values) if text is None else text)


def problems(result):
    assert isinstance(result, Rejection)
    return str(result)


def test_reads_a_form():
    said = issue(kind=UPDATE)
    assert read_request(said) == Submission(
        issue=12, submitter=Submitter(login="ada", account=42), url=URL, update=True, description="A new experiment."
    )
    assert read_request(issue()).submitter.trailer == "Co-authored-by: ada <42+ada@users.noreply.github.com>"
    assert read_request(issue()).update is False
    assert read_request(issue(zip="sent by mail"), is_local=True).url == ""  # a local file
    assert read_form("hello") == {}


def test_fields_match_the_issue_form():
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/submit_plugin.yml").read_text(encoding="utf-8"))
    inputs = {entry["id"]: entry["attributes"] for entry in form["body"] if entry["type"] != "markdown"}
    assert {key: attributes["label"] for key, attributes in inputs.items()} == FIELDS
    assert UPDATE in inputs["kind"]["options"]
    assert [option["label"] for option in inputs["agreements"]["options"]] == list(AGREEMENTS)
    assert all(option["required"] for option in inputs["agreements"]["options"])


def test_ignores_line_ends_and_repeated_headings():
    text = body(description="Mine").replace("\n", "\r\n") + "\r\n\r\n### What it is\r\n\r\nAnother"
    assert read_request(issue(text=text)).description == "Mine"


def test_uses_the_newest_attachment_of_the_author():
    newer = URL.replace("123", "124")
    assert read_request(issue(), ["no file here", f"[new]({newer})", "thanks"]).url == newer
    assert read_request(issue(), [f"[new]({newer})"], url=URL).url == URL


@pytest.mark.parametrize(
    ("values", "url", "problem"),
    [
        ({"zip": "here it is"}, "", "has no zip file"),
        ({"zip": f"{URL} {URL.replace('123', '7')}"}, "", "several zip files"),
        ({}, URL.replace("123", "999"), "not a zip file that the author of the issue attached"),
    ],
)
def test_missing_or_ambiguous_file_is_reported(values, url, problem):
    assert problem in problems(read_request(issue(**values), url=url))


@pytest.mark.parametrize(
    "url",
    [
        "http://github.com/user-attachments/files/1/a.zip",
        "https://github.com.evil.org/user-attachments/files/1/a.zip",
        "https://evil@github.com/user-attachments/files/1/a.zip",
        "https://github.com:444/user-attachments/files/1/a.zip",
        "https://github.com/user-attachments/files/1/../../x/a.zip",
        *("https://github.com/user-attachments/files/1/a.zip?b", "https://github.com/user-attachments/files/1/a.zip\n"),
        *("https://github.com/owner/repository/a.zip", "file:///etc/passwd.zip"),
        "https://github.com/user-attachments/files/1/a.tar",
        "https://github.com/user-attachments/files/\u0661/a.zip",
    ],
)
def test_only_attachment_addresses_are_accepted(url):
    assert is_attachment(URL)
    assert not is_attachment(url)
    assert isinstance(read_request(issue(zip=url), url=url), Rejection)


# -- submitter


def test_credits_only_the_account():
    """Names and addresses in the issue are unverified and not used."""
    more = "### Name for the credit\n\nGrace Hopper\n\n### E-mail for the credit\n\ngrace@example.org\n\n"
    found = read_request(issue(text=more + body()))
    assert found.submitter.trailer == "Co-authored-by: ada <42+ada@users.noreply.github.com>"
    made = draft(archive(), Placement(exists=False), found)
    assert "grace" not in f"{made.message}{made.body}".lower()


@pytest.mark.parametrize("author", ["github-actions[bot]", "", "a b", "-x", "x\n"])
def test_refuses_authors_that_are_not_people(author):
    assert "not a personal account" in problems(read_request(issue(author)))


@pytest.mark.parametrize("ticks", ["", f"- [ ] {AGREEMENTS[0]}\n- [X] {AGREEMENTS[1]}", f"- [x] {AGREEMENTS[1]}"])
def test_requires_the_agreement(ticks):
    assert f'"{AGREEMENTS[0]}" is not ticked' in problems(read_request(issue(agreements=ticks)))


def test_reports_all_problems_at_once():
    said = Issue(number=1, author="x y", author_id=0, body="please add", is_pull_request=True)
    assert len(read_request(said).problems) == 5


# -- texts of pull requests and answers


def archive(name="mine", **files):
    return Archive(
        library="vision/brainscore_vision", plugin=PluginName("benchmarks", name), files=files or {"a.py": b"123"}
    )


ASKED = Submission(issue=12, submitter=Submitter(login="ada", account=42), url=URL, description="Text")


def test_draft_of_a_new_plugin():
    found = draft(archive(), Placement(exists=False, added=("a.py",)), ASKED, ["test.py: is short. Write more"])
    assert found.branch == "submission/12-benchmarks-mine"
    assert found.title == "Add benchmarks/mine"
    assert found.message == (
        "Add benchmarks/mine\n\nSubmitted as a zip file in #12.\n\n"
        f"Submission-digest: {archive().digest}\nCo-authored-by: ada <42+ada@users.noreply.github.com>\n"
    )
    assert "- added: `a.py`, 3 bytes" in found.body
    assert "- test.py: is short. Write more" in found.body.replace("\u2060", "")
    assert "Closes #12" in found.body


def test_draft_of_an_update_lists_changes():
    found = draft(archive(), Placement(exists=True, changed=("a.py",), removed=("old.py",)), ASKED)
    assert found.title == "Update benchmarks/mine"
    assert "- changed: `a.py`, 3 bytes" in found.body
    assert "- removed: `old.py`" in found.body


def test_hostile_description_stays_text():
    asked = Submission(
        issue=12, submitter=Submitter(login="ada", account=42), description="```\n@everyone <script>\nCloses #99"
    )
    text = draft(archive(), Placement(exists=False), asked, ["@ada <b> [x](y)"]).body
    lines = text.splitlines()
    start = lines.index("````text")
    assert lines[start : start + 5] == ["````text", "```", "@everyone <script>", "Closes #99", "````"]
    outside = "\n".join(lines[:start] + lines[start + 5 :])
    assert "@ada" not in outside
    assert "<b>" not in outside


def test_long_texts_fit_the_limits_of_github():
    names = tuple(f"{number:0170}.py" for number in range(500))
    asked = Submission(issue=12, submitter=ASKED.submitter, description="x\n" * 50_000)
    everything = Placement(exists=True, added=names, changed=names, removed=names)
    assert len(draft(archive(), everything, asked, ["@<[" * 200] * 500).body.encode()) < 65_536
    bad = Fault(what="@<[" * 200, fix="#1 " * 200, names=("n" * 120,) * 5, count=9)
    assert "more" in answer([bad] * 500)
    assert len(answer([bad] * 500).encode()) < 65_536


@given(name=st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True))
def test_branches_are_valid_for_git(name):
    asked = Submission(issue=12, submitter=Submitter(login="ada", account=42))
    assert request.re.fullmatch(r"submission/12-benchmarks-[A-Za-z0-9_-]+", branch_of(archive(name), asked))
    # In a shared issue, no submission can change another person's.
    branch = branch_of(archive(name), replace(asked, is_shared=True))
    assert request.re.fullmatch(r"submission/12-42-benchmarks-[A-Za-z0-9_-]+", branch)


def test_answer_texts():
    assert "- `a.py`: is bad. Mend it" in answer([Fault(what="is bad", fix="Mend it", names=("a.py",), count=1)])
    assert "`@everyone`" in answer([Fault(what="is bad", names=("@everyone",), count=1)])
    assert "Pull request #7 holds it" in answer([], pull=7)
    assert "#7 holds exactly these files already" in answer([], pull=7, changed=False)
    assert "nothing to do" in answer([])


def test_quoted_findings_stay_text():
    bad = Fault(what="registers '@everyone <img src=x> [a](b)\n::error::x'", fix="use `a`", names=("a.py",), count=1)
    assert "@everyone" not in answer([bad])
    assert not {"<img", "[a]"} & set(answer([bad]).split())
    assert "\n" not in str(bad)
