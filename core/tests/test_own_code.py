import pytest

from brainscore_core import command_line
from brainscore_core.errors import DownloadError
from brainscore_core.own_code import _PLUGIN, place_in_plugin
from brainscore_core.plugin_management.import_plugin import import_plugin
from brainscore_core.plugin_management.registry import FOLDERS

MODEL = """
from brainscore_core.errors import ConfigurationError, DownloadError

def make():
    return assemble()

def assemble():
    return load_dataset("x")  # nobody imported it

def refuse():
    raise ConfigurationError("The size is -1.")

def fetch():
    raise DownloadError("s3://x is not here.")
"""
INIT = """
from .model import fetch, make, refuse
model_registry["makes"] = make
model_registry["refuses"] = refuse
model_registry["fetches"] = fetch
"""


@pytest.fixture
def load(tiny, plugin_writer):
    plugin_writer(tiny, "models/mine", INIT, **{"model.py": MODEL})
    return lambda identifier: import_plugin("tinylibrary", "model", identifier)()


def test_place_is_the_last_line_in_the_plugin(load, tiny):
    with pytest.raises(NameError) as caught:
        load("makes")
    place = place_in_plugin(caught.value)
    assert place.file == tiny / "models/mine/model.py"
    assert (place.line, place.function, place.code.split("  #")[0]) == (8, "assemble", 'return load_dataset("x")')
    outer = RuntimeError("later")
    outer.__cause__ = caught.value
    assert place_in_plugin(outer) == place


def test_errors_of_the_library_have_no_place_in_a_plugin():
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018 - raises
    assert place_in_plugin(caught.value) is None


def test_command_line_error_names_the_place_in_the_plugin(load, capsys):
    assert command_line.run(lambda: load("makes")) == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert said == (
        "Error: NameError: name 'load_dataset' is not defined. At tinylibrary/models/mine/model.py:8 (assemble): "
        'return load_dataset("x")  # nobody imported it. Run with --traceback for details.'
    )
    assert command_line.run(lambda: load("refuses")) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("Error: The size is -1. At tinylibrary/models/mine/model.py:11 (refuse): raise Config")


def test_download_error_does_not_name_the_place(load, capsys):
    with pytest.raises(DownloadError):
        load("fetches")
    assert command_line.run(lambda: load("fetches")) == 3
    assert capsys.readouterr().err == "Error: s3://x is not here.\n"


def test_place_named_by_the_message_is_not_repeated(tiny, plugin_writer, capsys):
    plugin_writer(tiny, "models/broken", "import nothing_such\nmodel_registry['broken'] = 1")
    assert command_line.run(lambda: import_plugin("tinylibrary", "model", "broken")) == 1
    assert capsys.readouterr().err.count("__init__.py:2") == 1


def test_modules_of_every_kind_of_plugin_are_recognised():
    assert all(_PLUGIN.fullmatch(f"library.{folder}.my-plugin.test") for folder in FOLDERS)
    assert len(_PLUGIN.pattern.split("|")) == len(FOLDERS)
