import pytest

from brainscore_core.errors import PluginError
from brainscore_vision.testing.data import registered_files


def test_every_registered_file_has_a_line():
    lines = registered_files("geirhos2021")
    assert len(lines) == 17 * 3
    assert (
        "data Geirhos2021_colour brendel.Geirhos2021_colour nc brainscore-storage/brainio-brainscore null "
        "258862d82467614e45cc1e488a5ac909eb6e122d"
    ) in lines


def test_rejects_an_absent_folder():
    with pytest.raises(PluginError, match=r"the folder 'geirhos2012'\. Did you mean 'geirhos2021'\?"):
        registered_files("geirhos2012")
