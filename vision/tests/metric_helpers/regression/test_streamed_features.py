import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_vision.metric_helpers.labelled.alignment import coordinate, coords_along
from brainscore_vision.metric_helpers.regression.sides import StreamedFeatures


def test_streamed_features_have_labels():
    features = StreamedFeatures(["a", "b"], np.eye(2, 3), coords={"object_name": ["x", "y"]})
    assert (features.shape, features.dims) == ((2, 3), ("presentation", "neuroid"))
    assert coordinate(features.labels, "stimulus_id").tolist() == ["a", "b"]
    assert coordinate(features.labels, "object_name").tolist() == ["x", "y"]
    assert coords_along(features.labels, "neuroid")["neuroid_id"][1].tolist() == [0, 1, 2]
    assert repr(features) == "StreamedFeatures(2 stimuli x 3 features)"


def test_rejects_labels_that_do_not_fit_the_features():
    with pytest.raises(AssemblyError, match=r"shape \(2, 3\).*stimulus_id: 3"):
        StreamedFeatures(["a", "b", "c"], np.eye(2, 3))
