import pytest

from brainscore_core.errors import PluginError
from brainscore_core.plugin_management.source import read_plugin
from brainscore_vision.catalogue.references import citation
from brainscore_vision.data_helpers import cite_data


def test_cites_the_constant_of_a_plugin_without_running_it():
    assert cite_data("allen2022_fmri").startswith("@article{allen2022massive")


@pytest.mark.parametrize("folder", ["absent2026", ""])
def test_rejects_plugins_without_a_citation(folder):
    with pytest.raises(PluginError, match=r"Cannot cite|states no citation"):
        cite_data(folder)


@pytest.mark.parametrize("file", ["__init__.py", "benchmark.py"])
def test_catalogue_resolves_cite_data(file, tmp_path):
    (tmp_path / "__init__.py").touch()
    (tmp_path / file).write_text("BIBTEX = cite_data('allen2022_fmri')")
    assert citation(read_plugin(tmp_path, "x.benchmarks.y")) == cite_data("allen2022_fmri")
    (tmp_path / file).write_text("BIBTEX = other('allen2022_fmri')")
    assert citation(read_plugin(tmp_path, "x.benchmarks.y")) is None
