"""Models that never look score 0 in every neural benchmark, in this process and as judged.

Recordings are in blocks of an object and drift slowly, like published ones, so a model that knows the order could
predict them. Pictures of the designs are uncompressed noise of equal size: the size of a compressed picture depends on
its content, which models that look may use.
"""

import contextlib
import functools
import importlib
import itertools
import os
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from brainscore_core.benchmarks import score_benchmark
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.supported_data_standards.brainio.transform import average_repetition
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision import benchmark_registry, load_benchmark, load_ceiling, load_metric
from brainscore_vision.benchmark_helpers import screen
from brainscore_vision.benchmark_helpers.multi_subject import KFoldNeuralBenchmark, MultiSubjectNeuralBenchmark
from brainscore_vision.benchmark_helpers.neural.benchmark import NeuralBenchmark
from brainscore_vision.benchmark_helpers.neural.given_split import train_test_benchmark
from brainscore_vision.benchmark_helpers.neural.repeated import benchmark_of_repetitions
from brainscore_vision.benchmark_helpers.neural.rsa import RSABenchmark
from brainscore_vision.benchmark_helpers.stand_ins import SharedCandidate
from brainscore_vision.catalogue.entries import plugin_index
from brainscore_vision.isolation import protocol
from brainscore_vision.scoring import score
from brainscore_vision.testing import made_recordings
from brainscore_vision.testing.benchmarks import CLUES, NeverLooks, as_judged, scores_by_rule

N_OBJECTS, N_EACH, N_NEUROIDS, N_REPETITIONS = 8, 12, 16, 4
BINS = [(70, 90), (90, 110), (110, 130)]
ABOUT = {"version": 1, "visual_degrees": 8, "number_of_trials": 2, "parent": "IT", "bibtex": "@misc{a}"}


