"""The command ``brainscore export``: write records as a table."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError, RequirementsError, count
from brainscore_core.files import atomic_path, check_writable
from brainscore_vision.catalogue.completion import complete_model
from brainscore_vision.commands.options import BenchmarksOption, RecordsOption

__all__ = ["export"]

_INTERVALS = ("interval", "raw_interval", "ceiling_interval")


def export(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="file to write: .csv or .parquet", show_default=False)],
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL...", help="only these models (default: all)", autocompletion=complete_model),
    ] = None,
    benchmark: BenchmarksOption = None,
    records: RecordsOption = None,
) -> int:
    """Write the records as a table, with a row for each pair and a column for each field.

    Layers, versions and other nested fields are JSON text. Parquet files need pyarrow (pip install pyarrow).
    """
    if path.suffix not in (".csv", ".parquet"):
        raise ConfigurationError(f"{path} ends with {path.suffix!r}; expected a file that ends with .csv or .parquet.")
    check_writable(path)  # before the records are read
    import pandas as pd  # this and the next: slow to import, and completion does without

    from brainscore_core.records.record import ScoreRecord
    from brainscore_vision.commands.records import chosen_records

    selection = chosen_records(records, model, benchmark)
    columns = [column for field in dataclasses.fields(ScoreRecord) for column in _columns(field.name)]
    rows = []
    for record in selection:
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
                    "Parquet files need pyarrow (pip install pyarrow). Install it, or write a .csv file."
                ) from error
    command_line.say(f"Written: {path}, {count(len(table), 'record')}.")
    return 0


def _columns(field: str) -> tuple[str, ...]:
    return (f"{field}_low", f"{field}_high") if field in _INTERVALS else (field,)


def _cell(value: object) -> object:
    from brainscore_core.untrusted import in_spreadsheet  # slow to import, see `export`

    return in_spreadsheet(value) if isinstance(value, str) else value
