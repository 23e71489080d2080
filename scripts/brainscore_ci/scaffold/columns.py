"""Read tables as text, and recognise columns by a closed list of names."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from brainscore_core.errors import ConfigurationError, count, did_you_mean

NAMES: Mapping[str, tuple[str, ...]] = {
    "stimulus": (
        *("stimulus_id", "stimulus", "stimulus_name", "stim", "stim_id"),
        *("image_id", "image", "image_name", "picture", "picture_id", "picture_name"),
    ),
    "file": (
        *("filename", "file_name", "file", "path", "stimulus_filename", "stimulus_path", "stimulus_file"),
        *("image_filename", "image_path", "image_file", "picture_path", "picture_file"),
    ),
    "neuron": (
        *("neuroid_id", "neuroid", "neuron_id", "neuron", "unit_id", "unit", "cell_id", "cell", "site_id", "site"),
        *("electrode", "channel", "voxel_id", "voxel"),
    ),
    "repetition": ("repetition", "repetition_id", "rep", "repeat", "trial", "trial_id", "presentation"),
    "session": ("session", "session_id"),
    "run": ("run", "run_id"),
    "value": ("value", "response", "rate", "firing_rate", "spike_count", "count", "spikes", "activity", "dff", "beta"),
    "spike_time": ("spike_time", "spike_times", "spike_time_ms", "spike_ms"),
    "time_start": ("time_bin_start", "time_start", "bin_start", "start_ms", "time_bin", "time", "time_ms"),
    "time_end": ("time_bin_end", "time_end", "bin_end", "end_ms"),
    "region": ("region", "area", "brain_area", "brain_region"),
    "subject": ("subject", "subject_id", "participant", "participant_id", "observer", "animal", "animal_id", "monkey"),
    "choice": ("choice", "object_response", "answer"),
    "sample": ("sample_object", "sample_obj"),
    "distractor": ("distractor_object", "distractor", "distractor_obj", "dist_object", "dist_obj"),
    "truth": ("truth", "correct_response", "correct_answer", "true_label", "category", "object_name"),
}
"""Role -> names, in any case, with ``_``, ``-``, ``.`` or spaces between words."""

IGNORE = "ignore"
_SEPARATORS = ",;\t"
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
_SHOWN = 5


@dataclass(frozen=True)
class TextTable:
    """A table of texts."""

    file: Path
    rows: pd.DataFrame  # its index counts the lines of the file from 1, so the first row is at 2
    chosen: Mapping[str, str]  # role -> column, as the person said
    ignored: frozenset[str]

    @property
    def names(self) -> list[str]:
        """Columns in order."""
        return [str(name) for name in self.rows]

    def column(self, role: str) -> str | None:
        """Return the column with a role; None if there is none.

        Raises `ConfigurationError` if several may have it.
        """
        if self.chosen.get(role) in self.names:
            return self.chosen[role]
        taken = {*self.chosen.values(), *self.ignored}
        folded = {name: re.sub(r"[\s.-]+", "_", name.strip().lower()) for name in self.names if name not in taken}
        names = [name for name, plain in folded.items() if plain in NAMES[role]]
        if len(names) > 1:
            first = names[0] if re.fullmatch(r"\w+", names[0]) else f"'{names[0]}'"
            raise self.error(f"{_quoted(names)} may each be the {role}. Choose one: --column {role}={first}")
        return names[0] if names else None

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """Role -> column."""
        return {role: column for role in NAMES if (column := self.column(role)) is not None}

    @property
    def others(self) -> list[str]:
        """Columns without a role that are not ignored."""
        return [name for name in self.names if name not in self.columns.values() and name not in self.ignored]

    def texts(self, role: str) -> pd.Series[str]:
        """Return a column without spaces around its texts.

        Raises `ConfigurationError` if no column has the role, or cells are empty.
        """
        column = self.column(role)
        if column is None:
            raise self.error(
                f"no column is recognised as the {role}. Its columns are {_quoted(self.names)}; recognised names are "
                f"{', '.join(NAMES[role])}. Choose one: --column {role}=NAME"
            )
        texts = self.rows[column].str.strip()
        empty = texts.index[texts == ""]
        if len(empty):
            raise self.error(
                f"{count(len(empty), 'empty cell')} in {column!r} (line {examples(empty)}). Fill them in, or "
                "remove those lines."
            )
        return texts

    def numbers(self, columns: Sequence[str], *, missing: bool = True) -> npt.NDArray[np.float64]:
        """Return columns as numbers, shape (rows, columns); empty cells and ``NA`` are NaN if `missing`.

        Raises `ConfigurationError` for cells that are not finite numbers.
        """
        texts = self.rows[list(columns)].apply(lambda column: column.str.strip())
        values = np.asarray(texts.apply(pd.to_numeric, errors="coerce"), dtype=float)
        is_missing = texts.apply(lambda column: column.str.lower().isin(_MISSING)).to_numpy() if missing else False
        wrong = np.argwhere(~np.isfinite(values) & ~is_missing)
        if len(wrong):
            cells = [
                f"line {texts.index[row]}, column {columns[column]!r}: {texts.iloc[row, column]!r}"
                for row, column in wrong
            ]
            is_comma = re.fullmatch(r"-?\d+,\d+", texts.iloc[*wrong[0]])
            fix = "Write decimal points, not commas" if is_comma else "Correct them"
            leave_out = "" if len(columns) == 1 else ", or leave a column out: --column ignore=NAME"
            raise self.error(f"not every cell is a number ({examples(cells, '; ')}). {fix}{leave_out}.")
        return values

    def error(self, message: str) -> ConfigurationError:
        """Return an error that names the file."""
        return ConfigurationError(f"{self.file.name}: {message}")


def read_table(file: Path, said: Sequence[str]) -> TextTable:
    """Read a table, separated by commas, semicolons or tabs, in UTF-8; values stay texts.

    `said`: ``role=column`` where `NAMES` lacks the name; ``ignore=column`` leaves one out.

    Raises `ConfigurationError` if the file is absent, unreadable, or has no rows, or a role is unknown.
    """
    chosen, ignored = _chosen(said)
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            header = stream.readline()
            stream.seek(0)
            separator = max(_SEPARATORS, key=header.count)
            # Empty lines are kept: the index must count lines.
            rows = pd.read_csv(stream, sep=separator, dtype=str, keep_default_na=False, skip_blank_lines=False)
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        why = "it is empty" if isinstance(error, pd.errors.EmptyDataError) else str(error)
        fix = "Save it as comma-separated text in UTF-8, with a line of column names."
        raise ConfigurationError(f"{file.name} is not a table: {why}. {fix}") from None
    names = next(csv.reader([header], delimiter=separator))
    if not isinstance(rows.index, pd.RangeIndex):
        raise ConfigurationError(f"{file.name} is not a table: its rows have more cells than its {len(names)} columns.")
    # Tables often start with the unnamed index of pandas, and end with empty columns of a spreadsheet.
    rows = rows.loc[:, [bool(name.strip()) for name in names]]
    twice = sorted({name for name in names if name.strip() and names.count(name) > 1})
    if twice:
        raise ConfigurationError(f"{file.name} has duplicate columns ({examples(twice)}). Rename or remove them.")
    rows.index += 2
    rows = rows.fillna("")
    rows = rows[(rows != "").any(axis=1)]
    if not len(rows):
        raise ConfigurationError(f"{file.name} has no rows below its column names, {_quoted(names)}.")
    return TextTable(file, rows, chosen, ignored)


def _chosen(said: Sequence[str]) -> tuple[dict[str, str], frozenset[str]]:
    chosen: dict[str, str] = {}
    ignored: set[str] = set()
    for words in said:
        role, equals, column = words.partition("=")
        roles = [*NAMES, IGNORE]
        if not equals or role not in roles:
            raise ConfigurationError(
                f"--column is {words!r}; expected ROLE=NAME, such as stimulus=picture_name. Roles are "
                f"{', '.join(roles)}.{did_you_mean(role, roles)}"
            )
        if role == IGNORE:
            ignored.add(column)
        elif chosen.setdefault(role, column) != column:
            raise ConfigurationError(f"--column names two columns as {role}: {chosen[role]!r} and {column!r}.")
    return chosen, frozenset(ignored)


def check_chosen(tables: Sequence[TextTable]) -> None:
    """Raise a `ConfigurationError` if no table has a named column."""
    known = [name for table in tables for name in table.names]
    for column in (*tables[0].chosen.values(), *sorted(tables[0].ignored)):
        if column not in known:
            columns = "; ".join(f"{table.file.name} has {_quoted(table.names)}" for table in tables)
            raise ConfigurationError(f"--column names {column!r}, but {columns}.{did_you_mean(column, known)}")


def examples(values: Iterable[object], separator: str = ", ") -> str:
    """Return the first five values, and the number of others."""
    values = list(values)
    more = f"{separator}and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return separator.join(map(str, values[:_SHOWN])) + more


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
