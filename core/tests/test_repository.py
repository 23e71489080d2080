"""The files of the repository agree with each other."""

import ast
import logging
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import brainscore_core

ROOT = Path(__file__).parents[2]


def project(folder):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


def name_of(requirement):
    return re.match(r"[A-Za-z0-9._-]+", requirement).group().lower().replace("_", "-")


def test_all_packages_have_the_same_version():
    versions = {folder: project(folder)["version"] for folder in (".", "core", "vision", "scripts", "web")}
    assert set(versions.values()) == {brainscore_core.__version__}
    for folder in ("vision", "scripts", "web"):
        assert f"brainscore-core=={brainscore_core.__version__}" in project(folder)["dependencies"]
    assert f"version: {brainscore_core.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_release_page_sets_every_version(tmp_path):
    files = ["CITATION.cff", "CHANGELOG.md", "pyproject.toml", "core/brainscore_core/_version.py"]
    files += [f"{folder}/pyproject.toml" for folder in ("core", "vision", "scripts", "web")]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    page = (ROOT / "docs/how-to/release.md").read_text(encoding="utf-8")
    block = textwrap.dedent(re.findall(r"^   ```bash\n(.*?)^   ```", page, re.MULTILINE | re.DOTALL)[0])
    for command in ("git init -q && git add -A", block):
        subprocess.run(["bash", "-euc", command], cwd=tmp_path, check=True)
    for file in files:
        text = (tmp_path / file).read_text(encoding="utf-8")
        assert "3.0.0" in text, file
        assert brainscore_core.__version__ not in text, file
    assert "## 3.0.0\n" in (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")


def test_workspace_has_the_requirements_of_its_packages():
    packages = {entry for folder in ("core", "vision", "scripts", "web") for entry in project(folder)["dependencies"]}
    packages = {entry for entry in packages if not entry.startswith("brainscore-")}
    assert set(project(".")["dependencies"]) == packages


def test_requirements_have_no_upper_bounds():
    for folder in (".", "core", "vision", "scripts", "web"):
        pinned = [entry for entry in project(folder)["dependencies"] if "<" in entry]
        assert not pinned, f"{folder}: {pinned}"


def test_test_extra_covers_the_requirements_of_shipped_plugins():
    """Other plugins are tested in separate environments; the shared one skips those whose requirements it lacks."""
    shipped = set((ROOT / "vision/tests/shipped_plugins.txt").read_text().split())
    assert len(shipped) > 120
    workspace = project(".")
    extras = workspace["optional-dependencies"]
    provided = {name_of(entry) for entry in workspace["dependencies"] + extras["test"] + extras["frameworks"]}
    # Some need a build of torch that only a separate session has.
    provided |= {name_of(entry) for entry in re.findall(r'"([\w-]+==[\w.]+)"', (ROOT / "noxfile.py").read_text())}
    for path in (ROOT / "vision/brainscore_vision" / plugin / "requirements.txt" for plugin in sorted(shipped)):
        if not path.is_file():
            continue
        lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
        missing = {name_of(line) for line in lines if line} - provided
        assert not missing, f"{path.relative_to(ROOT)} requires {missing}: add it to the test extra of pyproject.toml"


@pytest.mark.parametrize("line", ["nox -s score", "nox -s tests"])
def test_readme_has_each_set_up_command_on_one_line(line):
    commands = [
        row for row in (ROOT / "README.md").read_text().splitlines() if line in row and row.startswith("python3")
    ]
    assert len(commands) == 1


def test_ci_runs_the_test_command_of_the_readme():
    readme = (ROOT / "README.md").read_text()
    command = next(row for row in readme.splitlines() if row.endswith("nox -s tests"))
    assert command in (ROOT / ".ci/run").read_text().splitlines()


def test_every_script_in_perf_has_a_session():
    text = (ROOT / "noxfile.py").read_text()
    scripts = [path.stem for path in (ROOT / "perf").glob("*.py") if "if __name__" in path.read_text()]
    assert len(scripts) > 5
    assert [name for name in scripts if f'"{name}"' not in text and f"{name}.py" not in text] == []


def test_scripts_in_perf_import_only_names_that_exist():
    trees = {path.stem: ast.parse(path.read_text()) for path in (ROOT / "perf").glob("*.py")}
    defined = {
        name: {node.name for node in tree.body if hasattr(node, "name")}
        | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for name, tree in trees.items()
    }
    imports = [
        (name, node) for name, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    ]
    shared = [(name, node.module, alias.name) for name, node in imports if node.module in trees for alias in node.names]
    assert len(shared) > 50
    assert [row for row in shared if row[2] not in defined[row[1]]] == []


def test_every_nox_session_has_a_description():
    text = (ROOT / "noxfile.py").read_text()
    sessions = re.findall(r"^@nox\.session.*\ndef (\w+)\(.*\n(.*)", text, re.MULTILINE)
    assert len(sessions) > 10
    assert [name for name, explained in sessions if not explained.startswith('    """')] == []


def test_nox_finds_the_sessions_from_the_vision_folder():
    code = (
        "import sys, os, runpy\n"
        "from unittest import mock\n"
        "try:\n    import nox\nexcept ImportError:\n    sys.modules['nox'] = mock.MagicMock()\n"
        "found = runpy.run_path('noxfile.py')\n"
        "print(os.getcwd(), 'test_plugin' in found, found['__doc__'].splitlines()[0])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT / "vision", capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{ROOT} True ")


INSTALLING = """
import logging, pathlib, sys
from unittest import mock
sys.modules['nox'] = mock.MagicMock()
import noxfile
noxfile.WORKSPACE = pathlib.Path(sys.argv[1])
session = mock.MagicMock()
session.run.side_effect = session.run_install.side_effect = lambda *_, **__: noxfile.WORKSPACE.mkdir(exist_ok=True)
logging.getLogger().setLevel(int(sys.argv[2]))
with mock.patch('subprocess.run') as run, mock.patch('shutil.which', lambda name: sys.argv[3] or None):
    run.return_value.returncode = 1
    noxfile.workspace(session, 'test')
calls = [*session.run.mock_calls, *session.run_install.mock_calls]
print(len(calls), {(call.kwargs.get('silent', False), call.kwargs.get('log', True)) for call in calls})
print(run.mock_calls[0].kwargs.get('capture_output'))
print([call.args[0] for call in session.log.mock_calls])
messages = 'uv binary not found.', 'Running session check'
print([bool(logging.getLogger('nox').filter(logging.makeLogRecord({'msg': message}))) for message in messages])
"""


@pytest.mark.parametrize("uv", ["", "/usr/bin/uv"])
@pytest.mark.parametrize("verbose", [False, True])
def test_nox_shows_the_output_of_installers_only_if_verbose(tmp_path, uv, verbose):
    level = logging.DEBUG - verbose
    command = [sys.executable, "-c", INSTALLING, str(tmp_path), str(level), uv]
    environment = {name: text for name, text in os.environ.items() if not name.startswith("BRAINSCORE_")}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment)
    calls, captured, said, passed = done.stdout.splitlines()
    assert calls == f"3 {{(True, {verbose})}}"  # with -v nox shows silent commands; without it, not even their line
    assert captured == str(not verbose)
    assert not re.search(r"\buv\b|\bpip\b", said)
    assert passed == str([verbose, True])


