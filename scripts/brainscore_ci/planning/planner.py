"""Plan the tests and scores of a change in a checkout, from git, its files and the records."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, get_args

from brainscore_ci.planning.areas import PluginName, area_of
from brainscore_ci.planning.changes import (
    ChangeSet,
    changes_between,
    changes_since,
    find_unwanted,
    mark_same_code,
    sources_before_and_after,
    tracked_files,
)
from brainscore_ci.planning.decide import make_plan
from brainscore_ci.planning.dependencies import (
    Identifiers,
    LibraryEffect,
    find_dependencies,
    follow_changes,
    read_library,
)
from brainscore_ci.planning.plan import Event, Plan, Refusal
from brainscore_core.errors import ConfigurationError, did_you_mean
from brainscore_core.git import BlobReader, commit_named
from brainscore_core.plugin_management.registrations import read_registrations, table_of
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.plugin_management.source import LARGEST_FILE, SourceFile
from brainscore_core.records.store import BranchStore, is_recorded, reuse

if TYPE_CHECKING:
    from brainscore_ci.planning.checkout import Checkout

RECORDS = "origin/scores"
"""The branch with the records."""

_DEFAULT_BRANCH = "origin/main"


def plan_work_tree(checkout: Checkout, base: str = "", *, event: Event = "local", labels: Iterable[str] = ()) -> Plan:
    """Plan for the working tree against `base`, by default the `default_base`."""
    changes = changes_since(checkout.repository, base or default_base(checkout.repository))
    return _planned(checkout, changes, event, labels)


def plan_change(
    checkout: Checkout,
    base: str,
    head: str,
    *,
    event: Event,
    labels: Iterable[str] = (),
    records: str = RECORDS,
    with_private: bool = False,
) -> Plan:
    """Plan for a commit that is checked out, see `changes_between` and `make_plan`.

    After a merge, pairs with a valid record on the branch `records` are skipped. If private data are available, pairs
    skipped for lack of them are planned again.
    """
    changes = changes_between(checkout.repository, base, head, default_branch=_DEFAULT_BRANCH)
    if event not in {"push", "workflow_dispatch"}:
        return _planned(checkout, changes, event, labels)
    plan = _planned(checkout, changes, event, labels, records=records, with_private=with_private)
    if event == "workflow_dispatch" and not base:
        note = (
            "started without a commit to compare with: scores pairs without a record; tests run on pushes and at night"
        )
        plan = dataclasses.replace(plan, tests=(), notes=(*plan.notes, note))
    return plan


def missing_pairs(checkout: Checkout, records: str = RECORDS) -> list[tuple[str, str]]:
    """Return every (model, benchmark) without a record of the current code and library; failed ones have one."""
    with BranchStore(checkout.repository, records) as store:
        has_record = is_recorded(store, checkout.revision_of)
        models = sorted(identifier for kind, identifier in checkout.owners if kind == "model")
        benchmarks = sorted(identifier for kind, identifier in checkout.owners if kind == "benchmark")
        return [(model, benchmark) for model in models for benchmark in benchmarks if not has_record(model, benchmark)]


def _planned(
    checkout: Checkout,
    changes: ChangeSet,
    event: Event,
    labels: Iterable[str],
    *,
    records: str = "",
    with_private: bool = False,
) -> Plan:
    unwanted = find_unwanted(tracked_files(checkout.repository, changes.head))
    refused = [Refusal(file.path, f"{file.reason}; {file.fix}") for file in unwanted]
    sources = sources_before_and_after(checkout.repository, changes)
    changes = mark_same_code(changes, sources, checkout.reads_source)
    earlier = _earlier_identifiers(checkout, changes)
    library = _library_effect(checkout, changes, {path: before for path, (before, _) in sources.items()})
    with BranchStore(checkout.repository, records or RECORDS) as store:
        return make_plan(
            changes,
            find_dependencies(checkout.facts, earlier) if earlier else checkout.dependencies,
            checkout.cards,
            checkout.policy,
            refused,
            event=event,
            labels=labels,
            library=library,
            is_scored=reuse([store] if records else [], checkout.revision_of, with_private=with_private),
            stored=lambda: store.pairs_of(checkout.owners),
        )


def _earlier_identifiers(checkout: Checkout, changes: ChangeSet) -> Identifiers:
    """Return the identifiers that the plugins whose registrations change had before, by kind."""
    changed = {
        (area.plugin, path.removesuffix(area.within))
        for change in changes.changes
        for path in change.paths
        if (area := area_of(path, checkout.policy.libraries)).plugin is not None
        and area.within in ("__init__.py", f"{area.plugin.folder}.csv")
    }
    earlier: dict[PluginName, dict[str, tuple[str, ...]]] = {}
    with TemporaryDirectory() as top, closing(BlobReader(checkout.repository)) as blobs:
        for name, place in sorted(changed) if changes.base else ():
            folder = Path(top, str(name))
            folder.mkdir(parents=True)
            init = folder / "__init__.py"
            for file in (init, table_of(folder)):
                content = blobs.read(f"{changes.base}:{place}{file.name}", LARGEST_FILE)
                if content is not None:
                    file.write_bytes(content)
            registrations, *_ = read_registrations([init])[0]
            earlier[name] = {
                kind.name: tuple(entry.identifier for entry in registrations if entry.registry == kind.registry)
                for kind in KINDS.values()
            }
    return earlier


def _library_effect(checkout: Checkout, changes: ChangeSet, before: Mapping[str, SourceFile]) -> LibraryEffect:
    libraries = checkout.policy.libraries
    paths = [
        path
        for change in changes.changes
        for path in change.paths
        if not change.same_code and area_of(path, libraries).kind == "library"
    ]
    if not paths:
        return LibraryEffect()
    return follow_changes(
        {path: before.get(path, SourceFile(path, content=b"")) for path in paths},
        read_library(checkout.repository, libraries),
        checkout.facts,
        checkout.dependencies.reach,
    )


def default_base(repository: Path) -> str:
    """Return the likely target branch: origin/main, or main."""
    for name in (_DEFAULT_BRANCH, "main"):
        if commit_named(repository, name) is not None:
            return name
    raise ConfigurationError(
        f"{repository} has neither origin/main nor main to compare with. Name the branch that the change will be "
        "merged into: --base BRANCH."
    )


def read_event(text: str) -> Event:
    """Return the event with this name."""
    for event in get_args(Event):
        if text == event:
            known: Event = event
            return known
    hint = did_you_mean(text, get_args(Event))
    raise ConfigurationError(f"{text!r} is no event; expected one of {', '.join(get_args(Event))}.{hint}")


def read_labels(text: str) -> frozenset[str]:
    """Return labels from a JSON list or from comma-separated names."""
    if not text.strip().startswith(("[", "{", '"', "null")):
        return frozenset(name.strip() for name in text.split(",") if name.strip())
    try:
        labels = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"These are no labels: {text[:100]!r} ({error}).") from error
    if labels is None:
        return frozenset()
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise ConfigurationError(f"These are no labels: {text[:100]!r}; expected a JSON list of texts.")
    return frozenset(labels)
