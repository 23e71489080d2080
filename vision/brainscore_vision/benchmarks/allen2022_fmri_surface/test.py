from typing import ClassVar

import numpy as np
import pytest

from brainscore_vision import load_benchmark, load_model
from brainscore_vision.benchmarks.allen2022_fmri_surface.benchmark import Allen2022fmriSurface
from brainscore_vision.testing.proofs.natural_scenes import N_OF_SUBJECT, NaturalScenesProof

N = sum(N_OF_SUBJECT.values())


@pytest.mark.slow  # the design is the same as for voxels
class TestVertices(NaturalScenesProof):
    dataset = "Allen2022_fmri_surface"
    places: ClassVar = {"hemisphere": np.resize(["lh", "rh"], N), "vertex_index": np.arange(N)}
    make = Allen2022fmriSurface


stand_in = TestVertices.stand_in


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize(
    ("identifier", "expected", "atol"),
    [
        ("Allen2022_fmri_surface.V1-ridge", 0.4129, 0.005),
        ("Allen2022_fmri_surface.V2-ridge", 0.4409, 0.005),
        ("Allen2022_fmri_surface.V4-ridge", 0.4009, 0.005),
        ("Allen2022_fmri_surface.IT-ridge", 0.2975, 0.01),
        ("Allen2022_fmri_surface.V4-rdm", 0.2638, 0.005),
        ("Allen2022_fmri_surface_4subj.V1-ridge", 0.4062, 0.005),
        ("Allen2022_fmri_surface_4subj.V2-ridge", 0.4303, 0.005),
        ("Allen2022_fmri_surface_4subj.V4-ridge", 0.3690, 0.005),
        ("Allen2022_fmri_surface_4subj.IT-ridge", 0.2804, 0.01),
        ("Allen2022_fmri_surface_4subj.V4-rdm", 0.2315, 0.005),
    ],
)
def test_published_scores_of_alexnet(identifier, expected, atol):
    assert float(load_benchmark(identifier)(load_model("alexnet"))) == pytest.approx(expected, abs=atol)
