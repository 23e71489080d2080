"""Scaffolded plugins pass every static check and their own tests, in a copy of the library."""

import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

import brainscore_core
from brainscore_ci.__main__ import main
from brainscore_ci.checks.runner import check_named, workplace
from brainscore_ci.scaffold.columns import NAMES
from brainscore_ci.scaffold.make import PluginRequest, TablesRequest, new_plugin
from brainscore_ci.scaffold.templates import read_defaults
from brainscore_core.errors import BrainScoreError, ConfigurationError, StimulusError, UnknownIdentifierError
from brainscore_core.inspection import check_path
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.supported_data_standards.brainio.packaging import (
    package_data_assembly_locally,
    package_stimulus_set_locally,
)
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_core.testing.synthetic import make_neuroid_assembly, make_stimulus_set
from brainscore_vision import load_metric

ROOT = Path(__file__).parents[3]
FOLDERS = ("data", "metrics", "benchmarks", "models")
SHIPPED = (ROOT / "vision/tests/shipped_plugins.txt").read_text().split()


def copy_library(folder):
    """Make a checkout that links to this library; its plugin folders are new and contain links to the plugins."""
    original, copy = ROOT / "vision/brainscore_vision", folder / "checkout/vision/brainscore_vision"
    for entry in original.iterdir():
        (copy / entry.name).parent.mkdir(parents=True, exist_ok=True)
        if entry.name not in FOLDERS:
            (copy / entry.name).symlink_to(entry)
            continue
        (copy / entry.name).mkdir()
        for plugin in entry.iterdir():
            if (
                not plugin.is_dir() or f"{entry.name}/{plugin.name}" in SHIPPED
            ):  # others may have the names used in these tests
                (copy / entry.name / plugin.name).symlink_to(plugin)
    policy = '[tool.brainscore.ci]\nlibraries = ["vision/brainscore_vision"]\n'
    (folder / "checkout/pyproject.toml").write_text(policy)
    return copy


@pytest.fixture
def library(tmp_path, monkeypatch, shared_caches):
    copy = copy_library(tmp_path)
    monkeypatch.chdir(tmp_path / "checkout")
    return copy


def run_tests(library, *plugins):
    """Run the tests of plugins in a process that uses the copied library; return (passed, output)."""
    files = [str(library / plugin / "test.py") for plugin in plugins]
    options = ["-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider", "-p", "no:xdist", "-q"]
    done = run_python(library, "-m", "pytest", *options, *files)
    return done.returncode == 0, done.stdout + done.stderr


