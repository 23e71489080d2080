"""Write and read the table of a stimulus set."""

from __future__ import annotations

import csv
import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from brainscore_core.errors import StimulusError
from brainscore_core.files import atomic_path
from brainscore_core.identity.digest import file_digest
from brainscore_core.validation.standards import FILENAME, PATH_WITHIN_STORE, STIMULUS_ID

logger = logging.getLogger(__name__)

# These are not published.
_LOCAL_COLUMNS = ("stimulus_current_local_file_path", PATH_WITHIN_STORE)
# One field of a comma separated line: in quotes (a quote inside is doubled) or bare.
_CSV_FIELD = re.compile(r'("(?:[^"]|"")*"|[^,\r\n]*)(,|\r\n?|\n|\Z)')


def create_stimulus_csv(proto_stimulus_set: pd.DataFrame, target_path: str | Path) -> str:
    r"""Write the table of a stimulus set, atomically, and return its SHA-1 digest.

    Columns: ``stimulus_id``, others in alphabetical order, ``filename``, without those that only matter on this
    machine. Texts are quoted, so that ``'007'`` is not read as 7. Missing values are empty. Encoding UTF-8, lines end
    with ``\n``.
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
    """Return a value that the csv module writes alike under all versions of NumPy and pandas."""
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
        raise StimulusError(f"{path} has a column twice ({', '.join(twice)}); which one counts is not clear.")
    if twice:
        logger.warning("%s has columns twice; pandas numbers them ('name', 'name.1'): %s", path, twice)
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
        raise StimulusError(f"{path} is no table of comma-separated values: {error}.") from error
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
