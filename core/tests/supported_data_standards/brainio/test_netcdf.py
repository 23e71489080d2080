import string
import time

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from brainscore_core.errors import AssemblyError, CorruptFileError
from brainscore_core.identity.digest import file_digest
from brainscore_core.supported_data_standards.brainio import netcdf
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.netcdf import list_groups, read_netcdf, write_netcdf
from brainscore_core.testing.synthetic import make_behavioral_assembly, make_neuroid_assembly

TEXT = st.text(alphabet=string.ascii_letters + string.digits + " äß中😀'\"/\\_", max_size=6)
NANOSECONDS = st.integers(-(2**62), 2**62).map(lambda number: np.datetime64(number, "ns"))
KINDS = st.sampled_from(
    [
        (TEXT, str),
        (st.integers(-(2**63), 2**63 - 1), np.int64),
        (st.integers(0, 255), np.uint8),
        (st.floats(allow_nan=True, allow_infinity=True), np.float64),
        (st.floats(width=32), np.float32),
        (st.booleans(), bool),
        (st.one_of(NANOSECONDS, st.just(np.datetime64("NaT"))), "datetime64[ns]"),
        (st.integers(-(2**62), 2**62).map(lambda number: np.timedelta64(number, "ns")), "timedelta64[ns]"),
        (st.one_of(TEXT, st.none()), object),
    ]
)


