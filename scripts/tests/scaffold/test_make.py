"""What is scaffolded passes every static check and its own tests, in a library of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import brainscore_core
from brainscore_ci.__main__ import main
from brainscore_ci.checks.runner import check_named, workplace
from brainscore_ci.scaffold.make import PluginRequest, new_plugin
from brainscore_core.errors import ConfigurationError, StimulusError, UnknownIdentifierError
from brainscore_core.supported_data_standards.brainio.packaging import (
    package_data_assembly_locally,
    package_stimulus_set_locally,
)
from brainscore_core.testing.synthetic import make_neuroid_assembly, make_stimulus_set

ROOT = Path(__file__).parents[3]
FOLDERS = ("data", "metrics", "benchmarks", "models")


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A checkout whose library is the one here but for its folders of plugins, which are new with links in them."""
    original, copy = ROOT / "vision/brainscore_vision", tmp_path / "checkout/vision/brainscore_vision"
    for entry in original.iterdir():
        (copy / entry.name).parent.mkdir(parents=True, exist_ok=True)
        if entry.name not in FOLDERS:
            (copy / entry.name).symlink_to(entry)
            continue
        (copy / entry.name).mkdir()
        for plugin in entry.iterdir():
            if plugin.name != "__pycache__":
                (copy / entry.name / plugin.name).symlink_to(plugin)
    policy = '[tool.brainscore.ci]\nlibraries = ["vision/brainscore_vision"]\n'
    (tmp_path / "checkout/pyproject.toml").write_text(policy)
    monkeypatch.chdir(tmp_path / "checkout")
    return copy


