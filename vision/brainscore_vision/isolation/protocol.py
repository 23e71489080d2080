"""Define the content of messages between judge and candidate.

`brainscore_core.scoring.isolation.wire` defines the transport. Only values are taken from the candidate.
"""

import builtins
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from pydantic import TypeAdapter

from brainscore_core import errors
from brainscore_core.errors import CandidateError, CorruptFileError, InvalidAnswerError, ProtocolError
from brainscore_core.identity.digest import content_digest
from brainscore_core.scoring.isolation.values import Coordinate, pack
from brainscore_core.supported_data_standards.brainio.assemblies import (
    BehavioralAssembly,
    DataAssembly,
    NeuroidAssembly,
    walk_coords,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.untrusted import Message as Text
from brainscore_core.untrusted import Name, Untrusted, at_most, checked
from brainscore_vision.benchmark_helpers.screen import stimulus_digests

__all__ = [
    "ANSWER",
    "ERROR",
    "LOAD",
    "Shown",
    "candidate_error",
    "content_of_answer",
    "content_of_error",
    "get_ready",
    "hand_out",
    "held_stimuli",
    "holds_stimuli",
    "read_answer",
    "taken",
]

LOAD, ANSWER, ERROR = "load", "answer", "error"

_MOST_ERROR = 4_000  # characters of a message
_OTHER_STIMULI = "The candidate answered for other stimuli than it was shown, or in a different order."
_PRESENTATION = "presentation"
_KINDS: dict[str, type[xr.DataArray]] = {
    kind.__name__: kind for kind in (NeuroidAssembly, BehavioralAssembly, DataAssembly, xr.DataArray)
}
# Errors of the library that a record may name, besides Python's and core's. A closed list: a name from a plugin
# could carry a message.
_KNOWN_ERRORS = frozenset(errors.__all__) | {
    "BadImageError",
    "CheckpointError",
    "NoLayerForRegionError",
    "NoReadoutError",
    "NoSuchTaskError",
    *(name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)),
}
# The judge (`brainscore_vision.scoring`) tests for these classes themselves.
_DECIDING = (errors.NotApplicableError, NotImplementedError)


@dataclass(frozen=True)
class Shown:
    """Stimuli that the candidate sees, in the order of the rows.

    Attributes
    ----------
    ids
        Identifiers shown to the candidate, which reveal nothing.
    columns
        Columns as the judge has them, by name.
    """

    ids: npt.NDArray[Any]
    columns: Mapping[str, npt.NDArray[Any]]


def hand_out(stimuli: StimulusSet, folder: Path, *columns: str) -> tuple[dict[str, object], Shown]:
    """Put stimulus files into a new folder and return their description: pixels, and nothing that tells about them.

    From the table, the candidate gets `columns` and a ``stimulus_id`` from the file's content. Files are copies, made
    in the order of the rows, with neutral names and equal times: a link to the original would carry its inode and
    times, which reveal the order of unpacking, in most sets the order of the labels. The identifier of the set is a
    digest.
    """
    folder.mkdir(parents=True)
    paths = getattr(stimuli, "stimulus_paths", None)
    ids = stimuli["stimulus_id"].to_numpy() if "stimulus_id" in stimuli.columns else np.empty(0, dtype=object)
    opaque = _opaque(ids, paths or {})
    table = StimulusSet({name: stimuli[name].to_numpy() for name in stimuli.columns if name in columns})
    table.insert(0, "stimulus_id", [opaque[stimulus_id] for stimulus_id in ids.tolist()])
    files: list[str] = []
    if paths is not None:
        for number, stimulus_id in enumerate(dict.fromkeys(ids.tolist())):
            if stimulus_id not in paths:
                files.append("")
                continue
            source = Path(paths[stimulus_id])
            suffix = source.suffix if re.fullmatch(r"\.[A-Za-z0-9]{1,8}", source.suffix) else ""
            files.append(f"{number:07}{suffix}")
            _place(source, folder / files[-1])
    description = {
        "table": table,
        "identifier": content_digest(table["stimulus_id"].tolist())[:24],
        "folder": str(folder),
        "files": files if paths is not None else None,
    }
    own = {str(name): stimuli[name].to_numpy() for name in stimuli.columns}
    return {"stimuli": description}, Shown(table["stimulus_id"].to_numpy(), own)


