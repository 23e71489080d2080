"""Tell from the history of a plugin, and from what it says of itself, who has to be asked before it is replaced."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from brainscore_ci.reporting.markdown import code, escape

__all__ = ["FORMAT", "Owner", "Submitter", "ask_owners", "read_owners"]

FORMAT = "--format=%an <%ae>%x00%(trailers:key=Co-authored-by,valueonly,separator=%x00)%x01"
"""What ``git log`` has to print for `read_owners`."""

_PERSON = re.compile(r"\s*(?P<name>[^<>\n]{1,200}?)\s*<(?P<address>[^<>\s]{1,254})>\s*")
# The address that GitHub gives an account; only GitHub decides whose it is.
_ACCOUNT = re.compile(
    r"(?:(?P<account>[0-9]{1,20})\+)?(?P<login>[a-z0-9](?:[a-z0-9-]{0,38}))@users\.noreply\.github\.com", re.IGNORECASE
)
_MOST_ASKED, _MOST_CONTACT = 5, 200


@dataclass(frozen=True, kw_only=True)
class Submitter:
    """The account that opened the issue, which is all that GitHub has verified; it gets the credit.

    Attributes
    ----------
    account : int
        Number of the account at GitHub.
    """

    login: str
    account: int

    @property
    def trailer(self) -> str:
        """Line at the end of a commit message by which GitHub shows an account as author."""
        return f"Co-authored-by: {self.login} <{self.account}+{self.login}@users.noreply.github.com>"


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Somebody who has written a plugin.

    Attributes
    ----------
    name : str
        As it stands in the history: text from anybody.
    login : str
        Of the account at GitHub; empty if the history does not tell.
    account : int
        Number of that account; 0 if the history does not tell.
    commits : int
        How many of the plugin are theirs.
    """

    name: str
    login: str = ""
    account: int = 0
    commits: int = 1

    def is_of(self, submitter: Submitter) -> bool:
        """Tell whether this is the account that submits; a name or an e-mail alone would prove nothing."""
        if self.account:
            return self.account == submitter.account
        return bool(self.login) and self.login.lower() == submitter.login.lower()


def read_owners(log: str) -> list[Owner]:
    """Return who has written the commits that ``git log`` shows with `FORMAT`, most commits first; no bots."""
    counts: dict[str, int] = {}
    people: dict[str, Owner] = {}
    for commit in log.split("\1"):
        matches = [_PERSON.fullmatch(text) for text in commit.split("\0")]
        found = {match["address"].lower(): match["name"] for match in matches if match and "[bot]" not in match["name"]}
        for address, name in found.items():
            account = _ACCOUNT.fullmatch(address)
            key = account["login"].lower() if account else address
            counts[key] = counts.get(key, 0) + 1
            login, number = (account["login"], int(account["account"] or 0)) if account else ("", 0)
            if key not in people or number:  # the newest name; an address with the number of the account says more
                people[key] = Owner(name=name, login=login, account=number)
    ordered = sorted(people, key=lambda key: (-counts[key], key))
    return [Owner(**{**vars(people[key]), "commits": counts[key]}) for key in ordered]


def ask_owners(owners: Sequence[Owner], submitter: Submitter, contact: str = "") -> list[str]:
    """Phrase in Markdown who owns a plugin that a submission replaces, and ask them.

    Parameters
    ----------
    owners : sequence of Owner
        See `read_owners`.
    contact : str
        What the plugin in the repository names as its contact.

    Returns
    -------
    list of str
        Lines. Accounts that are not the submitter's are mentioned, so that GitHub tells them.
    """
    others = [owner for owner in owners if not owner.is_of(submitter)]
    shown = [f"{escape(each.name, 80)}{f' (@{each.login})' if each.login else ''}" for each in others[:_MOST_ASKED]]
    more = f" and {len(others) - _MOST_ASKED} more" if len(others) > _MOST_ASKED else ""
    lines = []
    if len(others) < len(owners):
        lines.append(f"{code(submitter.login)} has written commits of this plugin.")
    elif owners:
        lines.append(f"**{code(submitter.login)} has not written any commit of this plugin.**")
    else:
        lines.append("**The history does not tell who owns this plugin.**")
    if others:
        lines.append(f"It is owned by {', '.join(shown)}{more}: please say here whether you agree with this update.")
    if contact:
        lines.append(f"Its `metadata.yml` names as contact: {escape(contact, _MOST_CONTACT)}.")
    lines.append("For the maintainer: merge it when an owner has agreed, or when you have asked and nobody answers.")
    return [*lines, ""]