def draw_noise(folder, name, n):
    objects = np.repeat([f"object{number}" for number in range(N_OBJECTS)], n // N_OBJECTS)
    stimuli = StimulusSet({"stimulus_id": [f"{name}{row:03}" for row in range(n)], "object_name": objects})
    generator = np.random.default_rng([n, *name.encode()])
    stimuli.stimulus_paths = {stimulus_id: folder / f"{stimulus_id}.bmp" for stimulus_id in stimuli["stimulus_id"]}
    stimuli.identifier = f"Never-{name}"
    for path in stimuli.stimulus_paths.values():
        Image.fromarray(generator.integers(0, 256, (12, 12, 3), dtype=np.uint8)).save(path)
    return stimuli


def respond_in_blocks(share, generator, n_neuroids, n_bins):
    """Return responses that follow the object and drift slowly over the `share` of the set, 0 to 1, before a row.

    Shape (n_stimuli, n_neuroids, n_bins), mean 0 and variance 1 over stimuli; six dimensions, few enough to regress on.
    """
    drift = np.cos(np.pi * share[:, None] * np.arange(1, 4))
    objects = (share * N_OBJECTS).astype(int)[:, None] == np.arange(N_OBJECTS)
    sources = np.hstack([drift, 2 * (objects - objects.mean(axis=0))])
    sources = sources @ generator.standard_normal((sources.shape[1], 6))
    signal = np.einsum("nk,kpt->npt", sources, generator.standard_normal((6, n_neuroids, n_bins)))
    return (signal - signal.mean(axis=0)) / signal.std(axis=0)


def record_noisily(stimuli, seed=0, bins=()):
    """Make repetitions of responses in blocks, dims (presentation, neuroid[, time_bin])."""
    generator = np.random.default_rng(seed)
    signal = respond_in_blocks(np.arange(len(stimuli)) / len(stimuli), generator, N_NEUROIDS, max(len(bins), 1))
    repeated = np.tile(signal, (N_REPETITIONS, 1, 1))
    repeated += 0.5 * generator.standard_normal(repeated.shape)
    coords = {name: np.tile(stimuli[name].to_numpy(), N_REPETITIONS) for name in ("stimulus_id", "object_name")}
    coords |= {"repetition": np.repeat(np.arange(N_REPETITIONS), len(stimuli))}
    coords |= {"region": ("neuroid", ["IT"] * N_NEUROIDS), "subject": ("neuroid", ["a", "b"] * (N_NEUROIDS // 2))}
    if bins:
        starts, ends = map(list, zip(*bins, strict=True))
        coords |= {"time_bin_start": ("time_bin", starts), "time_bin_end": ("time_bin", ends)}
    return assembly_of(repeated if bins else repeated[..., 0], **coords).assign_attrs(
        stimulus_set=stimuli, stimulus_set_identifier=stimuli.identifier
    )


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    return {
        name: draw_noise(tmp_path_factory.mktemp(name), name, n)
        for name, n in {"whole": N_OBJECTS * N_EACH, "train": N_OBJECTS * N_EACH, "test": N_OBJECTS * 6}.items()
    }


def repeated(metric, bins=()):
    def make(sets):
        return benchmark_of_repetitions(
            f"repeated-{metric}", lambda: record_noisily(sets["whole"], bins=bins), metric, **ABOUT
        )

    return make


def cross_validated(sets, metric="pls"):
    repetitions = record_noisily(sets["whole"])
    return NeuralBenchmark(
        "cross-validated",
        average_repetition(repetitions),
        load_metric(metric),
        ceiling_func=lambda: load_ceiling("internal_consistency")(repetitions),
        **ABOUT,
    )


def given_split(sets, seed=0, **more):
    return train_test_benchmark(
        "given split", lambda split: record_noisily(sets[split], seed), load_metric("ridge_split"), **ABOUT, **more
    )


DESIGNS = {
    "repeated": repeated("ridge"),
    "alignment": repeated("cka"),
    "dissimilarities": repeated("rdm"),
    "over time": repeated("spantime_ridge", BINS),
    "cross-validated": cross_validated,
    "given split": given_split,
    "given split of subjects": lambda sets: given_split(sets, alpha_coord="subject"),
    "averaged over folds": lambda sets: KFoldNeuralBenchmark("folds", 3, lambda fold: given_split(sets, fold)),
    "averaged over subjects": lambda sets: MultiSubjectNeuralBenchmark(
        "subjects", ["a", "b", "c"], lambda subject: given_split(sets, ord(subject))
    ),
    "rsa": lambda sets: RSABenchmark(
        "rsa", 1, average_repetition(record_noisily(sets["whole"])), "IT", 8, 2, "@misc{a}"
    ),
}
"""Name -> the benchmark on these sets of stimuli."""

QUICK = ("repeated", "given split")
BY_THE_SYSTEM = ("time of change", "time of access", "inode")
"""Clues that the system assigns when it creates files, differently in each run."""

IN_A_BOX = [clue for clue in CLUES if clue not in BY_THE_SYSTEM]


def some_quick(names):
    return [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in names]


def defined(scores):
    """Return the scores that are defined; others are undefined because the model gave all stimuli the same answer."""
    undefined = [rule for rule, value in scores.items() if not np.isfinite(float(value))]
    assert all(scores[rule].attrs["not_applicable"] for rule in undefined)
    return {rule: value for rule, value in scores.items() if rule not in undefined}


def stated_error(value):
    """Return a score's error over stimuli; 0 if it is not stated or only over subjects, who saw the same stimuli."""
    error = value.attrs["error"]
    return 0.0 if value.attrs["error_over"] == ["subject"] or np.isnan(error) else error


@functools.cache
def spread_of_guesses(benchmark):
    """Return the root mean square score of models with random features of the same kind: the error of chance."""
    guesses = [float(score_benchmark(benchmark, NeverLooks("guess", seed=seed))) for seed in range(24)]
    return np.sqrt(np.mean(np.square(guesses)))


def is_beyond(benchmark, value, error):
    """Return whether a score is beyond two standard errors of 0.

    Errors are right on average, but too small for some chance scores: one of MajajHong2015.IT-cka is -.026 and states
    .012, although scores of random features spread by .024. So if the error is exceeded, random features decide.
    """
    return abs(value) > 2 * error and abs(value) > 2 * spread_of_guesses(benchmark)


def beyond_errors(benchmark, scores):
    """Return the scores that are beyond two standard errors of 0, by rule."""
    values = {rule: (float(value), stated_error(value)) for rule, value in defined(scores).items()}
    return {rule: (value, error) for rule, (value, error) in values.items() if is_beyond(benchmark, value, error)}


@pytest.mark.parametrize("design", some_quick(DESIGNS))
def test_never_looking_scores_0_in_a_box(sets, design):
    benchmark = DESIGNS[design](sets)
    assert beyond_errors(benchmark, scores_by_rule(benchmark, IN_A_BOX)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("clue", BY_THE_SYSTEM)
def test_attributes_assigned_by_the_system_reveal_nothing(sets, clue):
    """They differ between runs, so the mean over benchmarks must be 0, within the error of a single one."""
    values = [scores_by_rule(make(sets), [clue])[clue] for make in DESIGNS.values()]
    scores, errors = np.array([(float(value), value.attrs.get("error", np.nan)) for value in values]).T
    undefined = np.isnan(scores)
    assert undefined.all() or abs(np.nanmean(scores)) < 2 * np.nanmean(errors)


@pytest.mark.parametrize("design", some_quick(DESIGNS))
def test_knowing_the_row_scores_0_in_this_process(sets, design, monkeypatch):
    benchmark = DESIGNS[design](sets)
    monkeypatch.setitem(benchmark_registry, "Never-registered", lambda: benchmark)
    value = score(NeverLooks("position"), "Never-registered", report=False)
    assert beyond_errors(benchmark, {"position": value}) == {}


@pytest.mark.parametrize("design", some_quick(DESIGNS))
def test_stored_order_would_be_detected(sets, design, monkeypatch):
    benchmark = DESIGNS[design](sets)
    monkeypatch.setattr(screen, "digest_order", lambda stimuli, **_: np.arange(len(stimuli)))
    value = scores_by_rule(benchmark, ["position"])["position"]
    assert float(value) > max(0.2, 5 * stated_error(value), 5 * spread_of_guesses(benchmark))


@pytest.mark.parametrize("clue", ["inode", "time of modification"])
def test_links_to_stored_files_would_be_detected(sets, clue, monkeypatch):
    benchmark = DESIGNS["repeated"](sets)
    monkeypatch.setattr(protocol, "_place", lambda source, target: os.link(source, target))
    assert float(scores_by_rule(benchmark, [clue])[clue]) > 0.5


# -- registered benchmarks ---------------------------------------------------------------------------------------------

# Plugin -> pattern of an identifier, whose groups are the arguments of the plugin's function `stand_in`.
PLUGINS = {
    "allen2022_fmri": r"Allen2022_fmri(\w*)\.",
    "allen2022_fmri_surface": r"Allen2022_fmri_surface(\w*)\.",
    "bracci2019": r"Bracci2019",
    "cadena2017": r"Cadena2017",
    "coggan2024_fMRI": r"tong\.",
    "cowley2026": r"Cowley2026",
    "freemanziemba2013": r"FreemanZiemba2013(public|)\.",
    "gifford2022": r"Gifford2022",
    "hebart2023_fmri": r"Hebart2023_fmri",
    "igustibagus2024": r"Igustibagus2024",
    "islam2021": r"Islam2021",
    "kar2019": r"Kar2019",
    "laion_fmri": r"Zerbe2026_fmri",
    "li2026": r"Li2026",
    "majajhong2015": r"MajajHong2015",
    "marques2020": r"Marques2020",
    "muzellec2026": r"MajajHong2015public",
    "papale2025": r"Papale2025",
    "rajalingham2020": r"Rajalingham2020",
    "sanghavi2020": r"(Sanghavi\w*2020)\.",
}

OTHER_CHANCE = ("islam2021", "kar2019", "marques2020")
"""Plugins whose scores are not correlations, so chance is not 0: models that guess set the bound."""

UNTRIED = {
    r"Cadena2017-mask": "takes the places of units in a convolutional layer; its data are those of Cadena2017-pls",
    r"Igustibagus2024\.IT_readout": "learns readouts for a minute; its stimuli are those of Igustibagus2024-ridge",
    r"SimulatedCortex2026": "takes minutes to simulate; two have a test below, and the designs are those above",
    r"Zerbe2026_fmri.*-ridgecv": "takes minutes, for five subjects each; the design is `averaged over subjects`",
    r"tong\.Coggan2024_fMRI": "takes units whose mean response stands out; models here have none; the design is `rsa`",
}
"""Start of an identifier -> why it is not tried."""

SHIPPED = (Path(__file__).parents[1] / "shipped_plugins.txt").read_text().split()  # others test themselves
REGISTERED = {
    plugin.directory.name: plugin.identifiers(KINDS["benchmark"])
    for plugin in plugin_index().plugins("benchmarks")
    if f"benchmarks/{plugin.name}" in SHIPPED
}


@pytest.fixture(scope="module")
def stand_in(module_stand_ins):
    """Return a function that replaces a plugin's recordings by ones in blocks, once for all its benchmarks."""

    def signal(stimuli, generator, n_neuroids, n_bins, *_):
        names = [str(stimulus_id).rpartition("_")[0] for stimulus_id in stimuli["stimulus_id"]]
        sizes = [len(list(group)) for _, group in itertools.groupby(names)]  # sets that are joined, such as train, test
        sizes = sizes if len(sizes) < 4 else [len(names)]
        share = np.concatenate([np.arange(size) / size for size in sizes])
        return respond_in_blocks(share, generator, n_neuroids, n_bins)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made_recordings, "_signal", signal)

        @functools.cache
        def once(plugin, *names):
            module = importlib.import_module(f"brainscore_vision.benchmarks.{plugin}.test")
            if plugin == "laion_fmri":
                module.let_package_stand_in(patch)
            module.stand_in(module_stand_ins, *names)

        yield once


@pytest.fixture(scope="module")
def candidates(tmp_path_factory):
    """Return a function that makes three boxed models that never look, by rule, and eight that guess.

    Benchmarks of a plugin share their answers; the third rule differs between plugins.
    """
    with contextlib.ExitStack() as opened:

        @functools.cache
        def once(plugin):
            folder = tmp_path_factory.mktemp(plugin)
            drawn = IN_A_BOX[zlib.crc32(plugin.encode()) % len(IN_A_BOX)]
            judged = {
                rule: opened.enter_context(as_judged(functools.partial(NeverLooks, rule), folder / rule))
                for rule in dict.fromkeys(["position", "stimulus_id", drawn])
            }
            shared = {rule: SharedCandidate(model) for rule, model in judged.items()}
            return shared, [SharedCandidate(NeverLooks("guess", seed=seed)) for seed in range(8)]

        yield once


def each_registered():
    for plugin in PLUGINS:
        for identifier in REGISTERED[plugin]:
            if not any(re.match(start, identifier) for start in UNTRIED):
                yield pytest.param(plugin, identifier, id=identifier)


@pytest.mark.slow
@pytest.mark.usefixtures("kept_homes")
@pytest.mark.parametrize(("plugin", "identifier"), [*each_registered()])
def test_never_looking_scores_0_in_each_registered_benchmark(stand_in, candidates, plugin, identifier):
    """The mean over different scores is within two standard errors of a single one."""
    stand_in(plugin, *re.match(PLUGINS[plugin], identifier).groups())
    benchmark, (judged, guessing) = load_benchmark(identifier), candidates(plugin)
    scores = {rule: score_benchmark(benchmark, screen.presented(model)) for rule, model in judged.items()}
    if plugin in OTHER_CHANCE:
        different = list({float(value) for value in defined(scores).values()})
        guesses = [float(score_benchmark(benchmark, screen.presented(model))) for model in guessing]
        assert not np.mean(different) > np.mean(guesses) + 2 * np.std(guesses, ddof=1)
        return
    errors = {float(value): stated_error(value) for value in defined(scores).values()}
    assert errors
    assert not is_beyond(benchmark, np.mean([*errors]), np.mean([*errors.values()]))


@pytest.mark.slow
@pytest.mark.usefixtures("kept_homes")
@pytest.mark.parametrize(
    "identifier", ["FreemanZiemba2013public.V1-pls", "Hebart2023_fmri.IT-ridge", "MajajHong2015public.IT-rdm"]
)
def test_stored_order_of_recordings_would_be_detected(stand_in, identifier, monkeypatch):
    (plugin,) = [plugin for plugin, identifiers in REGISTERED.items() if identifier in identifiers]
    stand_in(plugin, *re.match(PLUGINS[plugin], identifier).groups())
    monkeypatch.setattr(screen, "digest_order", lambda stimuli, **_: np.arange(len(stimuli)))
    assert float(scores_by_rule(load_benchmark(identifier), ["position"])["position"]) > 0.1


@pytest.fixture(scope="module")
def simulated_home(tmp_path_factory, lend_caches):
    return lend_caches(tmp_path_factory.mktemp("simulated"))


@pytest.mark.slow
@pytest.mark.parametrize("identifier", ["SimulatedCortex2026.IT-ridge", "SimulatedCortex2026.V1-pls"])
def test_knowing_the_row_scores_0_in_the_simulated_cortex(simulated_home, identifier, monkeypatch, tmp_path):
    """It used to score .31 and .28, even in a box, because stimuli are stored object by object."""
    monkeypatch.setenv("BRAINSCORE_HOME", str(simulated_home))
    benchmark = load_benchmark(identifier)
    here = score(NeverLooks("position"), identifier, report=False)
    with as_judged(lambda: NeverLooks("position"), tmp_path / "handed out") as remote:
        there = score(remote, identifier, report=False)
    assert beyond_errors(benchmark, {"here": here, "in a box": there}) == {}


def test_every_registered_benchmark_is_tried_or_listed():
    """Behavioural ones are tested in `test_never_looking`."""
    plugins = plugin_index().plugins("benchmarks")
    folders = {plugin.name: plugin.directory for plugin in plugins if plugin.name in REGISTERED}
    neural = {
        name
        for name, folder in folders.items()
        if not any("helpers.behaviour" in file.read_text() for file in folder.rglob("*.py") if file.name != "test.py")
    }
    tried = {parameter.id for parameter in each_registered()}
    others = {name for plugin in neural for name in REGISTERED[plugin]} - tried
    assert [name for name in others if not any(re.match(start, name) for start in UNTRIED)] == []
    everything = {name for names in REGISTERED.values() for name in names}
    assert all(any(re.match(start, name) for name in everything - tried) for start in UNTRIED)
