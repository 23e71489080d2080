"""Labels of activations, compared with labels assigned unit by unit."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, get_levels
from brainscore_vision.model_helpers.activations import packaging
from brainscore_vision.model_helpers.activations.packaging import add_presentation_coords, package_layers

AXES = {
    1: ["channel", "channel_x", "channel_y"],
    2: ["channel", "embedding"],
    3: ["channel", "channel_x", "channel_y"],
    4: ["channel_temporal", "channel_x", "channel_y", "channel"],
}


def unit_coords(shape):
    places = list(itertools.product(*map(range, shape)))
    return {
        name: np.asarray([place[axis] if axis < len(shape) else np.nan for place in places])
        for axis, name in enumerate(AXES.get(len(shape), ()))
    }


def packaged_coords(shape):
    packaged = package_layers({"layer": np.zeros((1, *shape))}, ["one.png"], "model")
    names = dict.fromkeys(itertools.chain(*AXES.values()))
    return {name: packaged[name].values for name in names if name in packaged.coords}


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        ((5,), ["channel"]),
        ((3, 4), ["channel", "embedding"]),
        ((2, 3, 4), ["channel", "channel_x", "channel_y"]),
        ((2, 3, 2, 5), ["channel_temporal", "channel_x", "channel_y", "channel"]),
    ],
)
def test_units_are_numbered_in_c_order(shape, names):
    coords = packaged_coords(shape)
    expected = list(itertools.product(*map(range, shape)))
    assert list(zip(*(coords[name].tolist() for name in names), strict=True)) == expected


def test_fully_connected_units_have_no_position():
    coords = packaged_coords((2,))
    assert list(coords) == ["channel", "channel_x", "channel_y"]
    assert np.isnan(coords["channel_x"]).all()
    assert np.isnan(coords["channel_y"]).all()
    assert packaged_coords(()) == {}


def test_layers_are_concatenated_with_their_labels():
    conv = np.arange(2 * 2 * 1 * 2, dtype=np.float32).reshape(2, 2, 1, 2)
    full = np.array([[10, 20], [30, 40]], dtype=np.float32)
    assembly = package_layers({"conv": conv, "fc": full}, ["/x/a.png", "/x/b.png"], "net")
    assert type(assembly) is NeuroidAssembly
    assert assembly.dims == ("presentation", "neuroid")
    assert assembly.dtype == np.float32
    np.testing.assert_array_equal(assembly.values, [[0, 1, 2, 3, 10, 20], [4, 5, 6, 7, 30, 40]])
    assert assembly["stimulus_path"].values.tolist() == ["/x/a.png", "/x/b.png"]
    assert assembly["layer"].values.tolist() == ["conv"] * 4 + ["fc"] * 2
    assert assembly["model"].values.tolist() == ["net"] * 6
    assert assembly["neuroid_num"].values.tolist() == [0, 1, 2, 3, 0, 1]
    assert assembly["neuroid_id"].values.tolist() == [f"net.conv.{n}" for n in range(4)] + ["net.fc.0", "net.fc.1"]
    assert assembly["channel"].values.tolist() == [0, 0, 1, 1, 0, 1]
    np.testing.assert_array_equal(assembly["channel_y"].values, [0, 1, 0, 1, np.nan, np.nan])
    np.testing.assert_array_equal(assembly.sel(layer="fc").values, full)


def test_tokens_and_convolutions_can_be_combined():
    assembly = package_layers({"conv": np.zeros((1, 1, 1, 2)), "tokens": np.ones((1, 2, 1))}, ["a"], "net")
    np.testing.assert_array_equal(assembly["embedding"].values, [np.nan, np.nan, 0, 0])
    np.testing.assert_array_equal(assembly["channel_x"].values, [0, 0, np.nan, np.nan])


def test_rejects_activations_of_other_stimuli():
    with pytest.raises(AssemblyError, match=r"'conv'.*\(3, 4\) for 2 stimuli"):
        package_layers({"conv": np.zeros((3, 4))}, ["a", "b"], "net")


def test_presentation_coords_are_replaced():
    assembly = package_layers({"fc": np.arange(6.0).reshape(2, 3)}, ["a", "b"], "net")
    replaced = add_presentation_coords(assembly, {"stimulus_id": ["s1", "s2"], "degrees": [8, 8]})
    assert replaced["stimulus_id"].values.tolist() == ["s1", "s2"]
    assert "stimulus_path" not in replaced.coords
    np.testing.assert_array_equal(replaced.values, assembly.values)
    assert replaced["neuroid_id"].values.tolist() == assembly["neuroid_id"].values.tolist()


LAYERS = st.lists(
    st.tuples(
        st.sampled_from(["a", "a.1", "a.10", "a.2", "b", "features.0"]),
        st.lists(st.integers(1, 5), min_size=0, max_size=5).map(tuple),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda layer: layer[0],
)


@settings(max_examples=25)
@given(LAYERS, st.sampled_from(["net", "", "a", "Netz-ü"]))
def test_labels_match_an_assembly_built_unit_by_unit(layers, identifier):
    rng = np.random.default_rng(0)
    values = {layer: rng.normal(size=(2, *shape)) for layer, shape in layers}
    assembly = package_layers(values, ["x.png", "y.png"], identifier)
    names = dict.fromkeys(name for _, shape in layers for name in unit_coords(shape))
    coords = {
        "stimulus_path": ("presentation", ["x.png", "y.png"]),
        "neuroid_num": ("neuroid", [n for _, shape in layers for n in range(int(np.prod(shape)))]),
        "model": ("neuroid", [identifier for _, shape in layers for _ in range(int(np.prod(shape)))]),
        "layer": ("neuroid", [layer for layer, shape in layers for _ in range(int(np.prod(shape)))]),
    }
    for name in names:
        parts = [unit_coords(shape).get(name, np.full(int(np.prod(shape)), np.nan)) for _, shape in layers]
        coords[name] = ("neuroid", np.concatenate(parts))
    ids = [f"{identifier}.{layer}.{n}" for layer, shape in layers for n in range(int(np.prod(shape)))]
    coords["neuroid_id"] = ("neuroid", ids)
    flat = np.concatenate([part.reshape(2, -1) for part in values.values()], axis=1)
    expected = NeuroidAssembly(flat, coords=coords, dims=["presentation", "neuroid"])
    assert type(assembly) is NeuroidAssembly
    np.testing.assert_array_equal(assembly.values, expected.values)
    assert list(get_levels(assembly)) == list(get_levels(expected))
    for name in get_levels(expected):
        np.testing.assert_array_equal(assembly[name].values, expected[name].values)
        assert assembly[name].dtype.kind == expected[name].dtype.kind
    found, wanted = (each.indexes["neuroid"] for each in (assembly, expected))
    for name in wanted.names:
        level = wanted.names.index(name)
        assert found.levels[level].tolist() == wanted.levels[level].tolist()
        np.testing.assert_array_equal(found.codes[level], wanted.codes[level])
    for layer, _ in layers:
        if layer in expected["layer"].values:
            np.testing.assert_array_equal(assembly.sel(layer=layer).values, expected.sel(layer=layer).values)


def test_packaging_does_not_copy_values():
    values = np.zeros((3, 4))
    assert np.shares_memory(package_layers({"fc": values}, ["a", "b", "c"], "net").values, values)
    replaced = add_presentation_coords(package_layers({"fc": values}, ["a", "b", "c"], "net"), {"x": [1, 2, 3]})
    assert np.shares_memory(replaced.values, values)


@pytest.mark.parametrize("count", [0, 1, 2, 9, 10, 11, 99, 100, 101, 1000, 1001, 1_000_001])
def test_number_order_matches_sorting_as_text(count):
    assert packaging._as_text_sorts(count).tolist() == sorted(range(count), key=str)
