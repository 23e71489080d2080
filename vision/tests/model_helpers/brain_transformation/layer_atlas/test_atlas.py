import json
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from brainscore_core.errors import ConfigurationError, RequirementsError
from brainscore_core.metrics import Score
from brainscore_vision.metric_helpers.uncertainty.intervals import held_out_medians, percentiles
from brainscore_vision.model_helpers.brain_transformation.layer_atlas import atlas as atlas_module
from brainscore_vision.model_helpers.brain_transformation.layer_atlas import draw_atlas, records, save_atlas
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.atlas import make_atlas
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.records import format_atlas
from brainscore_vision.model_helpers.brain_transformation.layer_atlas.scores import LayerScores

from .conftest import KnownLayers, linear_metric

LAYERS = ["early", "middle", "late"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))


def atlas_of(model, benchmarks, layers=LAYERS, **options):
    return make_atlas("known", model, layers, 8, benchmarks, **options)


def test_scores_equal_separate_scores_of_the_benchmark(known, make_benchmark):
    model, responses = known
    benchmark = make_benchmark(responses)
    atlas = atlas_of(model, {"IT": benchmark})
    alone = LayerScores("known", model, visual_degrees=8)(benchmark, LAYERS)
    assert alone["layer"].values.tolist() == LAYERS
    np.testing.assert_allclose([each.score for each in atlas["IT"].scores], alone.values, rtol=1e-9)
    assert atlas["IT"].layer == "middle" == LAYERS[int(alone.values.argmax())]
    order = np.argsort(alone.values)
    assert atlas["IT"].runner_up == LAYERS[order[-2]]
    assert atlas["IT"].margin == pytest.approx(alone.values[order[-1]] - alone.values[order[-2]])


def test_all_layers_and_regions_take_one_pass(known, make_benchmark):
    model, responses = known
    benchmarks = {
        "V4": make_benchmark(responses[:80], "V4", rows=range(80)),
        "IT": make_benchmark(responses[40:], "IT", rows=range(40, 120)),
        "other": opaque_benchmark(make_benchmark(responses, "other")),
    }
    atlas = atlas_of(model, benchmarks)
    assert [(len(ids), layers) for ids, layers in model.shown] == [(120, LAYERS)]
    assert [choice.region for choice in atlas.regions] == ["V4", "IT", "other"]
    assert atlas.region_layer_map == {"V4": "middle", "IT": "middle", "other": "middle"}


def opaque_benchmark(benchmark):
    """Return a benchmark that can only be called."""
    opaque = type("Opaque", (), {"__call__": lambda self, model: benchmark(model)})()
    opaque.region, opaque.ceiling, opaque.identifier = benchmark.region, benchmark.ceiling, "Opaque2026"
    return opaque


def test_opaque_benchmark_gives_a_choice_without_intervals(known, make_benchmark):
    model, responses = known
    benchmark = make_benchmark(responses)
    known_choice = atlas_of(model, {"IT": benchmark})["IT"]
    choice = atlas_of(model, {"IT": opaque_benchmark(benchmark)})["IT"]
    assert [each.score for each in choice.scores] == pytest.approx([each.score for each in known_choice.scores])
    assert choice.layer == "middle"
    assert choice.margin == pytest.approx(known_choice.margin)
    assert choice.margin_interval is choice.separable is choice.nested_score is None
    assert "by chance" not in format_atlas(atlas_of(model, {"IT": opaque_benchmark(benchmark)}))


def test_random_model_gets_the_trials_of_the_benchmark(known, make_benchmark):
    model, responses = known
    asked = []

    def trials(stimuli, layers, number_of_trials=1, require_variance=False):
        asked.append(number_of_trials)
        answer = model(stimuli, layers)
        return answer.isel(presentation=np.tile(np.arange(len(stimuli)), number_of_trials))

    benchmark = make_benchmark(responses)
    benchmark._number_of_trials = 3
    benchmark._similarity_metric = of_first_trials(benchmark._similarity_metric)
    choice = atlas_of(trials, {"IT": benchmark})["IT"]
    assert set(asked) == {3}
    assert choice.layer == "middle"


