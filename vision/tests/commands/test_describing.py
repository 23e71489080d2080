"""Commands that list, describe, check or complete do not run the plugins of other folders."""

import json
import sys
from importlib.metadata import entry_points

import pytest
from typer.main import get_command

from brainscore_core import __main__ as core
from brainscore_vision import __main__ as vision
from brainscore_vision.commands import app

RUNS = {
    **dict.fromkeys(["score", "atlas", "choose-layers", "rescore", "reproduce"], "scores"),
    "renormalise": "computes the ceiling of a benchmark",
    "validate": "checks the data that a plugin loads",
    "data fetch": "loads data once, and makes a benchmark to know its data",
    "test-plugin": "runs the tests of a plugin",
}
"""Command -> its reason for running the plugins it names."""

KNOWS_NO_FOLDER = {"leaderboard serve", "plan", "portal"}
"""Commands that serve existing files, manage the portal, or read only the plugins of a checkout."""

DESCRIBES = {
    "list": [
        "list models --all",
        "list models --all --format json --where",
        "list benchmarks --format json",
        "list metrics",
        "list data --format json",
        "list stimulus_sets --format table",
    ],
    "info": ["info Evil.IT-pls", "info evil", "info evil_metric", "info evil:xx", "info Evil.data", "info evilplugin"],
    "data list": ["data list"],
    "data info": ["data info Evil.data"],
    "data verify": ["data verify Evil.data"],
    "data clean": ["data clean Evil.data --dry-run"],
    "data add": ["data add {empty}"],
    "cache list": ["cache list"],
    "cache explain": ["cache explain --last 3"],
    "cache clean": ["cache clean --all"],
    "check": ["check evilplugin", "check evil"],
    "new-plugin": [
        "new-plugin --repository {empty} model evil",
        "new-plugin --repository {empty} benchmark Evilplugin",
    ],
    "package": ["package {empty}/stimuli.csv --identifier Evil2026 --to {empty}"],
    "upload": ["upload {empty}"],
    "compare": ["compare evil pixels"],
    "export": ["export {empty}/table.csv"],
    "plot scores": ["plot scores Evil.IT-pls --to {empty}/a.svg"],
    "plot compare": ["plot compare evil pixels --to {empty}/a.svg"],
    "plot ceiling": ["plot ceiling Evil.IT-pls --to {empty}/a.svg"],
    "plot neuroids": ["plot neuroids evil Evil.IT-pls --to {empty}/a.svg"],
    "plot scatter": ["plot scatter Evil.IT-pls Evil.IT-pls --to {empty}/a.svg"],
    "plot profile": ["plot profile evil --to {empty}/a.svg"],
    "plot pareto": ["plot pareto Evil.IT-pls --to {empty}/a.svg"],
    "plot history": ["plot history Evil.IT-pls --to {empty}/a.svg"],
    "plot similarity": ["plot similarity --to {empty}/a.svg"],
    "plot atlas": ["plot atlas {empty}/a.json --to {empty}/a.svg"],
    "leaderboard build": ["leaderboard build --to {empty}/site --processes 1"],
}
"""Command -> calls that concern a stranger's plugins; some end in an error, which must not run a plugin either."""

REGISTRATIONS = {
    "models": (
        'model_registry["evil"] = lambda: None\n'
        'model_registry["evil:"] = lambda name: None\n'
        'model_registry["".join(["computed", "_model"])] = lambda: None\n'
    ),
    "benchmarks": 'benchmark_registry["Evil.IT-pls"] = lambda: None\n',
    "metrics": 'metric_registry["evil_metric"] = lambda: None\n',
    "data": 'data_registry["Evil.data"] = lambda: None\nstimulus_set_registry["Evil.stimuli"] = lambda: None\n',
}


