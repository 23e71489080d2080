from collections import OrderedDict

import numpy as np
import pytest

from brainscore_core.errors import ConfigurationError, UnknownIdentifierError
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper
from brainscore_vision.model_helpers.brain_transformation.recurrent import RecurrentCommitment, regular_steps

LAYERS = ["V1.output-t0", "IT.conv-t0", "IT.conv-t1", "IT.output-t0", "IT.output-t1", "decoder-t0"]
TIMES = regular_steps({"V1": (50, 100, 1), "IT": (100, 100, 2)})


def get_activations(paths, layer_names):
    """Return values that encode their origin: hundreds are the layer, tens the step, ones the stimulus."""
    hundreds = {"V1.output": 0, "IT.conv": 100, "IT.output": 200, "decoder": 300}
    stimulus = np.arange(len(paths))[:, np.newaxis]
    result = OrderedDict()
    for name in layer_names:
        layer, _, step = name.rpartition("-t")
        result[name] = np.repeat(hundreds[layer] + 10 * int(step) + stimulus, 2 if layer == "IT.conv" else 1, axis=1)
    return result


@pytest.fixture
def model():
    extractor = ActivationsExtractorHelper(get_activations, preprocessing=None, identifier="net")
    return RecurrentCommitment("net", extractor, LAYERS, TIMES)


@pytest.fixture
def stimuli(write_stimuli):
    return write_stimuli(dict.fromkeys("ab", np.zeros((2, 2, 3))), object_name=["x", "y"])


def test_regular_steps_have_their_times():
    assert TIMES == {"V1": {0: (50, 150)}, "IT": {0: (100, 200), 1: (200, 300)}}


def test_each_bin_gets_the_nearest_step(model, stimuli):
    model.start_recording("IT", time_bins=[(70, 170), (150, 250), (151, 160), (400, 500)])
    activity = model.look_at(stimuli)
    assert activity.dims == ("presentation", "neuroid", "time_bin")
    # At 150 ms both steps are equally near; the earlier one counts.
    np.testing.assert_array_equal(activity.values[0], [[100, 100, 110, 110]] * 2 + [[200, 200, 210, 210]])
    np.testing.assert_array_equal(activity.values[1] - activity.values[0], 1)
    assert activity["time_bin_start"].values.tolist() == [70, 150, 151, 400]
    assert activity["time_bin_end"].values.tolist() == [170, 250, 160, 500]
    assert activity["layer"].values.tolist() == ["IT.conv", "IT.conv", "IT.output"]
    assert activity["neuroid_id"].values.tolist() == ["net.IT.conv.0", "net.IT.conv.1", "net.IT.output.0"]
    assert set(activity["region"].values) == {"IT"}
    assert activity["object_name"].values.tolist() == ["x", "y"]


def test_single_bin_has_no_time_dimension(model, stimuli):
    model.start_recording("V1", time_bins=[(70, 170)])
    activity = model.look_at(stimuli)
    assert activity.dims == ("presentation", "neuroid")
    np.testing.assert_array_equal(activity.values, [[0], [1]])


def test_nearest_step_is_not_an_average(model, stimuli):
    model.start_recording("IT", time_bins=[(100, 300)])
    np.testing.assert_array_equal(model.look_at(stimuli).values[0], [100, 100, 200])


def test_recurrent_model_is_a_full_commitment(model, stimuli):
    assert model.region_layer_map == {"V1": ["V1.output"], "IT": ["IT.conv", "IT.output"]}
    assert model.visual_degrees() == 8
    assert model.time_mapping == TIMES
    model.start_task("odd_one_out")
    triplet = stimuli.iloc[[0, 1, 0]]
    triplet.stimulus_paths, triplet.identifier = stimuli.stimulus_paths, "triplet"
    assert model.look_at(triplet).values.tolist() == [["a"]]  # the first of equally similar pairs counts
    with pytest.raises(RuntimeError, match="start_recording"):
        model.layer_model.look_at(stimuli)


def test_rejects_inconsistent_regions_and_times():
    with pytest.raises(UnknownIdentifierError, match=r"region 'ITT'.*begin with IT, V1, decoder.*Did you mean 'IT'"):
        RecurrentCommitment("net", get_activations, LAYERS, regular_steps({"ITT": (0, 1, 1)}))
    with pytest.raises(ConfigurationError, match="has no entry for region 'IT'"):
        RecurrentCommitment("net", get_activations, LAYERS, {"IT": {}})
    with pytest.raises(ValueError, match="start < end"):
        RecurrentCommitment("net", get_activations, LAYERS, {"IT": {0: (100, 100)}})
    model = RecurrentCommitment("net", get_activations, LAYERS, TIMES)
    with pytest.raises(UnknownIdentifierError, match="no layer for region 'V4'; it has V1, IT"):
        model.start_recording("V4", [(0, 1)])