AWKWARD = st.sampled_from(
    [
        (st.text(alphabet="a\0", max_size=3), str),
        (st.integers(-(2**66), 2**66), object),
        *((st.integers(-(2**62), 2**62).map(lambda number: number // 1000), f"{kind}8[us]") for kind in "Mm"),
        *((st.integers(-(2**40), 2**40), f"{kind}8[s]") for kind in "Mm"),
    ]
)


@st.composite
def assemblies(draw):
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    dims = ["x", "y", "z"][: len(shape)]
    coords = {}
    for dim, length in zip(dims, shape, strict=True):
        for number in range(draw(st.integers(0, 3))):
            values, dtype = draw(KINDS)
            drawn = draw(st.lists(values, min_size=length, max_size=length))
            array = np.empty(length, dtype=object)
            array[:] = drawn
            coords[f"{dim}_{number}"] = (dim, array if dtype is object else np.array(drawn, dtype=dtype))
    values, dtype = draw(KINDS.filter(lambda kind: kind[1] not in (object, "timedelta64[ns]")))
    size = int(np.prod(shape))
    data = np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype=dtype)
    attrs = draw(st.dictionaries(st.sampled_from("abc"), st.one_of(TEXT.filter(bool), st.integers(-9, 9))))
    return DataAssembly(data.reshape(shape), coords, dims, attrs=attrs)


def assert_same_values(actual, expected):
    if expected.dtype == object:
        assert [None if pd.isna(value) else value for value in actual.ravel()] == [
            None if pd.isna(value) else value for value in expected.ravel()
        ]
    else:
        assert actual.dtype.kind == expected.dtype.kind
        np.testing.assert_array_equal(actual, expected)


@given(assemblies())
@settings(max_examples=60)
def test_round_trip_is_lossless(tmp_path, assembly):
    before = assembly.copy(deep=True)
    path = tmp_path / "assembly.nc"
    sha1 = write_netcdf(assembly, path)
    read = read_netcdf(path, DataAssembly)
    assert sha1 == file_digest(path)
    assert_same_values(assembly.values, before.values)
    assert assembly.attrs == before.attrs
    assert read.dims == assembly.dims
    assert read.attrs == assembly.attrs
    assert_same_values(read.values, assembly.values)
    assert list(read.coords) == list(assembly.coords)
    for name in set(assembly.coords) - set(assembly.dims):
        assert_same_values(read[name].values, assembly[name].values)
        assert name in read.indexes[read[name].dims[0]].names


@given(AWKWARD, st.data(), st.sampled_from(["name", "a/b"]))
@settings(max_examples=60)
def test_awkward_values_are_lossless_or_rejected_before_writing(tmp_path, kind, data, name):
    values, dtype = kind
    drawn = np.array(data.draw(st.lists(values, min_size=3, max_size=3)), dtype=dtype)
    path = tmp_path / "assembly.nc"
    path.unlink(missing_ok=True)
    problem = ""
    try:
        assembly = DataAssembly(range(3), {name: ("x", drawn), "other": ("x", [1, 2, 3])}, ["x"])
    except (pd.errors.OutOfBoundsDatetime, pd.errors.OutOfBoundsTimedelta):  # xarray before 2025.1.2 counts in ns
        reject()
    try:
        write_netcdf(assembly, path)
    except AssemblyError as error:
        problem = str(error)
    if problem:
        assert f"\n- {name}: " in problem or f"{name!r}: names cannot contain a slash" in problem
        assert not path.exists()
    else:
        np.testing.assert_array_equal(read_netcdf(path, DataAssembly)[name].values, drawn)


def weighted_choices():
    assembly = make_behavioral_assembly(4, probabilities=True)
    assembly["degrees"] = 8
    assembly["weight"] = ("presentation", "choice"), np.ones((4, 4))
    return assembly


@pytest.mark.parametrize(
    "assembly",
    [
        make_neuroid_assembly(4, 3, n_repetitions=2, time_bins=[(0, 10), (10, 20)]).astype(np.float32),
        weighted_choices(),
        make_behavioral_assembly(4),
        DataAssembly(0.5),
    ],
    ids=["all dimensions", "own index, scalar and two-dimensional coordinates", "texts", "a scalar"],
)
def test_every_kind_survives_a_round_trip(tmp_path, assembly):
    write_netcdf(assembly, tmp_path / "a.nc")
    assert read_netcdf(tmp_path / "a.nc", type(assembly)).identical(assembly)


def test_equal_assemblies_give_equal_bytes_later_and_elsewhere(tmp_path):
    assembly = make_neuroid_assembly(40, 30, n_repetitions=2)
    extra = DataAssembly([1, 2], {"s": ("session", ["a", "b"])}, ["session"])
    (tmp_path / "folder").mkdir()
    first, second = tmp_path / "first.nc", tmp_path / "folder" / "second.nc"
    whole, grown = write_netcdf(assembly, first), write_netcdf(extra, first, append=True, group="sessions")
    time.sleep(1.1)  # time stamps in HDF5 count seconds
    assert write_netcdf(assembly.copy(deep=True), second) == whole
    assert write_netcdf(extra, second, append=True, group="sessions") == grown


def test_compression_can_be_switched_off(tmp_path):
    assembly = DataAssembly(np.zeros((1000, 100)), {"n": ("x", np.arange(1000))}, ["x", "y"])
    write_netcdf(assembly, tmp_path / "small.nc")
    write_netcdf(assembly, tmp_path / "large.nc", compress=False)
    assert (tmp_path / "small.nc").stat().st_size < 100_000 < 800_000 < (tmp_path / "large.nc").stat().st_size
    assert read_netcdf(tmp_path / "large.nc", DataAssembly).identical(read_netcdf(tmp_path / "small.nc", DataAssembly))


def test_variable_is_named_data_and_values_outlive_the_file(tmp_path):
    assembly = make_neuroid_assembly().rename("own name")
    write_netcdf(assembly, tmp_path / "a.nc")
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as dataset:
        assert list(dataset.data_vars) == ["data"]
    assert assembly.name == "own name"
    read = read_netcdf(tmp_path / "a.nc", NeuroidAssembly)
    assert read.name is None
    (tmp_path / "a.nc").unlink()
    np.testing.assert_array_equal(read.values, assembly.values)


def test_groups_are_stored_next_to_the_data(tmp_path):
    path = tmp_path / "a.nc"
    write_netcdf(DataAssembly([1.0], {"a": ("event", [1])}, ["event"]), path)
    write_netcdf(DataAssembly([2.0], {"b": ("session", [1])}, ["session"]), path, append=True, group="sessions")
    assert list_groups(path) == ["sessions"]
    assert read_netcdf(path, DataAssembly, group="sessions").values.tolist() == [2.0]
    assert read_netcdf(path, DataAssembly).values.tolist() == [1.0]
    with pytest.raises(AssemblyError, match="'sessions'"):
        read_netcdf(path, DataAssembly, group="session")
    write_netcdf(DataAssembly([3.0], dims=["x"]), path)
    assert list_groups(path) == []


def test_attrs_that_cannot_be_stored_are_dropped(tmp_path):
    attrs = {
        "stimulus_set": pd.DataFrame({"stimulus_id": ["a"]}),
        "raw": xr.DataArray([1]),
        "nothing": None,
        "identifier": "Made2026",
        "flag": True,
        "layers": {"IT": "conv5"},
        "levels": [1, 2],
        "mixed": [1, "a"],
    }
    assembly = DataAssembly([1.0], dims=["x"], attrs=attrs)
    write_netcdf(assembly, tmp_path / "a.nc")
    read = read_netcdf(tmp_path / "a.nc", DataAssembly).attrs
    assert set(read) == {"identifier", "flag", "layers", "levels", "mixed"}
    assert read["flag"] == 1
    assert read["layers"] == '{"IT": "conv5"}'
    assert read["mixed"] == '[1, "a"]'
    assert list(read["levels"]) == [1, 2]
    assert set(assembly.attrs) == set(attrs)


def test_error_lists_every_problem_and_nothing_is_written(tmp_path):
    mixed = np.array([1, "a"], dtype=object)
    attrs = {"f": object(), "g": 2**70, "h": "\0"}
    assembly = DataAssembly(np.array([1j, 2j]), {"c": ("x", mixed), "d": ("x", [0, 1])}, ["x"], attrs=attrs)
    with pytest.raises(AssemblyError) as caught:
        write_netcdf(assembly, tmp_path / "a.nc")
    for part in ("c: holds objects of type int, str", "complex128", *(f"attrs['{name}']" for name in attrs)):
        assert part in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_missing_and_empty_text_stay_distinct(tmp_path):
    values = np.array(["", None, "nan", "x"], dtype=object)
    assembly = DataAssembly([0, 1, 2, 3], {"a": ("x", values), "b": ("x", [0] * 4)}, ["x"])
    write_netcdf(assembly, tmp_path / "a.nc")
    read = read_netcdf(tmp_path / "a.nc", DataAssembly)["a"].values
    assert [value if isinstance(value, str) else None for value in read] == ["", None, "nan", "x"]


@pytest.mark.parametrize("keep", [0, 3, 50, 0.3, 0.7, 0.95])
def test_error_names_a_truncated_file(tmp_path, keep):
    path = tmp_path / "assy_Broken.nc"
    write_netcdf(make_neuroid_assembly(50, 40), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: keep if keep >= 1 or keep == 0 else int(keep * len(whole))])
    with pytest.raises(CorruptFileError, match=r"assy_Broken\.nc"):
        read_netcdf(path, NeuroidAssembly)
    with pytest.raises(CorruptFileError, match=r"assy_Broken\.nc"):
        list_groups(path)


def test_error_names_a_file_of_another_format(tmp_path):
    path = tmp_path / "page.nc"
    path.write_text("<html>404 Not Found</html>")
    with pytest.raises(CorruptFileError, match=r"page\.nc"):
        read_netcdf(path, DataAssembly)
    xr.Dataset({"a": ("x", [1]), "b": ("x", [2])}).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(AssemblyError, match="2 variables"):
        read_netcdf(path, DataAssembly)
    with pytest.raises(FileNotFoundError, match="absent"):
        read_netcdf(tmp_path / "absent.nc", DataAssembly)


def test_damaged_compressed_values_are_detected(tmp_path):
    path = tmp_path / "a.nc"
    write_netcdf(DataAssembly(np.random.default_rng(0).random((200, 100)), dims=["x", "y"]), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 64] = b"\x00" * 64
    path.write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"a\.nc"):
        read_netcdf(path, DataAssembly)


