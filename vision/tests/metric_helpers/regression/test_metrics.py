import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import RidgeCV as ScikitRidgeCV

from brainscore_core.benchmarks import ceil_score
from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.records.record import ScoreRecord
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import load_metric
from brainscore_vision.metric_helpers.arrays import column_blocks
from brainscore_vision.metric_helpers.arrays.column_blocks import ColumnBlocks
from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns
from brainscore_vision.metric_helpers.regression import fixed_split, sides
from brainscore_vision.metric_helpers.regression.estimators import PLS, LeastSquares, OneToOne, PearsonR, Ridge, RidgeCV
from brainscore_vision.metric_helpers.regression.metrics import (
    CrossRegressedCorrelation,
    ReverseCrossRegressedCorrelation,
)
from brainscore_vision.metric_helpers.regression.on_assemblies import XarrayCorrelation, XarrayRegression
from brainscore_vision.metric_helpers.regression.sides import StreamedFeatures

N, P, Q = 80, 300, 12
IDS = np.array([f"s{i:03d}" for i in range(N)])
OBJECTS = np.array([f"o{i % 4}" for i in range(N)])
ORDER = np.random.default_rng(5).permutation(N)
REGRESSIONS = {
    "pls": lambda: PLS(5),
    "ridge": Ridge,
    "linear": LeastSquares,
    "one": OneToOne,
    "ridgecv": lambda: RidgeCV([0.1, 1.0, 10.0, 100.0]),
}


def arrays():
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(N, 10))
    features = latent @ rng.normal(size=(10, P)) + 0.3 * rng.normal(size=(N, P)) + 2
    return features.astype(np.float32), latent @ rng.normal(size=(10, Q)) + rng.normal(size=(N, Q))


def assembly(values, rows=slice(None)):
    names = "neuroid", np.arange(values.shape[1])
    return assembly_of(values[rows], stimulus_id=IDS[rows], object_name=OBJECTS[rows], neuroid_id=names)


def stream(values, rows=slice(None)):
    part = values[rows]
    blocks = ColumnBlocks(lambda: (part[:, i : i + 7] for i in range(0, part.shape[1], 7)), part.shape)
    return StreamedFeatures(IDS[rows], blocks, coords={"object_name": OBJECTS[rows]})


def metric(kind, regression="pls"):
    estimator = REGRESSIONS[regression]() if isinstance(regression, str) else regression
    kwargs = [{"compat": True}] if issubclass(kind, CrossRegressedCorrelation) else []  # small test sets are not pooled
    return kind(XarrayRegression(estimator), XarrayCorrelation(PearsonR()), *kwargs)


class StepByStep:
    """Fits each split separately, because it overrides `apply`."""

    def apply(self, *parts):
        return super().apply(*parts)


class SlowCross(StepByStep, CrossRegressedCorrelation):
    pass


class SlowReverse(StepByStep, ReverseCrossRegressedCorrelation):
    pass


class SlowSplit(StepByStep, fixed_split.TrainTestSplitCorrelation):
    pass


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(column_blocks, "BLOCK_BYTES", 8 * N * 33)
    monkeypatch.setattr(sides, "WIDE_BYTES", 1)


@pytest.mark.parametrize("regression", REGRESSIONS)
def test_streams_and_memory_maps_score_as_an_assembly(regression, tmp_path, small_blocks):
    features, responses = arrays()
    target = assembly(responses)
    score = metric(CrossRegressedCorrelation, regression)(assembly(features, ORDER), target)
    np.save(tmp_path / "features.npy", features[ORDER])
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r")
    for source in (
        stream(features, ORDER),
        StreamedFeatures(IDS[ORDER], mapped),
        assembly(features, ORDER).copy(data=mapped),
    ):
        other = metric(CrossRegressedCorrelation, regression)(source, target)
        np.testing.assert_allclose(other.attrs["raw"].values, score.attrs["raw"].values, atol=1e-9)
        assert other.attrs["n_stimuli"] == N


