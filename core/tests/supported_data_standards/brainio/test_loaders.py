import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio import assemblies
from brainscore_core.supported_data_standards.brainio.assemblies import (
    DataAssembly,
    MetadataAssembly,
    NeuroidAssembly,
    PropertyAssembly,
    SpikeTimesAssembly,
    StimulusMergeAssemblyLoader,
)
from brainscore_core.supported_data_standards.brainio.netcdf import write_netcdf
from brainscore_core.testing.synthetic import (
    make_neuroid_assembly,
    make_property_assembly,
    make_spike_times_assembly,
    make_stimulus_set,
)


@pytest.fixture
def path(tmp_path):
    write_netcdf(make_neuroid_assembly(8, 3, n_repetitions=2).isel(presentation=[9, 0, 3, 15]), tmp_path / "a.nc")
    return tmp_path / "a.nc"


def load_with_stimuli(tmp_path, shown, listed):
    """Load presentations of the stimuli `shown`, merged with a table of the stimuli `listed` and their row numbers."""
    coords = {
        "stimulus_id": ("presentation", np.asarray(shown)),
        "repetition": ("presentation", np.arange(len(shown))),
    }
    write_netcdf(DataAssembly(np.zeros(len(shown)), coords, ["presentation"]), tmp_path / "a.nc")
    table = pd.DataFrame({"stimulus_id": listed, "row": range(len(listed))})
    return DataAssembly.from_files(tmp_path / "a.nc", stimulus_set=table)


class TestMerge:
    def test_columns_become_coordinates_in_order(self, path, tmp_path):
        stimulus_set = make_stimulus_set(tmp_path / "images", 8)
        assembly = NeuroidAssembly.from_files(path, stimulus_set=stimulus_set, stimulus_set_identifier="S")
        assert assembly["stimulus_id"].values.tolist() == [f"stimulus_00{number}" for number in (1, 0, 3, 7)]
        assert assembly["background_id"].values.tolist() == [1, 0, 0, 1]
        assert assembly["background_id"].dtype == np.int64
        np.testing.assert_array_equal(assembly["s"].values, stimulus_set["s"].to_numpy()[[1, 0, 3, 7]])
        assert assembly.stimulus_set is stimulus_set
        assert assembly.stimulus_set_identifier == "S"
        assert assembly.sel(background_id=0).sizes == {"presentation": 2, "neuroid": 3}
        assert type(assembly) is NeuroidAssembly

    def test_assembly_values_take_precedence_over_columns(self, path, tmp_path):
        stimulus_set = make_stimulus_set(tmp_path / "images", 8)
        stimulus_set["object_name"] = "other"
        stimulus_set["neuroid"] = 1  # a column named like a dimension does not become a coordinate
        assembly = NeuroidAssembly.from_files(path, stimulus_set=stimulus_set)
        assert "other" not in assembly["object_name"].values
        assert assembly.sizes["neuroid"] == 3

    def test_stimuli_absent_from_the_set_get_missing_values(self, path):
        stimulus_set = pd.DataFrame(
            {"stimulus_id": ["stimulus_000", "stimulus_003"], "n": [5, 6], "t": ["p", "q"], "f": [0.5, 1.5]}
        )
        stimulus_set["d"] = pd.to_datetime(["2020-01-01", "2020-01-02"])
        assembly = NeuroidAssembly.from_files(path, stimulus_set=stimulus_set)
        np.testing.assert_array_equal(assembly["n"].values, [np.nan, 5, 6, np.nan])
        assert assembly["t"].values.tolist()[1:3] == ["p", "q"]
        assert pd.isna(assembly["t"].values[[0, 3]]).all()
        assert np.isnat(assembly["d"].values).tolist() == [True, False, False, True]

    @pytest.mark.parametrize(
        ("shown", "listed"),
        [
            (["2", "1"], [1, 2]),
            ([2, 1], ["1", "2"]),
            ([0, 1], ["0", "1"]),
            ([7, 12], ["007", "012"]),
            (["007", "012"], [7, 12]),
            ([1.0, 2.0], ["1", "2"]),
            (["1", "2"], [1.0, 2.0]),
            (["0.1", "2"], [0.1, 2.0]),
            ([0, 1], np.array([np.int64(1), "0"], dtype=object)),
            ([2**53 + 1, 2**53], [str(2**53), str(2**53 + 1)]),
            ([0, 0, 1], ["1", "0", "7"]),
        ],
    )
    def test_identifiers_take_the_type_of_the_set(self, tmp_path, shown, listed):
        assembly = load_with_stimuli(tmp_path, shown, listed)
        for identifier, key, row in zip(
            shown, assembly["stimulus_id"].values.tolist(), assembly["row"].values.tolist(), strict=True
        ):
            assert list(listed)[row] == key
            assert float(identifier) == float(key)
        assert assembly["repetition"].values.tolist() == list(range(len(shown)))

    def test_equal_numbers_match_without_conversion(self, tmp_path):
        assert load_with_stimuli(tmp_path, [1.0, 0.0], [0, 1])["row"].values.tolist() == [1, 0]
        with pytest.raises(AssemblyError, match="2 of 2 stimulus_ids of the assembly are not in the stimulus set"):
            load_with_stimuli(tmp_path, [2**53 + 1, 2**53 + 3], [2.0**53, 2.0**53 + 4])

    @pytest.mark.parametrize(
        ("shown", "listed", "named"),
        [
            ([7, 8], ["7", "007", "8"], r"int, such as 7\).*str, such as '(7', '007'|007', '7')\)"),
            (["7", "007"], [7, 8], r"str, such as '(7', '007'|007', '7')\).*int, such as 7\)"),
            ([1, 2], ["1", "b"], r"int, such as 2\).*str, such as '1', 'b'\)"),
            (["1", "b"], [1, 2], r"str, such as 'b'\).*int, such as 1, 2\)"),
        ],
    )
    def test_error_for_ambiguous_identifiers_names_both_types(self, tmp_path, shown, listed, named):
        with pytest.raises(AssemblyError, match=rf"a\.nc.*{named}.*astype\(str\)"):
            load_with_stimuli(tmp_path, shown, listed)

    def test_text_identifiers_match_exactly(self, tmp_path, caplog):
        assembly = load_with_stimuli(tmp_path, ["7", "8"], ["007", "8"])
        np.testing.assert_array_equal(assembly["row"].values, [np.nan, 1])
        assert "1 of 2 stimulus_ids of the assembly are not in the stimulus set: 7" in caplog.text
        with pytest.raises(AssemblyError, match="1 of 1 stimulus_ids of the assembly are not in the stimulus set: 7"):
            load_with_stimuli(tmp_path, ["7", "7"], ["007", "8"])

    def test_rejects_repeated_or_absent_identifiers(self, path, tmp_path):
        for table, message in (
            ({"stimulus_id": ["stimulus_000"] * 2}, "more than once"),
            ({"image": ["a"]}, "no column 'stimulus_id'"),
        ):
            with pytest.raises(AssemblyError, match=message):
                NeuroidAssembly.from_files(path, stimulus_set=pd.DataFrame(table))
        write_netcdf(DataAssembly([1], {"a": ("presentation", [1])}, ["presentation"]), tmp_path / "b.nc")
        with pytest.raises(AssemblyError, match=r"b\.nc has no coordinate 'stimulus_id'"):
            DataAssembly.from_files(tmp_path / "b.nc", stimulus_set=pd.DataFrame({"stimulus_id": ["a"]}))

    def test_without_stimulus_set_both_attrs_are_none(self, path):
        assembly = NeuroidAssembly.from_files(path)
        assert assembly.attrs["stimulus_set"] is None
        assert assembly.attrs["stimulus_set_identifier"] is None

    def test_loader_can_be_used_directly(self, path):
        loader = StimulusMergeAssemblyLoader(cls=NeuroidAssembly, file_path=path, stimulus_set_identifier="S")
        assert loader.load().identical(NeuroidAssembly.from_files(path, stimulus_set_identifier="S"))


