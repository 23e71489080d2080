from typing import ClassVar

import numpy as np
import pytest

from brainscore_vision import load_benchmark, load_model
from brainscore_vision.benchmarks.allen2022_fmri.benchmark import Allen2022fmri
from brainscore_vision.testing.proofs.natural_scenes import N_OF_SUBJECT, NaturalScenesProof

N = sum(N_OF_SUBJECT.values())


class TestVoxels(NaturalScenesProof):
    dataset = "Allen2022_fmri"
    places: ClassVar = {f"voxel_{axis}": np.arange(N) for axis in "xyz"}
    make = Allen2022fmri


stand_in = TestVoxels.stand_in


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize(
    ("identifier", "expected", "atol"),
    [
        ("Allen2022_fmri.V1-ridge", 0.4019, 0.005),
        ("Allen2022_fmri.V2-ridge", 0.4366, 0.005),
        ("Allen2022_fmri.V4-ridge", 0.3482, 0.005),
        ("Allen2022_fmri.IT-ridge", 0.2870, 0.01),
        ("Allen2022_fmri.V4-rdm", 0.2358, 0.005),
        ("Allen2022_fmri_4subj.V1-ridge", 0.3965, 0.005),
        ("Allen2022_fmri_4subj.V2-ridge", 0.4080, 0.005),
        ("Allen2022_fmri_4subj.V4-ridge", 0.3208, 0.005),
        ("Allen2022_fmri_4subj.IT-ridge", 0.2599, 0.01),
        ("Allen2022_fmri_4subj.V4-rdm", 0.2200, 0.005),
    ],
)
def test_published_scores_of_alexnet(identifier, expected, atol):
    assert float(load_benchmark(identifier)(load_model("alexnet"))) == pytest.approx(expected, abs=atol)