@pytest.mark.parametrize(
    "kind", [(CrossRegressedCorrelation, SlowCross), (ReverseCrossRegressedCorrelation, SlowReverse)]
)
def test_score_equals_scikit_learn_split_by_split(kind):
    features, responses = arrays()
    source, target = assembly(features.astype(float), ORDER), assembly(responses)
    together = metric(kind[0])(source, target)
    alone = metric(kind[1], PLSRegression(5, scale=False))(source, target)
    assert float(together) == pytest.approx(float(alone), abs=1e-9)
    np.testing.assert_allclose(together.attrs["raw"].values, alone.attrs["raw"].values, atol=1e-8)
    assert together.attrs["split_error"] == pytest.approx(alone.attrs["split_error"], abs=1e-9)
    assert together.attrs["error"] > 0
    assert "stimuli and neuroids on this result are unknown" in alone.attrs["error_nan_reason"]
    for name in ("quantity", "seed", "n_neuroids", "n_stimuli", "stratified_by"):
        assert together.attrs[name] == alone.attrs[name]
    assert together.attrs["quantity"] == "correlation"


@pytest.mark.parametrize("regression", ["pls", "ridge", "linear", "ridgecv"])
def test_wide_targets_are_predicted_block_by_block(regression, small_blocks, monkeypatch):
    features, responses = arrays()
    with monkeypatch.context() as patched:
        patched.setattr(sides, "WIDE_BYTES", 2**40)
        whole = metric(ReverseCrossRegressedCorrelation, regression)(assembly(features, ORDER), assembly(responses))
    for source in (assembly(features, ORDER), stream(features, ORDER)):
        score = metric(ReverseCrossRegressedCorrelation, regression)(source, assembly(responses))
        np.testing.assert_allclose(score.attrs["raw"].values, whole.attrs["raw"].values, atol=1e-9)
        assert float(score) == pytest.approx(float(whole), abs=1e-9)
        assert score.attrs["n_neuroids"] == P


def test_unusable_features_are_excluded(small_blocks):
    features, responses = arrays()
    whole = metric(ReverseCrossRegressedCorrelation)(
        assembly(np.delete(features, [40, 7], axis=1)), assembly(responses)
    )
    features[:, 7], features[:, 40] = 1.0, np.nan
    for source in (assembly(features), stream(features)):
        score = metric(ReverseCrossRegressedCorrelation)(source, assembly(responses))
        assert float(score) == pytest.approx(float(whole), abs=1e-9)
        assert score.attrs["neuroids_left_out"] == ["7", "40"]
        assert np.isnan(score.attrs["raw"].values[:, [7, 40]]).all()


def test_rejects_features_that_are_not_finite(small_blocks):
    features, responses = arrays()
    features[3, 50] = np.nan
    for source, where in ((assembly(features), "300 neuroids"), (stream(features), "neuroids of a block")):
        with pytest.raises(AssemblyError, match=f"source assembly has 1 NaN or infinite values, in 1 of .*{where}"):
            metric(CrossRegressedCorrelation)(source, assembly(responses))
    for target in (assembly(features), stream(features)):
        with pytest.raises(AssemblyError, match="1 of 300 neuroids of the target assembly have NaN"):
            metric(ReverseCrossRegressedCorrelation)(target, assembly(responses))


def test_rejects_streams_of_other_stimuli():
    features, responses = arrays()
    source = StreamedFeatures([*IDS[:-1], "other"], features)
    with pytest.raises(AssemblyError, match=r"only in the target \('s079'\).*only in the source \('other'\)"):
        metric(CrossRegressedCorrelation)(source, assembly(responses))


def test_rejects_streams_for_regressions_without_blocks():
    features, responses = arrays()
    with pytest.raises(
        AssemblyError, match="source is a stream of features, which only this library's regressions can use"
    ):
        metric(CrossRegressedCorrelation, PLSRegression(5))(stream(features), assembly(responses))


@pytest.mark.parametrize("kind", [CrossRegressedCorrelation, ReverseCrossRegressedCorrelation])
def test_held_out_predictions_are_the_scored_ones(kind):
    features, responses = arrays()
    source, target = assembly(features, ORDER), assembly(responses)
    score, held_out = metric(kind)(source, target), metric(kind).held_out(source, target)
    values = features.astype(float) if kind is ReverseCrossRegressedCorrelation else responses
    for row, part in zip(score.attrs["raw"].values, held_out, strict=True):
        np.testing.assert_allclose(pearson_columns(part.prediction, part.measurement), row, atol=1e-12)
        np.testing.assert_array_equal(part.measurement, values[[int(name[1:]) for name in part.stimuli]])
    with pytest.raises(NotImplementedError, match="SlowCross overrides the splits"):
        metric(SlowCross).held_out(source, target)


@pytest.mark.parametrize("regression", ["pls", "ridge", "linear", "ridgecv"])
def test_held_out_accepts_any_splits_and_source_order(regression):
    features, responses = arrays()
    splits = [(np.arange(0, N, 2), np.arange(1, N, 2)), (np.arange(10, N), np.arange(10))]
    target = assembly(responses)
    found = metric(CrossRegressedCorrelation, regression).held_out(assembly(features, ORDER), target, splits=splits)
    for part, (train, test) in zip(found, splits, strict=True):
        fitted = REGRESSIONS[regression]().fit(features[train], responses[train])
        place = np.array([int(name[1:]) for name in part.stimuli])
        np.testing.assert_array_equal(np.sort(place), test)
        np.testing.assert_allclose(part.prediction, fitted.predict(features[place]), rtol=1e-5, atol=1e-6)
    own = metric(CrossRegressedCorrelation, regression)
    given = own.held_out(assembly(features), target, splits=own.splits(target))
    for part, expected in zip(given, own.held_out(assembly(features), target), strict=True):
        np.testing.assert_array_equal(part.prediction, expected.prediction)


def test_of_inner_products_is_false_for_other_metrics():
    assert all(
        metric(CrossRegressedCorrelation, name).of_inner_products for name in ("pls", "ridge", "linear", "ridgecv")
    )
    assert not metric(CrossRegressedCorrelation, "one").of_inner_products
    assert not metric(ReverseCrossRegressedCorrelation).of_inner_products
    assert not metric(SlowCross).of_inner_products

    class Halved(CrossRegressedCorrelation):
        def __call__(self, source, target):
            return super().__call__(source, target) / 2

    assert not metric(Halved).of_inner_products


# -- fixed splits ------------------------------------------------------------------------------------------------------

TRAIN, TEST = np.random.default_rng(2).permutation(N)[:60], np.arange(N)
TEST = np.setdiff1d(TEST, TRAIN)


def given_split(make=assembly, source_rows=(TRAIN, TEST)):
    features, responses = arrays()
    return [*(make(features, rows) for rows in source_rows), *(assembly(responses, rows) for rows in (TRAIN, TEST))]


@pytest.mark.parametrize("regression", REGRESSIONS)
def test_split_score_equals_that_of_separate_fits(regression, small_blocks):
    together = metric(fixed_split.TrainTestSplitCorrelation, regression)(*given_split())
    alone = metric(SlowSplit, regression)(*given_split())
    np.testing.assert_allclose(together.attrs["raw"].values, alone.attrs["raw"].values, atol=1e-9)
    moved = given_split(stream, (TRAIN[::-1], np.roll(TEST, 3)))
    streamed = metric(fixed_split.TrainTestSplitCorrelation, regression)(*moved)
    np.testing.assert_allclose(streamed.attrs["raw"].values, alone.attrs["raw"].values, atol=1e-9)
    for score in (together, alone, streamed):
        assert score.attrs["raw"].dims == ("neuroid",)
        assert np.isnan(score.attrs["error"]) == ("error_nan_reason" in score.attrs)
        assert (score.attrs["n_train_stimuli"], score.attrs["n_stimuli"], score.attrs["n_neuroids"]) == (60, 20, Q)
        assert score.attrs["quantity"] == "correlation"
        assert score.attrs.get("alpha") == together.attrs.get("alpha")


def test_split_reports_the_penalty_without_keeping_state():
    features, responses = arrays()
    regression = RidgeCV([0.1, 1.0, 10.0, 100.0])
    score = metric(fixed_split.TrainTestSplitCorrelation, regression)(*given_split())
    assert score.attrs["alpha"] == ScikitRidgeCV([0.1, 1.0, 10.0, 100.0]).fit(features[TRAIN], responses[TRAIN]).alpha_
    assert regression.alpha_ is None


def test_reverse_split_accepts_positional_and_named_parts():
    source_train, source_test, target_train, target_test = given_split()
    expected = metric(SlowSplit, PLSRegression(5, scale=False))(target_train, target_test, source_train, source_test)
    reverse = metric(fixed_split.ReverseTrainTestSplitCorrelation)
    named = reverse(
        source_train=source_train, source_test=source_test, target_train=target_train, target_test=target_test
    )
    for score in (named, reverse(*given_split()), reverse(*given_split(stream))):
        assert float(score) == pytest.approx(float(expected), abs=1e-8)
        assert score.attrs["n_neuroids"] == P


def test_split_excludes_neuroids_constant_in_either_part():
    parts = given_split()
    parts[2][:, 0], parts[3][:, 4] = 1.0, 2.0
    assert metric(fixed_split.TrainTestSplitCorrelation)(*parts).attrs["neuroids_left_out"] == ["0", "4"]
    for part in parts[2:]:
        part[:, [1, 2, 3, 5, 6, 7, 8, 9, 10, 11]] = 1.0
    with pytest.raises(AssemblyError, match="varies over both training and test stimuli"):
        metric(fixed_split.TrainTestSplitCorrelation)(*parts)


def test_split_rejects_different_features_for_testing():
    source_train, source_test, target_train, target_test = given_split()
    for other in (source_test.isel(neuroid=np.arange(P)[::-1]), source_test.isel(neuroid=np.arange(P - 1))):
        with pytest.raises(AssemblyError, match=r"training \(300 neuroids\) and testing \((300|299) neuroids\) differ"):
            metric(fixed_split.TrainTestSplitCorrelation)(source_train, other, target_train, target_test)


def numbered_split(numbers, *, test=slice(60, N), streamed=False):
    """Return a fixed split of 60 training stimuli and the chosen test stimuli, with these identifiers."""
    rng = np.random.default_rng(3)
    tables = rng.normal(size=(N, 30)), rng.normal(size=(N, Q))
    rows = np.arange(60), np.arange(N)[test]
    parts = [assembly_of(table[part], stimulus_id=numbers[part]) for table in tables for part in rows]
    if streamed:
        parts[:2] = (StreamedFeatures(part["stimulus_id"].values, part.values) for part in parts[:2])
    return parts


@pytest.mark.parametrize(
    ("name", "streamed"),
    [
        *((name, False) for name in ("pls", "linear_predictivity", "neuron_to_neuron", "ridgecv", "reverse_pls")),
        *(("ridge", streamed) for streamed in (False, True)),
    ],
)
def test_split_accepts_parts_numbered_from_zero(name, streamed, recwarn):
    """Published plugins number stimuli like this; the score, its error and the stimulus names are those of the test
    part."""
    kwargs = {"regression_kwargs": {"n_components": 5}} if "pls" in name else {}
    split = load_metric(f"{name}_split", **kwargs)
    unique, from_zero = (
        split(*numbered_split(numbers, streamed=streamed)) for numbers in (np.arange(N), np.arange(N) % 60)
    )
    assert float(from_zero) == float(unique)
    for attribute in ("error", "interval", "stimulus_error"):
        assert from_zero.attrs[attribute] == unique.attrs[attribute]
    assert from_zero.attrs["influence"].stimuli.tolist() == list(range(20))
    assert "n_tested_in_training" not in from_zero.attrs
    assert not [warning for warning in recwarn if "also train" in str(warning.message)]


@pytest.mark.parametrize("name", ["ridge", "reverse_pls"])
@pytest.mark.parametrize("streamed", [False, True])
def test_split_warns_of_test_stimuli_that_also_train(name, streamed, small_blocks):
    split = load_metric(f"{name}_split", **({"regression_kwargs": {"n_components": 5}} if "pls" in name else {}))
    numbers = np.arange(N) % 60
    with pytest.warns(
        UserWarning,
        match="7 of 20 test stimuli, such as '53', are also training stimuli, with the same stimulus_id and",
    ):
        score = split(*numbered_split(numbers, test=slice(53, 73), streamed=streamed))
    record = ScoreRecord.of_score(ceil_score(score, Score(0.9)), model="m", benchmark="b")
    assert score.attrs["n_tested_in_training"] == record.n_tested_in_training == 7


def test_split_with_one_neuroid_has_no_error_with_a_reason():
    source_train, source_test, target_train, target_test = given_split()
    one = [target.isel(neuroid=[0]) for target in (target_train, target_test)]
    score = metric(fixed_split.TrainTestSplitCorrelation)(source_train, source_test, *one)
    assert np.isnan(score.attrs["error"])
    assert score.attrs["error_nan_reason"].startswith("a single neuroid:")
    assert score.attrs["stimulus_error"] > 0


