import os
import subprocess
import sys
import time

import pytest

from brainscore_core.config import settings
from brainscore_core.errors import PluginError
from brainscore_core.plugin_management import index as indexing
from brainscore_core.plugin_management.index import PluginIndex, PluginRoot, library_roots
from brainscore_core.plugin_management.registry import KINDS

MODEL = KINDS["model"]


@pytest.fixture
def index(library):
    return PluginIndex(library_roots(library.name))


@pytest.fixture
def parsed(monkeypatch):
    """Return the list that collects the name of each parsed plugin."""
    names = []
    read = indexing.read_registrations

    def note(files):
        names.extend(file.parent.name for file in files)
        return read(files)

    monkeypatch.setattr(indexing, "read_registrations", note)
    return names


def forget():
    """Clear the rows in memory, as in a new process."""
    indexing._rows_in_memory.clear()


def index_files():
    return sorted((settings().cache_home / "plugin-index").glob("*.json"))


def test_library_roots_are_found_without_importing(library):
    folders = ("data", "metrics", "benchmarks", "models")
    roots = {(root.folder, root.path, root.package) for root in library_roots(library.name)}
    assert roots == {(folder, library.path / folder, f"{library.name}.{folder}") for folder in folders}
    assert library.name not in sys.modules
    with pytest.raises(PluginError, match="no_such_library"):
        library_roots("no_such_library")


def test_find_does_not_import(library, index):
    directory = library.add("models", "alexnet-7be5be79", "raise RuntimeError\nmodel_registry['alexnet:7be5'] = f")
    ((plugin, registration),) = index.find(MODEL, "alexnet:7be5")
    assert (plugin.directory, registration.line) == (directory, 3)
    assert plugin.module == f"{library.name}.models.alexnet-7be5be79"
    assert index.find(MODEL, "alexnet") == []


def test_data_and_stimulus_sets_share_a_folder(library, index):
    imports = "from LIBRARY import stimulus_set_registry\n"
    library.add("data", "lab2026", f"{imports}data_registry['a'] = 1\nstimulus_set_registry['s'] = 1")
    assert index.identifiers(KINDS["data"]) == ["a"]
    assert index.identifiers(KINDS["stimulus_set"]) == ["s"]


def test_files_and_folders_that_are_not_plugins_are_skipped(library, index, tmp_path):
    for name in (".hidden", "_private", "__pycache__"):
        library.add("models", name, "model_registry['x'] = f")
    library.add("models", "no_init", "model_registry['x'] = f").joinpath("__init__.py").unlink()
    (library.path / "models" / "file.py").write_text("model_registry['x'] = f")
    assert index.plugins("models") == []
    assert PluginIndex([PluginRoot(folder="models", path=tmp_path / "none", package="p")]).plugins("models") == []


def test_broken_plugin_is_named_and_others_are_found(library, index):
    library.add("models", "good", "model_registry['good'] = f")
    broken = library.add("models", "broken", "model_registry['broken'] = (")
    (library.add("models", "bytes", "") / "__init__.py").write_bytes(b"\x00model_registry['x'] = '\xff'")
    problems = {plugin.name: plugin.problem for plugin in index.broken("models")}
    assert problems.keys() == {"broken", "bytes"}
    assert problems["broken"].startswith(f"{broken / '__init__.py'}:2: ")
    assert index.identifiers(MODEL) == ["good"]


def test_conditional_registrations_can_be_excluded(library, index):
    library.add("models", "plugin", "model_registry['a'] = f\nif x:\n    model_registry['b'] = f")
    assert index.identifiers(MODEL) == ["a", "b"]
    assert index.identifiers(MODEL, conditional=False) == ["a"]


def test_added_changed_and_removed_plugins_are_seen_at_once(library, index):
    first = library.add("models", "first", "model_registry['a'] = f")
    assert index.identifiers(MODEL) == ["a"]
    library.add("models", "second", "model_registry['b'] = f")
    assert index.identifiers(MODEL) == ["a", "b"]
    library.add("models", "first", "model_registry['c'] = f")  # same size and perhaps the same modification time
    assert index.identifiers(MODEL) == ["c", "b"]
    (first / "__init__.py").unlink()
    assert index.identifiers(MODEL) == ["b"]


def age(monkeypatch):
    """Move the clock of the index forward; every file so far then counts as old."""
    now = time.time_ns()
    monkeypatch.setattr(indexing.time, "time_ns", lambda: now + 3_600_000_000_000)


def test_only_changed_plugins_are_parsed_again(library, index, parsed, monkeypatch):
    for name in "abc":
        library.add("models", name, f"model_registry['{name}'] = f")
    age(monkeypatch)
    index.plugins("models")
    assert parsed == ["a", "b", "c"]
    for _ in range(2):
        forget()
        index.plugins("models")
    assert parsed == ["a", "b", "c"]
    library.add("models", "b", "model_registry['changed'] = f")
    forget()
    assert index.identifiers(MODEL) == ["a", "changed", "c"]
    assert parsed == ["a", "b", "c", "b"]


