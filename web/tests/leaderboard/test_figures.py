"""Figures in Python are those of the site: the same colours, and the numbers of its columns."""

import itertools
import re
import string
from pathlib import Path

import numpy as np
import pytest

import brainscore_web.leaderboard
from brainscore_core.plots.style import THEMES
from brainscore_core.records.comparison import compare_on_average, compare_records
from brainscore_web.leaderboard.computing import compute
from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.sources import FolderSource, pair_of
from brainscore_web.leaderboard.workers import Workers

STATIC = Path(brainscore_web.leaderboard.__file__).parent / "static"
MADE = MadeUp.of("30x14", seed=3)
RECORDS = list(MADE.records())
MODELS = sorted({record.model for record in RECORDS})


def test_colours_are_those_of_the_style_sheet():
    told = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", (STATIC / "board.css").read_text())
    for column, name in enumerate(("light", "dark")):
        of = {each[0]: each[1 + column] for each in told}
        theme = THEMES[name]
        assert [theme.ground, theme.text, theme.muted, theme.line] == [
            of[x] for x in ("ground", "text", "muted", "line")
        ]
        assert list(theme.series) == [of[f"series-{number}"] for number in range(1, 7)]


def columns_of(made, tmp_path_factory):
    """Return the columns that a build computes."""
    records, scratch = (tmp_path_factory.mktemp(name) for name in ("records", "scratch"))
    made.write(records)
    source, paths = FolderSource(records), {}
    for path in source.paths():
        benchmark, model = pair_of(path)
        paths.setdefault(benchmark, {})[model] = path
    with Workers(1, 0) as workers:
        return compute(source, made.catalogue, paths, scratch, workers).columns


@pytest.fixture(scope="module")
def columns(tmp_path_factory):
    return columns_of(MADE, tmp_path_factory)


def same(compared, column):
    """Tell whether a comparison and a column of the board say the same of every model."""
    places = [compared.models.index(model) for model in column.models]
    ranks = [compared.comparison.rank_intervals()[place] for place in places]
    for numbers, said in (
        ([compared.scores[place].value for place in places], column.value),
        ([compared.intervals[place][0] for place in places], column.low),
        ([compared.intervals[place][1] for place in places], column.high),
        ([low for low, _ in ranks], column.rank_low),
        ([high for _, high in ranks], column.rank_high),
    ):
        np.testing.assert_allclose(numbers, np.array(said, dtype=float), rtol=0, atol=1e-12)
    assert [compared.letters[place] for place in places] == column.group
    assert [compared.n_scored[place] for place in places] == [
        n - missing for n, missing in zip(column.n, column.missing, strict=True)
    ]


@pytest.mark.parametrize("node", ["average", "neural", "V4", "behavior", "engineering"])
def test_averages_are_those_of_the_board(columns, node):
    entries = (*MADE.catalogue.nodes, *MADE.catalogue.benchmarks)
    parents = {each.identifier: each.parent for each in entries if each.parent}
    same(compare_on_average(RECORDS, MODELS, node, parents), columns[node])


def test_benchmarks_are_those_of_the_board(columns):
    for benchmark in list(MADE.catalogue.benchmarks)[:4]:
        of_benchmark = [each for each in RECORDS if each.benchmark == benchmark.identifier]
        (compared,) = compare_records(of_benchmark, sorted({each.model for each in of_benchmark}))
        same(compared, columns[benchmark.identifier])


def runs_of(text):
    """Return the letters of a model as numbers, and whether it is marked."""
    names = ["", *string.ascii_lowercase, *map("".join, itertools.product(string.ascii_lowercase, repeat=2))]
    runs, mark = text.rstrip("+"), text.endswith("+")
    if "-" in runs:
        first, last = map(names.index, runs.split("-"))
        return set(range(first, last + 1)), mark
    return set(map(names.index, runs.split(","))), mark


@pytest.mark.slow
def test_no_column_of_a_large_board_contradicts_itself(tmp_path_factory):
    """All pairs of 120 models on all nodes over 40 benchmarks: ranks, letters and differences say the same."""
    made = MadeUp.of("120x40")
    records, n_pairs, n_single = list(made.records()), 0, 0
    for name, column in columns_of(made, tmp_path_factory).items():
        of_node = [record for record in records if record.benchmark == name]
        differs = None
        if of_node:
            differs = compare_records(of_node, column.models)[0].comparison.differs
        ranked = [at for at, rank in enumerate(column.rank) if rank is not None]
        runs = {at: runs_of(column.group[at]) for at in ranked}
        for a in ranked:
            low, high = column.rank_low[a], column.rank_high[a]
            shares = [b for b in ranked if b != a and runs[a][0] & runs[b][0]]
            assert (low == high) == (not shares and not runs[a][1]), (name, a)
            n_single += low == high
            for b in ranked:
                if b == a:
                    continue
                n_pairs += 1
                if b in shares:
                    assert max(low, column.rank_low[b]) <= min(high, column.rank_high[b])
                    assert differs is None or not differs[a, b]
                elif not (runs[a][1] and runs[b][1]):
                    assert differs is None or differs[a, b]
                    worse = a if column.value[a] < column.value[b] else b
                    assert column.rank_low[worse] > 1
                    assert column.rank_high[a + b - worse] < len(ranked)
    assert n_pairs > 300_000
    assert n_single >= 5
