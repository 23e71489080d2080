import numpy as np
import pytest

from brainscore_vision import load_dataset


@pytest.mark.private_access
def test_sizes_are_as_published():
    assembly = load_dataset("Seibert2019")
    assert dict(assembly.sizes) == {"neuroid": 258, "presentation": 286080, "time_bin": 1}
    assert np.count_nonzero(np.isnan(assembly)) == 19118720
    different = {name: len(set(assembly[name].values)) for name in ("stimulus_id", "animal", "region", "variation")}
    assert different == {"stimulus_id": 5760, "animal": 3, "region": 2, "variation": 3}
