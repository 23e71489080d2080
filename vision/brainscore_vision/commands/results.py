"""The command ``brainscore export``: write records as a table."""

from pathlib import Path
from typing import Annotated

import typer

from brainscore_core.errors import ConfigurationError
from brainscore_core.files import check_writable
from brainscore_vision.catalogue.completion import complete_model
from brainscore_vision.commands.options import BenchmarksOption, RecordsOption

__all__ = ["export"]


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

    Layers, versions and other nested fields are JSON text. Files of Parquet need pyarrow (pip install pyarrow).
    """
    if path.suffix not in (".csv", ".parquet"):
        raise ConfigurationError(f"{path} ends with {path.suffix!r}; expected a file that ends with .csv or .parquet.")
    check_writable(path)  # before the records are read
    from brainscore_vision.commands.work import exporting, selection

    return exporting.export(path, selection.chosen_records(records, model, benchmark))