def of_first_trials(metric):
    """Return the same metric, which uses the first trials of sources with repeated stimuli."""

    class FirstTrials(type(metric)):
        def __call__(self, source, target):
            return super().__call__(source.isel(presentation=slice(0, target.sizes["presentation"])), target)

    first = FirstTrials.__new__(FirstTrials)
    first.__dict__ = metric.__dict__
    return first


def test_nested_score_matches_explicit_loops(known, make_benchmark):
    model, responses = known
    benchmark = make_benchmark(responses)
    target, metric, _ = benchmark.comparison()
    plan = atlas_module.FitPlan(target, metric)

    def score(layer, train, test):
        source = model(target.attrs["stimulus_set"], [layer])
        (part,) = metric.held_out(source, target, splits=[(train, test)])
        return held_out_medians([part], 0)[0][0]

    def without(*folds):
        return np.setdiff1d(np.arange(120), np.concatenate([plan.folds[fold] for fold in folds]))

    expected = []
    for i, fold in enumerate(plan.folds):
        inner = {
            layer: np.mean([score(layer, without(i, j), plan.folds[j]) for j in range(5) if j != i]) for layer in LAYERS
        }
        expected.append(score(max(inner, key=inner.get), without(i), fold))
    raw = np.mean(expected)
    assert atlas_of(model, {"IT": benchmark})["IT"].nested_score == pytest.approx(raw * abs(raw) / 0.9, rel=1e-6)


def test_choice_shared_by_all_folds_has_no_optimism(known, make_benchmark):
    model, responses = known
    choice = atlas_of(model, {"IT": make_benchmark(responses)})["IT"]
    assert choice.n_same == 5
    assert choice.optimism == pytest.approx(0, abs=1e-12)
    assert choice.score == max(each.score for each in choice.scores)


@pytest.mark.slow
def test_choosing_among_noise_is_optimistic(make_benchmark, monkeypatch):
    monkeypatch.setattr(atlas_module, "N_DRAWS", 4)  # their errors are not needed here
    optimism = []
    for seed in range(30):
        rng = np.random.default_rng([3, seed])
        model = KnownLayers({f"l{index}": rng.normal(size=(60, 30)) for index in range(8)})
        benchmark = make_benchmark(rng.normal(size=(60, 10)), metric=linear_metric(2), ceiling=1.0)
        optimism.append(atlas_of(model, {"IT": benchmark}, list(model.layers))["IT"].optimism)
    assert np.mean(optimism) > 2 * np.std(optimism, ddof=1) / np.sqrt(30)


def test_different_layers_are_separable_and_copies_are_not(known, make_benchmark):
    model, responses = known
    choice = atlas_of(model, {"IT": make_benchmark(responses)})["IT"]
    assert choice.separable
    assert choice.margin_interval[0] > 0
    assert choice.n_same == choice.n_folds == 5
    rng = np.random.default_rng(9)
    copy = model.layers["middle"] + 0.05 * rng.normal(size=(120, 200))
    twins = KnownLayers({**model.layers, "twin": copy})
    choice = atlas_of(twins, {"IT": make_benchmark(responses)}, [*LAYERS, "twin"])["IT"]
    assert {choice.layer, choice.runner_up} == {"middle", "twin"}
    assert choice.separable is False
    assert "not separable" in format_atlas(atlas_of(twins, {"IT": make_benchmark(responses)}, [*LAYERS, "twin"]))


def test_earlier_of_two_equal_layers_is_chosen(known, make_benchmark):
    model, responses = known
    twins = KnownLayers({"late": model.layers["middle"], "early": model.layers["middle"]})
    choice = atlas_of(twins, {"IT": make_benchmark(responses)}, ["early", "late"])["IT"]
    assert (choice.layer, choice.runner_up, choice.margin) == ("early", "late", 0)


