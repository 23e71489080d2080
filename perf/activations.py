"""Time the activations of a network here, in the published system and in a bare loop, with as many threads each.

The network is a ResNet-18 of our own code with random weights, the same for all; 500 JPEG pictures of 400 x 400 pixels;
six layers with 578,024 units together. CPU time counts (of all threads), because other work on the machine disturbs the
clock on the wall; the least of some calls. The bare loop runs the network over tensors that were made before and keeps
nothing; to it the time is added that decoding and normalising the same pictures takes, one by one with Pillow and
NumPy. `cached` reads the files that `cold` leaves.
"""

import importlib
import importlib.util
from functools import partial

from harness import Case, comparison_table, markdown, measure_cases, size, timed, verdict
from made_up_data import LAYERS, extract, pictures, resnet

IMAGES, SIDE_PX, BATCH = size(500, 10), 400, size(50, 5)
NETWORKS = ("resnet50", "timm/vit_base_patch16_224", "timm/convnext_tiny", "timm/efficientnet_b0")
CASES = {
    "cold": Case("extraction of 500 images x 6 layers, cold", 1.5),
    "cached": Case("the same from the cache, all values read", 20.0),
    "preprocess": Case("preprocessing of 500 images", 1.0),
    "loop": Case("forward passes over preloaded tensors", peer=False),
    "decode": Case("decoding and normalising one after the other", peer=False),
    "hooks": Case("10 images, 20 layers against a bare forward pass", peer=False),
    **{f"network-{name}": Case(name, peer=False, data=name) for name in NETWORKS},
}
SAME = 1e-5
LOOP_TARGET, HOOKS_TARGET, MEMORY_TARGET, NETWORKS_TARGET = 1.15, 1.15, 0.5, 1.3
REMARK = """
Peak memory is that of the whole process, interpreter and libraries included; the activations take 1,103 MiB of it. The
cold row of here includes the cache, which the published system writes too; `loop` and `decode` keep nothing. The cached
row of here maps the file and reads it; what is left is the key (weights, code and stimuli are read and digested), the
names of the units, and the sum of all values. CPU time wavers by a tenth or more where others share the processors. The
published system ran with PyTorch 2.15, the others with 2.13. The networks were measured on two cores with a load of 10,
with random weights, those of timm with 1.0.31. The vision transformer has no convolution to speed up but its first.
"""


def measure_preprocess(paths):
    from brainscore_vision.model_helpers.activations.pytorch import load_preprocess_images

    prepare, names = partial(load_preprocess_images, image_size=224), [str(path) for path in paths]
    prepare(names[:2])
    with timed() as spent:
        for start in range(0, len(names), BATCH):
            prepare(names[start : start + BATCH])
    return spent


def measure_decode(paths):
    import numpy as np
    from PIL import Image

    mean, std = (np.asarray(values, dtype=np.float32) for values in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    with timed() as spent:
        for path in paths:
            with Image.open(path) as image:
                resized = image.convert("RGB").resize((224, 224), Image.Resampling.BILINEAR)
            pixels = np.asarray(resized, dtype=np.float32)
            np.ascontiguousarray(((pixels / 255 - mean) / std).transpose(2, 0, 1))
    return spent


def measure_loop(paths):
    import torch

    net, batch = resnet(), torch.randn(BATCH, 3, 224, 224)
    with torch.no_grad():
        net(batch[:2])
        with timed() as spent:
            for _ in range(len(paths) // BATCH):
                net(batch)
    return spent


def measure_hooks(_paths):
    import torch

    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper

    net, batch = resnet(), torch.randn(10, 3, 224, 224)
    blocks = [f"layer{stage}.{block}" for stage in range(1, 5) for block in range(2)]
    layers = [*LAYERS, *blocks, *(f"{block}.bn1" for block in blocks[2:])]
    wrapper = PytorchWrapper(net, None, "perf-network")
    bare, recorded = [], []
    for _ in range(10):  # in turn, so that both see the same machine
        with torch.no_grad(), timed() as spent:
            net(batch)
        bare.append(spent["cpu_s"])
        with timed() as spent:
            wrapper.get_activations(batch, layers)
        recorded.append(spent["cpu_s"])
    return {"layers": len(layers), "bare_s": min(bare), "cpu_s": min(recorded), "ratio": min(recorded) / min(bare)}


def measure_network(name):
    """Compare a loop over contiguous batches of 16 with the wrapper, which lets channels come last."""
    import torch

    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper

    library, _, architecture = name.rpartition("/")
    if library and not importlib.util.find_spec(library):
        return {"cpu_s": 0.0}
    net = importlib.import_module(library).create_model(architecture) if library else resnet(architecture)
    net, batch = net.eval(), torch.randn(16, 3, 224, 224)
    wrapper = PytorchWrapper(net, None, "perf-network")
    ways = {"bare": lambda: net(batch), "here": lambda: wrapper.get_activations(batch, ["logits"])["logits"]}
    times, logits = {way: [] for way in ways}, {}
    for way in [*ways] * size(3, 1):  # in turn, so that both see the same machine
        with torch.no_grad(), timed() as spent:
            logits[way] = ways[way]()
        times[way].append(spent["cpu_s"])
    expected = logits["bare"].numpy()
    difference = float(abs(logits["here"] - expected).max() / abs(expected).max())
    if difference > SAME:
        raise SystemExit(f"{name}: logits differ by {difference} of the largest.")
    return {"cpu_s": min(times["here"]), "here": min(times["bare"]) / min(times["here"]), "difference": difference}


def networks_table(results):
    measured = {name: results.get(f"network-{name}", {}).get("here", {}) for name in NETWORKS}
    rows = [
        [name, f"{row['here']:.2f} x", verdict(row["here"], NETWORKS_TARGET), f"{row['difference']:.0e}"]
        for name, row in measured.items()
        if "here" in row
    ]
    return markdown(["speed of a bare forward pass of 16", "here", "target", "logits differ, of the largest"], rows)


def table(results):
    own = {name: case for name, case in CASES.items() if name != "hooks" and not case.data}
    cold, hooks = results["cold"], results["hooks"]["here"]["ratio"]
    ratio = cold["here"]["cpu_s"] / (results["loop"]["here"]["cpu_s"] + results["decode"]["here"]["cpu_s"])
    beside = [["cold, against `loop` and `decode`", f"{ratio:.2f} x", verdict(ratio, LOOP_TARGET, at_most=True)]]
    for case in ("cold", "cached") if "peer" in cold else ():
        here, peer = (results[case][who]["peak_mib"] for who in ("here", "peer"))
        cell = f"{here:.0f} MiB, peer {peer:.0f} MiB: {here / peer:.2f} x"
        beside.append([f"peak memory, {case}", cell, verdict(here / peer, MEMORY_TARGET, at_most=True)])
    beside.append([CASES["hooks"].title, f"{hooks:.2f} x", verdict(hooks, HOOKS_TARGET, at_most=True)])
    tables = comparison_table(own, digits=2)(results), markdown(["beside it", "measured", "target"], beside)
    return "\n\n".join((*tables, networks_table(results)))


def measure(case, folder):
    if CASES[case].data:
        return measure_network(CASES[case].data)
    paths = sorted(folder.glob("*.jpg"))
    return extract(paths, resnet(), batch=BATCH) if case in ("cold", "cached") else globals()[f"measure_{case}"](paths)


if __name__ == "__main__":
    measure_cases(
        __doc__,
        CASES,
        measure,
        prepare=lambda folder: pictures(folder, IMAGES, SIDE_PX, ".jpg"),
        table=table,
        title="Activations",
        remark=REMARK,
        keep_homes=True,
    )