def test_change_with_equal_size_and_time_is_seen(library, index, monkeypatch):
    file = library.add("models", "plugin", "model_registry['a'] = f") / "__init__.py"
    age(monkeypatch)
    before = file.stat()
    assert index.identifiers(MODEL) == ["a"]
    time.sleep(0.02)  # longer than one tick of the file system's clock
    file.write_text(file.read_text().replace("'a'", "'b'"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert index.identifiers(MODEL) == ["b"]


def test_table_lists_the_names_that_a_function_registers(library, index, monkeypatch):
    folder = library.add("models", "family", "model_registry.update(models_of(__file__))")
    assert index.identifiers(MODEL) == []
    assert [plugin.name for plugin in index.computing(MODEL)] == ["family"]
    table = folder / "models.csv"
    table.write_text('identifier,source\n"net, small",a\nnet:large=2,b\n')
    age(monkeypatch)
    assert index.identifiers(MODEL) == ["net, small", "net:large=2"]
    assert index.computing(MODEL) == []
    ((plugin, registration),) = index.find(MODEL, "net:large=2")
    assert (plugin.name, registration.line, registration.conditional) == ("family", 2, False)
    table.write_text(table.read_text().replace("large", "great"))  # the same size
    forget()
    assert index.identifiers(MODEL) == ["net, small", "net:great=2"]
    table.write_bytes(b"identifier\n\xff\n")
    (plugin,) = index.broken("models")
    assert "models.csv is not a UTF-8 table with a column named identifier" in plugin.problem


def test_recently_written_file_is_parsed_again(library, index, parsed):
    library.add("models", "young", "model_registry['a'] = f")
    index.plugins("models")
    index.plugins("models")
    assert parsed == ["young", "young"]


def test_index_from_disk_equals_the_parsed_index(library, index, monkeypatch):
    library.add("models", "a", "if x:\n    model_registry['é\\ud800'] = f\nmodel_registry[y] = f")
    library.add("models", "b", "model_registry[")
    age(monkeypatch)
    fresh = index.plugins("models")
    forget()
    monkeypatch.setattr(indexing, "read_registrations", lambda files: [None] * len(files))
    assert index.plugins("models") == fresh


@pytest.mark.parametrize(
    "damage",
    [
        *((lambda _, other=other: other) for other in ("", "[]", "null", "[" * 100_000, "\x00\xff")),
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"model_registry"', "7"),
        lambda text: text.replace("{", '{"x":3,'),
        lambda text: text.partition("\n")[2],
    ],
)
def test_damaged_index_is_rebuilt(library, index, damage, monkeypatch):
    library.add("models", "plugin", "model_registry['a'] = f")
    age(monkeypatch)
    index.plugins("models")
    (file,) = index_files()
    whole = file.read_text()
    file.write_text(damage(whole), encoding="latin-1")
    forget()
    assert index.identifiers(MODEL) == ["a"]
    assert file.read_text() == whole


def test_index_works_without_a_usable_cache(library, index, monkeypatch, tmp_path, caplog):
    library.add("models", "plugin", "model_registry['a'] = f")
    monkeypatch.setenv("RESULTCACHING_DISABLE", "1")
    assert index.identifiers(MODEL) == ["a"]
    assert index_files() == []
    monkeypatch.delenv("RESULTCACHING_DISABLE")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "file" / "below"))
    assert index.identifiers(MODEL) == ["a"]
    assert "plugin-index" in caplog.text


def test_parsing_hides_syntax_warnings(library, index, recwarn):
    library.add("models", "plugin", "model_registry['\\d'] = f")
    assert len(index.plugins("models")) == 1
    assert not [warning for warning in recwarn if issubclass(warning.category, SyntaxWarning)]


def test_processes_can_index_concurrently(library):
    for number in range(30):
        library.add("models", f"plugin{number}", f"model_registry['model{number}'] = f")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from brainscore_core.plugin_management.index import PluginIndex, library_roots\n"
        "from brainscore_core.plugin_management.registry import KINDS\n"
        "index = PluginIndex(library_roots(sys.argv[2]))\n"
        "for _ in range(20): assert len(index.identifiers(KINDS['model'])) == 30\n"
    )
    command = [sys.executable, "-c", program, str(library.path.parent), library.name]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [(process.communicate()[1], process.returncode) for process in processes] == [("", 0)] * 4
    assert len(index_files()) == 1


def test_find_plugin_imports_no_heavy_packages(library):
    library.add("models", "plugin", "model_registry['a'] = f")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from brainscore_core.plugin_management.import_plugin import find_plugin\n"
        "find_plugin(sys.argv[2], 'model', 'a')\n"
        "heavy = ('numpy', 'pandas', 'xarray', 'torch', 'boto3', 'scipy', 'packaging')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    command = [sys.executable, "-c", program, str(library.path.parent), library.name]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
