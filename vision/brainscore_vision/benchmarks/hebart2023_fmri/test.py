import numpy as np
import pytest

from brainscore_vision import load_benchmark, load_model
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.stand_ins import draw_stimuli, shuffled

pytestmark = pytest.mark.usefixtures("kept_homes")

IDENTIFIERS = [f"Hebart2023_fmri.{region}-{metric}" for metric in ("ridge", "ridgecv") for region in ("V1", "IT")]
N_VOXELS = {"01": 40, "02": 60, "03": 20}


@pytest.fixture(scope="module")
def truth(module_stand_ins):
    return stand_in(module_stand_ins)


def stand_in(stand_ins):
    stimuli = {}
    for name, n in {"train": 72, "test": 30}.items():
        label = [f"concept{number // 12 if name == 'train' else number:02d}" for number in range(n)]
        columns = {"label": label, "object_name": label, "label_idx": np.arange(n)}
        stimuli[name] = draw_stimuli(f"Hebart2023_fmri_stim_{name}", n, columns=columns)
    n = sum(N_VOXELS.values())
    reliable = np.arange(n) % 5 > 0
    return stand_ins.split(
        "Hebart2023_fmri",
        stimuli,
        {"train": 1, "test": 12},
        unreliable=~reliable,
        n_neuroids=n,
        noise=1,
        neuroid_coords={
            "subject": np.repeat(list(N_VOXELS), list(N_VOXELS.values())),
            "region": np.tile(["V1", "V2", "V4", "IT"], n // 4),
            "nc_testset": np.where(reliable, 90.0, 30.0),
            "voxel_id": np.arange(n),
            "roi": np.tile(["V1", "V2", "hV4", "lFFA"], n // 4),
        },
        time_bins=[(70, 170)],
    )


@pytest.fixture(scope="module")
def brain(truth):
    return PrecomputedFeatures(truth, visual_degrees=8)


QUICK = [name for name in IDENTIFIERS if name.endswith((".V1-ridge", ".IT-ridgecv"))]
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in IDENTIFIERS if name not in QUICK]


@pytest.mark.slow
@pytest.mark.parametrize("identifier", [*QUICK, *OTHERS])
def test_responses_are_predicted_up_to_their_reliability(brain, identifier):
    benchmark = load_benchmark(identifier)
    region = identifier.partition(".")[2].partition("-")[0]
    assert (benchmark.identifier, benchmark.version, benchmark.parent) == (identifier, 3, region)
    assert benchmark._visual_degrees == 10  # noqa: SLF001 - the paradigm
    assert "10.7554/eLife.82580" in benchmark.bibtex
    score = benchmark(brain)
    assert float(benchmark.ceiling) == pytest.approx(1 / (1 + 1 / 12), abs=0.03)  # noise 1, twelve repetitions
    # With 72 objects shown once, about 4 / 72 of that noise remains in the four directions of the signal.
    assert float(score) == pytest.approx(0.95, abs=0.05)
    assert score.attrs["n_neuroids"] == sum(n // 4 for n in N_VOXELS.values()) * 4 / 5
    assert score.attrs["error_over"] == ["stimulus", "subject"]


@pytest.mark.slow
def test_brain_scores_above_pixels_above_shuffled(truth, brain):
    benchmark = load_benchmark("Hebart2023_fmri.V4-ridgecv")
    of_brain, of_pixels = (float(benchmark(model)) for model in (brain, load_model("pixels")))
    of_shuffled = float(benchmark(PrecomputedFeatures(shuffled(truth), 8)))
    assert of_brain > of_pixels + 0.1 > of_shuffled + 0.1
    assert abs(of_shuffled) < 0.1


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize(
    ("region", "expected"), [("V1", 0.61209661), ("V2", 0.52677881), ("V4", 0.31539148), ("IT", 0.22902846)]
)
def test_published_scores_of_alexnet(region, expected):
    score = load_benchmark(f"Hebart2023_fmri.{region}-ridgecv")(load_model("alexnet"))
    assert float(score) == pytest.approx(expected, abs=0.001)
