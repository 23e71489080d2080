"""Hold stimuli: a table with one row per stimulus, an identifier and the paths of the files."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, overload

import pandas as pd

from brainscore_core.errors import MissingStimulusError, StimulusError, UnknownIdentifierError, did_you_mean, listed
from brainscore_core.supported_data_standards.brainio._files.stimulus_tables import read_table

__all__ = ["StimulusSet", "StimulusSetLoader", "read_table"]

_EXAMPLES = 10
_LONGEST_NAME, _LONGEST_PATH = 255, 3_000  # bytes; Linux and macOS take 255 for each part, and 4,096 for all


class _SideAttribute:
    """An attribute beside the table; None unsets it (`AttributeError`).

    Pandas copies those in ``_metadata`` by ``setattr(new, name, getattr(old, name, None))``, so ``hasattr`` stays
    truthful on every copy.
    """

    def __init__(self, remedy: str) -> None:
        self._remedy = remedy

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> _SideAttribute: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Any: ...

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        try:
            return instance.__dict__[self._name]
        except KeyError:
            raise AttributeError(f"This stimulus set has no {self._name}. {self._remedy}") from None

    def __set__(self, instance: object, value: object) -> None:
        if value is None:
            instance.__dict__.pop(self._name, None)
        else:
            instance.__dict__[self._name] = value

    def __delete__(self, instance: object) -> None:
        instance.__dict__.pop(self._name, None)


class StimulusSet(pd.DataFrame):
    """A table of stimuli with an identifier and the path of every stimulus file.

    The attributes below follow the table through all operations of pandas, pickling and ``StimulusSet(other)``. Joined
    tables join their paths; contradictions unset the attribute.

    Attributes
    ----------
    identifier : str
        Unique name of the set, also called ``name``; a *column* of either name is ``stimulus_set['name']`` only. (In
        ``groupby(...).apply``, pandas lets ``name`` be the key of the group.)
    stimulus_paths : dict
        `stimulus_id` -> path of the file. Shared, not copied, between tables.
    original_paths : dict
        Optional: `stimulus_id` -> path before a conversion.

    Examples
    --------
    >>> stimuli = StimulusSet([{'stimulus_id': 'a', 'object_name': 'face'}, {'stimulus_id': 'b', 'object_name': 'car'}])
    >>> stimuli.stimulus_paths = {'a': '/stimuli/a.png', 'b': '/stimuli/b.png'}
    >>> stimuli.name = 'MyExperiment2024'
    >>> faces = stimuli[stimuli['object_name'] == 'face']
    >>> faces.identifier, faces.get_stimulus('a')
    ('MyExperiment2024', '/stimuli/a.png')
    """

    # Names in `_internal_names_set` are never looked up as columns.
    _metadata: list[str] = ["identifier", "stimulus_paths", "original_paths"]  # noqa: RUF012 -- pandas' own declaration
    _internal_names_set: set[str] = {*pd.DataFrame._internal_names_set, "name"}  # type: ignore[attr-defined]  # noqa: RUF012, SLF001 -- documented extension point, absent from the stubs

    identifier = _SideAttribute("Set it: stimulus_set.identifier = '<AuthorYear>'.")
    stimulus_paths = _SideAttribute("Set it: stimulus_set.stimulus_paths = {stimulus_id: path, ...}.")
    original_paths = _SideAttribute("It is only there after stimuli have been converted.")

    def __init__(
        self, data: Any = None, index: Any = None, columns: Any = None, dtype: Any = None, copy: bool | None = None
    ) -> None:
        super().__init__(data=data, index=index, columns=columns, dtype=dtype, copy=copy)  # type: ignore[call-arg]  # the stubs know __new__ only
        if isinstance(data, StimulusSet):
            _take_over(self, [data])

    @property
    def _constructor(self) -> Callable[..., StimulusSet]:
        return type(self)

    @property
    def name(self) -> Any:
        """The identifier under its other name."""
        if "_group_key" in self.__dict__:
            return self.__dict__["_group_key"]
        return self.identifier

    @name.setter
    def name(self, group_key: object) -> None:
        # Only pandas comes here, by `object.__setattr__(group, 'name', key)` in groupby.apply; others by `__setattr__`.
        self.__dict__["_group_key"] = group_key

    def __setattr__(self, name: str, value: Any) -> None:  # final in pandas, but `name` has two meanings
        if name == "name":
            self.__dict__.pop("_group_key", None)
            name = "identifier"
        super().__setattr__(name, value)

    def __finalize__(self, other: Any, method: str | None = None, **kwargs: Any) -> StimulusSet:
        """Take the attributes of the table(s) that this one was made from."""
        super().__finalize__(other, method=method, **kwargs)  # type: ignore[misc]  # public in pandas, absent from the stubs
        if not isinstance(other, pd.DataFrame):
            _take_over(self, _inputs(other))
        return self

    def get_stimulus(self, stimulus_id: Hashable) -> Any:
        """Return the path of one stimulus from `stimulus_paths`; raise `UnknownIdentifierError` if there is none."""
        try:
            return self.stimulus_paths[stimulus_id]
        except KeyError:
            paths = self.stimulus_paths
            hint = did_you_mean(stimulus_id, paths)
            if not hint and paths and type(next(iter(paths))) is not type(stimulus_id):
                hint = f" The known identifiers are of type {type(next(iter(paths))).__name__}."
            raise UnknownIdentifierError(
                f"No stimulus {stimulus_id!r} in stimulus set {getattr(self, 'identifier', '(without identifier)')!r} "
                f"({len(paths)} known).{hint}"
            ) from None

    @classmethod
    def get_loader_class(cls) -> type[StimulusSetLoader]:
        """Return the class that `from_files` loads with."""
        return StimulusSetLoader

    @classmethod
    def from_files(cls, csv_path: str | Path, dir_path: str | Path, **kwargs: Any) -> StimulusSet:
        """Load a stimulus set with its loader class."""
        return cls.get_loader_class()(cls=cls, csv_path=csv_path, stimuli_directory=dir_path, **kwargs).load()


def _inputs(other: object) -> list[StimulusSet]:
    # What concat and merge were given: `input_objs` since pandas 3.1; before, `objs` (concat) or `left` and `right`.
    candidates: Iterable[object]
    if hasattr(other, "input_objs"):
        candidates = other.input_objs
    elif hasattr(other, "objs"):
        candidates = other.objs
    else:
        candidates = (getattr(other, "left", None), getattr(other, "right", None))
    return [candidate for candidate in candidates if isinstance(candidate, StimulusSet)]


def _take_over(target: StimulusSet, sources: list[StimulusSet]) -> None:
    identifiers = {source.identifier for source in sources if hasattr(source, "identifier")}
    target.identifier = identifiers.pop() if len(identifiers) == 1 else None
    target.stimulus_paths = _joined([source.stimulus_paths for source in sources if hasattr(source, "stimulus_paths")])
    target.original_paths = _joined([source.original_paths for source in sources if hasattr(source, "original_paths")])


def _joined(mappings: list[Mapping[Hashable, Any]]) -> Mapping[Hashable, Any] | None:
    """Join mappings; None if there is none or two contradict each other."""
    if not mappings:
        return None
    if all(mapping is mappings[0] for mapping in mappings):
        return mappings[0]
    joined: dict[Hashable, Any] = {}
    for mapping in mappings:
        for key, value in mapping.items():
            if str(joined.setdefault(key, value)) != str(value):
                return None
    return joined


class StimulusSetLoader:
    """Load a stimulus set from a table and a folder of files.

    Parameters
    ----------
    csv_path
        Table with the columns ``stimulus_id`` (or ``image_id`` in older files) and ``filename``; see `read_table`.
    stimuli_directory
        Folder that the file names are relative to.
    """

    def __init__(self, cls: type[StimulusSet], csv_path: str | Path, stimuli_directory: str | Path) -> None:
        self.stimulus_set_class = cls
        self.csv_path = csv_path
        self.stimuli_directory = stimuli_directory

    def load(self) -> StimulusSet:
        """Return the stimulus set with `stimulus_paths` set, but no identifier.

        Raises `StimulusError` if identifiers or file names are missing, ambiguous or unsafe; `MissingStimulusError` if
        files are absent.
        """
        stimulus_set = self.stimulus_set_class(read_table(Path(self.csv_path)))
        self.correct_stimulus_id_name(stimulus_set)
        absent = [column for column in ("stimulus_id", "filename") if column not in stimulus_set.columns]
        if absent:
            raise StimulusError(
                f"{self.csv_path} has no column {' and no column '.join(map(repr, absent))}; "
                f"its columns are {list(stimulus_set.columns)}."
            )
        directory = Path(self.stimuli_directory)
        self._check_rows(stimulus_set)
        filenames = stimulus_set["filename"].astype(str)
        outside = [name for name in filenames if name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name)]
        if outside:
            raise StimulusError(
                f"{self.csv_path} lists files outside of its folder ({', '.join(map(repr, outside[:_EXAMPLES]))}); "
                "expected plain names of files, or paths relative to that folder."
            )
        stimulus_set.stimulus_paths = {
            stimulus_id: directory / filename
            for stimulus_id, filename in zip(stimulus_set["stimulus_id"].tolist(), filenames, strict=True)
        }
        self._check_files(stimulus_set.stimulus_paths)
        return stimulus_set

    def _check_rows(self, stimuli: pd.DataFrame) -> None:
        ids, names = stimuli["stimulus_id"], stimuli["filename"]
        problems = [
            f"row {row}: {column} is empty"  # counted as in a text editor: the header is line 1
            for column in ("stimulus_id", "filename")
            for row in (stimuli.reset_index(drop=True).index[stimuli[column].isna().to_numpy()] + 2).tolist()
        ]
        for name in names.dropna().astype(str):
            if len(name) <= _LONGEST_NAME // 4:
                continue
            sizes = [len(part.encode("utf-8", "surrogatepass")) for part in re.split(r"[/\\]", name)]
            if max(sizes) > _LONGEST_NAME or sum(sizes) + len(sizes) - 1 > _LONGEST_PATH:
                problems.append(f"{name[:60]!r}...: a part of this file name is longer than {_LONGEST_NAME} bytes")
        pairs = pd.DataFrame({"id": ids.to_numpy(), "name": names.to_numpy()}).dropna().drop_duplicates()
        twice = pairs[pairs["id"].duplicated(keep=False)]
        problems += [
            f"stimulus_id {key!r} is given to {' and '.join(map(repr, group['name'].tolist()[:3]))}"
            for key, group in twice.groupby("id", sort=False)
        ]
        if problems:
            raise StimulusError(
                f"{self.csv_path} is no table of stimuli:{listed(problems, _EXAMPLES)}\nEvery row needs a stimulus_id "
                "of its own and the name of a file. Correct the table and package it anew."
            )

    @classmethod
    def correct_stimulus_id_name(cls, stimulus_set: pd.DataFrame) -> None:
        """Add the column ``stimulus_id`` to a table with only the older ``image_id``, which stays."""
        if "image_id" in stimulus_set.columns and "stimulus_id" not in stimulus_set.columns:
            stimulus_set["stimulus_id"] = stimulus_set["image_id"]

    def _check_files(self, stimulus_paths: Mapping[Hashable, Path]) -> None:
        missing = {stimulus_id: path for stimulus_id, path in stimulus_paths.items() if not path.is_file()}
        if not missing:
            return
        examples = listed([f"{stimulus_id!r}: {path}" for stimulus_id, path in missing.items()], _EXAMPLES)
        raise MissingStimulusError(
            f"{len(missing)} of {len(stimulus_paths)} stimulus files listed in {self.csv_path} do not exist:{examples}"
            f"\nRemove the folder {self.stimuli_directory} and load again to have it extracted anew."
        )
