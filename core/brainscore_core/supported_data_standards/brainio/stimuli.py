"""Hold stimuli: a table with one row per stimulus, an identifier and the paths of the files."""

from __future__ import annotations

import csv
import io
import logging
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd

from brainscore_core.errors import MissingStimulusError, StimulusError, UnknownIdentifierError, did_you_mean, listed
from brainscore_core.files import atomic_path
from brainscore_core.identity.digest import file_digest
from brainscore_core.validation.standards import FILENAME, PATH_WITHIN_STORE, STIMULUS_ID

__all__ = ["StimulusSet", "StimulusSetLoader", "read_table"]


# -- tables ------------------------------------------------------------------------------------------------------------
#
# Write and read the table of a stimulus set.


logger = logging.getLogger(__name__)

# These are not published.
_LOCAL_COLUMNS = ("stimulus_current_local_file_path", PATH_WITHIN_STORE)
# One field of a comma separated line: in quotes (a quote inside is doubled) or bare.
_CSV_FIELD = re.compile(r'("(?:[^"]|"")*"|[^,\r\n]*)(,|\r\n?|\n|\Z)')


def create_stimulus_csv(proto_stimulus_set: pd.DataFrame, target_path: str | Path) -> str:
    r"""Write the table of a stimulus set, atomically, and return its SHA-1 digest.

    Columns: ``stimulus_id``, others in alphabetical order, ``filename``, without those that only matter on this
    machine. Texts are quoted: ``'007'`` must not be read as 7. Missing values are empty. Encoding UTF-8, lines end with
    ``\n``.
    """
    first, last = [STIMULUS_ID], [FILENAME]
    columns = [column for column in proto_stimulus_set.columns if column not in _LOCAL_COLUMNS]
    ordered = [
        *(column for column in first if column in columns),
        *sorted(column for column in columns if column not in first + last),
        *(column for column in last if column in columns),
    ]
    values = [list(map(_plain_value, proto_stimulus_set[column].tolist())) for column in ordered]
    with atomic_path(target_path) as temporary:
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            writer.writerow(ordered)
            writer.writerows(zip(*values, strict=True))
        return file_digest(temporary)


def _plain_value(value: Any) -> Any:
    """Return a value that the csv module writes identically under all versions of NumPy and pandas."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, bool, int)):
        return value
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return ""
    return value if isinstance(value, float) else str(value)


def read_table(path: Path) -> pd.DataFrame:
    """Read the table of a stimulus set.

    If the header is quoted, as by `create_stimulus_csv`, quoted values are text (``"007"`` stays ``'007'``); otherwise
    pandas infers the types.
    """
    text = _read_text(path)
    records = _csv_records(text)
    header = [name[1:-1].replace('""', '"') if name.startswith('"') else name for name in next(records, [])]
    twice = sorted({name for name in header if header.count(name) > 1})
    if {"stimulus_id", "image_id", "filename"}.intersection(twice):
        raise StimulusError(f"{path} has duplicate columns ({', '.join(twice)}), so it is unclear which one to use.")
    if twice:
        logger.warning("%s has duplicate columns; pandas numbers them ('name', 'name.1'): %s", path, twice)
    options: dict[str, Any] = {}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        options["float_precision"] = "round_trip"  # numbers come back as they were written; later versions always do
    if text[:1] == '"':
        quoted = {index for row in records for index, field in enumerate(row) if field[:1] == '"' and field != '""'}
        options["dtype"] = {column: str for index, column in enumerate(header) if index in quoted}
        # In such a table only an empty field is a missing value; 'NA' or 'None' are words.
        options |= {"keep_default_na": False, "na_values": [""]}
    try:
        table: pd.DataFrame = pd.read_csv(io.StringIO(text), **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise StimulusError(f"{path} is not a table of comma-separated values: {error}.") from error
    if len(table.columns) != len(header) or not isinstance(table.index, pd.RangeIndex):
        raise StimulusError(f"The rows of {path} have more fields than its header, {header}.")
    return table


def _read_text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:  # spreadsheet programs begin with a mark (BOM)
            text = stream.read()
    except UnicodeDecodeError as error:
        raise StimulusError(f"{path} is damaged or not text in UTF-8: {error}. Fetch or write it again.") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise StimulusError(f"{path} is damaged: line {line} holds a NUL byte. Fetch or write it again.")
    return text


def _csv_records(text: str) -> Iterator[list[str]]:
    record: list[str] = []
    for match in _CSV_FIELD.finditer(text):
        if match.start() == len(text):
            return
        record.append(match[1])
        if match[2] != ",":
            yield record
            record = []


# -- stimulus sets -----------------------------------------------------------------------------------------------------


_EXAMPLES = 10
_LONGEST_NAME, _LONGEST_PATH = 255, 3_000  # bytes; Linux and macOS take 255 for each part, and 4,096 for all


class _SideAttribute:
    """An attribute in addition to the table; None unsets it (`AttributeError`).

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
    original_paths = _SideAttribute("It is only set after stimuli have been converted.")

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
                "expected plain file names, or paths relative to that folder."
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
                f"{self.csv_path} is not a valid table of stimuli:{listed(problems, _EXAMPLES)}\n"
                "Every row needs a unique stimulus_id and a file name. Correct the table and package it again."
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
            f"\nRemove the folder {self.stimuli_directory} and load again to extract it again."
        )