class TestReference:
    @pytest.mark.parametrize("cls", [PropertyAssembly, MetadataAssembly])
    def test_stimulus_set_is_referenced_but_not_merged(self, cls, tmp_path):
        write_netcdf(make_property_assembly(4), tmp_path / "a.nc")
        table = pd.DataFrame({"stimulus_id": ["a"]})
        assembly = cls.from_files(tmp_path / "a.nc", stimulus_set=table, stimulus_set_identifier="S")
        assert type(assembly) is cls
        assert assembly.attrs["stimulus_set"] is table
        assert set(assembly.coords) == {"neuroid", "neuroid_id", "region", "neuronal_property"}


class TestSpikeTimes:
    def test_groups_become_attrs(self, tmp_path):
        spikes = make_spike_times_assembly(10)
        write_netcdf(spikes, tmp_path / "a.nc")
        extra = DataAssembly([1, 2], {"session_id": ("session", ["x", "y"])}, ["session"])
        write_netcdf(extra, tmp_path / "a.nc", append=True, group="sessions")
        table = pd.DataFrame({"stimulus_id": ["a"]})
        read = SpikeTimesAssembly.from_files(tmp_path / "a.nc", stimulus_set=table, stimulus_set_identifier="S")
        np.testing.assert_array_equal(read.values, spikes.values)
        assert type(read.attrs["sessions"]) is MetadataAssembly
        assert read.attrs["sessions"].sel(session_id="y").values.tolist() == [2]
        for assembly in (read, read.attrs["sessions"]):
            assert assembly.attrs["stimulus_set"] is table
            assert assembly.attrs["stimulus_set_identifier"] == "S"
        read.validate()


@pytest.mark.parametrize("chunks", ["None", "{}", "{'presentation': 2}"])
def test_chunk_setting_of_the_published_loader_has_no_effect(path, monkeypatch, chunks):
    expected = NeuroidAssembly.from_files(path)
    monkeypatch.setenv(assemblies.BRAINIO_CHUNKS, chunks)
    read = NeuroidAssembly.from_files(path)
    assert read.chunks is None
    assert read.identical(expected)


def test_rejects_an_unknown_option(path):
    with pytest.raises(TypeError, match="'stimuli'"):
        NeuroidAssembly.from_files(path, stimuli=None)


def test_package_imports_modules_on_first_use():
    program = (
        "import sys\n"
        "from brainscore_core.supported_data_standards import brainio\n"
        "assert not {'numpy', 'pandas', 'xarray', 'boto3'} & set(sys.modules)\n"
        "assert 'assemblies' in dir(brainio)\n"
        "assert brainio.assemblies.DataAssembly.__name__ == 'DataAssembly'\n"
        "assert 'boto3' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_error_for_an_unknown_module_suggests_a_name():
    from brainscore_core.supported_data_standards import brainio

    with pytest.raises(AttributeError, match="assemblies"):
        brainio.get_assemblies  # noqa: B018  # reading it is the test
