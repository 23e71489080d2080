"""Python figures match the site: the same colours and the same numbers as its columns."""

import itertools
import re
import string
from pathlib import Path

import numpy as np
import pytest

import brainscore_web.leaderboard
from brainscore_core.plots.figures import THEMES
from brainscore_core.records.comparison import compare_on_average, compare_records
from brainscore_web.leaderboard.computing import compute
from brainscore_web.leaderboard.made_up import MadeUp
from brainscore_web.leaderboard.sources import FolderSource, pair_of
from brainscore_web.leaderboard.workers import Workers

STATIC = Path(brainscore_web.leaderboard.__file__).parent / "static"
MADE = MadeUp.of("30x14", seed=3)
RECORDS = list(MADE.records())
MODELS = sorted({record.model for record in RECORDS})


def test_colours_equal_the_style_sheet():
    told = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", (STATIC / "board.css").read_text())
    for column, name in enumerate(("light", "dark")):
        of = {each[0]: each[1 + column] for each in told}
        theme = THEMES[name]
        assert [theme.ground, theme.text, theme.muted, theme.line] == [
            of[x] for x in ("ground", "text", "muted", "line")
        ]
        assert list(theme.series) == [of[f"series-{number}"] for number in range(1, 7)]


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """Return the columns that a build computes."""
    records, scratch = (tmp_path_factory.mktemp(name) for name in ("records", "scratch"))
    MADE.write(records)
    source, paths = FolderSource(records), {}
    for path in source.paths():
        benchmark, model = pair_of(path)
        paths.setdefault(benchmark, {})[model] = path
    with Workers(1, 0) as workers:
        return compute(source, MADE.catalogue, paths, {}, scratch, workers)


def assert_same(compared, column):
    """Assert that a comparison and a column of the board agree on every model."""
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


@pytest.mark.parametrize("rule", ["complete", "zero", "left out"])
@pytest.mark.parametrize("node", ["average", "neural", "V4", "behavior", "engineering"])
def test_averages_equal_the_board(board, node, rule):
    entries = (*MADE.catalogue.nodes, *MADE.catalogue.benchmarks)
    parents = {each.identifier: each.parent for each in entries if each.parent}
    column = board.averages[node].get(rule, board.columns[node])
    assert_same(compare_on_average(RECORDS, MODELS, node, parents, missing=rule), column)


def test_incomplete_models_are_unranked(board):
    column, left_out = board.columns["neural"], board.averages["neural"]["left out"]
    incomplete = {model for model, lacks in zip(column.models, column.missing, strict=True) if lacks}
    assert 0 < len(incomplete) < len(column.models)
    assert set(column.unranked) == incomplete
    numbers = (column.value, column.low, column.rank, column.rank_low, column.group)
    for model, lacks, n, mean, *own in zip(
        column.models, column.missing, column.n, left_out.value, *numbers, strict=True
    ):
        if model in incomplete:
            assert column.unranked[model] == (mean, f"{n - lacks} of {n}")
            assert own == [None, None, None, None, ""]
        else:
            assert own[0] == pytest.approx(mean, abs=1e-12)


def test_benchmarks_equal_the_board(board):
    for benchmark in list(MADE.catalogue.benchmarks)[:4]:
        of_benchmark = [each for each in RECORDS if each.benchmark == benchmark.identifier]
        (compared,) = compare_records(of_benchmark, sorted({each.model for each in of_benchmark}))
        assert_same(compared, board.columns[benchmark.identifier])


def runs_of(text):
    """Return the letters of a model as numbers, and whether they end with a mark."""
    names = ["", *string.ascii_lowercase, *map("".join, itertools.product(string.ascii_lowercase, repeat=2))]
    runs, mark = text.rstrip("+"), text.endswith("+")
    if "-" in runs:
        first, last = map(names.index, runs.split("-"))
        return set(range(first, last + 1)), mark
    return set(map(names.index, runs.split(","))), mark


@pytest.mark.slow
def test_columns_of_a_large_board_are_consistent(tmp_path, build_site, read):
    """Ranks, letters and differences agree for all pairs of 120 models on all nodes over 40 benchmarks, in all files
    of the site and under each rule for missing scores."""
    made = MadeUp.of("120x40")
    records, n_pairs, n_single = list(made.records()), 0, 0
    site = build_site(tmp_path, made)
    board = read(site, "board")
    names = board["models"]["id"]
    files = [(name, column) for name, column in zip(board["top"], board["columns"].values(), strict=True)]
    slugs = {slug: node for node, slug in enumerate(board["nodes"]["slug"])}
    for rule in ("columns", "zero", "left-out"):
        files += [(slugs[file.stem], read(site, f"{rule}/{file.stem}")) for file in (site / "data" / rule).glob("*.js")]
    assert len(files) == len(slugs) + 2 * sum(board["nodes"]["counts"]) - 2 * sum(
        leaf and counts for leaf, counts in zip(board["nodes"]["leaf"], board["nodes"]["counts"], strict=True)
    )
    for node, column in files:
        of_node = [record for record in records if record.benchmark == board["nodes"]["id"][node]]
        differs = compare_records(of_node, names)[0].comparison.differs if of_node else None
        ranked = [at for at, rank in enumerate(column["rank"]) if rank is not None]
        runs = {at: runs_of(column["group"][at]) for at in ranked}
        # Models shown with some scores missing, or on another version, have no rank, interval or letter.
        assert not set(map(int, column["unranked"])) & set(ranked)
        for at in set(range(len(names))) - set(ranked):
            assert (column["low"][at], column["rank_low"][at], column["group"][at]) == (None, None, "")
        for a in ranked:
            low, high = column["rank_low"][a], column["rank_high"][a]
            shares = [b for b in ranked if b != a and runs[a][0] & runs[b][0]]
            assert (low == high) == (not shares and not runs[a][1]), (node, a)
            n_single += low == high
            for b in ranked:
                if b == a:
                    continue
                n_pairs += 1
                if b in shares:
                    assert max(low, column["rank_low"][b]) <= min(high, column["rank_high"][b])
                    assert differs is None or not differs[a, b]
                elif not (runs[a][1] and runs[b][1]):
                    assert differs is None or differs[a, b]
                    worse = a if column["value"][a] < column["value"][b] else b
                    assert column["rank_low"][worse] > 1
                    assert column["rank_high"][a + b - worse] < len(ranked)
    assert n_pairs > 600_000
    assert n_single >= 3
