"""Derive from a plugin's history who must agree to its replacement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from brainscore_ci.reporting.markdown import code, escape

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
        lines.append("**The history does not tell who owns this plugin.**")
    if others:
        lines.append(f"It is owned by {', '.join(mentions)}{more}: please say here whether you agree with this update.")
    if contact:
        lines.append(f"Its `metadata.yml` names as contact: {escape(contact, _MOST_CONTACT)}.")
    lines.append("For the maintainer: merge it when an owner has agreed, or does not answer.")
    return [*lines, ""]
