"""Read scores as a table, and compare models from it: which is better, and how certain that is."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError, DataNotHereError, did_you_mean
from brainscore_core.records.comparison import ComparedModels, averages_of, compare_records
from brainscore_core.records.published import is_address, read_board
from brainscore_core.records.store import FolderStore

if TYPE_CHECKING:
    from brainscore_core.records.record import ScoreRecord

__all__ = ["ComparedScores", "compare", "load_scores"]

_FIELDS = ("model", "benchmark", "score", "error", "raw", "ceiling", "status", "simulated", "n_stimuli", "n_neuroids")
_MODELS = ["benchmark", "model", "score", "low", "high", "rank", "group"]
_PAIRS = ["benchmark", "model", "other", "difference", "error", "low", "high", "p_holm", "better", "is_paired"]


def load_scores(place: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return the scores in a folder of records, or of a published board, as a table with a row for each pair.

    Parameters
    ----------
    place : str or path, optional
        Folder of records (None: where scoring writes them), or address or folder of a leaderboard.

    Returns
    -------
    pandas.DataFrame
        Columns ``model``, ``benchmark``, ``score`` (after the ceiling), ``error`` (standard error), ``low``, ``high``
        (95 % interval), ``raw``, ``ceiling``, ``version`` (of the benchmark), ``date`` (UTC), ``status``,
        ``simulated``, ``n_stimuli``, ``n_neuroids`` and ``record``, the `ScoreRecord` with everything else, where
        `compare` finds the influences of stimuli and units. Missing numbers are NaN; a board publishes no raw scores,
        ceilings and dates.

    Raises
    ------
    DataNotHereError
        If there is no record.
    """
    folder = settings().home / "scores" if place is None else Path(place)
    is_board = is_address(place) or (folder / "data" / "board.json").is_file()
    if is_board:
        with tempfile.TemporaryDirectory() as downloads:
            records = read_board(os.fspath(place or folder), Path(downloads))[1]
    else:
        records = FolderStore(folder).whole()
    if not records:
        raise DataNotHereError(
            f"There are no records in {place or folder}; expected <benchmark>/<model>.json, as scoring writes them, or "
            "a leaderboard. Score a model first, or pass another folder."
        )
    table = pd.DataFrame({name: [getattr(record, name) for record in records] for name in _FIELDS})
    intervals = [record.interval or (None, None) for record in records]
    table.insert(4, "low", pd.Series([low for low, _ in intervals], dtype=float))
    table.insert(5, "high", pd.Series([high for _, high in intervals], dtype=float))
    table.insert(8, "version", pd.Series([record.benchmark_version for record in records], dtype="Int64"))
    dates = ["" if is_board else record.created_in_utc for record in records]
    table.insert(9, "date", pd.to_datetime(dates, utc=True, errors="coerce", format="ISO8601"))
    numbers = ["score", "error", "raw", "ceiling", "n_stimuli", "n_neuroids"]
    return table.astype(dict.fromkeys(numbers, float)).assign(record=pd.Series(records, dtype=object))


@dataclass(frozen=True)
class ComparedScores:
    """Which models are better; ``print`` shows everything.

    Attributes
    ----------
    models : pandas.DataFrame
        A row for each benchmark and model, best first: score, 95 % interval, ``rank`` (its interval) and ``group``
        (models that share a letter do not differ significantly).
    differences : pandas.DataFrame
        A row for each benchmark and pair: ``difference`` (model minus other), ``error``, its 95 % interval, ``p_holm``
        (corrected for all pairs of the benchmark), ``better`` (the model, or None) and ``is_paired`` (whether both
        records keep how stimuli and units move the score; otherwise they count as independent).
    """

    models: pd.DataFrame
    differences: pd.DataFrame
    answers: tuple[str, ...] = field(repr=False)

    def __repr__(self) -> str:
        """Return the answers in words, then both tables."""
        tables = (table for table in (self.models, self.differences) if len(table))
        shown = (table.to_string(index=False, na_rep="-", float_format="{:.4f}".format) for table in tables)
        return "\n".join([*self.answers, *(f"\n{table}" for table in shown)])


def compare(
    scores: pd.DataFrame, models: Sequence[str] | None = None, benchmark: str | Sequence[str] | None = None
) -> ComparedScores:
    """Compare models on benchmarks, and on average if there are several, using their records.

    Parameters
    ----------
    scores
        Table of `load_scores`, or rows of it; several tables join by `pandas.concat`.
    models, benchmark
        Which ones; None: all of the table.

    Raises
    ------
    DataNotHereError
        If the table has no score of a named model or benchmark.
    """
    if not {"model", "benchmark", "record"} <= {*scores.columns}:
        raise ConfigurationError(
            f"The table has the columns {', '.join(map(str, scores.columns))}; expected those of load_scores(), "
            "including 'record', which holds the influences of stimuli and units on a score."
        )
    chosen = {}
    for what, named in ("benchmark", [benchmark] if isinstance(benchmark, str) else benchmark), ("model", models):
        known = scores[what].unique().tolist()
        chosen[what] = known if named is None else list(dict.fromkeys(named))
        if absent := [name for name in chosen[what] if name not in known]:
            raise DataNotHereError(f"There is no score of the {what} {absent[0]!r}.{did_you_mean(absent[0], known)}")
    everything: list[ScoreRecord] = scores.loc[scores["benchmark"].isin(chosen["benchmark"]), "record"].tolist()
    times = Counter((record.model, record.benchmark) for record in everything)
    if repeated := [pair for pair, number in times.items() if number > 1]:
        raise ConfigurationError(
            f"There are several scores of {' on '.join(repeated[0])}; expected one of each pair. Select one, for "
            "instance the newest: scores.sort_values('date').drop_duplicates(['model', 'benchmark'], keep='last')."
        )
    names = chosen["model"]
    compared = compare_records(everything, names)
    compared += averages_of(compared, [record for record in everything if record.model in names])
    return ComparedScores(
        pd.DataFrame([row for entry in compared for row in _models(entry)], columns=_MODELS),
        pd.DataFrame([row for entry in compared for row in _pairs(entry)], columns=_PAIRS),
        tuple(map(_answer, compared)),
    )


def _models(compared: ComparedModels) -> Iterator[tuple[object, ...]]:
    ranks, letters = compared.ranks, compared.letters
    for place in compared.order:
        model, score = compared.models[place], compared.scores[place].value
        yield compared.name, model, score, *compared.intervals[place], ranks[place], letters[place]


def _pairs(compared: ComparedModels) -> Iterator[tuple[object, ...]]:
    comparison = compared.comparison
    for pair in itertools.combinations(compared.order, 2):  # the better one first
        value, margin = comparison.differences[pair], comparison.margins[pair]
        first, second = (compared.models[place] for place in pair)
        better, is_paired = first if comparison.differs[pair] else None, bool(comparison.joint.is_matched[pair])
        numbers = value, comparison.joint.pair_errors[pair], value - margin, value + margin, comparison.p_holm[pair]
        yield compared.name, first, second, *numbers, better, is_paired


def _answer(compared: ComparedModels) -> str:
    first, *others = compared.order
    equal = [place for place in others if not compared.comparison.differs[first, place]]
    best = compared.models[first]
    if (n := sum(score.is_compared for score in compared.scores)) < 2:
        return f"{compared.name}: {f'{best} is the only one with' if n else 'no model has'} a score."
    if not equal:
        return f"{compared.name}: {best} is the best of {len(compared.models)}."
    names = ", ".join(compared.models[place] for place in equal)
    return f"{compared.name}: {best} has the highest score, but does not differ significantly from {names}."
