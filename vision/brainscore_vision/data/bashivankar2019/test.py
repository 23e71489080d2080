import numpy as np
import pytest

from brainscore_vision import load_dataset


@pytest.mark.private_access
@pytest.mark.parametrize(
    ("identifier", "shape", "missing"),
    [
        ("BashivanKar2019.naturalistic", (24320, 233, 1), 309760),
        ("BashivanKar2019.synthetic", (21360, 233, 1), 4319940),
    ],
)
def test_shape_and_missing_values(identifier, shape, missing):
    assembly = load_dataset(identifier)
    assert assembly.shape == shape
    assert np.count_nonzero(np.isnan(assembly)) == missing