def run_python(library, *arguments):
    """Run Python in a process that uses the copied library."""
    path = os.pathsep.join([str(library.parent), str(Path(brainscore_core.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    where = {"env": environment, "cwd": library.parents[1]}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **where)


def only_placeholders(checked):
    """Return whether the checks find only placeholders, at most 4 per plugin and at least one in each."""
    assert [str(one) for one in checked.findings if one.rule != "placeholder"] == []
    n_found = Counter(one.path.split("/")[3] for one in checked.findings)
    assert max(n_found.values()) <= 4
    places = " ".join(f"{one.path} {one.message}" for one in checked.findings)
    return set(re.findall(r"vision/brainscore_vision/(\w+/\w+)/", places)) == set(checked.plugins)


def assert_checked(library, name, *plugins):
    checked = check_named(workplace(library), [name])
    assert checked.plugins == tuple(sorted(plugins))
    assert only_placeholders(checked)


ALL_KINDS = ("data", "metric", "benchmark", "model")
PLUGINS_OF_EVERY_KIND = [f"{folder}/myexperiment2024" for folder in FOLDERS]
BENCHMARKS_ON_SIMULATED_DATA = [f"benchmarks/other2024{metric[:3]}" for metric in ("pls", "i2n", "spantime_ridge")]


def test_templates_import_names_that_exist():
    """The whole proof is slow: this one finds a module that moved in a second."""
    templates = ROOT / "vision/brainscore_vision/plugin_templates"
    pattern = re.compile(r"^\s*from \$library((?:\.\w+)*) import ([\w, ]+)$", re.MULTILINE)
    imported = [match.groups() for file in templates.rglob("*.txt") for match in pattern.finditer(file.read_text())]
    assert len(imported) > 20
    for module, names in imported:
        path = f"brainscore_vision{module}"
        found = importlib.import_module(path)
        absent = [name for name in names.split(", ") if not hasattr(found, name)]
        assert [name for name in absent if importlib.util.find_spec(f"{path}.{name}") is None] == []


def test_scaffold_passes_the_checks(library, capsys):
    for words, plugins in (
        ([*ALL_KINDS, "MyExperiment2024", "--region", "V4"], PLUGINS_OF_EVERY_KIND),
        (["benchmark", "Other2024pls"], BENCHMARKS_ON_SIMULATED_DATA[:1]),  # these are on simulated data
        (["benchmark", "Other2024i2n", "--metric", "i2n"], BENCHMARKS_ON_SIMULATED_DATA[1:2]),
        (["benchmark", "Other2024spa", "--metric", "spantime_ridge"], BENCHMARKS_ON_SIMULATED_DATA[2:]),
    ):
        name = plugins[0].partition("/")[2]
        assert main(["new_plugin", *words]) == 0
        said = capsys.readouterr().out
        assert said.splitlines()[-1] == f"  nox -s test_plugin -- {name}"
        for plugin in plugins:
            files = {file.name for file in (library / plugin).iterdir()}
            assert files >= {"__init__.py", "test.py", "metadata.yml", "requirements.txt"}
            assert f"vision/brainscore_vision/{plugin}/__init__.py" in said
        assert_checked(library, name, *plugins)


@pytest.mark.slow  # runs the tests of plugins
def test_scaffolds_pass_their_tests_and_a_faulty_metric_fails(library):
    page = (ROOT / "docs/tutorials/first_plugin.md").read_text()
    commands = re.findall(r"^nox -s new_plugin -- (.+)$", page, re.MULTILINE)
    assert [main(["new_plugin", *words.split()]) for words in commands] == [0]
    files = re.findall(r"^```\w+\n# vision/brainscore_vision/(\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert [path for path, _ in files] == [f"models/mymodel/{name}.py" for name in ("model", "__init__", "test")]
    for path, text in files:
        (library / path).write_text(text)
    new_plugin(PluginRequest(kinds=("metric", "model"), name="MyExperiment2024"), library)
    new_plugin(PluginRequest(kinds=("metric",), name="mine"), library)
    metric = library / "metrics/mine/metric.py"
    metric.write_text(metric.read_text().replace("axis=1)", "axis=1) ** 2"))
    plugins = ("models/mymodel", "metrics/myexperiment2024", "models/myexperiment2024", "metrics/mine")
    _, output = run_tests(library, *plugins)
    assert " passed" in output, output
    assert not {"skipped", "ERROR"} & set(output.split()), output
    failed = re.findall(r"^FAILED \S*?(\w+/\w+)/test\.py::(\S+)", output, re.MULTILINE)
    assert {plugin for plugin, _ in failed} == {"metrics/mine"}
    assert ("metrics/mine", "test_by_hand") in failed


ANSWERS = {
    "<SPDX expression, such as CC-BY-4.0 or MIT>": "MIT",
    "<e-mail address, or GitHub name with @>": "@jane",
    "<public or private>": "public",
}


def complete(plugin):
    """Replace the placeholders in a plugin's files by values that only its author knows."""
    texts = {"Title of the publication": "On mice", "Author, First": "Doe, Jane", "Name of the journal": "Journal"}
    for file in plugin.iterdir():
        content = file.read_text()
        for placeholder, text in {**texts, **ANSWERS}.items():
            content = content.replace(placeholder, text)
        file.write_text(content)


def test_scaffold_with_placeholders_has_errors(library):
    new_plugin(PluginRequest(kinds=ALL_KINDS, name="Mine2024"), library)
    for folder in FOLDERS:
        checked = check_named(workplace(library), [f"{folder}/mine2024"])
        assert checked.has_errors
        complete(library / folder / "mine2024")
        assert [str(one) for one in check_named(workplace(library), [f"{folder}/mine2024"]).findings] == []


def test_each_kind_by_itself_passes_the_checks(library):
    for kind in ALL_KINDS:
        made = new_plugin(PluginRequest(kinds=(kind,), name=f"Alone{kind.title()}2024"), library)
        assert all(str(file).startswith("vision/brainscore_vision/") for file in made.files)
        checked = check_named(workplace(library), [f"alone{kind}2024"])
        assert len(checked.plugins) == 1
        assert only_placeholders(checked)


# -- every metric ------------------------------------------------------------------------------------------------------

DEFAULTS = read_defaults(ROOT / "vision/brainscore_vision")
DATA = {  # design -> options for scaffolding the data of its benchmarks
    "repetitions": {},
    "given_split": {},
    "over_time": {"metric": "spantime_pls"},
    "label": {"task": "label"},
    "accuracy": {"task": "label"},
    "probabilities": {"task": "probabilities"},
    "odd_one_out": {"task": "odd_one_out"},
}


def test_every_metric_has_a_design_or_a_reason():
    metrics = workplace(ROOT).index.owners(KINDS["metric"])
    owners = {name: files[0].parent.name for name, files in metrics.items()}
    assert set(DEFAULTS.designs).isdisjoint(DEFAULTS.no_design)
    shipped = {name for name in metrics if f"metrics/{owners[name]}" in SHIPPED}
    assert {*DEFAULTS.designs, *DEFAULTS.no_design} == shipped
    assert {*DEFAULTS.designs.values(), "odd_one_out"} == set(DATA)


@pytest.mark.slow  # scaffolds and runs a benchmark for each metric
def test_tests_pass_for_every_kind_and_metric(library):
    new_plugin(PluginRequest(kinds=ALL_KINDS, name="MyExperiment2024", region="V4"), library)
    made = [*PLUGINS_OF_EVERY_KIND, *BENCHMARKS_ON_SIMULATED_DATA]
    for metric in ("pls", "i2n", "spantime_ridge"):  # on simulated data
        new_plugin(PluginRequest(kinds=("benchmark",), name=f"Other2024{metric[:3]}", metric=metric), library)
    for design, request in DATA.items():
        name = f"{design.title().replace('_', '')}2024"
        new_plugin(PluginRequest(kinds=("data",), name=name, **request), library)
        made.append(f"data/{name.lower()}")
        metrics = [metric for metric, its in DEFAULTS.designs.items() if its == design] or [None]
        for number, metric in enumerate(metrics):
            given = {"metric": metric, "task": None if metric else design, "data": name}
            new_plugin(PluginRequest(kinds=("benchmark",), name=f"{name}_{number}", **given), library)
            made.append(f"benchmarks/{name.lower()}_{number}")
    passed, output = run_tests(library, *made)
    assert passed, output
    assert "skipped" not in output


def test_metric_without_a_design_is_refused_with_the_reason(library):
    for metric, reason in DEFAULTS.no_design.items():
        with pytest.raises(ConfigurationError, match=re.escape(reason)):
            new_plugin(PluginRequest(kinds=("benchmark",), name="A2024", metric=metric), library)
    assert not (library / "benchmarks/a2024").exists()


@pytest.mark.slow  # loads the benchmarks
def test_new_metric_gets_the_ceiling_of_its_quantity(library):
    for number, quantity in enumerate(("correlation", "dissimilarity_correlation", "accuracy")):
        new_plugin(PluginRequest(kinds=("metric",), name=f"mine{number}"), library)
        file = library / f"metrics/mine{number}/metric.py"
        file.write_text(file.read_text().replace('"dissimilarity_correlation"', repr(quantity)))
    requests = [PluginRequest(kinds=("data", "benchmark"), name=f"A{n}2024", metric=f"mine{n}") for n in range(3)]
    with pytest.raises(ConfigurationError, match="is unknown, because its class has the quantity 'accuracy'"):
        new_plugin(requests[2], library)
    names = [new_plugin(request, library).identifiers[-1] for request in requests[:2]]
    code = (
        f"from brainscore_vision import load_benchmark\nfor name in {names}: print(load_benchmark(name).ceiling.attrs)"
    )
    done = run_python(library, "-c", code)
    of_correlation, of_geometry = done.stdout.strip().splitlines() or [done.stderr, ""]
    assert "'reliability': <Score" in of_geometry, done.stderr
    assert "'reliability': <Score" not in of_correlation


# -- facts of the data -------------------------------------------------------------------------------------------------


def test_unrecorded_regions_are_refused(library):
    with pytest.raises(ConfigurationError, match=r"'PFC'\. The data 'SimulatedCortex2026' are from V1 and IT"):
        new_plugin(PluginRequest(kinds=("benchmark",), name="A2024", region="PFC"), library)
    with pytest.raises(ConfigurationError, match=r"'PFC'\. Models can be recorded from V1 and V2 and V4 and IT"):
        new_plugin(PluginRequest(kinds=("data", "benchmark"), name="A2024", region="PFC"), library)
    new_plugin(PluginRequest(kinds=("data",), name="A2024", region="V4"), library)
    with pytest.raises(ConfigurationError, match=r"'V2'\. The data 'A2024' are from V4"):
        new_plugin(PluginRequest(kinds=("benchmark",), name="A2024", region="V2"), library)
    assert new_plugin(PluginRequest(kinds=("benchmark",), name="A2024"), library).identifiers == ("A2024.V4-pls",)


def test_number_of_trials_comes_from_the_data(library):
    new_plugin(PluginRequest(kinds=("data",), name="Three2024"), library)
    dataset = library / "data/three2024/dataset.py"
    dataset.write_text(dataset.read_text().replace("N_REPETITIONS = 6", "N_REPETITIONS = 3"))
    new_plugin(PluginRequest(kinds=("benchmark",), name="A2024", data="Three2024"), library)
    assert "NUMBER_OF_TRIALS = 3 " in (library / "benchmarks/a2024/benchmark.py").read_text()
    with pytest.raises(ConfigurationError, match="is unknown without loading them: pass --trials"):
        new_plugin(PluginRequest(kinds=("benchmark",), name="B2024", data="Rajalingham2020"), library)
    given = {"data": "Rajalingham2020", "trials": 50, "visual_degrees": 8.5}
    made = new_plugin(PluginRequest(kinds=("benchmark",), name="B2024", **given), library)
    code = (library / "benchmarks/b2024/benchmark.py").read_text()
    assert {"NUMBER_OF_TRIALS = 50 ", "VISUAL_DEGREES = 8.5 "} <= set(re.findall(r"^\w+ = [\d.]+ ", code, re.MULTILINE))
    assert not any("VISUAL_DEGREES" in remark for remark in made.remarks)


def test_region_must_be_named_if_data_have_several(library, packages):
    assembly = make_neuroid_assembly(60, 30, n_repetitions=4, regions=["V4", "IT"], noise=0.5)
    assembly.attrs.update(identifier="Packed2024.V2", units="Hz")
    package_data_assembly_locally(assembly, "Packed2024.V2", "Packed2024.images", downloads_path=packages)
    kinds = ("data", "benchmark")
    with pytest.raises(ConfigurationError, match="are from IT and V4; a benchmark has one region"):
        new_plugin(PluginRequest(kinds=kinds, name="Packed2024", package=packages), library)
    made = new_plugin(PluginRequest(kinds=kinds, name="Packed2024", package=packages, region="V4"), library)
    assert made.identifiers[-1] == "Packed2024.V4-pls"
    assert any(
        "VISUAL_DEGREES in benchmark.py (width of the stimuli; 8 is a guess)" in remark for remark in made.remarks
    )


def test_few_stimuli_get_a_suitable_metric(library, packages, tmp_path):
    stimuli = make_stimulus_set(tmp_path / "images", 20, identifier="Few2024.images")
    package_stimulus_set_locally(stimuli, "Few2024.images", downloads_path=packages)
    assembly = make_neuroid_assembly(20, 6, n_repetitions=6, regions=["IT"], noise=0.5)
    assembly.attrs.update(identifier="Few2024", units="Hz")
    package_data_assembly_locally(assembly, "Few2024", "Few2024.images", downloads_path=packages)
    request = {"kinds": ("data", "benchmark"), "package": packages}
    with pytest.raises(ConfigurationError, match=r"'pls' needs at least 28 stimuli; 'Few2024' has 20\."):
        new_plugin(PluginRequest(name="Few2024", metric="pls", **request), library)
    made = new_plugin(PluginRequest(name="Few2024", **request), library)
    assert made.identifiers[-1] == "Few2024.IT-ridge_kfold"
    assert "The metric is 'ridge_kfold', since 'pls' needs at least 28 stimuli; 'Few2024' has 20." in made.remarks
    metadata = (library / "data/few2024/metadata.yml").read_text()
    assert {f'"{placeholder}"' in metadata for placeholder in ANSWERS} == {True}  # nothing is guessed


NEURAL = [name for name, design in DEFAULTS.designs.items() if design in {"repetitions", "over_time"}]


SMALLEST_DATA = {  # metric -> the fewest stimuli and neuroids, as listed in the reference
    metric: (int(stimuli), int(neuroids))
    for stimuli, neuroids, metrics in re.findall(
        r"^\| (\d+) \| (\d+) \| (.*) \|$", (ROOT / "docs/reference/metrics.md").read_text(), re.MULTILINE
    )
    for metric in re.findall(r"`(\w+)`", metrics)
}


def test_reference_lists_the_smallest_data_of_every_metric():
    assert {metric: least for metric, (least, _) in SMALLEST_DATA.items()} == {
        metric: DEFAULTS.least_stimuli.get(metric, 3) for metric in NEURAL
    }


@pytest.mark.parametrize("metric", NEURAL)
def test_fewest_stimuli_of_a_metric_are_minimal(metric):
    bins = DEFAULTS.time_bins if DEFAULTS.designs[metric] == "over_time" else None

    def is_scored(n_stimuli, n_neuroids=6):
        measured = make_neuroid_assembly(n_stimuli, n_neuroids, n_repetitions=4, noise=0.5, time_bins=bins)
        features = average_repetition(make_neuroid_assembly(n_stimuli, 40, noise=0, time_bins=bins))
        compare = load_metric(metric)
        target = measured if getattr(compare, "takes_repetitions", False) else average_repetition(measured)
        try:
            return bool(np.isfinite(compare(features, target).values).all())
        except ValueError:
            return False

    least, fewest_neuroids = SMALLEST_DATA[metric]
    assert is_scored(least)
    assert is_scored(30, fewest_neuroids)
    assert not is_scored(30, fewest_neuroids - 1)
    assert metric not in DEFAULTS.least_stimuli or not is_scored(least - 1)


@pytest.mark.parametrize(("regression", "fewest"), [("pls", 25), ("ridge", 2), ("linear_predictivity", 2)])
def test_fewest_stimuli_of_a_split_are_minimal(regression, fewest):
    def is_scored(n_train, n_test):
        measured, features = (make_neuroid_assembly(n_train + n_test, n, n_repetitions=1, noise=0.5) for n in (6, 40))
        parts = [part for all_of in (features, measured) for part in (all_of[:n_train], all_of[n_train:])]
        try:
            return bool(np.isfinite(load_metric(f"{regression}_split")(*map(average_repetition, parts)).values).all())
        except ValueError:
            return False

    assert [is_scored(fewest, 2), is_scored(fewest - 1, 2), is_scored(fewest, 1)] == [True, False, False]


def test_names_are_registered_as_typed(library):
    made = new_plugin(PluginRequest(kinds=("data", "benchmark"), name="myexperiment2024"), library)
    assert made.identifiers == ("myexperiment2024", "myexperiment2024.IT-pls")
    assert any("such as MyExperiment2024" in remark for remark in made.remarks)


def test_unsuitable_tasks_are_refused(library):
    for given, message in (
        (
            {"task": "lable"},
            "Unknown task 'lable'; expected one of label, probabilities, odd_one_out. Did you mean 'label'",
        ),
        ({"task": "label"}, "needs choices of people: name them with --data, or create data too: .* --task label"),
        ({"task": "label", "metric": "pls"}, "'pls' is not for the task 'label'; expected .*error_consistency"),
        ({"task": "odd_one_out", "metric": "rdm"}, "expected none: leave --metric out"),
        ({"task": "probabilities", "data": "Rajalingham2018.private"}, "one as 'Rajalingham2018.private.fitting'"),
    ):
        with pytest.raises(BrainScoreError, match=message):
            new_plugin(PluginRequest(kinds=("benchmark",), name="A2024", **given), library)


@pytest.fixture
def packages(tmp_path):
    folder = tmp_path / "packages"
    stimulus_set = make_stimulus_set(tmp_path / "images", 60, identifier="Packed2024.images")
    package_stimulus_set_locally(stimulus_set, "Packed2024.images", folder)
    assembly = make_neuroid_assembly(60, 30, n_repetitions=4, regions=["V2"], noise=0.5)
    assembly.attrs.update(identifier="Packed2024.V2", units="Hz")
    package_data_assembly_locally(assembly, "Packed2024.V2", "Packed2024.images", downloads_path=folder)
    return folder


def test_scaffold_from_packaged_files(library, packages):
    made = new_plugin(PluginRequest(kinds=("data", "benchmark"), name="Packed2024", package=packages), library)
    assert made.identifiers == ("Packed2024.images", "Packed2024.V2", "Packed2024.V2-pls")
    assert_checked(library, "packed2024", "benchmarks/packed2024", "data/packed2024")
    code = (library / "data/packed2024/__init__.py").read_text()
    assert 'stimulus_set_registry["Packed2024.images"] = lambda: load_stimulus_set_from_s3(' in code
    assert code.count('bucket="..."') == 2
    assert "@pytest.mark.network" in (library / "benchmarks/packed2024/test.py").read_text()


def test_plugin_of_the_same_packaged_files_is_allowed(library, packages, tmp_path):
    """A portal scaffolds it outside the library, which has the same scaffold; other files of that name are refused."""
    request = PluginRequest(kinds=("data",), name="Packed2024", package=packages, repository=tmp_path / "theirs")
    new_plugin(replace(request, repository=None), library)
    assert new_plugin(request, library).identifiers == ("Packed2024.images", "Packed2024.V2")
    file = library / "data/packed2024/__init__.py"
    file.write_text(re.sub(r'csv_sha1="\w+"', 'csv_sha1="0"', file.read_text()))
    other = replace(request, repository=tmp_path / "others")
    with pytest.raises(
        ConfigurationError,
        match=r"the packaged files contain the name: package them again under another name, such as 'Packed2024",
    ):
        new_plugin(other, library)


@pytest.mark.slow
def test_scaffold_from_tables(library, experiment, shared_experiment, capsys, monkeypatch, tmp_path):
    """20 stimuli and 6 neurons in every layout, and choices, become plugins whose tests pass unchanged."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    options = {"wide": [], "long": ["--metric", "rdm"], "spikes": ["--window", "70", "170", "--bins", "2"]}
    made, registered = [], {}
    for layout, table in shared_experiment.layouts.items():
        files = map(str, experiment(table))
        region = [] if layout in ("choices", "trials") else ["--region", "IT"]
        words = ["data", "benchmark", f"My{layout}2024", "--from-csv", *files, *region, *options.get(layout, [])]
        assert main(["new_plugin", *words]) == 0
        said = capsys.readouterr().out
        assert re.search(r"^  stimuli +20$", said, re.MULTILINE)
        registered[layout] = re.findall(r"My\w+2024[^ ,]*(?=[,.] )", said)
        plugins = [f"{folder}/my{layout}2024" for folder in ("benchmarks", "data")]
        assert_checked(library, f"my{layout}2024", *plugins)
        assert len(list((tmp_path / f"home/Downloads/brainscore_packages/my{layout}2024").iterdir())) == 3
        made += plugins
    made += follow_the_tutorial_on_tables(capsys)
    names = {layout: identifiers[-1].rpartition("-")[2] for layout, identifiers in registered.items()}
    behaviour = {"choices": "error_consistency", "trials": "i2n"}
    assert names == {"wide": "ridge_kfold", "long": "rdm", "spikes": "spantime_ridge", **behaviour}
    passed, output = run_tests(library, *made)
    assert passed, output
    assert "skipped" not in output


def follow_the_tutorial_on_tables(capsys):
    """Run the tutorial's snippets and command, compare the printed text, and return the plugins."""
    page = (ROOT / "docs/tutorials/from_a_table.md").read_text()
    names = {"__name__": "tutorial"}
    exec(re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1], names)  # noqa: S102 - our own
    words = re.search(r"^nox -s new_plugin -- (.+?csv)$", page, re.MULTILINE | re.DOTALL)[1]
    capsys.readouterr()
    assert main(["new_plugin", *words.replace("FOLDER", str(names["folder"])).replace("\\\n", " ").split()]) == 0
    said = capsys.readouterr().out.replace(str(names["folder"]), "FOLDER").splitlines()
    shown = re.search(r"^```text\n(Read from.*?)^```$", page, re.MULTILINE | re.DOTALL)[1].splitlines()
    assert [line for line in shown if not any(each.startswith(line.removesuffix("...")) for each in said)] == []
    for role, accepted in NAMES.items():
        assert f"| {role} | {', '.join(f'`{name}`' for name in accepted)} |" in page
    return ["benchmarks/mytable2026", "data/mytable2026"]


def test_package_and_new_plugin_read_tables_equally(
    library, experiment, shared_experiment, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    files = list(map(str, experiment(shared_experiment.layouts["wide"])))
    options = ["--region", "IT", "--units", "spikes/s"]
    assert main(["new_plugin", "data", "Same2024", "--from-csv", *files, *options]) == 0
    assert main(["package", *files, "--identifier", "Same2024", "--to", str(tmp_path / "packaged"), *options]) == 0
    assert "  repetition   column 'rep'" in capsys.readouterr().out
    folders = tmp_path / "home/Downloads/brainscore_packages/same2024", tmp_path / "packaged"
    first, second = ({file.name: file.read_bytes() for file in folder.iterdir()} for folder in folders)
    assert first == second
    assert len(first) == 3
    assert main(["package", files[0], "--identifier", "Only2024", "--to", str(tmp_path / "only")]) == 0
    assert sorted(file.suffix for file in (tmp_path / "only").iterdir()) == [".csv", ".zip"]
    assert main(["package", *files]) == 2
    assert "--identifier is ''" in capsys.readouterr().err


FACTS = {"contact": "@octocat", "licence": "CC-BY-4.0", "species": "Macaca mulatta", "citation": "10.1000/x.1"}


def test_facts_are_requested_once_and_written_on_overwrite(
    library, experiment, shared_experiment, capsys, monkeypatch, tmp_path
):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    files = map(str, experiment(shared_experiment.layouts["wide"]))
    words = ["new_plugin", "data", "benchmark", "Facts2024", "--region", "IT", "--from-csv", *files]
    assert main(words) == 0
    listed = "Only you can fill these in, and nox -s check lists each place: "
    width = "VISUAL_DEGREES in benchmark.py (width of the stimuli; 8 is a guess)."
    asked = "licence, citation, bucket, access and contact (the upload of the packaged files)"
    assert f"{listed}{asked}, {width}" in capsys.readouterr().out
    findings = check_named(workplace(library), ["facts2024"]).findings
    names = ["the citation", "the licence", "the width of the stimuli"]
    upload = "the values that an upload provides (bucket, access, contact)"
    assert sorted(one.message.split(" is ")[0] for one in findings) == sorted([*names, upload])
    assert all((library.parents[1] / one.path).is_file() for one in findings)  # also for facts that only the data lack
    (licence,) = (one for one in findings if one.message.startswith("the licence"))
    assert licence.path == "vision/brainscore_vision/benchmarks/facts2024/metadata.yml"
    assert licence.message.endswith("also in vision/brainscore_vision/data/facts2024/metadata.yml:3")
    mine = library / "data/facts2024/notes.py"
    mine.write_text("x = 1\n")
    assert main(words) == 2
    assert "--overwrite" in capsys.readouterr().err
    options = [word for name, value in FACTS.items() for word in (f"--{name}", value)]
    assert main([*words, "--overwrite", "--units", "spikes/s", *options]) == 0
    assert f"{listed}bucket and access (the upload of the packaged files), {width}" in capsys.readouterr().out
    assert mine.read_text() == "x = 1\n"
    mine.unlink()
    for kind in ("data", "benchmarks"):
        metadata = yaml.safe_load((library / kind / "facts2024/metadata.yml").read_text())
        assert {**FACTS, "citation": "https://doi.org/10.1000/x.1"}.items() <= metadata.items()
    found = [one.message.split(" is ")[0] for one in check_named(workplace(library), ["facts2024"]).findings]
    assert sorted(found) == sorted(["the width of the stimuli", upload])
    packaged = tmp_path / "home/Downloads/brainscore_packages/facts2024"
    assert check_path(packaged) == []  # without --units, a hint
    with pytest.raises(ConfigurationError, match="expected a DOI"):
        new_plugin(PluginRequest(kinds=("model",), name="mine", facts={"citation": "Me (2024)"}), library)


def test_only_plain_files_are_overwritten(library):
    new_plugin(PluginRequest(kinds=("model",), name="mine2024"), library)
    file = library / "models/mine2024/model.py"
    file.unlink()
    file.symlink_to(library / "models/pixels/__init__.py")
    with pytest.raises(ConfigurationError, match="not a plain file"):
        new_plugin(PluginRequest(kinds=("model",), name="mine2024", overwrite=True), library)
    with pytest.raises(ConfigurationError, match="registered already"):
        new_plugin(PluginRequest(kinds=("model",), name="mine2024b", identifier="pixels", overwrite=True), library)


def test_unsuitable_tables_leave_no_files(library, experiment, shared_experiment, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    wide = shared_experiment.layouts["wide"]
    files = experiment(wide.drop(columns="rep").groupby("Picture", as_index=False).mean())
    tables = TablesRequest(stimuli=files[0], responses=files[1], region="IT")
    with pytest.raises(
        ConfigurationError, match="provide the repetitions, not their mean, or create only the kind data"
    ):
        new_plugin(PluginRequest(kinds=("data", "benchmark"), name="Mean2024", tables=tables), library)
    for given, message in (
        ({"kinds": ("model",), "tables": tables}, "--from-csv registers data: add the kind data"),
        ({"kinds": ("data",), "tables": tables, "package": tmp_path}, "cannot be combined"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            new_plugin(PluginRequest(name="Mean2024", **given), library)
    assert main(["new_plugin", "data", "Mean2024", "--window", "70", "170"]) == 2
    assert [*library.glob("*/mean2024"), *tmp_path.glob("home/Downloads/*/*")] == []
    new_plugin(PluginRequest(kinds=("data",), name="Mean2024", tables=tables), library)


def test_incomplete_packages_are_refused(library, packages, tmp_path):
    (packages / "stimulus_Packed2024_images.zip").unlink()
    for kind, package, error, message in (
        ("data", packages, StimulusError, "have problems"),
        ("data", tmp_path / "absent", ConfigurationError, "There is no folder"),
        ("data", tmp_path / "checkout", ConfigurationError, "holds neither"),
        ("model", packages, ConfigurationError, "add the kind data"),
    ):
        with pytest.raises(error, match=message):
            new_plugin(PluginRequest(kinds=(kind,), name="packed2024", package=package), library)
    assert not (library / "data/packed2024").exists()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"kinds": ("model",), "name": "pixels"}, ConfigurationError, "'pixels_2' is free"),
        ({"kinds": ("model",), "name": "mine", "identifier": "pixels"}, ConfigurationError, "'pixels_2' is free"),
        ({"kinds": ("model", "data"), "name": "SimulatedCortex2026"}, ConfigurationError, "'simulatedcortex2026b' is"),
        ({"metric": "plss"}, UnknownIdentifierError, "Did you mean 'pls'"),
        ({"data": "SimulatedCortx2026"}, UnknownIdentifierError, "Did you mean 'SimulatedCortex2026'"),
        ({"region": 'IT"]; import os'}, ConfigurationError, "--region is"),
    ],
)
def test_taken_names_and_unknown_parts_are_errors(library, given, error, message):
    before = sorted(path.name for path in library.rglob("*"))
    with pytest.raises(error, match=message):
        new_plugin(PluginRequest(**{"kinds": ("benchmark",), "name": "a2024", **given}), library)
    assert sorted(path.name for path in library.rglob("*")) == before
    with pytest.raises(ConfigurationError, match="library 'brainscore_language' is not here"):
        new_plugin(PluginRequest(kinds=("model",), name="a"), library, "brainscore_language")


def test_benchmark_uses_the_data_of_its_name(library):
    new_plugin(PluginRequest(kinds=("data",), name="MajajHong2031"), library)
    made = new_plugin(PluginRequest(kinds=("benchmark",), name="majajhong2031", metric="rdm"), library)
    assert made.identifiers == ("MajajHong2031.IT-rdm",)
    assert 'load_dataset("MajajHong2031")' in (library / "benchmarks/majajhong2031/benchmark.py").read_text()
    assert "network" not in (library / "benchmarks/majajhong2031/test.py").read_text()


def test_identifier_cannot_inject_code(library):
    for identifier in ('a"]; import os', "a\nb", "a b", "../a", ""):
        with pytest.raises(ConfigurationError, match="--identifier"):
            new_plugin(PluginRequest(kinds=("model",), name="mine", identifier=identifier), library)
    assert not (library / "models/mine").exists()


def test_failed_write_leaves_no_files(library, monkeypatch):
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


def test_wrong_usage_exits_with_2(library, capsys):
    for arguments in (["modl", "mine"], ["model", "my-model"], ["model", "pixels"]):
        assert main(["new_plugin", *arguments]) == 2
        assert "Error: " in capsys.readouterr().err


def test_templates_follow_the_style_of_the_library(library):
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed here")
    new_plugin(PluginRequest(kinds=("metric", "model"), name="Mine2024"), library)
    for design, request in DATA.items():
        metric = next((metric for metric, its in DEFAULTS.designs.items() if its == design), None)
        given = {"kinds": ("data", "benchmark"), "name": f"Mine2024{design[:2]}", **request, "metric": metric}
        new_plugin(PluginRequest(**given), library)
    folders = [str(folder) for folder in library.glob("*/mine2024*")]
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [ruff, *command, "--config", str(ROOT / "pyproject.toml"), *folders], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_first_data_set_tutorial_works(library):
    page = (ROOT / "docs/tutorials/first_data_set.md").read_text()
    snippets = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names = {"__name__": "tutorial"}
    for snippet in itertools.takewhile(lambda text: "registry" not in text, snippets):
        exec(snippet, names)  # noqa: S102 - our own documents
    [words] = re.findall(r"^nox -s new_plugin -- (.+) FOLDER$", page, re.MULTILINE)
    assert main(["new_plugin", *words.split(), str(names["folder"] / "packages")]) == 0
    assert compile(names["code"], "__init__.py", "exec")
    passed, output = run_tests(library, "data/myexperiment2024", "benchmarks/myexperiment2024")
    assert passed, output


@pytest.mark.slow
def test_separate_repository_has_a_passing_workflow(tmp_path, monkeypatch, shared_caches):
    home, of = tmp_path / "lab", ["--library", "brainscore_vision"]
    monkeypatch.chdir(tmp_path)
    assert main(["new-plugin", "--repository", "lab", *of]) == 0
    (home / "README.md").write_text("ours")
    assert main(["new-plugin", "model", "mymodel2026", "--repository", "lab", *of]) == 0
    monkeypatch.chdir(home)
    assert main(["new-plugin", "metric", "mymetric2026", *of]) == 0  # the folder's own pyproject.toml names the place
    plugins = sorted(file.parent for file in home.glob("*/*/__init__.py"))
    assert plugins == [home / "metrics/mymetric2026", home / "models/mymodel2026"]
    assert (home / "README.md").read_text() == "ours"
    for plugin in plugins:
        complete(plugin)
    jobs = yaml.safe_load((home / ".github/workflows/plugins.yml").read_text())["jobs"]
    _, check, test = [step["run"] for step in jobs["plugins"]["steps"] if "run" in step]  # the first installs
    variables = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command, expected in ((check, "0 errors"), (test, "12 ")):
        done = subprocess.run(
            ["/bin/bash", "-eo", "pipefail", "-c", command], env=variables, capture_output=True, text=True
        )
        assert (done.returncode, expected in done.stdout) == (0, True), done.stdout + done.stderr


# -- a pull request of only plugins ------------------------------------------------------------------------------------

LIKELY_NAMES = (
    *("average", "baseline", "behavior", "bootstrap", "brain", "choices", "core", "correlation", "cosine", "data"),
    *("distance", "euclidean", "experiment", "features", "human", "images", "linear", "mean", "median", "metric"),
    *("model", "mymetric", "mymodel", "net", "network", "neurons", "noise", "pearson", "random", "recordings"),
    *(
        "reliability",
        "resnet",
        "ridge2030",
        "score",
        "similarity",
        "simple",
        "spearman",
        "split",
        "test_model",
        "video",
    ),
    *("variance", "array", "categories"),
)
NEW_PLUGINS = {"mymodel": "models", "correlation": "metrics", "median2030": "data, benchmarks"}
UNKNOWN = "package-of-nobody==20.30"


def test_likely_names_are_accepted_unchanged(library):
    assert len(LIKELY_NAMES) == 43
    for number, name in enumerate(LIKELY_NAMES):
        kind = "metric" if number % 2 or name == "resnet" else "model"
        assert new_plugin(PluginRequest(kinds=(kind,), name=name), library).identifiers == (name,)
    assert only_placeholders(check_named(workplace(library), list(LIKELY_NAMES)[::4]))


@pytest.fixture(scope="module")
def pull_request(tmp_path_factory):
    """Copy this repository to a branch with new plugins, each with a requirement used nowhere else."""
    copy = tmp_path_factory.mktemp("pull request") / "copy"
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]:
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    git(copy, "init", "-q", "-b", "main")
    commit(copy)
    git(copy, "switch", "-q", "-c", "plugins")
    for words in ("model mymodel", "metric correlation", "data benchmark Median2030"):
        run_in_copy(copy, "-m", "brainscore_ci", "new_plugin", *words.split())
    for folder in (folder for name in NEW_PLUGINS for folder in (copy / "vision/brainscore_vision").glob(f"*/{name}")):
        complete(folder)
        with (folder / "requirements.txt").open("a") as stream:
            stream.write(f"{UNKNOWN}\n")
    commit(copy)
    return copy


def git(place, *arguments):
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(place), *identity, *arguments], check=True, capture_output=True)


