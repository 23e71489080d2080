from pathlib import Path

import pytest

from brainscore_core.errors import UnknownIdentifierError
from brainscore_vision.catalogue.entries import entries


def test_entries_are_found_without_running_the_plugin(made, files):
    found = {(entry.identifier, entry.kind): entry for entry in entries()}
    assert set(found) == {("Made2024", "data"), ("Made2024", "stimulus_set"), ("Made2024.public", "data")}
    assert [str(file.source) for file in found["Made2024", "stimulus_set"].files] == [
        "s3://brainscore-storage/folder/stimulus_Made2024.csv (version csv-version)",
        "s3://brainscore-storage/folder/stimulus_Made2024.zip (version zip-version)",
    ]
    (file,) = found["Made2024.public", "data"].files
    assert (file.source.key, file.source.version_id) == ("folder/assy_lab_Made2024.nc", "null")
    assert file.source.sha1 == files.sha1_of(files.NC)
    assert found["Made2024", "data"].files == ()
    assert {entry.cached for entry in found.values()} == {"no", "-"}


def test_entries_of_a_library_plugin():
    """Expected values come from two files of the plugin: the digest from one, bucket and version from the other."""
    found = {entry.kind: entry for entry in entries("Geirhos2021_edge")}
    (file,) = found["data"].files
    assert file.source.sha1 == "ab1dc9e188e248da07215b375eb3dbcc58fde7fb"
    assert str(file.source) == (
        "s3://brainscore-storage/brainio-brainscore/assy_brendel_Geirhos2021_edge.nc (version null)"
    )
    assert [Path(file.source.key).name for file in found["stimulus_set"].files] == [
        "stimulus_Geirhos2021_edge.csv",
        "stimulus_Geirhos2021_edge.zip",
    ]


def test_rejects_an_unknown_identifier(made):
    with pytest.raises(UnknownIdentifierError, match="Made2024"):
        entries("Mad2024")
