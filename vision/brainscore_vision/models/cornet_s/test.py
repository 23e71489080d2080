import numpy as np
import pytest

from brainscore_core.testing.synthetic import make_stimulus_set
from brainscore_vision.models.cornet_s import model
from brainscore_vision.testing.proofs.published_networks import PublishedNetworkProof

SHAPES = {
    "V1.output-t0": (64, 56, 56),
    "V2.output-t0": (128, 28, 28),
    "V2.output-t1": (128, 28, 28),
    "V4.output-t0": (256, 14, 14),
    "V4.output-t1": (256, 14, 14),
    "V4.output-t2": (256, 14, 14),
    "V4.output-t3": (256, 14, 14),
    "IT.output-t0": (512, 7, 7),
    "IT.output-t1": (512, 7, 7),
    "decoder.avgpool-t0": (512, 1, 1),
    "logits": (1000,),
}

# Region, time bin, nearest step. Steps start at 50 ms in V1; 70 and 170 in V2; 90, 140, 190 and 240 in V4; 100 and 200
# in IT.
BINS = [
    ("V1", (70, 170), 0), ("V2", (70, 170), 0), ("V2", (150, 250), 1), ("V4", (70, 170), 0), ("V4", (150, 200), 1),
    ("V4", (200, 210), 2), ("V4", (300, 310), 3), ("IT", (70, 170), 0), ("IT", (170, 270), 1),
]  # fmt: skip


class TestCORnetS(PublishedNetworkProof):
    identifier = "cornet_s"
    plugin = model
    shapes = SHAPES

    @pytest.fixture
    def brain(self, monkeypatch):
        brain = self.loaded
        monkeypatch.setattr(brain.activations_model._extractor, "check_steady", False)  # noqa: SLF001 - halves the forward passes
        return brain

    @pytest.fixture
    def small(self, tmp_path):
        return make_stimulus_set(tmp_path, 1, identifier="cornet_s-time", size_px=64)

    @pytest.mark.slow
    def test_activations_are_finite(self, tmp_path):
        super().test_activations_are_finite(tmp_path)

    @pytest.mark.slow
    def test_time_bin_gets_the_step_with_the_nearest_start(self, brain, small):
        # A single test, in one home, so that the steps are computed once and then read from the cache.
        recorded = brain.activations_model(small, layers=[name for name in SHAPES if "output" in name])
        for region, time_bin, step in BINS:
            brain.start_recording(region, [time_bin])
            expected = recorded.sel(neuroid=recorded["layer"] == f"{region}.output-t{step}").values
            np.testing.assert_array_equal(brain.look_at(small).values, expected, err_msg=f"{region} in {time_bin}")

    @pytest.mark.slow
    def test_it_changes_over_time_but_v1_does_not(self, brain, small):
        bins = [(100, 200), (200, 300)]
        for region, changes in (("IT", True), ("V1", False)):
            brain.start_recording(region, bins)
            activity = brain.look_at(small)
            assert activity.dims == ("presentation", "neuroid", "time_bin")
            early, late = (activity.values[..., index] for index in (0, 1))
            assert (early != late).any() == changes
