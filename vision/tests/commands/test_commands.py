import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

from brainscore_core import __main__ as core
from brainscore_core.command_line import run_app
from brainscore_vision.__main__ import main
from brainscore_vision.commands import app

ROOT = Path(__file__).parents[3]
WANTED = {
    *("score", "list", "info", "compare", "export", "data", "cache"),
    *("check", "new-plugin", "test-plugin", "plan", "validate"),
}


def test_all_commands_are_documented_and_print_help(capsys):
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    apps = [app, core.app, *(EntryPoint("", each, "").load() for each in declared["brainscore.commands"].values())]
    names = {each.name or each.callback.__name__ for one in apps for each in one.registered_commands if not each.hidden}
    groups = {each.name for one in apps for each in one.registered_groups}
    names |= groups
    page = (ROOT / "docs/reference/command_line.md").read_text()
    assert names == set(re.findall(r"^\| `brainscore ([\w-]+)` \|", page, re.MULTILINE))
    assert names >= WANTED
    for name in sorted(names):
        assert run_app(app, [name, "--help"], program="brainscore", further=apps[1:]) == 0
        told = capsys.readouterr().out
        assert f"Usage: brainscore {name}" in told
        assert name in groups or "--plugins" in told


def test_commands_of_other_packages_are_declared_in_all_projects():
    wanted = {"ci": "brainscore_ci.__main__:app", "web": "brainscore_web.__main__:app"}
    for folder, names in ((".", {"ci", "web"}), ("scripts", {"ci"}), ("web", {"web"})):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        assert project["entry-points"]["brainscore.commands"] == {name: wanted[name] for name in names}


def test_examples_on_the_page_are_valid(capsys):
    page = (ROOT / "docs/reference/command_line.md").read_text()
    lines = [line.partition("#")[0].split() for line in page.splitlines() if line.startswith("brainscore ")]
    assert len(lines) >= 8
    for _, *arguments in lines:
        if arguments[0].startswith("--"):
            continue
        assert main([*arguments, "--help"]) == 0
        options = {word for word in arguments if word.startswith("--")}
        assert options <= set(re.findall(r"--[\w-]+", capsys.readouterr().out))


def test_program_is_installed_as_brainscore():
    for folder in (".", "vision"):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        assert project["scripts"] == {"brainscore": "brainscore_vision.__main__:main"}


def test_help_needs_neither_numpy_nor_a_framework():
    code = (
        "import sys; from brainscore_vision.__main__ import main; main(['--help']); main(['score', '--help'])\n"
        "print(sorted({'numpy', 'torch', 'pandas', 'xarray'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
