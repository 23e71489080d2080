"""Tell what one new model costs on all benchmarks of the published board, here and in the published system.

The model is a ResNet-50 with random weights whose layers are those of the published ``resnet-50-robust``. Measured are,
with one thread each: three benchmarks of one family at their true sizes (`family`) and, here only, every metric at the
true numbers of stimuli and neuroids (`metrics`), from stand-ins. The rest is counted:

- A look costs the same for each picture. Both systems look at each set of stimuli once for each layer.
- Of the splits of PLS, which are alike and of which it shares nothing, the published system computes a part.
- PLS of the published system reads all features of all stimuli for each component, so it costs stimuli x features.
- Here features beyond 4,096 cost their Gram matrix, stimuli^2 x features. More than 1,600 stimuli and 2,000 neuroids
  cost at most stimuli^3 or stimuli^2 x neuroids. In metrics other than PLS the published system is taken as equal.
- Other comparisons (tasks, properties of neurons, masks), ceilings and placing on a screen are left out in both.

Sizes are those of the plugins' ``metadata.yml``; where these state none, 168 neuroids and 500 stimuli in both systems.
"""

import os
import re
from collections import Counter
from functools import partial

import made_up_data
from harness import Case, markdown, measure_cases, size, timed

LAYERS = {"V1": "layer3.0.downsample.0", "V2": "layer4.0.downsample.0", "answers": "fc"}
LAYERS |= {"V4": LAYERS["V1"], "IT": LAYERS["V2"]}
FEATURES = {LAYERS["V1"]: 1024 * 14 * 14, LAYERS["V2"]: 2048 * 7 * 7, LAYERS["answers"]: 1000}
METRICS = ("pls", "ridgecv", "ridge", "rdm", "cka")  # an identifier has the first that it contains after its region
WIDTH, MOST, WIDEST = size(4096, 64), size(1600, 30), size(2000, 9)  # features, stimuli and neuroids that are measured
STATED = {"neuroids": 168, "stimuli": 500}
FAMILY = (("V1", "pls", 102), ("V2", "pls", 103), ("V2", "rdm", 103))  # of FreemanZiemba2013
N_STIMULI, REPETITIONS = size(315, 90), 20
SPLITS, COMPUTED = 10, {"here": 10, "peer": 2}
CASES = {"family": Case("three benchmarks of FreemanZiemba2013"), "metrics": Case("metrics", peer=False)}


def measure_family(paths):
    """Time the parts of benchmarks: looks, ceilings, and metrics, PLS as if all splits were computed."""
    import numpy as np

    from brainscore_vision import load_metric
    from brainscore_vision.benchmark_helpers.neural_common import average_repetition
    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
    from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

    network, layers = made_up_data.resnet(size("resnet50", "resnet18")), [LAYERS["V1"], LAYERS["V2"]]
    model = PytorchWrapper(network, partial(load_preprocess_images, image_size=224), "perf-resnet50", batch_size=32)
    candidate = ModelCommitment("perf-resnet50", model, layers, region_layer_map=LAYERS, visual_degrees=8)
    stimuli, rng = made_up_data.stimulus_set(paths, "family"), np.random.default_rng(0)
    parts, computed = Counter(), COMPUTED[os.environ["PERF_SYSTEM"]]

    def spend(part, step, *arguments, times=1):
        with timed() as spent:
            result = step(*arguments)
        parts[part] += times * spent["cpu_s"]
        return result

    for region, metric, q in FAMILY:
        signal = rng.normal(size=(len(paths), 20)) @ rng.normal(size=(20, q))
        values = np.tile(signal, (REPETITIONS, 1)) + 10 * rng.normal(size=(REPETITIONS * len(paths), q))
        recorded = made_up_data.neuroid_assembly(values, len(paths), REPETITIONS, region=region, stimuli=stimuli)
        candidate.start_recording(region, time_bins=[(70, 170)])
        features = spend("looks", candidate.look_at, stimuli)
        spend("ceilings", load_metric("internal_consistency"), recorded)
        how = {"crossvalidation_kwargs": {"splits": computed}} if metric == "pls" else {}
        score, times = load_metric(metric, **how), SPLITS / computed if how else 1
        spend(metric, score, features, average_repetition(recorded), times=times)
    return {"cpu_s": sum(parts.values()), **parts}


