"""Show stimuli to a model in an order that tells nothing, and put its answers back.

Stimulus sets are stored in blocks, of an object or a family of textures: 9 changes of object in 499 rows of one of the
sets here. A model whose features are a function of the row number then predicts neurons that respond to objects, and is
scored as if it had looked (.31 where pixels score .00). A random order per run would prevent that and would also make
two runs differ and caches useless. So the order follows from a keyed digest of the stimuli, and from nothing else:

- the same stimuli come in the same order each time, whatever the order, names and labels of their table, so that
  activations and answers are found again;
- the position of a stimulus depends on its file's content alone, which a model that looks may use (of a stimulus
  without a file, on its identifier);
- equal stimuli are numbered before they are digested, or repetitions would come in a run.

Benchmarks get answers in the order of their table. This costs a sort of n digests and one copy of the answer, O(n p);
answers beyond the memory budget are copied from file to file. Sorting the measurements instead would need no copy, but
would change the splits of every cross-validation. The order inside a batch changes, and with it the last digits of
networks whose kernels depend on the batch.

It breaks where an experiment's order is part of the question, as for a model that adapts: such a benchmark says
``presentation_order = "experiment"``, see `brainscore_core.benchmarks.Benchmark`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from brainscore_core.config import memory_budget
from brainscore_core.files import nameless_file
from brainscore_core.identity.digest import file_stamp, stamped_file_digest, text_digest
from brainscore_core.supported_data_standards.brainio.assemblies import walk_coords
from brainscore_vision.metric_helpers.arrays.column_blocks import is_mapped, release_pages
from brainscore_vision.model_interface import BrainModel

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from pathlib import Path

    import xarray as xr

    from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision.metric_helpers.arrays.types import Indices, NDArray

__all__ = ["ModelProxy", "Presented", "accepted", "digest_order", "presented", "stimulus_digests", "with_signature"]

_KEY = b"Brain-Score, order of presentation, 1"
_BLOCK_BYTES = 32 * 2**20

Result = TypeVar("Result")


class ModelProxy(BrainModel):
    """A model behind another: whatever a subclass does not define is the model's."""

    def __init__(self, model: BrainModel) -> None:
        self._model = model
        for name in ("start_task", "look_at"):  # some benchmarks inspect a model's options
            with contextlib.suppress(AttributeError, TypeError, ValueError):  # no such method, or no signature
                vars(self)[name] = with_signature(getattr(self, name), inspect.signature(getattr(model, name)))

    def __getattr__(self, name: str) -> Any:  # attributes of the model
        if name == "_model":  # before __init__ has run, as in a copy
            raise AttributeError(name)
        return getattr(self._model, name)

    @property
    def identifier(self) -> str:
        """The model's identifier."""
        return self._model.identifier

    def visual_degrees(self) -> float:
        """Width of the model's field of view, degrees."""
        return self._model.visual_degrees()


class Presented(ModelProxy):
    """A model that sees stimuli in `digest_order`, or (`keep_order`) as the benchmark lists them."""

    def __init__(self, model: BrainModel, *, keep_order: bool = False) -> None:
        self._keep_order = keep_order
        self._rows_per_trial = 1
        self.has_seen = False
        """Whether the model was shown stimuli, so that it can no longer say that a benchmark is not for it."""
        super().__init__(model)

    @property
    def model(self) -> BrainModel:
        """The model itself."""
        return self._model

    def start_task(self, task: str, *fitting: Any, **more: Any) -> None:  # arguments depend on the task
        """Prepare the model for a task."""
        self._model.start_task(task, *fitting, **more)
        self._rows_per_trial = 3 if task == BrainModel.Task.odd_one_out else 1

    def start_recording(self, recording_target: str, *time_bins: Any, **more: Any) -> None:
        """Prepare the model for a recording."""
        self._model.start_recording(recording_target, *time_bins, **more)
        self._rows_per_trial = 1

    def look_at(
        self,
        stimuli: StimulusSet,
        number_of_trials: int = 1,
        **more: Any,  # options of the model
    ) -> BehavioralAssembly | NeuroidAssembly:
        """Return the answer in the order of `stimuli`; one in an order of its own is returned as it is."""
        self.has_seen = True
        # The model or the benchmark reports stimuli without identifiers, or two where three make a trial.
        has_trials = "stimulus_id" in getattr(stimuli, "columns", ()) and len(stimuli) % self._rows_per_trial == 0
        if self._keep_order or not has_trials:
            return self._model.look_at(stimuli, number_of_trials=number_of_trials, **more)
        order = digest_order(stimuli, rows_per_trial=self._rows_per_trial)
        shown = stimuli.iloc[order].reset_index(drop=True)
        answer = self._model.look_at(shown, number_of_trials=number_of_trials, **more)
        trials = order[:: self._rows_per_trial] // self._rows_per_trial
        restored: BehavioralAssembly | NeuroidAssembly = _put_back(answer, trials, shown)
        return restored


def presented(candidate: BrainModel, *, keep_order: bool = False) -> Presented:
    """Return a model that sees stimuli in `digest_order`; `Presented` models are returned unchanged."""
    return candidate if isinstance(candidate, Presented) else Presented(candidate, keep_order=keep_order)


