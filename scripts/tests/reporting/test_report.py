"""Test the report on a pull request, and that hostile text in it stays text."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.plan import Plan, Refusal, Skip, TestTask
from brainscore_ci.reporting.report import COMMENT_BYTES, cost, render
from brainscore_ci.reporting.results import (
    AddedPlugin,
    CheckResult,
    Failure,
    FoundProblem,
    PairResult,
    PluginResult,
    Results,
    SkippedTest,
)
from brainscore_ci.reporting.step import annotate, annotation, for_log
from brainscore_ci.reporting.verdict import Verdict, judge
from brainscore_core.scoring.pairs import Pair

ROOT = Path(__file__).parents[3]
MODEL, BENCHMARK = PluginName("models", "network"), PluginName("benchmarks", "experiment")


def pair(model, benchmark, *, minutes=1.0, private=False, reasons=("because",)):
    return Pair(model=model, benchmark=benchmark, reasons=reasons, minutes=minutes, memory_gb=4, private=private)


def task(name, *reasons):
    return TestTask(plugin=name, reasons=reasons or ("changed: model.py modified",), minutes=2, memory_gb=4)


PLAN = Plan(
    base="b" * 40,
    head="a" * 40,
    event="pull_request",
    changed=("vision/brainscore_vision/models/network/model.py",),
    tests=(task(BENCHMARK, "uses data/recordings: load_dataset in benchmark.py:3", "changed: x"), task(MODEL)),
    pairs=tuple(pair(m, b, private=b == "P") for m in ("network", "pixels") for b in ("P", "Q", "R")),
    previews=(pair("network", "Public"), pair("network", "Odd"), pair("network", "Gone")),
    skipped=(
        Skip("scores of 3 pairs", "label ci-no-score"),
        Skip("2 private tests of data/x", "private data are not available before a merge"),
    ),
    notes=("compared with the merge base",),
)
RESULTS = Results(
    (
        PluginResult(
            plugin=MODEL,
            status="failed",
            n_passed=8,
            n_failed=2,
            n_skipped=3,
            duration_s=90,
            failures=(
                Failure(test="test_a", message="assert 1 == 2\n  where 1", file="models/network/test.py", line=12),
                Failure(test="test_b", message="no module", fix="add it to requirements.txt"),
            ),
            skipped=(
                SkippedTest(test="test_p", reason="private_access", kind="private"),
                SkippedTest(test="test_q", reason="private_access", kind="private"),
                SkippedTest(test="test_o", reason="Skipped: not today"),
            ),
        ),
        PluginResult(plugin=BENCHMARK, status="passed", n_passed=4, duration_s=30),
        PluginResult(plugin=PluginName("metrics", "not_planned"), status="failed", n_failed=1),
    ),
    (
        PairResult(
            model="network", benchmark="Public", status="scored", raw=0.3, ceiling=0.8, score=0.375, interval=(0.3, 0.4)
        ),
        PairResult(model="network", benchmark="Odd", status="failed:ValueError", message="x | y"),
    ),
)  # fmt: skip
GOOD = Results(
    tuple(PluginResult(plugin=each.plugin, status="passed", n_passed=1, duration_s=30) for each in PLAN.tests),
    tuple(PairResult(model=each.model, benchmark=each.benchmark, status="scored", score=0.5) for each in PLAN.previews),
)
REPORT = render(PLAN, RESULTS, judge(PLAN, RESULTS))


def test_failures_and_absent_results_are_problems():
    assert judge(PLAN, GOOD) == Verdict()
    assert judge(PLAN, RESULTS).problems == (
        "models/network: 2 tests failed",
        "network on Odd: failed:ValueError",
        "network on Gone: no score",
    )
    without_one = replace(GOOD, plugins=GOOD.plugins[1:])
    assert judge(PLAN, without_one).problems == ("benchmarks/experiment: no result of its tests",)
    skipped = tuple(replace(result, status="skipped") for result in GOOD.plugins)
    pairs = tuple(replace(result, status="skipped:private data") for result in GOOD.pairs)
    assert judge(PLAN, Results(skipped, pairs)).passed


def test_refused_paths_are_the_only_problem():
    (problem,) = judge(replace(PLAN, refused=(Refusal("x$(touch pwned)/a\nb", "no"),)), Results()).problems
    assert problem == "1 path must not be merged: 'x$(touch pwned)/a\\nb'"


def test_cost_describes_pairs_and_duration():
    grid = [pair(f"m{m}", f"b{b}", minutes=41 / 36, private=b == 0) for m in range(12) for b in range(3)]
    assert cost(grid) == "scores 12 models x 3 benchmarks, about 41 min, 1 private"
    assert cost(grid[:-1]) == "scores 35 pairs of 12 models and 3 benchmarks, about 40 min, 1 private"
    assert cost([pair("m", "b", minutes=600)]) == "scores 1 model x 1 benchmark, about 10 h"
    assert cost([pair("m", "b", minutes=0.1)]) == "scores 1 model x 1 benchmark, under 1 min"
    assert cost([]) == "scores nothing"


@pytest.mark.parametrize(
    "line",
    [
        "## Checks failed",
        f"Commit `{'a' * 12}` against `{'b' * 12}`: 1 changed file, 2 plugins tested in about 2 min, 1 failed, 3 tests skipped.",  # noqa: E501 - one line of the report
        "- models/network: 2 tests failed",
        "| plugin | result | ran | failed | skipped | minutes |",
        "| `models/network` | **failed** | 10 | 2 | 3 (2 private, 1 not today) | 1.5 |",
        "| `benchmarks/experiment` | passed | 4 | 0 | 0 | 0.5 |",
        "- `models/network`, `test_a` at `models/network/test.py:12`: `assert 1 == 2 where 1`",
        "- `models/network`, `test_b`: `no module`<br>Fix: add it to requirements.txt",
        "| `network` | `Public` | 0.300 | 0.800 | 0.375 | 0.300 to 0.400 |",
        "| `network` | `Odd` | failed:\u2060ValueError: `x ¦ y` |  |  |  |",
        "| `network` | `Gone` | **no score** |  |  |  |",
        "Merging starts scoring: scores 2 models x 3 benchmarks, about 6 min, 1 private.",
        "nox -s test_plugin -- network",
        "- 2 private tests of data/x: private data are not available before a merge",
        "- `models/network`, `test_p`, `test_q`: private: private\\_access",
        "- compared with the merge base",
        "- `benchmarks/experiment` ← uses data/recordings: load\\_dataset in benchmark.py:\u20603 ← changed: x",
        "- `network`, `pixels` on `Q`, `R` ← because",
        "- `network` on `Gone`, `Odd`, `Public` ← because",
    ],
)
def test_report_contains_line(line):
    assert line in REPORT.splitlines()


def test_report_puts_problems_first():
    order = ["### Problems", "### Plugins", "`models/network` | **", "`benchmarks/experiment` | p", "### Failures"]
    order += ["### Scores", "Merging starts", "### On your own machine", "private tests of data/x", "scores of 3 pairs"]
    places = [REPORT.index(text) for text in order]
    assert places == sorted(places)
    assert "not_planned" not in REPORT
    assert "-- experiment" not in REPORT  # it passed: nothing to reproduce


def test_report_without_problems_is_short():
    report = render(replace(PLAN, pairs=(), skipped=(), notes=()), GOOD, judge(PLAN, GOOD))
    assert report.startswith("## Checks passed\n")
    for title in ("### Problems", "Failures", "Refused", "Skipped", "Notes", "Left out"):
        assert title not in report
    assert "Merging starts no scoring." in report


CHECK = CheckResult(
    n_errors=1,
    n_hints=1,
    findings=(
        FoundProblem(
            path="models/network/__init__.py", line=4, rule="imports", message="timm is imported", fix="add it"
        ),
        FoundProblem(path="models/network/x.py", line=1, rule="citation", message="none", is_error=False),
    ),
    new=(AddedPlugin(plugin=MODEL, access="public", licence="", citation="A. Author (2024). Vision."),),
)


def test_static_check_errors_fail_the_report():
    results = replace(GOOD, check=CHECK)
    verdict = judge(PLAN, results)
    assert verdict.problems == ("static checks: 1 error",)
    lines = render(PLAN, results, verdict).splitlines()
    assert lines[0] == "## Checks failed"
    assert "### Static checks: 1 error, 1 suggestion" in lines
    assert "- `models/network/__init__.py:4`: imports: timm is imported<br>Fix: add it" in lines
    assert "- `models/network/x.py:1`: suggestion, citation: none" in lines
    assert Results.from_json(results.to_json()).check == CHECK


def test_report_shows_metadata_of_new_plugins():
    lines = render(PLAN, replace(GOOD, check=CHECK), Verdict()).splitlines()
    assert lines[lines.index("### New") + 2] == "| plugin | access | licence | citation |"
    assert "| `models/network` | public | **not stated** | A. Author \\(2024\\). Vision. |" in lines


def test_whole_run_needs_static_checks():
    assert judge(PLAN, GOOD, whole=True).problems == ("static checks: no result",)
    assert judge(PLAN, replace(GOOD, check=CheckResult()), whole=True).passed
    assert Results.merge([GOOD, Results(check=CHECK)]).check == CHECK


def test_simulated_measurements_are_labelled():
    simulated = PairResult(model="network", benchmark="Public", status="scored", score=0.4, simulated=True)
    report = render(PLAN, Results(pairs=(simulated,)), Verdict())
    assert "| `network` | `Public` (simulated) |" in report
    assert "Simulated measurements show that everything works" in report
    assert "imulated" not in REPORT


def test_change_without_tests_passes():
    plan = Plan(base="b", head="h", event="pull_request", changed=("README.md",))
    assert judge(plan, Results()).passed
    assert "1 changed file, no plugin tested." in render(plan, Results(), Verdict())


def test_equal_reasons_are_grouped():
    tests = [SkippedTest(test=f"t{i}", reason="network: x.nc is not here", kind="network") for i in range(6)]
    result = PluginResult(plugin=MODEL, status="passed", n_passed=1, n_skipped=6, skipped=tuple(tests))
    lines = render(PLAN, Results((result,)), Verdict()).splitlines()
    assert "- `models/network`, `t0`, `t1`, `t2` and 3 more tests: network: x.nc is not here" in lines
    assert not [line for line in lines if line.count("network:") > 1]
    many = tuple(task(PluginName("models", f"m{i}"), "uses metrics/rdm", "changed: x") for i in range(82))
    lines = render(replace(PLAN, tests=many, pairs=(), previews=()), Results(), Verdict()).splitlines()
    assert "- `models/m0`, `models/m1`, `models/m2` and 79 more plugins ← uses metrics/rdm ← changed: x" in lines


def test_refused_paths_are_shown_in_full():
    refused = (Refusal("vision/brainscore_vision/models/x$(touch pwned)/a\nb|c`d\u202e.py", "names have only ASCII"),)
    report = render(replace(PLAN, refused=refused), Results(), Verdict(("x",)))
    assert (
        "``'vision/brainscore_vision/models/x$(touch pwned)/a\\nb¦c`d\\u202e.py'`` | names have only ASCII |" in report
    )


HUGE = replace(
    PLAN,
    tests=tuple(task(PluginName("models", f"model{i}"), *[f"reason {i} " * 14] * 5) for i in range(1300)),
    pairs=tuple(pair(f"m{i}", f"b{j}", reasons=(f"reason {i} {j} " * 11,) * 5) for i in range(200) for j in range(100)),
    skipped=tuple(Skip(f"test {i}", "private " * 30) for i in range(3000)),
)


@pytest.mark.parametrize("most", [4096, COMMENT_BYTES, 2**20])
def test_long_report_is_truncated_with_a_note(most):
    failure = Failure(test="t", message="é`|<" * 900, file="f.py", line=1)
    failed = PluginResult(plugin=MODEL, status="failed", n_failed=9, failures=(failure,) * 9)
    results = Results(tuple(replace(failed, plugin=each.plugin) for each in HUGE.tests))
    report = render(HUGE, results, judge(HUGE, results), most_bytes=most)
    assert most * 0.3 < len(report.encode()) <= most
    assert report.startswith("## Checks failed\n")
    assert "Merging starts scoring: scores 200 models x 100 benchmarks" in report
    cut = report.splitlines()[-1]
    assert cut.startswith("Left out to keep this short: ")
    assert re.search(r"[\d,]+ of 21,301 reasons", cut)
    for title in ("### Problems", "### Failures", "### Plugins", "### Scores", "Skipped (3,000 entries)"):
        assert title in report or most == 4096
    assert report.count("```") % 2 == 0
    assert report.count("<details>") == report.count("</details>")


def test_truncation_drops_reasons_first():
    plan = replace(PLAN, pairs=tuple(pair("m", f"b{i}", reasons=(f"reason {i} " * 23,)) for i in range(100)))
    report = render(plan, RESULTS, judge(plan, RESULTS), most_bytes=8_000)
    (cut,) = re.findall(r"Left out .*", report)
    assert re.fullmatch(r"Left out to keep this short: \d+ of 103 reasons\.", cut)
    assert "### Failures" in report


HOSTILE = (
    "<script>x</script> @octocat #1 GH-2 [x](http://evil.example) ![x](y) `|`\n\n</details>\n```\n::error::x\n"
    "<!-- brainscore-ci {} --> 0123456789abcdef \u202e"
)
hostile = st.text(st.sampled_from("`|\\*_<>[]()!#@&:/-\n\r\u202e\udcff a1"), max_size=30) | st.just(HOSTILE)


@settings(max_examples=60)
@given(hostile)
def test_hostile_text_stays_text(text):
    markdown_it = pytest.importorskip("markdown_it")
    plan = replace(
        PLAN,
        base=text,
        head=text,
        changed=(text,),
        tests=(task(MODEL, text, text),),
        previews=(pair(text, text, reasons=(text,)), pair(text, "other")),
        pairs=(pair(text, text, reasons=(text,)),),
        skipped=(Skip(text, text),),
        refused=(Refusal(text, text),),
        notes=(text,),
    )
    failures = (Failure(test=text, message=text, file=text, line=1, fix=text),)
    skipped = (SkippedTest(test=text, reason=text),)
    result = PluginResult(plugin=MODEL, status="failed", n_failed=1, failures=failures, skipped=skipped, reproduce=text)
    scores = (
        PairResult(model=text, benchmark=text, status="failed:E", message=text),
        PairResult(model=text, benchmark="other", status="skipped:" + text),
    )
    found = (FoundProblem(path=text, line=1, rule=text, message=text, fix=text),)
    check = CheckResult(
        n_errors=1, findings=found, new=(AddedPlugin(plugin=MODEL, access=text, licence=text, citation=text),)
    )
    report = render(plan, Results((result,), scores, check), Verdict((text,)))
    report.encode()
    tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse(report)
    children = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in children} <= {
        "text", "text_special", "code_inline", "html_inline", "softbreak", "strong_open", "strong_close"
    }  # fmt: skip
    assert {child.content for child in children if child.type == "html_inline"} <= {"<br>"}
    blocks = [token.content for token in tokens if token.type == "html_block"]
    tags = {tag for content in blocks for tag in re.findall(r"<[^>]*>", content)}
    assert tags <= {"<details>", "</details>", "<summary>", "</summary>", "<code>", "</code>"}
    prose = " ".join(child.content for child in children if child.type == "text")
    assert not re.search(r"@\w|#\w|\bGH-\d|://|[0-9a-f]{7}", prose)
    assert sum(token.type == "tr_open" for token in tokens) == 9  # four tables: no row was split or added
    for_log(report).encode()
    assert not re.search(r"^\s*::|##\[", for_log(report), re.MULTILINE)


# -- annotations -------------------------------------------------------------------------------------------------------


def test_annotation_format():
    assert annotation("error", "wrong") == "::error::wrong"
    line = annotation("warning", "100 %\r\nnext: a,b", file="a,b:c%.py", line=3, title="x")
    assert line == "::warning file=a%2Cb%3Ac%25.py,line=3,title=x::100 %25%0D%0Anext: a,b"


@pytest.mark.parametrize("command", ["::error::x", "  ::stop-commands::x", "##[error]x"])
def test_log_lines_are_never_commands(command):
    for end in ("\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"):
        shown = for_log(f"fine{end}{command}{end}")
        assert "fine" in shown
        assert "error" in shown or "stop" in shown
        for line in re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", shown):
            assert not line.lstrip().startswith("::")
            assert "##[" not in line


@given(hostile, hostile, hostile)
def test_annotation_is_one_command(message, file, title):
    line = annotation("error", message, file=file, line=1, title=title)
    line.encode()
    assert len(line.splitlines()) == 1
    _, properties, data = re.fullmatch(r"::(error) ([^:]*)::(.*)", line).groups()
    assert properties.count(",") == (2 if title else 1)
    decoded = data.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
    assert decoded == "".join(character for character in message if character.isprintable() or character in "\r\n")


def test_annotations_have_place_and_fix():
    lines = annotate(PLAN, RESULTS, judge(PLAN, RESULTS))
    assert lines[0].startswith(
        "::error file=models/network/test.py,line=12,title=models/network%3A test_a::assert 1 == 2"
    )
    assert lines[1] == "::error title=models/network%3A test_b::no module%0AFix: add it to requirements.txt"
    assert lines[2:] == [f"::error::{problem}" for problem in judge(PLAN, RESULTS).problems]


@pytest.mark.parametrize("file", ["/etc/passwd", "../x.py", "a/../../x.py", "..\\x.py", None])
def test_annotations_omit_places_outside_the_repository(file):
    failure = Failure(test="t", message="m", file=file, line=1)
    result = PluginResult(plugin=MODEL, status="failed", failures=(failure,))
    assert "file=" not in annotate(PLAN, Results((result,)), Verdict())[0]


def test_annotations_stop_at_ten():
    verdict = Verdict(tuple(f"problem {i}" for i in range(25)))
    lines = annotate(PLAN, Results(), verdict)
    assert len(lines) == 10
    assert lines[-1] == "::error::16 more problems; the summary of this run lists them."


# -- scripts -----------------------------------------------------------------------------------------------------------


def test_report_script_writes_summary_log_and_bundle(script, tmp_path):
    (tmp_path / "plan.json").write_text(PLAN.to_json())
    (tmp_path / "results/shard-1").mkdir(parents=True)
    (tmp_path / "results/shard-1/a.json").write_text(RESULTS.to_json())
    (tmp_path / "results/broken.json").write_text("::stop-commands::x")
    summary = tmp_path / "summary.md"
    arguments = ["--plan", tmp_path / "plan.json", "--results", tmp_path / "results", "--bundle", tmp_path / "bundle"]
    done = script("report.py", *arguments, GITHUB_STEP_SUMMARY=str(summary), GITHUB_ACTIONS="true")
    assert done.returncode == 0, done.stderr
    assert summary.read_text(encoding="utf-8").startswith("## Checks failed")
    assert "broken.json" in summary.read_text(encoding="utf-8")
    assert done.stdout.startswith("## Checks failed")
    assert "::error file=models/network/test.py,line=12," in done.stdout
    assert (tmp_path / "bundle/plan.json").read_text() == PLAN.to_json()
    assert Results.from_json((tmp_path / "bundle/results.json").read_text()) == Results.merge([RESULTS])


@pytest.mark.parametrize("only", [True, False])
def test_report_script_requires_static_checks_unless_tests_only(script, tmp_path, only):
    fine = tuple(PluginResult(plugin=task.plugin, status="passed", n_passed=1) for task in PLAN.tests)
    (tmp_path / "plan.json").write_text(replace(PLAN, previews=()).to_json())
    (tmp_path / "results").mkdir()
    (tmp_path / "results/a.json").write_text(Results(fine).to_json())
    arguments = ["--plan", tmp_path / "plan.json", "--results", tmp_path / "results", *["--tests-only"] * only]
    told = script("report.py", *arguments).stdout
    assert told.startswith("## Checks passed" if only else "## Checks failed")
    assert ("static checks: no result" in told) != only


NEEDS = {"plan": {"result": "success", "outputs": {}}, "test": {"result": "success"}, "preview": {"result": "skipped"}}


@pytest.mark.parametrize(
    ("needs", "counts", "code"),
    [
        (NEEDS, {"test": "2", "preview": "0"}, 0),
        (NEEDS, {"test": 2, "preview": 0}, 0),
        (NEEDS, {"test": "2", "preview": "1"}, 1),
        (NEEDS, {"test": "2", "preview": ""}, 1),  # planning failed and gave no count
        (NEEDS, {"test": "2"}, 1),
        ({**NEEDS, "test": {"result": "failure"}}, {"test": "2", "preview": "0"}, 1),
        ({**NEEDS, "test": {"result": "cancelled"}}, {"test": "2", "preview": "0"}, 1),
        ({"test": {"result": "success"}}, {"test": "2"}, 1),  # the gate does not wait for plan
        ({}, {}, 1),
    ],
)
def test_gate_opens_only_if_all_jobs_succeeded(script, needs, counts, code):
    done = script("gate.py", NEEDS=json.dumps(needs), COUNTS=json.dumps(counts))
    assert done.returncode == code, done.stdout + done.stderr
    assert ("::error::" in done.stdout) == bool(code)
    assert done.stderr == ""


LIBRARY = {"plan": {"result": "success"}, "rules": {"result": "skipped"}, "tests": {"result": "skipped"}}


@pytest.mark.parametrize(
    ("needs", "count", "code"),
    [
        (LIBRARY, "0", 0),
        (LIBRARY, "1", 1),
        (LIBRARY, "", 1),
        ({**LIBRARY, "plan": {"result": "failure"}}, "", 1),
        ({**LIBRARY, "plan": {"result": "skipped"}}, "0", 1),
        ({**LIBRARY, "tests": {"result": "failure"}}, "0", 1),
    ],
)
def test_library_gate_opens_for_plugins_only(script, needs, count, code):
    counts = json.dumps({"rules": count, "tests": count})
    given = {"NEEDS": json.dumps(needs), "COUNTS": counts, "REQUIRED": "plan rules tests"}
    done = script("gate.py", **given, REASON="plugins only: models/mymodel")
    assert done.returncode == code
    assert ("The gate is open, plugins only: models/mymodel." in done.stdout) == (code == 0)


UNREADABLE = [
    {"NEEDS": text} for text in ("", "x", "[]", "{}", "null", '{"plan": "success"}', '{"plan": {"result": "great"}}')
]


@pytest.mark.parametrize("environment", [{}, *UNREADABLE, {"NEEDS": json.dumps(NEEDS), "COUNTS": "[1]"}])
def test_gate_stays_closed_on_unreadable_input(script, environment):
    done = script("gate.py", **environment)
    assert done.returncode == 1
    assert "::error::The gate stays closed" in done.stdout
    assert done.stderr == ""
