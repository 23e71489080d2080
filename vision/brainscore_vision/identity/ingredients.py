"""Note what a benchmark is made of while it is made and while it scores: its data, and the plugins that it uses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import BrainScoreError
from brainscore_vision.loading import find_plugin_directory, watching_loads
from brainscore_vision.model_interface import weights_digest

if TYPE_CHECKING:
    from brainscore_core.metrics import Score
    from brainscore_core.records.record import ScoreRecord

__all__ = ["Ingredients", "keep_result", "library_digest", "noting_ingredients"]

_PLUGINS = ("data", "metrics", "benchmarks", "models")
_DATA = ("data", "stimulus_set")


@dataclass
class Ingredients:
    """Digests of what was loaded.

    Attributes
    ----------
    data : dict of str to str
        ``'<kind>:<identifier>'`` -> digest of the content, `brainscore_core.identity.data`.
    plugins : dict of str to str
        ``'<folder of the kind>/<plugin>'`` -> digest of the files of the plugin. Models are not among them.
    """

    data: dict[str, str] = field(default_factory=dict)
    plugins: dict[str, str] = field(default_factory=dict)

    def noted_in(self, record: ScoreRecord, model: object) -> ScoreRecord:
        """Return the record with what it was made of, these and the model, and with how much memory that took."""
        from brainscore_core.identity import digest, machine, software

        return dataclasses.replace(
            record,
            data=self.data,
            plugins=self.plugins,
            weights=weights_digest(model),
            library=library_digest(),
            environment=digest.text_digest(software.installed()),
            peak_memory_bytes=machine.peak_memory_bytes(),
        )


@contextmanager
def noting_ingredients() -> Iterator[Ingredients]:
    """Note what is loaded in a block, but for what a model loads to choose its layers.

    Digests are of what was loaded, as it was loaded: what somebody does to it afterwards does not count.
    """
    found = Ingredients()

    def note(kind: str, identifier: str, made: object) -> None:
        from brainscore_core.identity import sources
        from brainscore_core.identity.data import data_digest  # brings NumPy and xarray

        if kind == "model":
            return
        if kind in _DATA:
            found.data[f"{kind}:{identifier}"] = data_digest(made)
            shown: Any = getattr(made, "attrs", {}).get("stimulus_set")
            if hasattr(shown, "stimulus_paths"):  # most assemblies bring their stimuli along
                found.data.setdefault(f"stimulus_set:{shown.identifier}", data_digest(shown))
        try:
            folder = find_plugin_directory(kind, identifier)
        except BrainScoreError:  # registered while the program runs
            return
        name = f"{folder.parent.name}/{folder.name}"
        if name not in found.plugins:
            found.plugins[name] = sources.folder_revision(folder)

    with watching_loads(note):
        yield found
    found.data = dict(sorted(found.data.items()))
    found.plugins = dict(sorted(found.plugins.items()))


def keep_result(record: ScoreRecord, path: Path, result: Score, candidate_lock: str = "") -> ScoreRecord:
    """Write the record of a score, with values and locks beside it; return it, and say in the score where it is."""
    from brainscore_core.identity import software
    from brainscore_core.records.store import keep
    from brainscore_core.records.values import values_of

    result.attrs["record_path"] = str(path)
    return keep(record, path, values_of(result), software.installed(), candidate_lock)


@cache
def library_digest() -> str:
    """Return the digest of the source of core and of this library, without plugins, at the first call: as imported."""
    from brainscore_core.identity import sources

    return sources.library_digest(Path(__file__).parents[1], _PLUGINS)