def commit(place):
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "change")


def run_in_copy(copy, *arguments, code=0, **variables):
    """Run Python in the copy with its own packages; return the output."""
    packages = os.pathsep.join(str(copy / folder) for folder in ("core", "scripts", "vision", "web"))
    # No index has the requirement; a plugin that does not import it is tested without it.
    environment = {**os.environ, "PYTHONPATH": packages, "OMP_NUM_THREADS": "1", "BS_INSTALL_DEPENDENCIES": "no"}
    where = {"cwd": copy, "env": {**environment, **variables}}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **where)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_new_plugins_pass_plan_check_and_library_gate(pull_request, tmp_path):
    output = tmp_path / "output"
    compared = ("--event", "pull_request", "--base", "main", "--head", "plugins")
    run_in_copy(pull_request, "scripts/plan.py", *compared, GITHUB_OUTPUT=str(output))
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    names = "benchmarks/median2030, data/median2030, metrics/correlation and 1 more"
    assert (outputs["library"], outputs["plugins_only"]) == ("0", f"plugins only: {names}")
    assert int(outputs["tests"]) >= 4
    needs = {"plan": "success", "rules": "skipped", "tests": "skipped"}
    gate = {
        "NEEDS": json.dumps({job: {"result": result} for job, result in needs.items()}),
        "COUNTS": json.dumps(dict.fromkeys(("rules", "tests"), outputs["library"])),
        "REQUIRED": "plan rules tests",
        "REASON": outputs["plugins_only"],
    }
    assert run_in_copy(pull_request, "scripts/gate.py", **gate) == f"The gate is open, plugins only: {names}.\n"
    assert "0 errors, 0 suggestions in" in run_in_copy(
        pull_request, "-m", "brainscore_ci", "check", "--changed", "--base", "main"
    )