def run_tests(library, *plugins):
    """Run the tests of plugins in a process whose library is the copy; return (passed, output)."""
    files = [str(library / plugin / "test.py") for plugin in plugins]
    options = ["-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider", "-p", "no:xdist", "-q"]
    path = os.pathsep.join([str(library.parent), str(Path(brainscore_core.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=library.parents[1],
    )
    return done.returncode == 0, done.stdout + done.stderr


def assert_sound(library, name, *plugins):
    checked = check_named(workplace(library), [name])
    assert checked.plugins == tuple(sorted(plugins))
    assert [str(one) for one in checked.findings] == []
    passed, output = run_tests(library, *plugins)
    assert passed, output
    return output


@pytest.mark.parametrize(
    ("words", "plugins"),
    [
        (
            ["data", "metric", "benchmark", "model", "MyExperiment2024", "--region", "V4"],
            [f"{folder}/myexperiment2024" for folder in FOLDERS],
        ),
        (["benchmark", "other2024"], ["benchmarks/other2024"]),
    ],
    ids=["every kind", "benchmark on simulated data"],
)
def test_passes_checks_and_its_own_tests(library, capsys, words, plugins):
    name = plugins[0].partition("/")[2]
    assert main(["new_plugin", *words]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == f"  nox -s test_plugin -- {name}"
    for plugin in plugins:
        files = {file.name for file in (library / plugin).iterdir()}
        assert files >= {"__init__.py", "test.py", "metadata.yml", "requirements.txt"}
        assert f"vision/brainscore_vision/{plugin}/__init__.py" in said
    output = assert_sound(library, name, *plugins)
    assert " passed" in output
    assert "skipped" not in output


@pytest.mark.parametrize("kind", ["data", "metric", "benchmark", "model"])
def test_each_kind_alone_passes_the_checks(library, kind):
    made = new_plugin(PluginRequest(kinds=(kind,), name="alone2024"), library)
    assert all(str(file).startswith("vision/brainscore_vision/") for file in made.files)
    checked = check_named(workplace(library), ["alone2024"])
    assert len(checked.plugins) == 1
    assert [str(one) for one in checked.findings] == []


def test_tests_of_a_scaffold_can_fail(library):
    new_plugin(PluginRequest(kinds=("metric",), name="mine"), library)
    metric = library / "metrics/mine/metric.py"
    metric.write_text(metric.read_text().replace("axis=1)", "axis=1) ** 2"))
    passed, output = run_tests(library, "metrics/mine")
    assert not passed
    assert "test_by_hand" in output


@pytest.fixture
def packages(tmp_path):
    folder = tmp_path / "packages"
    stimulus_set = make_stimulus_set(tmp_path / "images", 60, identifier="Packed2024.images")
    package_stimulus_set_locally(stimulus_set, "Packed2024.images", folder)
    assembly = make_neuroid_assembly(60, 30, n_repetitions=4, regions=["V2"], noise=0.5)
    assembly.attrs.update(identifier="Packed2024.V2", units="Hz")
    package_data_assembly_locally(assembly, "Packed2024.V2", "Packed2024.images", downloads_path=folder)
    return folder


def test_from_packaged_files(library, packages):
    made = new_plugin(PluginRequest(kinds=("data", "benchmark"), name="Packed2024", package=packages), library)
    assert made.identifiers == ("Packed2024.images", "Packed2024.V2", "Packed2024.V2-pls")
    assert_sound(library, "packed2024", "benchmarks/packed2024", "data/packed2024")
    code = (library / "data/packed2024/__init__.py").read_text()
    assert 'stimulus_set_registry["Packed2024.images"] = lambda: load_stimulus_set_from_s3(' in code
    assert code.count('bucket="..."') == 2
    assert "@pytest.mark.network" in (library / "benchmarks/packed2024/test.py").read_text()


def test_broken_packages_are_refused(library, packages, tmp_path):
    (packages / "stimulus_Packed2024_images.zip").unlink()
    with pytest.raises(StimulusError, match="have problems"):
        new_plugin(PluginRequest(kinds=("data",), name="packed2024", package=packages), library)
    with pytest.raises(ConfigurationError, match="There is no folder"):
        new_plugin(PluginRequest(kinds=("data",), name="packed2024", package=tmp_path / "absent"), library)
    with pytest.raises(ConfigurationError, match="holds neither"):
        new_plugin(PluginRequest(kinds=("data",), name="packed2024", package=tmp_path / "checkout"), library)
    with pytest.raises(ConfigurationError, match="name the kind data too"):
        new_plugin(PluginRequest(kinds=("model",), name="packed2024", package=packages), library)
    assert not (library / "data/packed2024").exists()


def test_taken_folders_and_identifiers(library):
    before = sorted(path.name for path in library.rglob("*"))
    with pytest.raises(ConfigurationError, match="'pixels_2' is free"):
        new_plugin(PluginRequest(kinds=("model",), name="pixels"), library)
    with pytest.raises(ConfigurationError, match="'pixels_2' is free"):
        new_plugin(PluginRequest(kinds=("model",), name="mine", identifier="pixels"), library)
    with pytest.raises(ConfigurationError, match="'simulatedcortex2026b' is free"):
        new_plugin(PluginRequest(kinds=("model", "data"), name="SimulatedCortex2026"), library)
    assert sorted(path.name for path in library.rglob("*")) == before


def test_unknown_parts(library):
    with pytest.raises(UnknownIdentifierError, match="Did you mean 'pls'"):
        new_plugin(PluginRequest(kinds=("benchmark",), name="a2024", metric="plss"), library)
    with pytest.raises(UnknownIdentifierError, match="Did you mean 'SimulatedCortex2026'"):
        new_plugin(PluginRequest(kinds=("benchmark",), name="a2024", data="SimulatedCortx2026"), library)
    with pytest.raises(ConfigurationError, match="--region is"):
        new_plugin(PluginRequest(kinds=("benchmark",), name="a2024", region='IT"]; import os'), library)
    with pytest.raises(ConfigurationError, match="no library 'brainscore_language'"):
        new_plugin(PluginRequest(kinds=("model",), name="a"), library, "brainscore_language")
    assert not (library / "benchmarks/a2024").exists()


def test_a_benchmark_takes_the_data_of_its_name(library):
    new_plugin(PluginRequest(kinds=("data",), name="MajajHong2031"), library)
    made = new_plugin(PluginRequest(kinds=("benchmark",), name="majajhong2031", metric="rdm"), library)
    assert made.identifiers == ("MajajHong2031.IT-rdm",)
    assert 'load_dataset("MajajHong2031")' in (library / "benchmarks/majajhong2031/benchmark.py").read_text()
    assert "network" not in (library / "benchmarks/majajhong2031/test.py").read_text()


@pytest.mark.parametrize("identifier", ['a"]; import os', "a\nb", "a b", "../a", ""])
def test_identifiers_cannot_break_out_of_the_code(library, identifier):
    with pytest.raises(ConfigurationError, match="--identifier"):
        new_plugin(PluginRequest(kinds=("model",), name="mine", identifier=identifier), library)
    assert not (library / "models/mine").exists()


def test_nothing_is_half_written(library, monkeypatch):
    def fail(self, *args, **kwargs):
        if self.name == "test.py":
            raise OSError("disk full")
        return original(self, *args, **kwargs)

    original = Path.write_text
    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(OSError, match="disk full"):
        new_plugin(PluginRequest(kinds=("data", "benchmark"), name="mine2024"), library)
    monkeypatch.undo()
    assert [path.name for folder in FOLDERS for path in (library / folder).iterdir() if "mine" in path.name] == []


@pytest.mark.parametrize("arguments", [["modl", "mine"], ["model", "my-model"], ["model", "pixels"]])
def test_wrong_usage(library, capsys, arguments):
    assert main(["new_plugin", *arguments]) == 2
    assert "Error: " in capsys.readouterr().err


def test_templates_follow_the_style_of_the_library(library):
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed here")
    new_plugin(PluginRequest(kinds=("data", "metric", "benchmark", "model"), name="Mine2024"), library)
    folders = [str(library / folder / "mine2024") for folder in FOLDERS]
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [ruff, *command, "--config", str(ROOT / "pyproject.toml"), *folders], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout
