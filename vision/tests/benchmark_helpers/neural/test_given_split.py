from functools import partial

import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_vision import load_metric
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.neural.given_split import all_stimuli, of_region, train_test_benchmark
from brainscore_vision.benchmark_helpers.neural_common import average_repetition

N_NEUROIDS, REGIONS = 6, ["V1", "V1", "V4", "V4", "V4", "V4"]


@pytest.fixture
def recorded(tmp_path, make_recordings, make_stimuli):
    """Three repetitions of some stimuli, recorded in two subjects whose three neuroids are numbered from 0 in each."""

    def make(prefix, n=9, noise=0.1):
        (tmp_path / prefix).mkdir(exist_ok=True)
        stimuli = make_stimuli(tmp_path / prefix, n, prefix)
        rng = np.random.default_rng(n)
        signal = np.tile(rng.normal(size=(n, N_NEUROIDS)), (3, 1))
        return make_recordings(
            signal + noise * rng.normal(size=signal.shape),
            time_bins=[(70, 170)],
            stimulus_set=stimuli,
            repetition=("presentation", np.repeat([0, 1, 2], n)),
            neuroid_id=("neuroid", list("012012")),
            subject=("neuroid", ["a"] * 3 + ["b"] * 3),
            region=("neuroid", REGIONS),
            nc=("neuroid", [50.0, 10, 30, 31, 60, np.nan]),
        )

    return make


class TestOfRegion:
    def test_selects_the_region_and_drops_the_single_time_bin(self, recorded):
        chosen = of_region(recorded("s"), "V4")
        assert dict(chosen.sizes) == {"presentation": 27, "neuroid": 4}
        assert set(chosen["region"].values) == {"V4"}
        assert chosen.attrs["stimulus_set"].identifier == "test-s"

    def test_selects_only_neuroids_above_the_threshold(self, recorded):
        chosen = of_region(recorded("s"), "V4", above=("nc", 30))
        assert chosen["nc"].values.tolist() == [31, 60]  # 30 is not above 30, and NaN is above nothing

    def test_rejects_an_absent_region(self, recorded):
        with pytest.raises(AssemblyError, match=r"Region 'V5' has no neuroids; the regions are \['V1', 'V4'\]"):
            of_region(recorded("s"), "V5")

    def test_rejects_a_threshold_above_every_neuroid(self, recorded):
        with pytest.raises(AssemblyError, match=r"'nc' above 90: the highest of 2 is 50"):
            of_region(recorded("s"), "V1", above=("nc", 90))


class TestAllStimuli:
    def test_training_stimuli_come_first_and_neuroids_keep_their_order(self, recorded):
        train, test = (average_repetition(of_region(recorded(*each), "V4")) for each in (("t", 9), ("u", 5)))
        joint = all_stimuli(train, test[:, ::-1], "both")
        np.testing.assert_array_equal(joint.values, np.concatenate([train.values, test.values]))
        assert joint["stimulus_id"].values[[0, -1]].tolist() == ["t0", "u4"]
        assert joint["subject"].values.tolist() == train["subject"].values.tolist()
        assert (joint["time_bin_start"].item(), joint["time_bin_end"].item()) == (70, 170)

    def test_the_joint_stimulus_set_has_all_files(self, recorded):
        train, test = (average_repetition(of_region(recorded(*each), "V4")) for each in (("t", 9), ("u", 5)))
        stimuli = all_stimuli(train, test, "both").attrs["stimulus_set"]
        assert stimuli.identifier == "both"
        assert len(stimuli) == 14
        assert stimuli.get_stimulus("u4").is_file()

    def test_rejects_different_neuroids(self, recorded):
        train = average_repetition(of_region(recorded("t"), "V4"))
        with pytest.raises(AssemblyError, match="neuroid"):
            all_stimuli(train, train[:, :2], "both")


class TestTrainTestBenchmark:
    @pytest.fixture
    def loads(self):
        return []

    @pytest.fixture
    def made(self, recorded, loads):
        def load(part):
            loads.append(part)
            return of_region(recorded(part, {"train": 40, "test": 20}[part]), "V4")

        settings = {"version": 3, "visual_degrees": 8, "number_of_trials": 1, "parent": "V4", "bibtex": ""}
        settings["alpha_coord"] = "subject"
        return partial(train_test_benchmark, "Test2026.V4-ridge", load, load_metric("ridge_split"), **settings)

    def test_constructing_loads_nothing(self, made, loads):
        assert made().version == 3
        assert loads == []

    def test_repetitions_are_averaged_and_each_part_loads_once(self, made, loads, recorded):
        benchmark = made()
        signals = {
            f"test-{part}": average_repetition(of_region(recorded(part, n, noise=0), "V4"))
            for part, n in (("train", 40), ("test", 20))
        }
        # Random signals of four neuroids: the model is the signal itself.
        score = benchmark(PrecomputedFeatures(signals, 8))
        assert float(benchmark.ceiling) == pytest.approx(1 / (1 + 0.1**2 / 3), abs=0.005)
        assert float(score) == pytest.approx(1, abs=0.02)
        assert sorted(loads) == ["test", "train"]
        assert {"a", "b"} <= set(score.attrs)

    def test_a_custom_ceiling_gets_the_repetitions(self, made):
        given = []
        benchmark = made(ceiler=lambda assembly: given.append(assembly) or Score(0.5))
        assert float(benchmark.ceiling) == 0.5
        assert given[0].sizes["presentation"] == 60
