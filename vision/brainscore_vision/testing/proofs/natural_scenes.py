"""Test benchmarks on fMRI of natural scenes (Allen et al. 2022) with synthetic recordings of the same form.

Every fifth neuroid of three subjects has a noise ceiling of 30 % and contains only noise, so the ceiling shows whether
it was excluded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from brainscore_vision.benchmark_helpers.stand_ins import PrecomputedFeatures
from brainscore_vision.loading import load_benchmark, load_model
from brainscore_vision.testing.stand_ins import draw_stimuli, shuffled

if TYPE_CHECKING:
    from collections.abc import Callable

    from brainscore_core.benchmarks import Benchmark
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
    from brainscore_vision.testing.stand_ins import StandIns

__all__ = ["N_OF_SUBJECT", "NaturalScenesProof"]

N_OF_SUBJECT = {"subj01": 40, "subj02": 60, "subj05": 20}
_N = sum(N_OF_SUBJECT.values())
_REGIONS = ("V1", "V2", "V4", "IT")
_GROUPS = ("", "_4subj")
_QUICK = {("", "V1")}
_SOME_QUICK = pytest.mark.parametrize(
    ("group", "region"),
    [
        pytest.param(group, region, marks=[] if (group, region) in _QUICK else [pytest.mark.slow])
        for group in _GROUPS
        for region in ("V1", "IT")
    ],
)

Truths = Mapping[str, "DataAssembly"]


@pytest.mark.usefixtures("kept_homes")
class NaturalScenesProof:
    """Set data set and neuroid coordinates in a class of tests, and inherit these.

    Attributes
    ----------
    dataset
        Prefix of its identifiers; ``_4subj`` follows for the four subjects who saw more scenes.
    places : mapping of str to array-like, shape (120,)
        Further coordinates of neuroids.
    make
        Factory of the regression benchmarks: region, ``per_voxel_ceilings``.

    Examples
    --------
    In ``test.py``::

        class TestVoxels(NaturalScenesProof):
            dataset = "Mine2026_fmri"
            places = {"voxel_x": np.arange(120)}
            make = Mine2026
    """

    dataset: str
    places: Mapping[str, Any]  # array-like
    make: Callable[..., Benchmark]

    @pytest.fixture(scope="class")
    @classmethod
    def truths(cls, module_stand_ins: StandIns) -> Truths:
        """Register recordings of both groups; return the signal of each."""
        return {group: cls.stand_in(module_stand_ins, group) for group in _GROUPS}

    @classmethod
    def stand_in(cls, stand_ins: StandIns, group: str) -> DataAssembly:
        """Register recordings of one group; return their signal."""
        reliable = np.arange(_N) % 5 > 0
        return stand_ins.split(
            f"{cls.dataset}{group}",
            {
                name: draw_stimuli(f"Allen2022_fmri{group}_stim_{name}", n, columns={"nsd_id": range(n)})
                for name, n in {"train": 60, "test": 30}.items()
            },
            {"train": None, "test": 3},
            unreliable=~reliable,
            n_neuroids=_N,
            neuroid_coords={
                "subject": np.repeat(list(N_OF_SUBJECT), list(N_OF_SUBJECT.values())),
                "region": np.tile(_REGIONS, _N // 4),
                "nc_testset": np.where(reliable, 80.0, 30.0),
                **cls.places,
            },
            time_bins=[(70, 170)],
            presentation_coords=["nsd_id"],
        )

    @_SOME_QUICK
    def test_responses_are_predicted_up_to_their_reliability(self, truths: Truths, group: str, region: str) -> None:
        """The true signal reaches the noise ceiling of reliable neuroids."""
        benchmark: Any = load_benchmark(f"{self.dataset}{group}.{region}-ridge")  # of a class with degrees
        assert benchmark._visual_degrees == 8.4  # noqa: SLF001 - the published tests read it
        score = benchmark(PrecomputedFeatures(truths[group], visual_degrees=8))
        assert float(benchmark.ceiling) == pytest.approx(1 / (1 + 0.5**2 / 3), abs=0.03)  # noise .5, 3 repetitions
        assert float(score) == pytest.approx(1, abs=0.03)  # 60 scenes, some noise
        assert set(N_OF_SUBJECT) <= set(score.attrs)
        assert score.attrs["n_stimuli"] == 90
        assert score.attrs["n_neuroids"] == _N // 4 * 4 / 5

    @_SOME_QUICK
    def test_score_of_true_dissimilarities_is_within_the_bounds(self, truths: Truths, group: str, region: str) -> None:
        """The true signal lies between the bounds of the ceiling."""
        benchmark = load_benchmark(f"{self.dataset}{group}.{region}-rdm")
        score = benchmark(PrecomputedFeatures(truths[group], visual_degrees=8))
        bounds = benchmark.ceiling.attrs
        assert bounds["lower_bound"] <= float(score.attrs["raw"]) <= bounds["upper_bound"]
        assert score.attrs["n_stimuli"] == 90

    @pytest.mark.parametrize(("metric", "atol"), [pytest.param("ridge", 0.1, marks=pytest.mark.slow), ("rdm", 0.05)])
    def test_brain_scores_above_pixels_above_shuffled(self, truths: Truths, metric: str, atol: float) -> None:
        """True signal, pixels and shuffled scenes score in this order."""
        benchmark = load_benchmark(f"{self.dataset}.IT-{metric}")
        of_brain = float(benchmark(PrecomputedFeatures(truths[""], visual_degrees=8)))
        of_pixels = float(benchmark(load_model("pixels")))
        of_shuffled = float(benchmark(PrecomputedFeatures(shuffled(truths[""]), 8)))
        assert of_brain > of_pixels + 0.1 > of_shuffled + 0.1
        assert abs(of_shuffled) < atol

    @pytest.mark.slow
    @pytest.mark.usefixtures("truths")
    def test_gabor_bank_scores_between_chance_and_the_ceiling(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A model of V1 is better than chance."""
        monkeypatch.setattr("brainscore_vision.models.gabor_bank.model.STRIDE_PX", 32)  # a sixteenth of its cells
        assert 0.02 < float(load_benchmark(f"{self.dataset}.V1-rdm")(load_model("gabor_bank"))) < 0.9

    def test_neuroids_can_be_divided_by_their_own_ceilings(self, truths: Truths) -> None:
        """An argument selects ceilings of single neuroids."""
        score = type(self).make("V4", per_voxel_ceilings=True)(PrecomputedFeatures(truths[""], visual_degrees=8))
        assert float(score) == pytest.approx(1, abs=0.05)
        assert score.attrs["subj02"].attrs["ceiled_scores"].sizes["neuroid"] == 12
