"""Read a submission from an issue, and phrase its pull request.

An issue's text is untrusted: names are checked before a commit, and escaped before a page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from brainscore_ci.reporting.markdown import block, code, escape
from brainscore_ci.submission.archive import Archive, Fault, Rejection

if TYPE_CHECKING:
    from brainscore_ci.submission.place import Placement

# -- Derive from a plugin's history who must agree to its replacement --------------------------------------------------

FORMAT = "--format=%an <%ae>%x00%(trailers:key=Co-authored-by,valueonly,separator=%x00)%x01"
"""Format of ``git log`` for `read_owners`."""

_PERSON = re.compile(r"\s*(?P<name>[^<>\n]{1,200}?)\s*<(?P<address>[^<>\s]{1,254})>\s*")
# GitHub's address for an account; only GitHub decides whose it is.
_ACCOUNT = re.compile(
    r"(?:(?P<account>[0-9]{1,20})\+)?(?P<login>[a-z0-9](?:[a-z0-9-]{0,38}))@users\.noreply\.github\.com", re.IGNORECASE
)
_MOST_ASKED, _MOST_CONTACT = 5, 200


@dataclass(frozen=True, kw_only=True)
class Submitter:
    """The account that opened the issue, which gets the credit."""

    login: str
    account: int

    @property
    def trailer(self) -> str:
        """Line of a commit message that makes GitHub credit an account."""
        return f"Co-authored-by: {self.login} <{self.account}+{self.login}@users.noreply.github.com>"


@dataclass(frozen=True, kw_only=True)
class Owner:
    """An author of a plugin."""

    name: str
    login: str = ""  # empty: unknown
    account: int = 0  # 0: unknown
    commits: int = 1

    def is_of(self, submitter: Submitter) -> bool:
        """Return whether this is the submitter's account."""
        if self.account:
            return self.account == submitter.account
        return bool(self.login) and self.login.lower() == submitter.login.lower()


def read_owners(log: str) -> list[Owner]:
    """Return the authors in the output of ``git log`` with `FORMAT`, most commits first, without bots."""
    counts: dict[str, int] = {}
    people: dict[str, Owner] = {}
    for commit in log.split("\1"):
        matches = [_PERSON.fullmatch(text) for text in commit.split("\0")]
        authors = {
            match["address"].lower(): match["name"] for match in matches if match and "[bot]" not in match["name"]
        }
        for address, name in authors.items():
            account = _ACCOUNT.fullmatch(address)
            key = account["login"].lower() if account else address
            counts[key] = counts.get(key, 0) + 1
            login, number = (account["login"], int(account["account"] or 0)) if account else ("", 0)
            if key not in people or number:  # the newest name; an address with an account number is more reliable
                people[key] = Owner(name=name, login=login, account=number)
    ordered = sorted(people, key=lambda key: (-counts[key], key))
    return [Owner(**{**vars(people[key]), "commits": counts[key]}) for key in ordered]


def ask_owners(owners: Sequence[Owner], submitter: Submitter, contact: str = "") -> list[str]:
    """Return Markdown that asks a plugin's owners to agree to its replacement.

    GitHub notifies the mentioned accounts, which exclude the submitter's. `contact` is that in the metadata of the
    existing plugin.
    """
    others = [owner for owner in owners if not owner.is_of(submitter)]
    mentions = [
        f"{escape(owner.name, 80)}{f' (@{owner.login})' if owner.login else ''}" for owner in others[:_MOST_ASKED]
    ]
    more = f" and {len(others) - _MOST_ASKED} more" if len(others) > _MOST_ASKED else ""
    lines = []
    if len(others) < len(owners):
        lines.append(f"{code(submitter.login)} has written commits of this plugin.")
    elif owners:
        lines.append(f"**{code(submitter.login)} has not written any commit of this plugin.**")
    else:
        lines.append("**The history does not show who owns this plugin.**")
    if others:
        lines.append(f"It is owned by {', '.join(mentions)}{more}: please say here whether you agree with this update.")
    if contact:
        lines.append(f"Its `metadata.yml` names this contact: {escape(contact, _MOST_CONTACT)}.")
    lines.append("For the maintainer: merge it once an owner has agreed, or if no owner answers.")
    return [*lines, ""]