def board():
    """Return the looks, (stimulus set, layer) -> stimuli, and what is compared, (metric, stimuli, neuroids, layer)."""
    from brainscore_vision.catalogue.entries import metadata_of
    from brainscore_vision.catalogue.facts import benchmark_facts

    looks, compared, n_benchmarks = {}, Counter(), 0
    for facts in benchmark_facts():
        stated = metadata_of(facts.plugin.directory)
        if facts.parent is None or stated.get("technique") == "simulation":
            continue
        n_benchmarks += 1
        n = number_of(stated.get("n_stimuli"), facts.identifier) or STATED["stimuli"]
        layer = LAYERS[facts.region if facts.region in LAYERS else "answers"]
        sets = (data.identifier for data in facts.data or () if "stimulus" in data.kind)
        looks[next(sets, facts.plugin.name), layer] = n  # without a set, the recordings of its plugin share one
        metric = next((name for name in METRICS if name in facts.identifier.partition("-")[2]), None)
        if metric and facts.kind == "neural":
            neuroids = stated.get("n_neuroids")
            q = neuroids.get(facts.region) if isinstance(neuroids, dict) else neuroids
            compared[metric, n, q or STATED["neuroids"], layer] += 1
    return looks, compared, n_benchmarks


def number_of(stated, identifier):
    """Return the stimuli of one benchmark: those of the entry that its name contains, else of most others."""
    if not isinstance(stated, dict):
        return stated
    names = {part: n for name, n in stated.items() for part in re.split(" and |, ", name.replace(" subjects", "subj"))}
    own = (n for name, n in names.items() if name in identifier)
    return next(own, names.get("private", names.get("others", next(iter(names.values())))))


def measure_metrics(_paths):
    """Return the seconds of PLS and of the other metrics, and the gigaflops of a Gram matrix."""
    import numpy as np

    from brainscore_vision import load_metric

    x = np.random.default_rng(0).standard_normal((MOST, WIDTH))
    with timed() as spent:
        x @ x.T
    speed, measured, answer = MOST**2 * WIDTH / spent["cpu_s"], {}, Counter()
    for (metric, n, q, layer), times in board()[1].items():
        few, narrow = min(n, MOST), min(q, WIDEST)
        if (metric, few, narrow) not in measured:
            arguments = made_up_data.pair(few, WIDTH, narrow)
            with timed() as spent:
                load_metric(metric)(*arguments)
            measured[metric, few, narrow] = spent["cpu_s"]
        seconds = measured[metric, few, narrow] * (n / few) ** 2 * max(n / few, q / narrow)
        answer[metric] += times * (seconds + n**2 * max(0, FEATURES[layer] - WIDTH) / speed)
    return {"cpu_s": sum(answer.values()), "gflops": speed / 1e9, **answer}


def table(results):
    (looks, compared, n_benchmarks), own, rows = board(), results["metrics"]["here"], {}
    pictures, of_family = sum(looks.values()), N_STIMULI * sum(FEATURES[LAYERS[FAMILY[at][0]]] for at in (0, 1))
    pls = sum(times * n * FEATURES[layer] for (name, n, _, layer), times in compared.items() if name == "pls")
    for who, family in results["family"].items():
        of_pls = own["pls"] if who == "here" else family["pls"] * pls / of_family
        cells = [family["looks"] * pictures / (2 * N_STIMULI), of_pls, own["cpu_s"] - own["pls"]]
        parts = (family[name] for name in ("looks", "ceilings", "pls", "rdm"))
        rows[who] = [*parts, *(seconds / 3600 for seconds in (*cells, sum(cells)))]
    if "peer" in rows:
        rows["times"] = [peer / here for peer, here in zip(rows["peer"], rows["here"], strict=True)]
    head = ["", *(f"family: {name}, s" for name in ("looks", "ceilings", "PLS", "RDM"))]
    head += [f"board: {name}, h" for name in ("looks", "PLS", "other metrics", "all")]
    counted = f"""\n
Counted: {n_benchmarks} benchmarks; {len(looks)} looks at {pictures:,} pictures (family: two at {2 * N_STIMULI});
{sum(compared.values())} scores by {", ".join(METRICS)}; {pls:.3g} stimuli x features of PLS (family: {of_family:.3g}).
The published system computed {COMPUTED["peer"]} of {SPLITS} splits of PLS. Hours here: """
    hours = ", ".join(f"{name} {own[name] / 3600:.3g}" for name in METRICS if name in own)
    return markdown(head, [[who, *(f"{cell:.3g}" for cell in cells)] for who, cells in rows.items()]) + counted + hours


if __name__ == "__main__":
    measure_cases(
        __doc__, CASES, lambda case, folder: globals()[f"measure_{case}"](sorted(folder.glob("*.png"))), table=table,
        prepare=lambda folder: made_up_data.pictures(folder, N_STIMULI, 224), calls=1, title="The whole board",
    )  # fmt: skip
