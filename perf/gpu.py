"""Time extraction, metrics and a whole score on the GPU and on the processors of one machine, by wall clock.

Extraction runs a ResNet-50 of our own code with random weights over JPEG pictures, six layers recorded; the published
system extracts the same on the same GPU. Metrics compare made-up features with responses; scores on both must agree.
Without a GPU, the processors are measured alone and the table says so. All processors serve both.
"""

import os
from functools import partial

from harness import QUICK, Case, markdown, measure_cases, size, timed, verdict
from made_up_data import extract, pair, pictures, resnet

IMAGES, SIDE_PX, INPUT_PX, BATCH = size(1000, 10), 400, size(224, 32), size(100, 5)
SIZES, SMALL = (3200, 25088, 168), (90, 40, 5)
METRICS = ("pls", "ridge", "rdm", "cka")
ON_GPU = {"extraction", "pls", "ridge", "score"}  # the other metrics compute with NumPy alone
AGREED = 1e-6
REMARK = """
CUDA's convolutions use TF32 by default, which is probably why scores differ in their third digit. The kept results are
without the published system: it needs NumPy 1, which fitted no SciPy of that machine.
"""
CASES = {
    "extraction": Case(f"extraction, {IMAGES} pictures, 6 layers of ResNet-50"),
    **{name: Case(f"{name}, {' x '.join(map(str, SIZES))}", peer=False) for name in METRICS},
    "score": Case("score of that ResNet-50 on SimulatedCortex2026.IT-pls", peer=False),
}


def gpu():
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def network():
    return resnet("resnet18" if QUICK else "resnet50")


def measure_extraction(folder):
    paths = sorted(folder.glob("*.jpg"))
    extract(paths[:BATCH], network(), INPUT_PX, BATCH)
    answer = extract(paths, network(), INPUT_PX, BATCH)
    return {**answer, "value": answer["sum"]}


def measure_metric(name):
    from brainscore_vision import load_metric

    metric = load_metric(name)
    metric(*pair(*SMALL))
    data = pair(*(size(full, small) for full, small in zip(SIZES, SMALL, strict=True)))
    with timed() as spent:
        value = float(metric(*data))
    return {**spent, "value": value}


def measure_score():
    from brainscore_vision import load_benchmark
    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
    from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

    benchmark = load_benchmark("SimulatedCortex2026.IT-pls")
    benchmark.ceiling  # noqa: B018 - of the benchmark, not of the model
    prepare = partial(load_preprocess_images, image_size=INPUT_PX)
    wrapper = PytorchWrapper(network(), prepare, "gpu-network", batch_size=BATCH)
    model = ModelCommitment("gpu-network", wrapper, layers=["avgpool"], region_layer_map={"IT": "avgpool"})
    with timed() as spent:
        value = float(benchmark(model))
    return {**spent, "value": value}


def measure(case, folder):
    """Return wall seconds and value on the processors, and on the GPU where there is one."""
    peer = os.environ["PERF_SYSTEM"] == "peer"
    answers = {}
    devices = (["cuda"] if gpu() and case in ON_GPU else []) + ([] if gpu() and peer else ["cpu"])
    for device in devices:
        backend = "torch:cuda" if device == "cuda" else "numpy"
        os.environ |= {"BRAINSCORE_DEVICE": device, "BRAINSCORE_ARRAY_BACKEND": backend, "RESULTCACHING_DISABLE": "1"}
        own = {"extraction": partial(measure_extraction, folder), "score": measure_score}
        answers[device] = own.get(case, partial(measure_metric, case))()
    return {"wall_s": answers[devices[0]]["wall_s"], "device": gpu(), "devices": answers}


def table(results):
    rows = []
    for name in filter(results.__contains__, CASES):
        here, peer = results[name]["here"]["devices"], results[name].get("peer", {}).get("devices", {})
        cells = [f"{each['wall_s']:.3g}" if (each := here.get(device)) else "-" for device in ("cpu", "cuda")]
        ratios = ["-", "-", "-"]
        if "cuda" in here:
            difference = abs(here["cuda"]["value"] / here["cpu"]["value"] - 1)
            agreed = verdict(difference, AGREED, at_most=True) if name in METRICS else "-"
            ratios = [f"{here['cpu']['wall_s'] / here['cuda']['wall_s']:.1f}", f"{difference:.0e}", agreed]
        beside = next(iter(peer.values()))["wall_s"] / here[next(iter(peer))]["wall_s"] if peer else None
        rows.append([CASES[name].title, *cells, *ratios, f"{beside:.1f}" if beside else "-"])
    head = ["what", "processors, s", "GPU, s", "times faster", "relative difference", "target"]
    device = next(iter(results.values()))["here"]["device"]
    said = (
        f"On {device} and {os.cpu_count()} processors." if device else "This machine has no GPU: that column is empty."
    )
    return f"{said}\n\n{markdown([*head, 'times faster than the peer'], rows)}"


if __name__ == "__main__":
    measure_cases(
        __doc__,
        CASES,
        measure,
        table=table,
        title="GPU",
        how="all processors, one process each.",
        prepare=lambda folder: pictures(folder, IMAGES, SIDE_PX, ".jpg"),
        remark=REMARK,
        by="wall_s",
        calls=1,
        threads=os.cpu_count() or 1,
    )
