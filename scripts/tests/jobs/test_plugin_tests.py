"""Test the runner of plugin tests on a small library."""

import os

import pytest

from brainscore_ci.jobs.credentials import start_again_without_credentials, without_credentials
from brainscore_ci.jobs.plugin_tests import TestOptions, environment_of_tests, run_plugin_tests
from brainscore_core.command_line import NOT_AVAILABLE
from brainscore_core.errors import ConfigurationError, PluginError, RequirementsError, UnknownIdentifierError
from brainscore_core.plugin_management.index import PluginIndex, library_roots, plugin_at, plugins_named

LIBRARY = "tinylibrary"


@pytest.fixture(autouse=True)
def library(tiny):
    return tiny


def folders_named(name):
    return [
        f"{plugin.root.folder}/{plugin.name}" for plugin in plugins_named(PluginIndex(library_roots(LIBRARY)), name)
    ]


def run(*names, **options):
    arguments = tuple(options.pop("arguments", ()))
    return run_plugin_tests(LIBRARY, names, TestOptions(pytest_arguments=arguments, **options))


# -- names -------------------------------------------------------------------------------------------------------------


def test_folder_name_means_plugins_of_every_kind():
    assert sorted(folders_named("same")) == ["benchmarks/same", "models/same"]


def test_folder_and_name_mean_one_plugin():
    assert folders_named("models/same") == ["models/same"]


def test_identifier_means_the_plugin_that_registers_it():
    assert folders_named("Same-test") == ["benchmarks/same"]


def test_misspelled_name_gets_suggestions():
    with pytest.raises(UnknownIdentifierError, match="'same-model'"):
        run("same", "same-modle")


def test_path_means_the_plugin_there(library, tmp_path, plugin_writer):
    assert plugin_at(library / "models" / "same", LIBRARY).module == f"{LIBRARY}.models.same"
    with pytest.raises(PluginError, match=r"no __init__\.py"):
        plugin_at(library / "models" / "absent", LIBRARY)
    elsewhere = plugin_writer(tmp_path / "x", "things/mine", "")
    with pytest.raises(ConfigurationError, match=r"'things'; expected one of 'data'.*benchmarks/mine"):
        plugin_at(elsewhere, LIBRARY)
    hidden = plugin_writer(tmp_path / "x", "models/_mine", "")
    with pytest.raises(PluginError, match="do not start with"):
        plugin_at(hidden, LIBRARY)


# -- runs --------------------------------------------------------------------------------------------------------------


def test_runs_contracts_and_tests_of_all_named_plugins(capfd):
    assert run("same") == 0
    out = capfd.readouterr().out
    rows = [" ".join(line.split()[:5]) for line in out.splitlines() if line.startswith(("models/", "benchmarks/"))]
    assert {"models/same contract 1 0 0", "models/same test.py 1 0 0", "benchmarks/same test.py 1 0 0"} <= set(rows)
    assert out.splitlines()[-1] == "reproduce: nox -s test_plugin -- same"


def test_contract_and_test_failures_are_located(capfd):
    assert run("bad") == 1
    out = capfd.readouterr().out
    assert "The model 'bad' is odd." in out
    assert "tinylibrary/models/bad-1/__init__.py:2: registered here" in out
    assert "assert (1 + 1) == 3" in out  # the assertion explains itself
    assert [line.split()[:5] for line in out.splitlines() if line.startswith("models/bad-1 ")] == [
        ["models/bad-1", "contract", "0", "1", "0"],
        ["models/bad-1", "test.py", "0", "1", "0"],
    ]


@pytest.mark.slow
def test_extra_arguments_reach_pytest(capfd):
    assert run("bad-1", "same", arguments=["-k", "good and not bad"], private=False) == 1
    out = capfd.readouterr().out
    assert "deselected by -k or -m (bad::test_is_even)" in out
    assert "reproduce: nox -s test_plugin -- bad-1 same --ci -k 'good and not bad'" in out


def test_missing_test_file_fails_but_the_contract_runs(capfd):
    assert run("untested") == 1
    out = capfd.readouterr().out
    assert "1 passed" in out
    assert "models/untested: test.py is missing" in out


def test_plugin_without_registrations_fails(library, capfd):
    (library / "models/empty/test.py").write_text("def test_good():\n    assert 1 + 1 == 2\n")
    assert run("empty") == 1
    out = capfd.readouterr().out
    assert "1 passed" in out
    assert "models/empty: __init__.py registers nothing" in out