def _opaque(ids: npt.NDArray[Any], paths: Mapping[Hashable, str | Path]) -> dict[Hashable, str]:
    """Return an identifier for each stimulus, from the content of its file; equal files are numbered."""
    names: dict[Hashable, str] = {}
    equal: Counter[str] = Counter()
    for stimulus_id, digest in stimulus_digests(ids, paths).items():
        names[stimulus_id] = f"{digest[:24]}-{equal[digest[:24]]}"
        equal[digest[:24]] += 1
    return names


def _place(source: Path, target: Path) -> None:
    with source.open("rb") as original, target.open("wb") as copy:
        left = os.fstat(original.fileno()).st_size
        try:  # by the system, which shares the blocks where the disk can
            while left and (copied := os.copy_file_range(original.fileno(), copy.fileno(), left)):
                left -= copied
        except OSError:  # between two disks, or none that can
            original.seek(0)
            shutil.copyfileobj(original, copy)
    target.chmod(0o644)
    os.utime(target, (0, 0))


def holds_stimuli(value: Any) -> bool:
    """Return whether an argument is a table of stimuli."""
    return hasattr(value, "columns") and hasattr(value, "iloc")


def held_stimuli(value: object, hand: Callable[[StimulusSet], dict[str, object]]) -> object:
    """Return an argument of a question with tables of stimuli replaced by their descriptions."""
    if holds_stimuli(value):
        return hand(StimulusSet(value))
    if isinstance(value, np.ndarray) or value is None or isinstance(value, (str, bool, int, float, np.generic)):
        return value
    if isinstance(value, Mapping):
        return {str(key): held_stimuli(item, hand) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [held_stimuli(item, hand) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return [held_stimuli(item, hand) for item in value] if hasattr(value, "__iter__") else value


def taken(value: object) -> object:
    """Return an argument for the candidate's model: descriptions by `held_stimuli` are tables again."""
    if isinstance(value, dict):
        description = value.get("stimuli") if len(value) == 1 else None
        if isinstance(description, dict) and set(description) == {"table", "identifier", "folder", "files"}:
            return _stimulus_set(description)
        return {key: taken(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(taken(item) for item in value)
    return value


def _stimulus_set(description: Mapping[str, Any]) -> StimulusSet:
    stimuli = StimulusSet(description["table"])
    stimuli.identifier = description["identifier"]
    folder, files = Path(str(description["folder"])), description["files"]
    if files is not None:
        ids: dict[Hashable, None] = dict.fromkeys(stimuli["stimulus_id"].tolist())
        stimuli.stimulus_paths = {
            stimulus_id: str(folder / name) for stimulus_id, name in zip(ids, files, strict=True) if name
        }
    return stimuli


def content_of_answer(answer: object, columns: Sequence[str]) -> dict[str, object]:
    """Return an assembly for sending; columns of the stimuli, which the judge has, only by name."""
    if not isinstance(answer, xr.DataArray):
        raise ProtocolError(
            f"The model answered with a {type(answer).__qualname__}; expected an assembly, such as a NeuroidAssembly."
        )
    coords = []
    for name, dims, values in walk_coords(answer):
        is_own = name in columns and name != "stimulus_id" and dims == (_PRESENTATION,)
        coords.append({"name": name, "dims": [*map(str, dims)], "values": None if is_own else np.asarray(values)})
    attrs: dict[str, object] = {}
    for key, value in answer.attrs.items():
        sent = content_of_answer(value, columns) if isinstance(value, xr.DataArray) else value
        with suppress(ProtocolError):
            pack(sent, [])  # whether it can be sent
            attrs[str(key)] = {"assembly": sent} if isinstance(value, xr.DataArray) else {"value": sent}
    return {
        "kind": next((base.__name__ for base in type(answer).__mro__ if base.__name__ in _KINDS), "DataArray"),
        "dims": [*map(str, answer.dims)],
        "values": answer.values,
        "name": None if answer.name is None else str(answer.name),
        "coords": coords,
        "attrs": attrs,
    }


@dataclass(frozen=True)
class _Answer(Untrusted):
    kind: Name
    dims: Annotated[tuple[Name, ...], at_most(8)]
    values: object
    name: Name | None
    coords: Annotated[tuple[Coordinate, ...], at_most(1_000)]
    attrs: dict[Name, dict[Name, object]]


_ANSWER = TypeAdapter(_Answer)


def get_ready() -> None:
    """Import in advance modules that assemblies need, such as dask."""
    NeuroidAssembly([[0.0]], coords={"neuroid_id": ("neuroid", ["unit"])}, dims=["presentation", "neuroid"])


def read_answer(
    content: object, shown: Shown, *, number_of_trials: int, in_threes: bool, is_neural: bool, depth: int = 0
) -> xr.DataArray:
    """Return the assembly that a candidate has sent; `InvalidAnswerError` if it is not about these stimuli.

    Parameters
    ----------
    number_of_trials
        Times each stimulus was shown; a candidate may answer once.
    in_threes
        Whether three stimuli form one presentation, as in the task ``odd_one_out``.
    is_neural
        Whether real numbers are expected.
    """
    try:
        answered = checked(_ANSWER, content, "answer")
    except CorruptFileError as error:
        raise InvalidAnswerError(f"The candidate's answer is not an assembly: {error}") from None
    values = answered.values
    dims = answered.dims
    is_array = isinstance(values, np.ndarray) and values.ndim == len(dims) == len(set(dims))
    if answered.kind not in _KINDS or not isinstance(values, np.ndarray) or not is_array:
        raise InvalidAnswerError("The candidate's answer is not an assembly, or its dims do not fit its values.")
    if is_neural and values.dtype.kind not in "biuf":
        raise InvalidAnswerError(f"The candidate answered with values of type {values.dtype}; expected real numbers.")
    sizes = dict(zip(answered.dims, values.shape, strict=True))
    claimed = next((coordinate.values for coordinate in answered.coords if coordinate.name == "stimulus_id"), None)
    rows = _rows(shown, sizes, claimed, number_of_trials, in_threes=in_threes)
    if in_threes:
        own = dict(zip(shown.ids.tolist(), shown.columns["stimulus_id"].tolist(), strict=True))
        values = np.array([own.get(name, name) for name in values.ravel().tolist()]).reshape(values.shape)
    coords = _coordinates(answered.coords, shown, rows, sizes, in_threes=in_threes)
    try:
        answer = _KINDS[answered.kind](values, coords=coords, dims=answered.dims, name=answered.name)
    except Exception as error:  # xarray and pandas raise many classes for parts that do not fit together
        raise InvalidAnswerError(f"The candidate's answer is not an assembly: {type(error).__name__}.") from error
    for key, value in answered.attrs.items():
        if depth == 0 and "assembly" in value:
            how = {"number_of_trials": number_of_trials, "in_threes": in_threes, "is_neural": False}
            answer.attrs[key] = read_answer(value["assembly"], shown, depth=1, **how)  # type: ignore[arg-type] # as given
        elif "value" in value:
            answer.attrs[key] = value["value"]
    return answer


def _coordinates(
    said: Sequence[Coordinate],
    shown: Shown,
    rows: npt.NDArray[np.intp] | None,
    sizes: Mapping[str, int],
    *,
    in_threes: bool,
) -> dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]]:
    """Return an answer's coordinates; all coordinates of the stimuli are the judge's own."""
    coords: dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]] = {}
    names: set[str] = set()
    for coordinate in said:
        values, dims = coordinate.values, coordinate.dims
        is_repeated = coordinate.name in names
        names.add(coordinate.name)
        if rows is not None and dims == (_PRESENTATION,) and coordinate.name in shown.columns and not is_repeated:
            own = shown.columns if coordinate.name == "stimulus_id" else {coordinate.name: None}
            coords |= {name: (dims, shown.columns[name][rows]) for name in own}
            continue
        if in_threes and coordinate.name == "stimulus_id":
            texts = [str(identifier) for identifier in shown.columns["stimulus_id"].tolist()]
            values = np.array(["|".join(texts[start : start + 3]) for start in range(0, len(texts), 3)])
        if not isinstance(values, np.ndarray):
            raise InvalidAnswerError(f"The candidate answered with a coordinate {coordinate.name!r} without values.")
        shape = tuple(sizes.get(dim, -1) for dim in dict.fromkeys(dims))  # each dimension once
        if is_repeated or values.shape != shape:
            raise InvalidAnswerError(f"The candidate answered with a coordinate {coordinate.name!r} that does not fit.")
        coords[coordinate.name] = dims, values
    return coords