@pytest.mark.slow
def test_new_plugins_pass_their_own_tests(pull_request):
    said = run_in_copy(pull_request, "-m", "brainscore_ci", "test_plugin", *NEW_PLUGINS, "--ci")
    assert not re.search(r"[1-9]\d* (failed|errors?)\b", said), said
    for name, folders in NEW_PLUGINS.items():
        assert all(f"{folder}/{name}" in said for folder in folders.split(", "))


HOUSE_TESTS = (
    "core/tests/test_repository.py", "core/tests/test_architecture.py", "vision/tests/test_documents.py",
    "vision/tests/test_hierarchy.py", "vision/tests/commands/test_listing.py",
    "vision/tests/integration/test_model_tutorial.py", "vision/tests/isolation/test_never_looking.py",
    "vision/tests/isolation/test_never_looking_neural.py",
)  # fmt: skip
"""Tests that read every plugin in the repository."""


@pytest.mark.slow
def test_new_plugins_break_no_repository_test(pull_request):
    """After the merge these tests run with the new plugins in the tree."""
    chosen = ["-p", "no:cacheprovider", "-p", "no:xdist", "-q", "-m", "not slow and not contract"]
    chosen += ["-k", "core or reference or extra or ship or every or place or listing or region or model or ordinary"]
    said = run_in_copy(pull_request, "-m", "pytest", *chosen, *HOUSE_TESTS)
    assert int(re.search(r"(\d+) passed", said)[1]) > 40