@pytest.mark.slow
def test_interval_of_a_margin_covers_the_mean_margin(make_benchmark):
    # Each of two layers has a part of the region's signal; experiments differ in stimuli, neuroids and noise.
    margins, intervals = [], []
    metric = linear_metric(2)
    for seed in range(60):
        rng = np.random.default_rng([7, seed])
        hidden = rng.normal(size=(80, 4))
        features = [hidden[:, part] + 0.4 * rng.normal(size=(80, 3)) for part in (slice(0, 3), slice(1, 4))]
        responses = hidden @ rng.normal(size=(4, 30)) + rng.normal(size=(80, 30))
        target = make_benchmark(responses, metric=metric).comparison().target
        plan = atlas_module.FitPlan(target, metric, n_draws=200)
        stimuli = target.attrs["stimulus_set"]
        first, second = (atlas_module.fit(atlas_module.Features(each, stimuli), plan) for each in features)
        margins.append(first.own.mean() - second.own.mean())
        draws = first.own_drawn.mean(axis=1) - second.own_drawn.mean(axis=1)
        intervals.append(percentiles(draws - np.nanmean(draws) + margins[-1]))
    low, high = np.array(intervals).T
    covered = np.mean((low <= np.mean(margins)) & (np.mean(margins) <= high))
    assert covered >= 0.87  # 95 % less three standard errors of 60 experiments
    assert np.mean(high - low) < 6 * np.std(margins)  # a very wide interval would prove nothing