def _rows(
    shown: Shown, sizes: Mapping[str, int], claimed: object, number_of_trials: int, *, in_threes: bool
) -> npt.NDArray[np.intp] | None:
    n_shown, n_answered = len(shown.ids), sizes.get(_PRESENTATION)
    if n_answered is None:
        raise InvalidAnswerError(f"The candidate answered without presentations; its dimensions are {list(sizes)}.")
    texts = [str(identifier) for identifier in shown.ids.tolist()]
    if in_threes:
        if 3 * n_answered != n_shown:
            raise InvalidAnswerError(
                f"The candidate gave {n_answered} answers to {n_shown // 3} triplets of stimuli; expected one for each."
            )
        trials = ["|".join(texts[start : start + 3]) for start in range(0, n_shown, 3)]
        if _texts(claimed, n_answered) not in (None, trials):
            raise InvalidAnswerError(_OTHER_STIMULI)
        return None
    times = n_answered // n_shown if n_shown else 0
    if times * n_shown != n_answered or times not in (1, number_of_trials):
        raise InvalidAnswerError(
            f"The candidate gave {n_answered} answers to {n_shown} stimuli; expected one or {number_of_trials} for "
            "each."
        )
    side_by_side = np.repeat(np.arange(n_shown), times)
    one_after_the_other = np.tile(np.arange(n_shown), times)
    identifiers = _texts(claimed, n_answered)
    if identifiers is None:  # the benchmark reports it
        return side_by_side
    for rows in (side_by_side, one_after_the_other):
        if identifiers == [texts[row] for row in rows]:
            return rows
    raise InvalidAnswerError(_OTHER_STIMULI)