def test_folder_without_init_is_refused(library, capfd):
    folder = library / "models/bare"
    folder.mkdir()
    with pytest.raises(UnknownIdentifierError):
        run("bare")
    (folder / "test.py").write_text("def test_good():\n    assert 1 + 1 == 2\n")
    for name in ("bare", "models/bare"):
        with pytest.raises(PluginError, match=r"models/bare is not a plugin: it has no __init__\.py"):
            run(name)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_repeated_plugin_error_is_one_failure(library, capfd, plugin_writer, workers):
    test = """
    import brainscore_core.plugin_management.import_plugin as plugins
    import pytest
    def make(name): return plugins.import_plugin("tinylibrary", "model", name)()
    @pytest.mark.parametrize("name", ["m-1", "m-2", "m-3"])
    def test_it(name): assert make(name) == 4
    def test_that_is_wrong(): assert make("fine") == 5
    """
    init = "from .model import make\nmodel_registry['fine'] = lambda: 4\n"
    init += "".join(f"model_registry['m-{n}'] = lambda: make({n})\n" for n in (1, 2, 3))
    model = "def make(n):\n    import nothing_such\n"
    plugin_writer(library, "models/lazy", init, test, **{"model.py": model})
    assert run("lazy", arguments=["-n", str(workers)]) == 1
    out = capfd.readouterr().out
    assert "2 failed, 1 passed, 5 skipped" in out
    assert "skipped 5, the same error as in" in out
    assert ": ModuleNotFoundError: No module named 'nothing_such'" in out
    assert out.count("models/lazy/model.py:2: in make") == 1
    assert len(out.splitlines()) < 60


# -- markers and environment -------------------------------------------------------------------------------------------

MARKED = """
import os, pytest
@pytest.mark.private_access
def test_private():
    assert os.environ["SOME_TOKEN"] == "1"
@pytest.mark.slow
def test_slow(): pass
@pytest.mark.network
def test_network():
    from brainscore_core.supported_data_standards.brainio.s3 import get_path
    get_path("far", "nc", "bucket", None, "0" * 40)
@pytest.mark.nobody_knows_this
def test_where():
    assert os.environ["BRAINSCORE_HOME"].endswith(os.path.join("plugin-tests", "home"))
def test_ci():
    assert ("SOME_TOKEN" in os.environ) == (os.environ["MODE"] == "person")
"""


def outcomes(out):
    return next(line.split()[2:5] for line in out.splitlines() if line.startswith("models/marked  test.py"))


@pytest.mark.slow
def test_private_tests_run_locally_but_not_in_ci(library, capfd, monkeypatch, plugin_writer):
    plugin_writer(library, "models/marked", "model_registry['marked'] = lambda: 2", MARKED)
    monkeypatch.setenv("SOME_TOKEN", "1")
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    monkeypatch.setenv("MODE", "person")
    assert run("marked") == 0
    out = capfd.readouterr().out
    assert outcomes(out) == ["3", "0", "2"]
    assert "skipped 1, slow: takes more than a minute; --slow runs it" in out
    assert "skipped 1, network: s3://bucket/assy_far.nc is not at" in out
    monkeypatch.setenv("MODE", "ci")
    assert run("marked", private=False, slow=True) == 0
    out = capfd.readouterr().out
    assert outcomes(out) == ["3", "0", "2"]
    assert "skipped 1, private: needs private data; not run with --ci (test_priv" in out
    assert os.environ["SOME_TOKEN"] == "1"  # noqa: S105 - no secret, a sign that it got through
    assert run("marked", arguments=["-m", "slow"]) == 0  # requested by name
    assert outcomes(capfd.readouterr().out) == ["1", "0", "4"]


@pytest.mark.slow
def test_skipping_every_test_is_not_a_success(library, capfd, plugin_writer):
    test = "import pytest\n@pytest.mark.slow\ndef test_slow(): pass\n"
    plugin_writer(library, "models/lazy", "model_registry['lazy'] = lambda: 2", test)
    skip = "import pytest\npytestmark = pytest.mark.slow\nclass TestLazy:\n    def test_it(self): pass\n"
    assert run("models/lazy") == 0  # the contract was tested
    assert "nothing was tested" not in capfd.readouterr().out
    plugin_writer(library, "benchmarks/idle", "benchmark_registry['idle'] = lambda: 2", skip)
    assert run("benchmarks/idle") == NOT_AVAILABLE
    out = capfd.readouterr().out
    assert "benchmarks/idle: nothing was tested: its one test was skipped" in out
    assert "skipped 1, slow: takes more than a minute; --slow runs it" in out
    assert run("benchmarks/idle", slow=True) == 0