# -- the form of a submission ------------------------------------------------------------------------------------------

FIELDS = {
    "zip": "Zip file of the plugin",
    "description": "What it is",
    "kind": "New or update",
    "agreements": "Agreements",
}
"""Headings of ``.github/ISSUE_TEMPLATE/submit_plugin.yml``."""

UPDATE = "Update: replaces a plugin that is in the repository"
AGREEMENTS = (
    "I may publish these files, and publish them under the licence of this repository.",
    "They hold nothing private: no data that are not public, no passwords, no keys.",
)
DIGEST_KEY = "Submission-digest"

_NOTHING = "_No response_"
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})", re.ASCII)
_ATTACHMENT = re.compile(r"https://github\.com/user-attachments/files/[0-9]{1,20}/[A-Za-z0-9_.-]{1,120}\.zip", re.ASCII)
_MOST_BODY = 100_000  # characters; GitHub's limit is 65,536
_SHOWN = 40  # files in a list; GitHub accepts 65,536 characters


@dataclass(frozen=True, kw_only=True)
class Issue:
    """An issue on GitHub."""

    number: int
    author: str
    author_id: int  # unlike the login it never changes
    body: str
    is_pull_request: bool = False  # GitHub numbers both together


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A submitted plugin.

    `url` is the address of the zip file; empty for a local file. A shared issue collects many people's submissions:
    their branches differ by account, and no pull request closes it.
    """

    issue: int
    submitter: Submitter
    url: str = ""
    update: bool = False
    description: str = ""
    is_shared: bool = False


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The pull request to open: branch, commit message, title, and body in Markdown."""

    branch: str
    message: str
    title: str
    body: str


# -- reading


def read_form(body: str) -> dict[str, str]:
    """Return heading -> text of an issue form; empty if not filled in."""
    sections: dict[str, str] = {}
    pieces = re.split(r"^### +(.*?)[ \t\r]*$", body[:_MOST_BODY], flags=re.MULTILINE)
    for heading, text in zip(pieces[1::2], pieces[2::2], strict=True):
        text = text.strip()
        sections.setdefault(heading, "" if text == _NOTHING else text)
    return sections


def is_attachment(url: str) -> bool:
    """Return whether a URL is exactly the address of a zip file attached to an issue on GitHub."""
    return _ATTACHMENT.fullmatch(url) is not None


def read_request(
    issue: Issue, later: Sequence[str] = (), *, url: str = "", is_local: bool = False
) -> Submission | Rejection:
    """Read the submission from an issue.

    Parameters
    ----------
    url
        Attachment to use; empty: the one in the newest text with any.
    is_local
        Whether the file is local, and no attachment is needed.
    """
    form = read_form(issue.body)
    problems = []
    if _LOGIN.fullmatch(issue.author) is None or issue.author_id <= 0:
        problems.append(Fault(what=f"{issue.author!a} is not a personal account", fix="Open the issue yourself"))
    lines = [line.strip() for line in form.get(FIELDS["agreements"], "").splitlines()]
    ticked = {line[6:].strip() for line in lines if line[:6].lower() == "- [x] "}
    problems += [
        Fault(what=f'"{agreement}" is not ticked', fix="Tick it in the issue, or do not submit the files")
        for agreement in AGREEMENTS
        if agreement not in ticked
    ]
    if issue.is_pull_request:
        problems.append(Fault(what=f"#{issue.number} is a pull request", fix="Give the number of an issue"))
    if not is_local:
        texts = [_ATTACHMENT.findall(text[:_MOST_BODY]) for text in (issue.body, *later)]
        attachments = [list(dict.fromkeys(urls)) for urls in reversed(texts) if urls]  # of the newest text first
        problems += _url_problems(url, attachments)
        url = url or (attachments[0][0] if attachments else "")
    if problems:
        return Rejection(tuple(problems))
    return Submission(
        issue=issue.number,
        submitter=Submitter(login=issue.author, account=issue.author_id),
        url=url,
        update=form.get(FIELDS["kind"], "") == UPDATE,
        description=form.get(FIELDS["description"], ""),
    )


