"""Labels of activations, against a unit-by-unit count."""

import itertools

import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_vision.model_helpers.activations.packaging import (
    add_presentation_coords,
    package_layers,
    unit_coords,
)


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        ((5,), ["channel"]),
        ((3, 4), ["channel", "embedding"]),
        ((2, 3, 4), ["channel", "channel_x", "channel_y"]),
        ((2, 3, 2, 5), ["channel_temporal", "channel_x", "channel_y", "channel"]),
    ],
)
def test_units_are_counted_in_c_order(shape, names):
    coords = unit_coords(shape)
    expected = list(itertools.product(*map(range, shape)))
    assert list(zip(*(coords[name].tolist() for name in names), strict=True)) == expected


def test_fully_connected_units_have_no_place():
    coords = unit_coords((2,))
    assert list(coords) == ["channel", "channel_x", "channel_y"]
    assert np.isnan(coords["channel_x"]).all()
    assert np.isnan(coords["channel_y"]).all()
    assert unit_coords(()) == {}


def test_layers_stand_side_by_side_with_their_labels():
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


def test_tokens_and_convolutions_can_stand_together():
    assembly = package_layers({"conv": np.zeros((1, 1, 1, 2)), "tokens": np.ones((1, 2, 1))}, ["a"], "net")
    np.testing.assert_array_equal(assembly["embedding"].values, [np.nan, np.nan, 0, 0])
    np.testing.assert_array_equal(assembly["channel_x"].values, [0, 0, np.nan, np.nan])


def test_activations_for_other_stimuli_are_refused():
    with pytest.raises(AssemblyError, match=r"'conv'.*\(3, 4\) for 2 stimuli"):
        package_layers({"conv": np.zeros((3, 4))}, ["a", "b"], "net")


def test_coordinates_of_presentations_are_replaced():
    assembly = package_layers({"fc": np.arange(6.0).reshape(2, 3)}, ["a", "b"], "net")
    replaced = add_presentation_coords(assembly, {"stimulus_id": ["s1", "s2"], "degrees": [8, 8]})
    assert replaced["stimulus_id"].values.tolist() == ["s1", "s2"]
    assert "stimulus_path" not in replaced.coords
    np.testing.assert_array_equal(replaced.values, assembly.values)
    assert replaced["neuroid_id"].values.tolist() == assembly["neuroid_id"].values.tolist()