def digest_order(stimuli: StimulusSet, *, rows_per_trial: int = 1) -> Indices:
    """Return the positions of stimuli in the order of presentation, shape (n_rows,).

    The rows of a trial stay together, in an order of their own: people's choice may be stored last.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"stimulus_id": ["a", "b", "c", "d"]})
    >>> table["stimulus_id"].iloc[digest_order(table)].tolist()
    ['d', 'a', 'c', 'b']
    >>> backwards = table.iloc[::-1]
    >>> backwards["stimulus_id"].iloc[digest_order(backwards)].tolist()
    ['d', 'a', 'c', 'b']
    """
    ids = stimuli["stimulus_id"].to_numpy()
    digests = stimulus_digests(ids, getattr(stimuli, "stimulus_paths", None) or {})
    numbers = {stimulus_id: _number(digest) for stimulus_id, digest in digests.items()}
    rows = np.array([numbers[stimulus_id] for stimulus_id in ids.tolist()], dtype=np.uint64).reshape(-1, rows_per_trial)
    trials = _mixed(_mixed(rows).sum(axis=1))
    within = np.argsort(_mixed(rows ^ trials[:, None]), axis=1, kind="stable")
    order = np.argsort(_mixed(trials + _occurrence(trials)), kind="stable")
    placed: Indices = (order[:, None] * rows_per_trial + within[order]).ravel()
    return placed


def stimulus_digests(ids: NDArray[Any], paths: Mapping[Hashable, str | Path]) -> dict[Hashable, str]:
    """Return the SHA-256 of each stimulus's file by identifier; of the identifier, if it has none that can be read."""
    digests: dict[Hashable, str] = {}
    for stimulus_id in dict.fromkeys(ids.tolist()):
        path = paths.get(stimulus_id)
        stamp = None if path is None else file_stamp(path)  # who opens a missing file names it
        is_here = stamp is not None
        digests[stimulus_id] = stamped_file_digest(str(path), stamp) if is_here else text_digest(str(stimulus_id))
    return digests


def _number(digest: str) -> int:
    return int.from_bytes(blake2b(digest.encode(), digest_size=8, key=_KEY).digest(), "little")


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers without any order of the given ones, one to one.

    It is the last step of SplitMix64 (Steele et al. 2014, doi:10.1145/2660193.2660195).
    """
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return result


def _occurrence(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return how often each number occurs before its place."""
    by_number = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[by_number], prepend=~numbers[by_number[:1]]))
    counts = np.empty(len(numbers), dtype=np.uint64)
    counts[by_number] = np.arange(len(numbers)) - np.repeat(starts, np.diff(starts, append=len(numbers)))
    return counts


def _put_back(answer: Any, order: Indices, shown: StimulusSet) -> Any:
    """Return an answer to stimuli in an `order` as an answer to the unordered ones."""
    n_shown, n_answers = len(order), getattr(answer, "sizes", {}).get("presentation", -1)
    times = n_answers // n_shown if n_shown else 0
    if times < 1 or times * n_shown != n_answers:  # the benchmark says what is wrong
        return answer
    further = {name: _put_back(part, order, shown) for name, part in answer.attrs.items() if hasattr(part, "dims")}
    back = np.argsort(order, kind="stable")
    trials = np.arange(times)
    index = (back[:, None] * times + trials).ravel()
    if "stimulus_id" in answer.coords and len(shown) == n_shown:
        said, ids = answer["stimulus_id"].values.astype(str), shown["stimulus_id"].to_numpy().astype(str)
        if not np.array_equal(said, np.repeat(ids, times)):
            if not np.array_equal(said, np.tile(ids, times)):
                return answer
            index = (trials[:, None] * n_shown + back).ravel()
    return _taken(answer, index).assign_attrs(further)


def _taken(answer: xr.DataArray, index: Indices) -> xr.DataArray:
    """Return presentations of an assembly, from file to file if they exceed the memory budget."""
    if not (is_mapped(answer.values) and answer.nbytes > memory_budget() and answer.dims[0] == "presentation"):
        return answer.isel(presentation=index)
    values = answer.values
    step = max(1, _BLOCK_BYTES // max(1, values[:1].nbytes))
    with nameless_file(answer.nbytes) as stream:
        for start in range(0, len(index), step):
            stream.write(np.ascontiguousarray(values[index[start : start + step]]).data)
            release_pages(values)
        stream.flush()
        copied = np.memmap(stream, values.dtype, "r", 0, values.shape)
    coords = {
        name: (dims, labels[index] if dims == ("presentation",) else labels)
        for name, dims, labels in walk_coords(answer)
    }
    return type(answer)(copied, coords=coords, dims=answer.dims, name=answer.name, attrs=answer.attrs)


def with_signature(method: Callable[..., Result], signature: inspect.Signature | None) -> Callable[..., Result]:
    """Return a method with the given signature; None: its own."""
    if signature is None:
        return method

    @functools.wraps(method)
    def same(*args: Any, **more: Any) -> Result:
        return method(*args, **more)

    vars(same)["__signature__"] = signature
    return same


def accepted(method: Callable[..., object], **options: Any) -> dict[str, Any]:
    """Return the options that a model's method accepts."""
    parameters = inspect.signature(method).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return {name: value for name, value in options.items() if takes_all or name in parameters}