# -- threads and repetition --------------------------------------------------------------------------------------------

PROGRAM = """
import json
import numpy as np
from brainscore_vision.metric_helpers.arrays.regression.pls import pls_predict_splits
from brainscore_vision.metric_helpers.arrays.correlation import pearson_columns

def compute(n, p, q):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(n, 20))
    x = latent @ rng.normal(size=(20, p)) + 0.1 * rng.normal(size=(n, p))
    y = latent @ rng.normal(size=(20, q)) + rng.normal(size=(n, q))
    splits = [(np.delete(np.arange(n), part), part) for part in np.array_split(np.arange(n), 10)]
    pairs = zip(pls_predict_splits(x, y, splits), splits)
    return [value.hex() for prediction, (_, test) in pairs for value in pearson_columns(prediction, y[test]).tolist()]

shapes = [(400, 300, 30), (300, 2000, 30), (300, 40, 700)]
print(json.dumps([[value for shape in shapes for value in compute(*shape)] for _ in range(2)]))
"""


def run_with_threads(number):
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(number))
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **threads}, capture_output=True, text=True, check=True
    )
    return json.loads(answer.stdout)


@pytest.mark.slow
def test_threads_agree_and_repetitions_are_identical():
    (one, again), (two, once_more) = run_with_threads(1), run_with_threads(2)
    assert one == again
    assert two == once_more
    np.testing.assert_allclose(*([float.fromhex(value) for value in values] for values in (one, two)), atol=1e-10)


# -- memory ------------------------------------------------------------------------------------------------------------

SCRIPT = Path(__file__).parents[4] / "perf" / "memory_budget.py"


@pytest.mark.slow
def test_features_are_never_entirely_in_memory():
    # 400 x 400,000 features take 1.2 GiB in float64 and 0.6 GiB in float32; the interpreter and libraries 0.2 GiB.
    sizes = {"stimuli": 400, "features": 400_000, "neuroids": 40, "limit": 0.75}
    options = [part for name, value in sizes.items() for part in (f"--{name}", str(value))]
    metrics = "pls,ridge,linear_predictivity,neuron_to_neuron,reverse_pls,pls_split,dual_ridgecv_split"
    subprocess.run([sys.executable, str(SCRIPT), "--metric", metrics, *options], check=True)


NOISE = {"ridgecv_kfold": {"repeats": 1}, "ridgecv_r2er": {"repeats": 1}, "ridgecv": {}, "banded_ridge": {"n_draws": 1}}


@pytest.mark.parametrize("identifier", [*NOISE, "spantime_ridge"])
def test_models_of_noise_score_zero_on_average(identifier):
    """Folds with a chance correlation predict with a large amplitude, and the correlation is reversed in their test
    sets."""
    scores, n_data_sets = [], 12
    for seed in range(n_data_sets):
        rng = np.random.default_rng([24, seed])
        x, y = rng.normal(size=(40, 40)), np.tile(rng.normal(size=(40, 20)), (2, 1))
        ids = [f"s{number:02d}" for number in range(40)]
        if identifier == "spantime_ridge":  # the model does not respond before the onset, when responses are lower
            both = np.stack([0.01 * x, x + 1], axis=2), np.stack([rng.normal(size=y[:40].shape), y[:40] + 2], axis=2)
            bins = {"time_bin_start": ("time_bin", [-100, 100]), "time_bin_end": ("time_bin", [0, 200])}
            source, target = (assembly_of(values, stimulus_id=ids, object_name=None, **bins) for values in both)
            scores.append(float(load_metric(identifier)(source, target).isel(time_bin=0)))
            continue
        y[40:] += 0.5 * rng.normal(size=(40, 20))
        source = assembly_of(x, stimulus_id=ids, object_name=None, layer=("neuroid", np.repeat(["conv", "fc"], 20)))
        target = assembly_of(y, stimulus_id=ids * 2, repetition=np.repeat([0, 1], 40), object_name=None)
        if identifier in ("ridgecv", "banded_ridge"):
            target = average_repetition(target)
        scores.append(float(load_metric(identifier, **NOISE[identifier])(source, target)))
    assert abs(np.mean(scores)) < 3 * np.std(scores, ddof=1) / np.sqrt(n_data_sets)
