import numpy as np
import pytest

from brainscore_core.records.record import ScoreRecord
from brainscore_core.statistics.influence import Influence
from brainscore_core.statistics.joint_errors import RESOLUTION
from brainscore_vision.__main__ import main


def matched(seed, gaps, own=0.3):
    """Return influences of models that find the same stimuli difficult."""
    rng = np.random.default_rng(seed)
    both = rng.standard_normal((200, 30))
    tables = [both + own * rng.standard_normal((200, 30)) for _ in gaps]
    return [Influence.of_mean(table, np.arange(200), np.arange(30)) for table in tables]


def tables(capsys, *arguments):
    """Run the command and return the rows of its tables, by the first word of their second column."""
    assert main(["compare", *arguments]) == 0
    found = {}
    for block in capsys.readouterr().out.strip("\n").split("\n\n"):
        header, *rows = ([cell.strip() for cell in line.split("  ") if cell.strip()] for line in block.splitlines())
        found[header[1]] = rows
    return found


def test_tables_show_scores_ranks_and_differences(records, capsys):
    found = tables(capsys, "a", "b")
    assert found["MODEL"] == [
        ["X.IT-pls", "a", "0.5000", "0.440 to 0.560", "1", "a"],
        ["X.IT-pls", "b", "0.4000", "0.320 to 0.480", "2", "b"],
        ["Y-i2n", "a", "0.2500", "-", "1", "a"],
        ["Y-i2n", "b", "failed", "-", "-", "-"],
    ]
    # errors of 0.03 and 0.04 give 0.05; p is a normal distribution beyond two errors on either side
    assert found["DIFFERENCE"] == [
        ["X.IT-pls", "b - a", "-0.1000 ~ 0.0500", "-0.198 to -0.002", "0.0455"],
        ["Y-i2n", "b - a", "- (b: failed)", "-", "-"],
    ]
    assert {row[0] for row in tables(capsys, "a", "b", "--benchmark", "Y-i2n")["MODEL"]} == {"Y-i2n"}


@pytest.mark.parametrize(
    "name", ["timm:ViT-B/16.a1", "open_clip:ViT-B-32/openai", "torchhub:lab/Net:v1.0:entry", "..:a=b+C@1[x]"]
)
def test_compares_models_with_any_name(name, write, capsys):
    for score, model in enumerate((name, name.swapcase())):
        assert ScoreRecord.read(write(model, "X.IT-pls", score=0.5 - score / 10)).model == model
    found = tables(capsys, name, name.swapcase())
    assert [row[1:3] for row in found["MODEL"]] == [[name, "0.5000"], [name.swapcase(), "0.4000"]]
    assert found["DIFFERENCE"][0][1] == f"{name.swapcase()} - {name}"


def test_interval_that_is_an_upper_bound_is_marked(write, capsys):
    for model, error in (("d", None), ("e", 0.01), ("f", 0.02), ("g", 0.03)):
        write(model, "Z", score=0.5, error=error)
    assert main(["compare", "d", "e"]) == 0
    printed = capsys.readouterr()
    assert "0.441 to 0.559* " in printed.out
    assert "0.480 to 0.520 " in printed.out
    assert "* upper bound" in printed.err


def test_difference_is_matched_by_stimuli_and_neuroids(write, capsys):
    """Scores on the same stimuli and neuroids vary together, so a difference is more precise than either score."""
    influences = matched(0, "de")
    for model, value, influence in zip("de", (0.5, 0.4), influences, strict=True):
        write(model, "X.IT-pls", influence, score=value)
    value, error = tables(capsys, "d", "e")["DIFFERENCE"][0][2].split(" ± ")
    assert value == "-0.1000"
    assert float(error) == pytest.approx((influences[1] - influences[0]).error, rel=0.1)
    assert float(error) < 0.5 * np.hypot(influences[0].error, influences[1].error)


def test_model_does_not_differ_from_its_copy(write, capsys):
    influence = matched(0, "d")[0]
    for model in "de":
        write(model, "X.IT-pls", influence, score=0.5)
    found = tables(capsys, "d", "e")
    least = RESOLUTION * np.sqrt(2) * influence.error
    assert found["DIFFERENCE"][0][2:] == [f"+0.0000 ± {least:.4f}", *found["DIFFERENCE"][0][3:4], "1.0000"]
    assert [row[4:] for row in found["MODEL"]] == [["1-2", "a"], ["1-2", "a"]]


