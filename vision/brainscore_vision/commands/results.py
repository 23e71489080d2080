"""The command ``brainscore export``: write records as a table."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError, RequirementsError
from brainscore_vision.catalogue.completion import complete_model
from brainscore_vision.commands.recorded import BenchmarksOption, RecordsOption, chosen_records

if TYPE_CHECKING:
    import pandas as pd

    from brainscore_core.records.record import ScoreRecord

__all__ = ["export"]

_INTERVALS = ("interval", "raw_interval", "ceiling_interval")


def export(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="to write: .csv or .parquet", show_default=False)],
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL...", help="only these (default: all)", autocompletion=complete_model),
    ] = None,
    benchmark: BenchmarksOption = None,
    records: RecordsOption = None,
) -> int:
    """Write the records as a table: a row for each pair, a column for each field.

    Layers, versions and what else has parts are JSON text. Files of Parquet need pyarrow (pip install pyarrow).
    """
    if path.suffix not in (".csv", ".parquet"):
        raise ConfigurationError(f"{path} ends with {path.suffix!r}; expected a file that ends with .csv or .parquet.")
    chosen = chosen_records(records, model, benchmark)
    import pandas as pd

    from brainscore_core.files import atomic_path
    from brainscore_core.records.record import ScoreRecord

    columns = [column for field in dataclasses.fields(ScoreRecord) for column in _columns(field.name)]
    table = pd.DataFrame([dict(_cells(record)) for record in chosen], columns=columns)
    with atomic_path(path) as temporary:
        if path.suffix == ".csv":
            table.to_csv(temporary, index=False)
        else:
            _write_parquet(table, temporary)
    command_line.say(f"Written: {path}, {len(table)} records.")
    return 0


def _columns(field: str) -> tuple[str, ...]:
    return (f"{field}_low", f"{field}_high") if field in _INTERVALS else (field,)


def _cells(record: ScoreRecord) -> Iterator[tuple[str, object]]:
    for name, value in dataclasses.asdict(record).items():
        if name in _INTERVALS:
            yield from zip(_columns(name), value or (None, None), strict=True)
        else:
            yield name, json.dumps(value, sort_keys=True) if isinstance(value, (dict, tuple)) else value


def _write_parquet(table: pd.DataFrame, path: Path) -> None:
    try:
        table.to_parquet(path, index=False, engine="pyarrow")
    except ImportError as error:
        raise RequirementsError("Files of Parquet need pyarrow: pip install pyarrow. Or write a .csv file.") from error
