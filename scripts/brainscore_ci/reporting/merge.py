"""Decide whether GitHub may merge a pull request without a person, and say why.

Only a change of models by their owner may: it adds a candidate to the leaderboard and can change no other score. Data,
metrics, benchmarks and everything else need a person, who reads the science.

Nothing that a pull request says about itself is evidence. Files, modes and requirements are read from git's objects,
owners from the branch that it is merged into, the author and the conclusions of the checks from GitHub. From the run,
whose jobs ran the plugin, only the scores of the preview count: they come from boxes, twice, and a forged one harms
only its own model. The static rules are applied here to files written from git's objects into a checkout of the target
branch, so a link, a filter of git or a file that other files shadow never comes into play. No code of the pull request
is run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from brainscore_ci.planning.areas import PluginName, area_of
from brainscore_ci.planning.changes import changes_between, tracked_files
from brainscore_ci.planning.checkout import read_checkout
from brainscore_ci.planning.metadata import read_values
from brainscore_ci.reporting import markdown
from brainscore_core.errors import count
from brainscore_core.git import BlobReader, ask_git
from brainscore_core.plugin_management.requirements import expanded_requirements

if TYPE_CHECKING:
    from brainscore_ci.github.client import PullRequest
    from brainscore_ci.planning.policy import MergePolicy, Policy
    from brainscore_ci.reporting.results import PairResult

Check = Callable[[Path, str], Iterable[tuple[str, str]]]
"""Applies the static rules to what differs in a work tree from a commit; returns rule and text of each error."""

HOLD = "ci-hold"
"""Label with which a person keeps a pull request from being merged by itself."""

_PLAIN_MODE = "100644"
_PLAIN_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_-]*\.(?:py|yml|txt|md|bib|csv|json)")
_NAMES = frozenset({"unique-identifier", "file-name", "folder-name"})  # static rules about names
_MOST_SHOWN = 3


@dataclass(frozen=True)
class Condition:
    """A condition of the policy, and the problem with it; empty if it holds."""

    what: str
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Change:
    """What git says about a pull request.

    `files` are the mode and size in bytes of the remaining changed files. `owners` are account numbers by plugin;
    `owners_before` come from the target branch, where new folders are absent.
    """

    statuses: Mapping[str, str]  # path -> 'added', 'modified' or anything else; old names of renamed files too
    files: Mapping[str, tuple[str, int]]
    plugins: Mapping[str, PluginName | None]  # by path; None outside plugins
    owners_before: Mapping[PluginName, tuple[int, ...]]
    owners: Mapping[PluginName, tuple[int, ...]]


def conditions_of_github(
    pull: PullRequest, checks: Mapping[str, str], merged_lately: int, policy: MergePolicy
) -> tuple[Condition, ...]:
    """Return the conditions that depend on GitHub's answers; all must hold.

    `checks` are conclusions at the present head, by name. `merged_lately` is the number of the author's pull requests
    that were merged within a day.
    """
    results = {name: checks.get(name, "no result") for name in policy.required_checks}
    red = [f"{name}: {result}" for name, result in results.items() if result != "success"]
    limit = f"{merged_lately} within a day, at most {policy.most_per_day}"
    return (
        Condition("required checks are green for this commit", _few(red)),
        Condition("below the rate limit", limit if merged_lately >= policy.most_per_day else ""),
        Condition(f"no draft, no label {HOLD}", "held" if pull.draft or HOLD in pull.labels else ""),
    )


def conditions_of_files(author: int, change: Change, policy: MergePolicy) -> tuple[Condition, ...]:
    """Return the conditions that must hold before the files are even written and read."""
    paths = change.statuses
    elsewhere = [path for path in paths if (name := change.plugins[path]) is None or name.folder != "models"]
    other = [f"{path} is {status}" for path, status in paths.items() if status not in ("added", "modified")]
    odd = [
        path
        for path, (mode, _) in change.files.items()
        if mode != _PLAIN_MODE or not _PLAIN_NAME.fullmatch(path.rpartition("/models/")[2])
    ]
    size = sum(size for _, size in change.files.values())
    too_large = len(paths) > policy.most_files or size > policy.most_bytes
    strangers = [str(name) for name in change.owners if not _is_owned(name, author, change)]
    return (
        Condition("only folders of models change", _few(elsewhere) or ("" if paths else "no file changes")),
        Condition("files are added or modified, none removed or renamed", _few(other)),
        Condition("files are plain text: no link, submodule or program", _few(odd)),
        Condition(
            f"at most {policy.most_files} files and {policy.most_bytes / 1e6:g} MB",
            f"{count(len(paths), 'file')}, {size / 1e6:.1f} MB" if too_large else "",
        ),
        Condition("the author owns every folder, as the target branch says", _few(strangers)),
    )


def _is_owned(name: PluginName, author: int, change: Change) -> bool:
    """Return whether the author owns a plugin and the change does not alter its owners."""
    before, now = change.owners_before.get(name), change.owners[name]
    return now == (author,) if before is None else author in before and now == before


def _few(problems: Iterable[str]) -> str:
    listed = sorted(problems)
    more = f" and {len(listed) - _MOST_SHOWN} more" if len(listed) > _MOST_SHOWN else ""
    return ", ".join(listed[:_MOST_SHOWN]) + more


def render_conditions(judged: Sequence[Condition]) -> str:
    """Write the conditions as a section of the report; problems are untrusted text."""
    failed = [condition for condition in judged if condition.problem]
    verdict = f"A person decides: {count(len(failed), 'condition')} failed." if failed else "All conditions hold."
    rows = [[one.what, f"no: {markdown.escape(one.problem, 300)}" if one.problem else "yes"] for one in judged]
    head, lines = markdown.table(["condition", "holds"], rows)
    return "\n".join(["### Merge without a person", "", verdict, "", *head, *lines])


# -- reading it --------------------------------------------------------------------------------------------------------


# Conditions on the content of files, which are read only if the earlier conditions hold
_OF_CONTENTS = (
    "names are free",
    "the static rules find nothing",
    "requirements are in the lock, or were there before",
    "no score of another plugin can change",
    "two boxes gave the same scores of the preview",
)


def conditions_of_git(
    repository: Path, base: str, pull: PullRequest, policy: Policy, check: Check, pairs: Iterable[PairResult] = ()
) -> tuple[Condition, ...]:
    """Return the conditions on the files in git, against the commit `base` of the target branch; all must hold."""
    changes = changes_between(repository, base, pull.head_sha).changes
    after = {change.path: change.after for change in changes if change.status != "deleted"}
    plugins = {path: area_of(path, policy.libraries) for change in changes for path in change.paths}
    modes = {file.path: file.mode for file in tracked_files(repository, pull.head_sha) if file.path in after}
    folders = {area.plugin: path.removesuffix(area.within) for path, area in plugins.items() if area.plugin is not None}
    with closing(BlobReader(repository)) as blobs:
        contents = {path: blobs.read(digest, policy.merge.most_bytes + 1) or b"" for path, digest in after.items()}
        owners, owners_before = (
            {name: _owners(blobs.read(f"{commit}:{folder}metadata.yml")) for name, folder in folders.items()}
            for commit in (pull.head_sha, base)
        )
        known = {name for name, folder in folders.items() if blobs.read(f"{base}:{folder}__init__.py") is not None}
    change = Change(
        statuses={
            path: change.status if path == change.path else "moved away" for change in changes for path in change.paths
        },
        files={path: (modes.get(path, ""), len(content)) for path, content in contents.items()},
        plugins={path: area.plugin for path, area in plugins.items()},
        owners_before={name: owners_before[name] for name in known},
        owners=owners,
    )
    of_files = conditions_of_files(pull.author, change, policy.merge)
    if any(condition.problem for condition in of_files):
        return (*of_files, *(Condition(what, "not read") for what in _OF_CONTENTS))
    with _beside(repository, base) as tree:
        requirements = _known_requirements(tree, folders.values())
        for path, content in contents.items():  # plain files in folders of models, over the target branch
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(content)
        reproduced = {(pair.model, pair.benchmark) for pair in pairs if pair.is_reproduced}
        problems = _problems(tree, list(check(tree, base)), requirements, folders, reproduced)
    return (*of_files, *(Condition(what, _few(found)) for what, found in zip(_OF_CONTENTS, problems, strict=True)))


def _owners(metadata: bytes | None) -> tuple[int, ...]:
    """Return the account numbers that a ``metadata.yml`` lists; empty unless all are numbers."""
    owners = read_values(metadata or b"").get("owners")
    return tuple(owners) if isinstance(owners, list) and all(type(one) is int for one in owners) else ()


@contextmanager
def _beside(repository: Path, commit: str) -> Iterator[Path]:
    """Check out a commit of the target branch into a separate folder, for the length of a block."""
    with TemporaryDirectory() as top:
        tree = Path(top, "tree")
        ask_git(repository, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            ask_git(repository, "worktree", "remove", "--force", str(tree))


def _problems(
    tree: Path,
    errors: Iterable[tuple[str, str]],
    known: Collection[str],
    folders: Mapping[PluginName, str],
    reproduced: Collection[tuple[str, str]],
) -> tuple[list[str], ...]:
    """Return the problems with each of `_OF_CONTENTS` in the changed folders of a tree.

    The arguments include its static errors, the known requirements, and the pairs that two boxes gave the same score.
    """
    checkout = read_checkout(tree)
    affected = checkout.dependencies.affected_by(dict.fromkeys(folders, "changed"), tests=False)
    models = [model for name in folders for model in checkout.cards[name].models]
    preview = [(model, benchmark) for model in models for benchmark in checkout.policy.reference_benchmarks]
    return (
        [text for rule, text in errors if rule in _NAMES],
        [text for rule, text in errors if rule not in _NAMES],
        [name for folder in folders.values() for name in _requirements(tree / folder).difference(known)],
        [str(name) for name in affected if name not in folders],
        [" on ".join(pair) for pair in preview if pair not in reproduced] if preview else ["no pair"],
    )


def _known_requirements(tree: Path, folders: Iterable[str]) -> set[str]:
    """Return the names in the lock, and of the requirements that plugins already have."""
    lock = (tree / "constraints.txt").read_text(encoding="utf-8").splitlines()
    present = set[str]().union(*(_requirements(tree / folder) for folder in folders))
    return present | {canonicalize_name(line.partition("==")[0]) for line in lock}


def _requirements(folder: Path) -> set[str]:
    """Return the names of the requirements of a plugin; the text of a line that names none."""
    lines = expanded_requirements(folder, within=True) if folder.is_dir() else []
    return {canonicalize_name(line.requirement.name) if line.requirement else line.text for line in lines}