def _url_problems(url: str, found: Sequence[Sequence[str]]) -> list[Fault]:
    if url and not any(url in urls for urls in found):
        what = "this is not a zip file that the author of the issue attached to it"
        return [Fault(what=what, fix="Copy the address of the attachment from the issue", names=(url,), count=1)]
    if not found:
        return [Fault(what="the issue has no zip file", fix="Drag it into the text of a new comment")]
    if not url and len(found[0]) > 1:
        what = "there are several zip files"
        fix = "Attach only one in a new comment"
        return [Fault(what=what, fix=fix, names=tuple(found[0][:5]), count=len(found[0]))]
    return []


# -- writing


def branch_of(archive: Archive, request: Submission) -> str:
    """Return the branch for a plugin and a submission, always the same and valid for git."""
    issue = f"{request.issue}-{request.submitter.account}" if request.is_shared else f"{request.issue}"
    # Dots are the only characters in such names that git forbids in some places.
    return f"submission/{issue}-{archive.plugin.folder}-{archive.plugin.name.replace('.', '-')}"


def draft(
    archive: Archive,
    placement: Placement,
    request: Submission,
    hints: Sequence[str] = (),
    *,
    owners: Sequence[Owner] = (),
    contact: str = "",
) -> Draft:
    """Phrase the pull request for a submission."""
    title = f"{'Update' if placement.exists else 'Add'} {archive.plugin}"
    message = (
        f"{title}\n\nSubmitted as a zip file in #{request.issue}.\n\n"
        f"{DIGEST_KEY}: {archive.digest}\n{request.submitter.trailer}\n"
    )
    lines = [
        f"Submitted as a zip file in #{request.issue} by {code(request.submitter.login)}, who wrote about it:",
        "",
        block(request.description or "(nothing)"),
        "",
        *(ask_owners(owners, request.submitter, contact) if placement.exists else []),
        f"**{title}**, files below {code(archive.path)}:",
        "",
        *_file_list("added", placement.added, archive),
        *_file_list("changed", placement.changed, archive),
        *_file_list("removed", placement.removed, archive),
        *(f"- {escape(note)}" for note in archive.notes),
        "",
        *_fitting(["Suggestions:", "", *(f"- {escape(hint, 500)}" for hint in hints), ""] if hints else [], 15_000),
        "None of it has been imported or run. For the maintainer: read the files, then allow the tests to run.",
        "Commits on this branch are kept when the submitter sends a new version in the same issue.",
        "",
        f"Part of #{request.issue}: {archive.rest[0].plugin} follows."
        if archive.rest
        else f"{'Part of' if request.is_shared else 'Closes'} #{request.issue}",
        "",
        f"<!-- {DIGEST_KEY}: {archive.digest} -->",
    ]
    return Draft(branch=branch_of(archive, request), message=message, title=title, body="\n".join(lines))


def _file_list(what: str, names: Sequence[str], archive: Archive) -> list[str]:
    lines = []
    for name in names[:_SHOWN]:
        size = f", {len(archive.files[name]):,} bytes" if name in archive.files else ""
        lines.append(f"- {what}: {code(name)}{size}")
    if len(names) > _SHOWN:
        lines.append(f"- {what}: {len(names) - _SHOWN} more")
    return lines


def answer(problems: Sequence[Fault], *, pull: int | None = None, changed: bool = True) -> str:
    """Phrase the reply in the issue, as Markdown."""
    if problems:
        lines = [
            "Thank you for the submission. It cannot become a pull request yet:",
            "",
            *_fitting([f"- {problem.to_markdown()}" for problem in problems], 40_000),
            "",
            "Attach a corrected zip file in a new comment here, and a maintainer will start this again.",
        ]
        return "\n".join(lines)
    if pull is None:
        return "The repository holds exactly these files already: nothing to do."
    done = "holds it" if changed else "holds exactly these files already"
    return (
        f"Thank you for the submission. Pull request #{pull} {done}. A maintainer will read it, let the tests run and "
        "comment there. To send a new version, attach a zip file in a new comment here."
    )


def _fitting(lines: Sequence[str], most_bytes: int) -> list[str]:
    fitting: list[str] = []
    for line in lines:
        most_bytes -= len(line.encode()) + 1
        if most_bytes < 0:
            return [*fitting, f"- … and {len(lines) - len(fitting)} more", ""]
        fitting.append(line)
    return fitting