def test_credentials_and_runner_variables_are_removed(monkeypatch):
    secrets = {
        *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "ACTIONS_RUNTIME_URL", "GITHUB_ENV"),
        *("GITHUB_OUTPUT", "GITHUB_PATH", "BSC_DATABASESECRET", "MY_SECRET_VALUE", "hf_token", "DB_PASSWORD"),
    }
    harmless = {"PATH": "/bin", "HOME": "/h", "GITHUB_SHA": "0", "AWS_ENDPOINT_URL": "http://x", "TOKENIZERS": "1"}
    assert without_credentials({**dict.fromkeys(secrets, "x"), **harmless}) == harmless
    monkeypatch.setenv("MY_TOKEN", "x")
    assert "MY_TOKEN" in environment_of_tests(TestOptions())
    assert "MY_TOKEN" not in environment_of_tests(TestOptions(private=False))
    before = dict(os.environ)
    try:
        start_again_without_credentials()  # as pytest is another program, nothing is started
        assert "MY_TOKEN" not in os.environ
    finally:
        os.environ.update(before)


# -- other folders and requirements ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_plugin_outside_the_library_is_tested_the_same_way(tmp_path, capfd, plugin_writer):
    test = """
    from tinylibrary.testing import ModelContract
    from tinylibrary.models.mine.model import VALUE
    from .model import VALUE as same
    import brainscore_core.plugin_management.import_plugin as plugins

    class Mine(ModelContract):
        identifier = "mine"

    def test_found_by_the_library_with_those_beside_it():
        assert plugins.import_plugin("tinylibrary", "model", "mine")() == VALUE == 6
        assert plugins.import_plugin("tinylibrary", "benchmark", "Beside")() == "beside"
        assert plugins.import_plugin("tinylibrary", "model", "same-model")() == 4
        assert VALUE is same
    """
    registration = "from .model import VALUE\nmodel_registry['mine'] = lambda: VALUE\nmodel_registry['m2'] = lambda: 5"
    mine = plugin_writer(tmp_path / "out side", "models/mine", registration, test, **{"model.py": "VALUE = 6\n"})
    plugin_writer(tmp_path / "out side", "benchmarks/beside", "benchmark_registry['Beside'] = lambda: 'beside'", "")
    assert run(str(mine)) == 1
    out = capfd.readouterr().out
    assert "2 passed" in out
    assert "1 failed" in out
    assert "The model 'm2' is odd." in out  # the automatic contract covers identifiers without separate tests
    assert out.splitlines()[-1] == f"reproduce: nox -s test_plugin -- '{mine}'"
    assert not list(mine.rglob(".pytest_cache"))


@pytest.mark.parametrize(
    "name", ["my-model", *(pytest.param(name, marks=pytest.mark.slow) for name in ("9lives", "json"))]
)
def test_folder_names_may_be_invalid_or_taken_module_names(library, capfd, plugin_writer, name):
    test = "from .model import VALUE\ndef test_relative_import():\n    assert VALUE == 8\n"
    plugin_writer(
        library, f"models/{name}", f"model_registry['x{name}'] = lambda: 8", test, **{"model.py": "VALUE = 8"}
    )
    assert run(f"models/{name}") == 0
    assert "2 passed" in capfd.readouterr().out


@pytest.mark.slow  # makes environments
def test_requirements_get_a_separate_environment(library, tmp_path, monkeypatch, capfd, plugin_writer, write_wheel):
    wheels = tmp_path / "wheels"
    write_wheel(wheels)
    for name, value in {"BS_INSTALL_DEPENDENCIES": "yes", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", os.defpath)  # no uv
    test = "import bs_example, pytest\n@pytest.mark.parametrize('n', [1, 2])\n"
    test += "def test_x(n):\n    assert bs_example.VERSION\n"
    plugin_writer(
        library, "models/needy", "model_registry['n'] = lambda: 2", test, **{"requirements.txt": "bs_example"}
    )
    assert run("needy", arguments=["-n", "2"]) == 0
    captured = capfd.readouterr()
    assert "Installing the requirements of needy: bs_example" in captured.err
    assert "models/needy: in the environment " in captured.out
    assert "3 passed" in captured.out
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")  # another installation would fail
    assert run("needy") == 0
    assert "Installing" not in capfd.readouterr().err
    plugin_writer(library, "models/greedy", "", "def test_x(): pass\n", **{"requirements.txt": "bs_absent\n"})
    with pytest.raises(RequirementsError, match="bs_absent"):
        run("greedy")
    assert run("greedy", "models/same") == 1
