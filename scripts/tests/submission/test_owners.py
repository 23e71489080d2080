"""A plugin's owners, from its history: only an account named by GitHub counts, not a name or an e-mail address."""

from brainscore_ci.submission.request import Owner, Submitter, ask_owners, read_owners

ADA = Submitter(login="ada", account=42)


def log(*commits):
    return "\n".join("\0".join(commit) + "\1" for commit in commits)


def test_accounts_come_from_github_addresses():
    commits = [
        ("Ada <42+ada@users.noreply.github.com>", "Bob <bob@users.noreply.github.com>"),
        ("Ada L. <42+ada@users.noreply.github.com>", ""),
        ("github-actions[bot] <1+github-actions[bot]@users.noreply.github.com>", "Eve <eve@example.org>"),
    ]
    assert read_owners(log(*commits)) == [
        Owner(name="Ada L.", login="ada", account=42, commits=2),
        Owner(name="Bob", login="bob", account=0, commits=1),
        Owner(name="Eve", commits=1),
    ]


def test_malformed_authors_are_ignored():
    assert read_owners("") == []
    assert read_owners(log(("nonsense", "<>", "a <b c>", "x" * 500 + " <a@b>"))) == []


def test_only_the_account_makes_an_owner():
    assert Owner(name="x", login="renamed", account=42).is_of(ADA)
    assert Owner(name="x", login="ADA").is_of(ADA)
    assert not Owner(name="ada", login="ada", account=43).is_of(ADA)  # another account took her name later
    assert not Owner(name="ada").is_of(ADA)


def test_owners_are_mentioned_and_hostile_names_escaped():
    owners = [
        Owner(name="@everyone <img src=x>"),
        Owner(name="Bob", login="bob"),
        *[Owner(name=f"n{i}") for i in range(9)],
    ]
    text = "\n".join(ask_owners(owners, ADA, "@team [x](http://y)"))
    assert "@bob" in text
    assert "@everyone" not in text
    assert "@team" not in text
    assert "\\<img" in text
    assert "](http" not in text
    assert "and 6 more" in text


def test_unknown_owners_are_reported():
    assert "The history does not show who owns this plugin" in ask_owners([], ADA)[0]