def _texts(claimed: object, expected: int) -> list[str] | None:
    if claimed is None:
        return None
    if not isinstance(claimed, np.ndarray) or claimed.shape != (expected,):
        raise InvalidAnswerError("The candidate's answers do not name their stimuli.")
    return [str(identifier) for identifier in claimed.tolist()]


def content_of_error(error: BaseException) -> dict[str, object]:
    """Return an error's class names and the start of its message."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - a plugin's class may do anything
        message = ""
    names = [base.__name__[:400] for base in type(error).__mro__][:20]
    return {"classes": names, "message": message[:_MOST_ERROR].encode("utf-8", "replace").decode()}


@dataclass(frozen=True)
class _Failure(Untrusted):
    classes: Annotated[tuple[Name, ...], at_most(20)]
    message: Text


_FAILURE = TypeAdapter(_Failure)


def candidate_error(content: object, *, may_decline: bool = True) -> CandidateError:
    """Return the error that a candidate reports, named like the nearest known class.

    Only if it `may_decline` can it say that the benchmark is not applicable.
    """
    try:
        failure = checked(_FAILURE, content, "error")
    except CorruptFileError as error:
        return InvalidAnswerError(f"The candidate failed and sent a malformed error: {error}")
    known = next((name for name in failure.classes if name in _KNOWN_ERRORS - {"Exception"}), None)
    first = failure.classes[0] if failure.classes else ""
    message = failure.message if first == known or not first else f"{first}: {failure.message}"
    kind: type[CandidateError] = CandidateError
    if known is not None:
        alike = [cls for cls in _DECIDING if cls.__name__ in failure.classes and may_decline]
        kind = type(known, (CandidateError, *alike), {"__module__": __name__})
    return kind(f"In the process of the candidate: {message}")