def test_averages_use_the_benchmarks_that_all_models_share(write, capsys):
    for benchmark in ("X.IT-pls", "X.V4-pls", "Z"):
        for model, value, influence in zip("def", (0.5, 0.45, 0.2), matched(len(benchmark), "def"), strict=True):
            if (benchmark, model) != ("Z", "f"):
                write(model, benchmark, influence, score=value + (benchmark == "X.V4-pls") / 10)
    found = tables(capsys, "d", "e", "f")
    average = [row for row in found["MODEL"] if row[0].startswith("average")]
    assert [row[:3] for row in average] == [
        ["average of 2", "d", "0.5500"],
        ["average of 2", "e", "0.5000"],
        ["average of 2", "f", "0.2500"],
    ]
    by_pair = {(row[0], row[1]): row for row in found["DIFFERENCE"]}
    errors = [float(by_pair[name, "e - d"][2].split(" ± ")[1]) for name in ("X.IT-pls", "X.V4-pls", "average of 2")]
    assert errors[2] == pytest.approx(
        np.hypot(*errors[:2]) / 2, rel=0.1
    )  # the two benchmarks have different stimuli and neuroids


@pytest.mark.parametrize(
    ("missing", "scores"),
    [
        ("zero", ["0.2500 (1 missing)", "0.6000"]),
        ("left-out", ["0.5000 (1 missing)", "0.6000"]),
        ("complete", ["no score of MajajHong2015public.V4-pls", "0.6000"]),
    ],
)
def test_missing_option_sets_how_missing_scores_count(missing, scores, write, capsys):
    """Averages follow the page that compares models: first each region, then the mean of regions."""
    for model, benchmark, score in (
        *(("a", "MajajHong2015public.IT-pls", 0.6), ("a", "MajajHong2015public.IT-reverse_pls", 0.4)),
        *(("b", "MajajHong2015public.IT-pls", 0.7), ("b", "MajajHong2015public.V4-pls", 0.6)),
        ("b", "MajajHong2015public.IT-reverse_pls", 0.5),
    ):
        write(model, benchmark, score=score)
    rows = tables(capsys, "a", "b", "--missing", missing)["MODEL"]
    assert sorted(row[1:3] for row in rows if row[0] == "neural") == [["a", scores[0]], ["b", scores[1]]]


def test_simulated_measurements_are_averaged_separately(write, capsys):
    for benchmark, simulated in (("A", True), ("B", True), ("C", False), ("D", False), ("E", False)):
        for model in "de":
            write(model, benchmark, score=0.5, error=0.01, simulated=simulated)
    assert main(["compare", "d", "e"]) == 0
    printed = capsys.readouterr()
    assert "average of 3 " in printed.out
    assert "average of 2 SIMULATED" in printed.out
    assert "SIMULATED measurements: A, B" in printed.err
    assert "Treated as independent (~)" in printed.err


def test_versions_of_a_benchmark_are_not_compared(records, capsys):
    found = tables(capsys, "a", "c", "--benchmark", "X.IT-pls")
    assert found["MODEL"][1][:3] == ["X.IT-pls", "c", "version 2, not 1"]  # two of three models have version 1
    assert found["DIFFERENCE"][0][2] == "- (c: version 2, not 1)"


def test_draw_option_writes_a_figure(records, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "models.svg"
    assert main(["compare", "a", "b", "--draw", str(path)]) == 0
    drawn = path.read_text()
    assert 'id="score:X.IT-pls:a"' in drawn
    assert "X.IT-pls (SIMULATED)" in drawn
    assert f"Written: {path}" in capsys.readouterr().err
    assert main(["compare", "a", "b", "--draw", str(tmp_path / "models.gif")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert ".svg, .png, .pdf" in printed.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a", "aa"], "The model 'aa' has no record in"),
        (["a", "--benchmark", "X.IT-plz"], "Did you mean 'X.IT-pls'"),
        (["a", "--records", "absent"], "The model 'a' has no record in absent"),
    ],
)
def test_error_names_models_and_benchmarks_without_records(records, capsys, arguments, said):
    assert main(["compare", *arguments]) == 3
    assert said in capsys.readouterr().err