ARCHITECTURE = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")


def test_every_path_on_the_architecture_page_exists():
    paths = set(re.findall(r"`((?:\.github|core|docs|scripts|vision|web)/[^`\s]+)`", ARCHITECTURE))
    assert len(paths) > 60
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_symbol_on_the_architecture_page_is_defined():
    rows = [row.strip("|").split("|") for row in ARCHITECTURE.partition("| to change |")[2].splitlines()[2:]]
    assert len(rows) >= 20
    for _, place, symbol, _ in rows:
        path, name = ROOT / place.strip().strip("`"), symbol.strip().strip("`")
        if path.suffix == ".py":
            assert re.search(rf"^(def|class) {name}\b|^{name}\b.* = ", path.read_text(), re.MULTILINE), (path, name)
        elif path.is_file():
            assert re.search(rf"^{name}\b", path.read_text(), re.MULTILINE), (path, name)
        else:
            assert not name, f"a folder defines nothing: {path}"


def test_shipped_plugins_exist():
    """The library's tests go through this list, so a new plugin changes none of them and need not be listed."""
    shipped = (ROOT / "vision/tests/shipped_plugins.txt").read_text().split()
    assert shipped == sorted(set(shipped))
    assert [name for name in shipped if not (ROOT / "vision/brainscore_vision" / name / "__init__.py").is_file()] == []


def test_linters_skip_plugins_that_do_not_ship(tmp_path):
    library = tmp_path / "vision/brainscore_vision"
    for name in ("models/ours", "models/theirs", "data/theirs", "models/no_plugin"):
        (library / name).mkdir(parents=True)
        (library / name / ("x.py" if name == "models/no_plugin" else "__init__.py")).write_text("import os,sys\n")
    (tmp_path / "vision/tests").mkdir()
    (tmp_path / "vision/tests/shipped_plugins.txt").write_text("models/ours\n")
    (tmp_path / "noxfile.py").write_text((ROOT / "noxfile.py").read_text())
    code = "import sys\nfrom unittest import mock\nsys.modules['nox'] = mock.MagicMock()\nimport noxfile\n"
    command = [sys.executable, "-c", f"{code}print(*noxfile.contributed())"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["vision/brainscore_vision/data/theirs", "vision/brainscore_vision/models/theirs"]