@pytest.fixture
def canary(tmp_path, monkeypatch, write):
    """Add a stranger's plugin folder to the search path; return the file that any of its modules would write."""
    canary = tmp_path / "canary"
    tree = tmp_path / "stranger"
    sings = f"import pathlib\npathlib.Path({str(canary)!r}).open('a').write(__name__ + chr(10))\n"
    for folder, registrations in REGISTRATIONS.items():
        plugin = tree / folder / "evilplugin"
        plugin.mkdir(parents=True)
        names = ", ".join({line.partition("[")[0] for line in registrations.splitlines()})
        (plugin / "__init__.py").write_text(f"{sings}from brainscore_vision import {names}\n\n{registrations}")
        for name in ("model", "test", "conftest", "setup", "data_packaging", "sitecustomize"):
            (plugin / f"{name}.py").write_text(sings)
        (plugin / "metadata.yml").write_text("access: public\nregion: IT\n")
    monkeypatch.setenv("BRAINSCORE_PLUGINS", str(tree))
    (tmp_path / "empty").mkdir()
    for model, score in (("evil", 0.2), ("pixels", 0.4)):
        write(model, "Evil.IT-pls", score=score, error=0.1, interval=(score - 0.2, score + 0.2), ceiling=1.0)
    yield canary
    for name in [name for name in sys.modules if "evilplugin" in name]:
        del sys.modules[name]


def leaves(command, *path):
    """Yield the names of all visible commands."""
    for name, below in getattr(command, "commands", {}).items():
        if getattr(below, "commands", None):
            yield from leaves(below, *path, name)
        elif not below.hidden:
            yield " ".join((*path, name))


def test_every_command_describes_or_has_a_reason_to_run():
    declared = {point.value: point for point in entry_points(group="brainscore.commands")}
    apps = [app, core.app, *(point.load() for point in declared.values())]
    names = {name for each in apps for name in leaves(get_command(each))} | {"validate"}  # the one command of its app
    served = {name for name in names if name in KNOWS_NO_FOLDER or name.partition(" ")[0] in KNOWS_NO_FOLDER}
    assert names - served == {*RUNS, *DESCRIBES}


SLOW = ("leaderboard build", "plot pareto")  # they ask for the facts of every model and benchmark
LINES = [
    pytest.param(line, marks=pytest.mark.slow if line.startswith(SLOW) else ())
    for lines in DESCRIBES.values()
    for line in lines
]


@pytest.mark.usefixtures("shared_caches")
@pytest.mark.parametrize("line", LINES)
def test_describing_does_not_run_plugins(line, canary, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path / "empty")
    vision.main(line.format(empty=tmp_path / "empty").split())
    assert not canary.exists(), canary.read_text()


def test_canary_detects_a_plugin_that_runs(canary):
    vision.main(["score", "--model", "evil", "--benchmark", "SimulatedCortex2026.V1-pls", "--isolation", "none"])
    assert "evilplugin" in canary.read_text()


@pytest.mark.parametrize("words", ["score --model evil", "score --model evil:", "info Evil", "data info E"])
def test_completion_does_not_run_plugins(words, canary, monkeypatch, capsys):
    monkeypatch.setenv("_BRAINSCORE_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"brainscore {words}")
    with pytest.raises(SystemExit):
        vision.main([])
    assert words.split()[-1] in capsys.readouterr().out.replace("\\", "")
    assert not canary.exists()


@pytest.mark.usefixtures("shared_caches")
def test_list_shows_literal_facts_of_plugins_not_run(canary, capsys):
    assert vision.main(["list", "benchmarks", "--format", "json"]) == 0
    rows = {row["identifier"]: row for row in json.loads(capsys.readouterr().out)}
    facts = {"region": "IT", "kind": "neural", "access": "public", "data here": "?"}
    assert rows["Evil.IT-pls"] == {"identifier": "Evil.IT-pls", **facts}
    assert vision.main(["list", "models", "--all"]) == 0
    output = capsys.readouterr()
    assert "evil" in output.out.splitlines()
    assert "Not shown: identifiers" in output.err
    assert "models/evilplugin" in output.err
