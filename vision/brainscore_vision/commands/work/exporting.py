"""Write records as a table."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from brainscore_core import command_line
from brainscore_core.errors import RequirementsError, count
from brainscore_core.files import atomic_path
from brainscore_core.records.record import ScoreRecord
from brainscore_core.untrusted import in_spreadsheet

__all__ = ["export"]

_INTERVALS = ("interval", "raw_interval", "ceiling_interval")


def export(path: Path, records: Sequence[ScoreRecord]) -> int:
    """Run ``brainscore export``."""
    columns = [column for field in dataclasses.fields(ScoreRecord) for column in _columns(field.name)]
    rows = []
    for record in records:
        row = dataclasses.asdict(record)
        for name, value in [*row.items()]:
            if name in _INTERVALS:
                row |= zip(_columns(name), value or (None, None), strict=True)
            elif isinstance(value, (dict, tuple)):
                row[name] = json.dumps(value, sort_keys=True)
        rows.append(row)
    table = pd.DataFrame(rows, columns=columns)
    with atomic_path(path) as temporary:
        if path.suffix == ".csv":
            table.map(_cell).to_csv(temporary, index=False)
        else:
            try:
                table.to_parquet(temporary, index=False, engine="pyarrow")
            except ImportError as error:
                raise RequirementsError(
                    "Files of Parquet need pyarrow: pip install pyarrow. Or write a .csv file."
                ) from error
    command_line.say(f"Written: {path}, {count(len(table), 'record')}.")
    return 0


def _columns(field: str) -> tuple[str, ...]:
    return (f"{field}_low", f"{field}_high") if field in _INTERVALS else (field,)


def _cell(value: object) -> object:
    return in_spreadsheet(value) if isinstance(value, str) else value