def test_classic_format_can_be_read(tmp_path):
    array = xr.DataArray([1.0, 2.0], coords={"a": ("x", [3, 4])}, dims=["x"], name="v")
    array.to_netcdf(tmp_path / "a.nc", engine="scipy", format="NETCDF3_64BIT")
    read = read_netcdf(tmp_path / "a.nc", DataAssembly)
    assert read.sel(a=4).values.tolist() == [2.0]
    assert read.name == "v"
    assert list_groups(tmp_path / "a.nc") == []


def test_interrupted_append_leaves_the_file_unchanged(tmp_path, monkeypatch):
    path = tmp_path / "a.nc"
    sha1 = write_netcdf(make_neuroid_assembly(), path)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(netcdf.xr.Dataset, "to_netcdf", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_netcdf(DataAssembly([1], dims=["x"]), path, append=True, group="more")
    assert file_digest(path) == sha1
    assert [file.name for file in tmp_path.iterdir()] == ["a.nc"]


@pytest.mark.slow
@given(st.lists(TEXT, min_size=1, max_size=8), st.integers(1, 3))
@settings(max_examples=40)
def test_text_of_fixed_length_is_lossless(tmp_path, monkeypatch, texts, n_dims):
    monkeypatch.setattr(netcdf, "_COMPRESS_FROM_BYTES", 1)
    shape = (len(texts),) + (1,) * (n_dims - 1)
    dims = ["x", "y", "z"][:n_dims]
    values = np.array(texts, dtype=str)
    made = DataAssembly(values.reshape(shape), {"text": ("x", values), "whole": (dims, values.reshape(shape))}, dims)
    write_netcdf(made, tmp_path / "a.nc")
    read = read_netcdf(tmp_path / "a.nc", DataAssembly)
    assert read.dims == tuple(dims)
    assert_same_values(read.values, made.values)
    assert_same_values(read["text"].values, values)
    assert_same_values(read["whole"].values, made.values)


@pytest.mark.slow
def test_large_text_coordinates_are_compressed(tmp_path):
    n = 20_000
    texts = [f"stimulus_{number % 100}" for number in range(n)]
    gaps = np.array(texts, dtype=object)
    gaps[7] = None
    uneven = ["x" * 5_000, *[""] * (n - 1)]  # with a fixed length this would take 100 MB in memory
    coords = {"stimulus_id": ("x", texts), "gaps": ("x", gaps), "uneven": ("x", uneven)}
    made = DataAssembly(np.zeros(n), coords, ["x"])
    write_netcdf(made, tmp_path / "a.nc")
    assert (tmp_path / "a.nc").stat().st_size < 1_000_000
    with h5py.File(tmp_path / "a.nc") as file:
        assert file["stimulus_id"].compression == "gzip"
        assert h5py.check_string_dtype(file["uneven"].dtype) is not None
    read = read_netcdf(tmp_path / "a.nc", DataAssembly)
    for name in coords:
        assert_same_values(read[name].values, made[name].values)


def is_mapped(values):
    while values is not None and not isinstance(values, np.memmap):
        values = values.base
    return values is not None


class TestMemoryMap:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "assy.nc"
        write_netcdf(make_neuroid_assembly(n_stimuli=8, seed=1), path)
        return path

    def test_mapped_values_stay_on_disk_and_equal_the_stored_ones(self, file, tmp_path):
        plain = read_netcdf(file, NeuroidAssembly)
        for _ in range(2):  # first written, then reused
            mapped = read_netcdf(file, NeuroidAssembly, memory_map=tmp_path / "maps" / "values.npy")
            assert is_mapped(mapped.values)
            assert not is_mapped(plain.values)
            assert mapped.equals(plain)
        assert [path.name for path in (tmp_path / "maps").iterdir() if path.suffix != ".lock"] == ["values.npy"]

    def test_map_is_written_in_blocks_and_assignments_stay_in_memory(self, file, tmp_path, monkeypatch):
        monkeypatch.setattr(netcdf, "_BLOCK_BYTES", 1)  # one row at a time
        plain = read_netcdf(file, NeuroidAssembly)
        for _ in range(2):
            mapped = read_netcdf(file, NeuroidAssembly, memory_map=tmp_path / "values.npy")
            np.testing.assert_array_equal(mapped.values, plain.values)
            mapped[0, 0] = -1

    @pytest.mark.parametrize("content", [b"", b"nonsense", None], ids=["empty", "other", "of another shape"])
    def test_damaged_map_is_rewritten(self, file, tmp_path, content):
        target = tmp_path / "values.npy"
        if content is None:
            np.save(target, np.zeros((2, 2)))
        else:
            target.write_bytes(content)
        mapped = read_netcdf(file, NeuroidAssembly, memory_map=target)
        np.testing.assert_array_equal(mapped.values, read_netcdf(file, NeuroidAssembly).values)

    def test_coordinates_can_be_added_without_reading_the_values(self, file, tmp_path):
        mapped = read_netcdf(file, NeuroidAssembly, memory_map=tmp_path / "values.npy")
        mapped["added"] = ("presentation", np.arange(mapped.sizes["presentation"]))
        assert is_mapped(mapped.values)
