"""Track a benchmark's data and plugins, and state them in a score's record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import BrainScoreError, UnknownIdentifierError
from brainscore_core.identity import digest, software
from brainscore_core.identity.data import data_digest
from brainscore_core.plugin_management.import_plugin import find_plugin
from brainscore_core.plugin_management.index import label_of
from brainscore_core.records.record import ScoreRecord
from brainscore_core.records.store import keep
from brainscore_core.records.values import digest_of, values_bytes, values_of
from brainscore_vision.loading import watching_loads
from brainscore_vision.model_interface import weights_digest

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.plugin_management.index import Plugin

__all__ = ["Ingredients", "build_record", "library_digest", "noting_ingredients", "revisions_of"]

_LIBRARY = "brainscore_vision"
_PLUGINS = ("data", "metrics", "benchmarks", "models")
_DATA = ("data", "stimulus_set")


@dataclass
class Ingredients:
    """Digests of loaded data and plugins.

    Attributes
    ----------
    data
        ``'<kind>:<identifier>'`` -> digest of the content, `brainscore_core.identity.data`.
    plugins
        ``'<folder of the kind>/<plugin>'`` -> digest of the plugin's files, models excluded.
    outside
        The same -> git commit, outside the library.
    """

    data: dict[str, str] = field(default_factory=dict)
    plugins: dict[str, str] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)


@contextmanager
def noting_ingredients() -> Iterator[Ingredients]:
    """Track the loads in a block, digested as they are loaded."""
    ingredients = Ingredients()

    def note(kind: str, identifier: str, content: object) -> None:
        if kind == "model":
            return
        if kind in _DATA:
            ingredients.data[f"{kind}:{identifier}"] = data_digest(content)
            stimuli: Any = getattr(content, "attrs", {}).get("stimulus_set")
            if hasattr(stimuli, "stimulus_paths"):  # most assemblies bring their stimuli along
                ingredients.data.setdefault(f"stimulus_set:{stimuli.identifier}", data_digest(stimuli))
        try:
            plugin = find_plugin(_LIBRARY, kind, identifier)
        except BrainScoreError:  # registered at run time
            return
        name = label_of(plugin)
        if name not in ingredients.plugins:
            ingredients.plugins[name] = software.folder_revision(plugin.directory)
            ingredients.outside |= _commit_outside(plugin)

    with watching_loads(note):
        yield ingredients
    ingredients.data = dict(sorted(ingredients.data.items()))
    ingredients.plugins = dict(sorted(ingredients.plugins.items()))


def _commit_outside(plugin: Plugin) -> dict[str, str]:
    return {label_of(plugin): software.folder_commit(plugin.directory)} if plugin.root.rank > 0 else {}


def build_record(
    score: Score,
    path: Path | None,
    ingredients: Ingredients,
    candidate: object,
    **fields: Any,  # fields of ScoreRecord
) -> ScoreRecord:
    """Return a score's record, written to a path (None: not at all) with values and locks next to it.

    The score then has the path as ``record_path``. A candidate that ran in its own environment has
    ``environment_lock``; `fields` are further arguments of `ScoreRecord.of_score`.
    """
    fields["outside_plugins"] = dict(sorted((fields.get("outside_plugins", {}) | ingredients.outside).items()))
    lock = software.installed()
    candidate_lock = getattr(candidate, "environment_lock", None)
    candidate_lock = candidate_lock if isinstance(candidate_lock, str) and path is not None else ""
    arrays = {} if path is None else values_of(score)
    values = values_bytes(arrays) if arrays else b""
    record = ScoreRecord.of_score(
        score,
        data=ingredients.data,
        plugins=ingredients.plugins,
        weights=weights_digest(candidate),
        library=library_digest(),
        environment=digest.text_digest(lock),
        candidate_environment=digest.text_digest(candidate_lock) if candidate_lock else None,
        values=digest_of(values) if values else None,
        peak_memory_bytes=software.peak_memory_bytes(),
        **fields,
    )
    if path is not None:
        score.attrs["record_path"] = str(path)
        record = keep(record, path, values, lock, candidate_lock)
    return record


@cache
def library_digest() -> str:
    """Return the digest of core's and this library's source, without plugins, as imported."""
    return software.library_digest(Path(__file__).parents[1], _PLUGINS)


def revisions_of(model_identifier: str | None, benchmark_identifier: str) -> dict[str, Any]:
    """Return a record's fields with both plugins' revisions; None for a model that is not a plugin."""
    revisions: dict[str, Any] = {"outside_plugins": {}}
    for kind, identifier in (("model", model_identifier), ("benchmark", benchmark_identifier)):
        try:
            plugin = None if identifier is None else find_plugin(_LIBRARY, kind, identifier)
        except UnknownIdentifierError:  # registered at run time, or not at all, which loading reports
            plugin = None
        revisions[f"{kind}_revision"] = (
            software.UNREGISTERED if plugin is None else software.folder_revision(plugin.directory)
        )
        revisions["outside_plugins"] |= {} if plugin is None else _commit_outside(plugin)
    return revisions
