"""Decide what to test and score after a change, and say why."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from brainscore_ci.planning.areas import Area, PluginName, area_of
from brainscore_ci.planning.dependencies import Dependencies, LibraryEffect
from brainscore_ci.planning.facts import Reach
from brainscore_ci.planning.plan import Event, Plan, Refusal, Skip, TestTask
from brainscore_core.errors import count
from brainscore_core.names import why_no_identifier
from brainscore_core.scoring.pairs import Pair

if TYPE_CHECKING:
    from brainscore_ci.planning.changes import ChangeSet, FileChange
    from brainscore_ci.planning.policy import Policy

FULL, NO_SCORE = "ci-full", "ci-no-score"  # labels of a pull request
_BEFORE_MERGE: frozenset[Event] = frozenset({"pull_request", "merge_group", "local"})
_WITH_PRIVATE: frozenset[Event] = frozenset({"local", "push", "workflow_dispatch"})


@dataclass(frozen=True, kw_only=True)
class PluginCard:
    """Identifiers, tests and costs of a plugin; costs are from its metadata."""

    name: PluginName
    models: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    has_tests: bool = True
    private_tests: int = 0
    private: bool = False
    minutes: float | None = None
    memory_gb: float | None = None


@dataclass
class _Draft:
    changes: ChangeSet
    dependencies: Dependencies
    cards: Mapping[PluginName, PluginCard]
    policy: Policy
    event: Event
    labels: frozenset[str]
    skipped: list[Skip] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        cards = sorted(self.cards.items())
        self.models = {model: name for name, card in cards for model in card.models}
        self.benchmarks = {benchmark: name for name, card in cards for benchmark in card.benchmarks}
        self.refused += [
            Refusal(str(name), f"{identifier!a} {why}")
            for identifier, name in (*self.models.items(), *self.benchmarks.items())
            if (why := why_no_identifier(identifier))
        ]

    def minutes_of_tests(self, name: PluginName) -> float:
        card = self.cards.get(name)
        return card.minutes if card and card.minutes is not None else self.policy.test_minutes(name.folder)

    def pair(self, model: str, benchmark: str, reasons: tuple[str, ...]) -> Pair:
        of_model, of_benchmark = self.cards[self.models[model]], self.cards[self.benchmarks[benchmark]]
        # An unstated cost counts as zero if the other plugin states one.
        minutes = max(of_model.minutes or 0.0, of_benchmark.minutes or 0.0)
        memory = max(of_model.memory_gb or 0.0, of_benchmark.memory_gb or 0.0)
        private = of_benchmark.private and "public" not in benchmark.lower()
        costs = minutes or self.policy.pair_minutes, memory or self.policy.memory_gb
        return Pair(model, benchmark, *costs, private=private, reasons=reasons)


def make_plan(
    changes: ChangeSet,
    dependencies: Dependencies,
    cards: Mapping[PluginName, PluginCard],
    policy: Policy,
    refused: Iterable[Refusal] = (),
    *,
    event: Event,
    labels: Iterable[str] = (),
    library: LibraryEffect | None = None,
    is_scored: Callable[[str, str], str | None] = lambda model, benchmark: None,  # noqa: ARG005 - a default that knows none
    stored: Callable[[], Iterable[tuple[str, str]]] = tuple,
) -> Plan:
    """Decide what to test and what to score.

    Parameters
    ----------
    dependencies, cards
        Those of all plugins of the later state.
    refused
        Files that the later state must not hold, even if the change does not touch them.
    labels
        ``ci-full`` tests everything, ``ci-no-score`` scores nothing.
    library
        Plugins that the change of the library concerns; None: perhaps all.
    is_scored
        ``is_scored(model, benchmark)`` returns why a pair need not be scored again, or None.
    stored
        Returns the (model, benchmark) of all records; called only if some may be stale.
    """
    draft = _Draft(changes, dependencies, cards, policy, event, frozenset(labels), refused=list(refused))
    areas = [(change, path, area_of(path, policy.libraries)) for change in changes.changes for path in change.paths]
    _refuse(draft, areas)
    touched = _touched(areas, dependencies)
    followed = library or LibraryEffect()
    live = [(path, area) for change, path, area in areas if not change.same_code]
    if len(live) < len(areas):
        number = count(len(areas) - len(live), "changed file differs", "changed files differ")
        draft.notes.append(f"{number} in comments, docstrings or layout alone.")
    for name, place in dependencies.silent:
        if name in touched:
            draft.notes.append(
                f"{name}: its source does not say what {place} loads, so a change of that tests nothing of it. Declare "
                "it in metadata.yml: uses: [identifier]."
            )
    general = [
        (path, area) for path, area in live if library is None or area.kind != "library" or path in library.general
    ]
    tests = _tests(draft, touched, [path for path, area in general if area.concerns_all_plugins], followed)
    for_all_scores = [path for path, area in general if area.changes_all_scores]
    pairs = [] if draft.refused else _pairs(draft, touched, for_all_scores, followed)
    why = reason_for_library(changes.changes, policy, event=event, labels=draft.labels)
    plugins = "" if why or draft.refused else f"plugins only: {', '.join(map(str, list(touched)[:3]))}"
    plugins += f" and {len(touched) - 3} more" if plugins and len(touched) > 3 else ""
    draft.notes.insert(0, f"{plugins}; the library's own checks pass at once." if plugins else _checked_for(why))
    return Plan(
        plugins_only=plugins,
        base=changes.base,
        head=changes.head,
        event=event,
        changed=tuple(sorted({path for _, path, _ in areas})),
        tests=tuple(tests),
        pairs=tuple(_not_yet_scored(draft, pairs, is_scored)),
        previews=tuple(_previews(draft, touched)),
        stale=tuple(_stale(draft, pairs, for_all_scores, followed, stored)),
        skipped=tuple(draft.skipped),
        refused=tuple(draft.refused),
        notes=(changes.note, *draft.notes),
    )


def reason_for_library(
    changes: Sequence[FileChange], policy: Policy, *, event: Event, labels: Collection[str] = ()
) -> str | None:
    """Return why the library's own checks have to run for a change; None if it is of plugins only.

    Such a change comes before a merge and only adds or edits files of plugins that do not ship: no file lies outside
    their folders, is deleted or renamed, is anything but a plain file, or belongs to a plugin that the library's own
    tests rely on (`Policy.shipped`).
    """
    if event not in _BEFORE_MERGE or FULL in labels:
        return f"the label {FULL}" if FULL in labels else f"the event {event}"
    for change in changes:
        for path in change.paths:
            area = area_of(path, policy.libraries)
            if area.plugin is None:
                return f"{path!r} is in no plugin's folder"
            if area.plugin in policy.shipped or area.plugin in policy.representatives:
                return f"{path!r} belongs to a plugin that the library's own tests stand on"
        if change.special is not None or change.status not in {"added", "copied", "modified"}:
            return f"{change.path!r} is {change.special or change.status}"
    return None if changes else "nothing that differs"


def _checked_for(why: str | None) -> str:
    return f"The library's own checks run for {why or 'files that are refused'}."


def _refuse(draft: _Draft, areas: Sequence[tuple[FileChange, str, Area]]) -> None:
    paths = {refusal.path for refusal in draft.refused}
    for change, path, area in areas:
        if change.status == "deleted" or path != change.path or path in paths:
            continue  # deleted files may have any name
        if area.kind == "refused":
            draft.refused.append(
                Refusal(
                    path, "names of plugin folders have only ASCII letters, digits and _.-, and start with none of _.-"
                )
            )
        elif area.kind == "plugin" and change.special is not None:
            draft.refused.append(Refusal(path, f"a {change.special} inside a plugin; put the file itself there"))


@dataclass(frozen=True)
class _Touched:
    reason: str
    scores: bool  # whether a file changed that can change a score
    code: bool  # whether more than comments, docstrings and layout changed


def _touched(areas: Sequence[tuple[FileChange, str, Area]], dependencies: Dependencies) -> dict[PluginName, _Touched]:
    files: dict[PluginName, list[tuple[str, bool, bool]]] = {}
    for change, path, area in areas:
        if area.plugin is not None:
            status = "moved away" if path != change.path else change.status
            counts = dependencies.reach.get(area.plugin, Reach({})).changes_scores(area.within)
            entry = f"{area.within} {status}", counts and not change.same_code, not change.same_code
            files.setdefault(area.plugin, []).append(entry)
    touched = {}
    for name, entries in sorted(files.items()):
        first = ", ".join(sorted(text for text, _, _ in entries)[:3])
        more = f" and {len(entries) - 3} more" if len(entries) > 3 else ""
        scores, code = any(scores for _, scores, _ in entries), any(code for _, _, code in entries)
        touched[name] = _Touched(f"changed: {first}{more}", scores, code)
    return touched


def _tests(
    draft: _Draft, touched: Mapping[PluginName, _Touched], everything: Sequence[str], library: LibraryEffect
) -> list[TestTask]:
    # After a comment changed, only that plugin.
    reasons: dict[PluginName, tuple[str, ...]] = {name: (entry.reason,) for name, entry in touched.items()}
    reasons |= draft.dependencies.affected_by({name: entry.reason for name, entry in touched.items() if entry.code})
    if draft.event == "schedule" or FULL in draft.labels:
        why = "all plugins are tested every night" if draft.event == "schedule" else f"label {FULL}"
        reasons = {**dict.fromkeys(draft.cards, (why,)), **reasons}
    else:
        reasons = {**_tests_of_library(draft, everything, library), **reasons}
    tasks = []
    with_private = draft.event in _WITH_PRIVATE
    for name, chain in sorted(reasons.items()):
        card = draft.cards.get(name)
        if card is None:
            continue
        if not card.has_tests:
            draft.skipped.append(Skip(f"tests of {name}", "it has no test.py"))
            continue
        if card.private_tests and not with_private:
            draft.skipped.append(
                Skip(
                    f"{count(card.private_tests, 'private test')} of {name}",
                    "private data are not available before a merge",
                )
            )
        tasks.append(
            TestTask(
                plugin=name,
                reasons=chain,
                minutes=draft.minutes_of_tests(name),
                memory_gb=draft.policy.memory_gb if card.memory_gb is None else card.memory_gb,
                private_tests=card.private_tests,
                with_private=with_private and card.private_tests > 0,
            )
        )
    return tasks


def _tests_of_library(
    draft: _Draft, everything: Sequence[str], library: LibraryEffect
) -> dict[PluginName, tuple[str, ...]]:
    """Return the plugins nearest to a change of the library, and the representatives if it may concern all."""
    reasons: dict[PluginName, tuple[str, ...]] = {name: (why,) for name, why in library.test_users.items()}
    reasons |= draft.dependencies.affected_by(library.users)
    nearest = sorted(reasons, key=lambda name: (len(reasons[name]), draft.minutes_of_tests(name), name))
    most = draft.policy.most_library_tests
    if len(nearest) > most:
        draft.notes.append(
            f"{len(nearest)} plugins use what the library changes: the nearest {most} tested now, all of them at night "
            f"(label {FULL}: now)."
        )
    reasons = {name: reasons[name] for name in nearest[:most]}
    if everything:
        why = f"represents its kind, since {everything[0]!r} concerns all plugins"
        reasons = {**{name: (why,) for name in draft.policy.representatives if name in draft.cards}, **reasons}
        number = count(len(draft.policy.representatives), "representative plugin")
        draft.notes.append(
            f"{count(len(everything), 'changed file')} outside plugins may concern every plugin "
            f"({_listing(everything)}): {number} tested now, all of them at night (label {FULL}: now)."
        )
    return reasons


def _pairs(
    draft: _Draft, touched: Mapping[PluginName, _Touched], everything: Sequence[str], library: LibraryEffect
) -> list[Pair]:
    """Return each pair whose score may change, once, with its shortest reason."""
    changed = {name: entry.reason for name, entry in touched.items() if entry.scores}
    affected = draft.dependencies.affected_by(changed, tests=False)
    reasons_of: dict[tuple[str, str], tuple[str, ...]] = {}

    def note(some: Iterable[str], others: Iterable[str], reasons: tuple[str, ...]) -> None:
        for pair in itertools.product(some, others):
            if pair not in reasons_of or len(reasons) < len(reasons_of[pair]):
                reasons_of[pair] = reasons

    for name, chain in affected.items():
        card = draft.cards.get(name)
        if card is not None:
            note(card.models, draft.benchmarks, (str(name), *chain))
            note(draft.models, card.benchmarks, (str(name), *chain))
    reference = itertools.product(draft.policy.reference_models, draft.policy.reference_benchmarks)
    for model, benchmark, reasons in _depending(draft, reference, everything, library):
        note([model], [benchmark], ("reference pair", *reasons))
    if reasons_of and NO_SCORE in draft.labels:
        draft.skipped.append(Skip(f"scores of {count(len(reasons_of), 'pair')}", f"label {NO_SCORE}"))
        return []
    return [draft.pair(model, benchmark, reasons) for (model, benchmark), reasons in sorted(reasons_of.items())]


def _not_yet_scored(
    draft: _Draft, pairs: Sequence[Pair], is_scored: Callable[[str, str], str | None]
) -> Iterable[Pair]:
    for pair in pairs:
        reason = is_scored(pair.model, pair.benchmark)
        if reason is None:
            yield pair
        else:
            draft.skipped.append(Skip(f"{pair.model} on {pair.benchmark}", reason))


def _stale(
    draft: _Draft,
    planned: Sequence[Pair],
    everything: Sequence[str],
    library: LibraryEffect,
    stored: Callable[[], Iterable[tuple[str, str]]],
) -> Iterator[Pair]:
    """Return the pairs whose record depends on the changed parts of the library, without the planned ones."""
    if everything or library.users:
        scored_again = {(pair.model, pair.benchmark) for pair in planned}
        pairs = sorted(pair for pair in stored() if pair not in scored_again)
        yield from itertools.starmap(draft.pair, _depending(draft, pairs, everything, library))


def _depending(
    draft: _Draft, pairs: Iterable[tuple[str, str]], everything: Sequence[str], library: LibraryEffect
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the known pairs whose score depends on the changed parts of the library, with the reasons."""
    followed = draft.dependencies.affected_by(library.users, tests=False)
    for model, benchmark in pairs:
        if model not in draft.models or benchmark not in draft.benchmarks:
            continue
        names = [name for name in (draft.benchmarks[benchmark], draft.models[model]) if name in followed]
        if names:
            yield model, benchmark, (str(names[0]), *followed[names[0]])
        elif everything:
            yield model, benchmark, (f"{everything[0]!r} concerns all scores",)


def _previews(draft: _Draft, touched: Mapping[PluginName, _Touched]) -> list[Pair]:
    """Return the pairs a pull request shows: its plugins with the reference models or benchmarks."""
    if draft.event not in {"pull_request", "merge_group", "local"} or NO_SCORE in draft.labels or draft.refused:
        return []
    reasons_of: dict[tuple[str, str], tuple[str, ...]] = {}
    for name, entry in touched.items():
        card = draft.cards.get(name)
        if card is None or not entry.scores:
            continue
        of_benchmarks = itertools.product(draft.policy.reference_models, card.benchmarks)
        of_models = itertools.product(card.models, draft.policy.reference_benchmarks)
        reasons_of |= dict.fromkeys([*of_benchmarks, *of_models], (entry.reason,))
    pairs = [
        draft.pair(model, benchmark, reasons)
        for (model, benchmark), reasons in sorted(reasons_of.items())
        if model in draft.models and benchmark in draft.benchmarks
    ]
    return [pair for pair in pairs if not pair.private][: draft.policy.most_previews]


def _listing(paths: Sequence[str]) -> str:
    first = ", ".join(map(repr, paths[:3]))
    return first + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