def test_choices_are_reproducible_and_depend_on_the_seed(known, make_benchmark, monkeypatch):
    model, responses = known
    benchmarks = {"IT": make_benchmark(responses)}
    monkeypatch.setenv("RESULTCACHING_DISABLE", "1")
    first, again, other = (atlas_of(model, benchmarks, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first["IT"].margin_interval != other["IT"].margin_interval
    assert first["IT"].nested_score != other["IT"].nested_score


@pytest.fixture
def fit_calls(monkeypatch):
    calls = []
    fit = atlas_module._fit
    monkeypatch.setattr(atlas_module, "_fit", lambda features, plan: calls.append(1) or fit(features, plan))
    return calls


def test_fits_are_cached(known, make_benchmark, fit_calls):
    model, responses = known
    first = atlas_of(model, {"IT": make_benchmark(responses)})
    assert len(fit_calls) == 3
    assert atlas_of(model, {"IT": make_benchmark(responses)}) == first
    assert len(fit_calls) == 3
    atlas_of(KnownLayers({**model.layers, "new": model.layers["early"] ** 2}), {"IT": make_benchmark(responses)},
             [*LAYERS, "new"])  # fmt: skip
    assert len(fit_calls) == 4


@pytest.mark.parametrize("change", ["layer", "target", "metric", "splits", "seed", "stimuli"])
def test_any_relevant_change_causes_a_new_fit(known, make_benchmark, fit_calls, change):
    model, responses = known
    atlas_of(model, {"IT": make_benchmark(responses)}, ["middle"])
    layers, changed, metric, seed, rows = model.layers, responses.copy(), linear_metric(), 0, None
    if change == "layer":
        layers = {"middle": np.nextafter(layers["middle"], 9)}
    elif change == "target":
        changed[3, 4] = np.nextafter(changed[3, 4], 9)
    elif change == "metric":
        metric = linear_metric(2)
    elif change == "splits":
        metric.cross_validation._split._random_state = 2
    elif change == "seed":
        seed = 1
    elif change == "stimuli":
        rows = [*range(1, 120), 0]
    atlas_of(KnownLayers(layers), {"IT": make_benchmark(changed, metric=metric, rows=rows)}, ["middle"], seed=seed)
    assert len(fit_calls) == 2


def test_damaged_cache_entry_causes_a_new_fit(known, make_benchmark, fit_calls, tmp_path):
    model, responses = known
    first = atlas_of(model, {"IT": make_benchmark(responses)}, ["middle"])
    (entry,) = (tmp_path / "home" / "cache" / "layer-atlas").rglob("*.npz")
    entry.write_bytes(entry.read_bytes()[:-30])
    assert atlas_of(model, {"IT": make_benchmark(responses)}, ["middle"]) == first
    assert len(fit_calls) == 2


def test_layers_without_a_score_have_a_note_and_are_not_chosen(known, make_benchmark):
    model, responses = known
    layers = {"silent": np.zeros((120, 5)), "narrow": model.layers["late"][:, :2], **model.layers}
    atlas = atlas_of(KnownLayers(layers), {"IT": make_benchmark(responses)}, list(layers))
    silent, narrow = atlas["IT"].scores[:2]
    assert silent.score is narrow.score is None
    assert "the same to every stimulus" in silent.note
    assert "3" in narrow.note
    assert atlas["IT"].layer == "middle"
    assert "narrow on IT" in format_atlas(atlas)
    with pytest.raises(ConfigurationError, match=r"(?s)No layer can be scored on benchmark 'Known2026.IT-pls'.*silent"):
        atlas_of(KnownLayers(layers), {"IT": make_benchmark(responses)}, ["silent", "narrow"])


def test_few_stimuli_allow_a_choice_but_no_nested_score(make_benchmark):
    rng = np.random.default_rng(0)
    model = KnownLayers({"a": rng.normal(size=(12, 20)), "b": rng.normal(size=(12, 20))})
    benchmark = make_benchmark(rng.normal(size=(12, 3)), metric=linear_metric(9))
    atlas = atlas_of(model, {"IT": benchmark}, ["a", "b"])
    assert atlas["IT"].layer in ("a", "b")
    assert atlas["IT"].nested_score is None
    json.loads(atlas.to_json())


def test_choice_is_recorded_as_the_origin_of_a_layer(known, make_benchmark):
    model, responses = known
    atlas = atlas_of(model, {"IT": make_benchmark(responses)})
    assert json.loads(atlas.to_json())["regions"][0]["layer"] == "middle"
    origin = atlas.region_layer_map.origin("IT")
    assert origin["from"] == "selection"
    assert origin["benchmark"] == "Known2026.IT-pls"
    assert origin["runner_up"] == atlas["IT"].runner_up
    assert origin["separable"] is True
    json.dumps(origin)
    with pytest.raises(KeyError):
        atlas["V1"]


def test_table_shows_every_score(known, make_benchmark):
    model, responses = known
    atlas = atlas_of(model, {"V4": make_benchmark(responses, "V4"), "IT": make_benchmark(responses)})
    text = format_atlas(atlas)
    for choice in atlas.regions:
        for each in choice.scores:
            assert f"{each.score:.3f} ± {each.error:.3f}" in text
    assert text.count("*") == 3  # two regions and the title
    assert f"nested cross-validation {atlas['IT'].nested_score:.3f}" in text


def test_one_layer_has_no_runner_up(known, make_benchmark):
    model, responses = known
    choice = atlas_of(model, {"IT": make_benchmark(responses)}, ["late"])["IT"]
    assert choice.runner_up is choice.margin is choice.margin_interval is choice.separable is None


def test_layer_scores_can_take_one_pass(known, make_benchmark):
    model, responses = known
    scores = LayerScores("known", model, 8)(make_benchmark(responses), ["late", "early"], prerun=True)
    assert [layers for _, layers in model.shown] == [["late", "early"]]
    assert scores.dims == ("layer",)
    assert all(isinstance(each, Score) for each in scores.attrs["raw"])
    LayerScores("known", model, 8)(make_benchmark(responses), ["late", "early"])
    assert [layers for _, layers in model.shown[1:]] == [["late"], ["early"]]


# -- drawing -----------------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def choice(region, **changes):
    scores = [
        records.LayerScore(layer="conv1", score=0.2, error=0.02, interval=(0.16, 0.24)),
        records.LayerScore(layer="conv2 & more", score=0.5, error=0.02, interval=(0.46, 0.54)),
        records.LayerScore(layer="head", score=None, note="too few units"),
    ]
    given = {
        "benchmark": f"Some2026.{region}-pls", "simulated": False, "scores": scores, "layer": "conv2 & more",
        "runner_up": "conv1", "margin": 0.3, "margin_interval": (0.2, 0.4), "nested_score": 0.45, "fold_score": 0.47,
        "nested_error": 0.02, "n_folds": 5, "n_same": 5, "seed": 0,
    }  # fmt: skip
    return records.RegionChoice(region=region, **{**given, **changes})


@pytest.fixture
def atlas():
    regions = [choice("V1"), choice("IT", simulated=True, margin_interval=(-0.1, 0.4))]
    return records.LayerAtlas(model="some <net>", layers=["conv1", "conv2 & more", "head"], regions=regions)


def test_marks_are_drawn_at_their_values(atlas):
    figure = draw_atlas(atlas)
    marks = {line.get_gid(): line.get_xydata() for axes in figure.axes for line in axes.lines if line.get_gid()}
    assert marks["score:V1:conv1"].tolist() == [[0.2, 0]]
    assert marks["interval:V1:conv1"].tolist() == [[0.16, 0], [0.24, 0]]
    assert marks["score:IT:conv2 & more"].tolist() == [[0.5, 1]]
    np.testing.assert_allclose(marks["honest:IT"], [[0.48, 1]])  # 0.5 - (0.47 - 0.45)
    assert len(marks) == 2 * (2 + 2 + 1)
    shapes = {line.get_gid(): line.get_marker() for axes in figure.axes for line in axes.lines if line.get_gid()}
    assert (shapes["score:V1:conv1"], shapes["score:V1:conv2 & more"], shapes["honest:V1"]) == ("o", "s", "D")


def test_svg_has_words_as_text_and_marks_by_name(atlas, tmp_path):
    root = ET.parse(save_atlas(atlas, tmp_path / "atlas.svg")).getroot()  # noqa: S314 - our own file
    text = " ".join("".join(each.itertext()) for each in root.iter(f"{SVG}text"))
    for word in ("some <net>", "V1", "IT", "conv1", "conv2 & more", "head", "cannot be scored", "Some2026.V1-pls"):
        assert word in text
    assert "Some2026.IT-pls (SIMULATED)" in text
    assert "conv2 & more, separable" in text
    assert "conv2 & more, not separable" in text
    names = {each.get("id") for each in root.iter(f"{SVG}g")}
    assert {"score:V1:conv1", "interval:IT:conv1", "honest:V1"} <= names
    assert "some <net>" in "".join(root.itertext())


def test_saving_an_atlas_is_reproducible(atlas, tmp_path):
    first, second = (save_atlas(atlas, tmp_path / name).read_bytes() for name in ("a.svg", "b.svg"))
    assert first == second


def test_png_grows_with_layers_and_regions(atlas, tmp_path):
    with Image.open(save_atlas(atlas, tmp_path / "small.PNG")) as small:
        sizes = small.size
    layers = [f"layer{index}" for index in range(30)]
    scores = [records.LayerScore(layer=layer, score=0.5) for layer in layers]
    many = [choice(region, scores=scores, layer="layer3") for region in ("V1", "V2", "V4", "IT")]
    large = records.LayerAtlas(model="large", layers=layers, regions=many)
    with Image.open(save_atlas(large, tmp_path / "large.png")) as picture:
        assert picture.size[0] > 1.5 * sizes[0]
        assert picture.size[1] > 2 * sizes[1]


def test_no_diamond_is_drawn_without_a_nested_score(atlas):
    alone = records.LayerAtlas(
        model="net",
        layers=atlas.layers,
        regions=[choice("V1", nested_score=None, margin_interval=None), choice("IT", runner_up=None)],
    )
    figure = draw_atlas(alone)
    assert "honest:V1" not in {line.get_gid() for line in figure.axes[0].lines}
    said = ["\n".join(text.get_text() for text in axes.texts) for axes in figure.axes]
    assert "conv2 & more, then conv1" in said[0]
    assert "only layer" in said[1]


def test_drawing_does_not_import_pyplot(atlas):
    for name in [name for name in sys.modules if name.startswith("matplotlib.pyplot")]:
        del sys.modules[name]
    draw_atlas(atlas)
    assert "matplotlib.pyplot" not in sys.modules


def test_other_suffixes_are_refused_before_drawing(atlas, tmp_path):
    with pytest.raises(ConfigurationError, match=r"\.svg, \.png, \.pdf"):
        save_atlas(atlas, tmp_path / "atlas.jpeg")
    assert list(tmp_path.iterdir()) == []


def test_missing_matplotlib_error_names_the_extra(atlas, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "brainscore_core.plots.drawing", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(RequirementsError, match=r"brainscore-core\[figures\]"):
        save_atlas(atlas, tmp_path / "atlas.svg")
    assert list(tmp_path.iterdir()) == []
