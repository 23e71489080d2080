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
CASES = {
    "cold": Case("extraction of 500 images x 6 layers, cold", 1.5),
    "cached": Case("the same from the cache, all values read", 20.0),
    "preprocess": Case("preprocessing of 500 images", 1.0),
    "loop": Case("forward passes over preloaded tensors", peer=False),
    "decode": Case("decoding and normalising one after the other", peer=False),
    "hooks": Case("10 images, 20 layers against a bare forward pass", peer=False),
    "networks": Case("a bare forward pass against 16 images, 1 layer", peer=False),
}
NETWORKS = ("resnet50", "timm/vit_base_patch16_224", "timm/convnext_tiny", "timm/efficientnet_b0")
LOOP_TARGET, HOOKS_TARGET, MEMORY_TARGET, NETWORKS_TARGET = 1.15, 1.15, 0.5, 1.3
REMARK = """
Peak memory is that of the whole process, interpreter and libraries included; the activations take 1,103 MiB of it. The
cold row of here includes the cache, which the published system writes too; `loop` and `decode` keep nothing. The cached
row of here maps the file and reads it; what is left is the key (weights, code and stimuli are read and digested), the
names of the units, and the sum of all values. CPU time wavers by a tenth or more where others share the processors. The
published system ran with PyTorch 2.15, the others with 2.13.
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


def measure_networks(_paths):
    """Compare a loop over contiguous batches with the wrapper, which lets channels come last in memory."""
    import torch

    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper

    answer = {"cpu_s": 0.0}
    for name in NETWORKS[: size(4, 1)]:
        library, _, architecture = name.rpartition("/")
        if library and not importlib.util.find_spec(library):
            continue
        net = importlib.import_module(library).create_model(architecture) if library else resnet(architecture)
        net, batch, spent_s = net.eval(), torch.randn(16, 3, 224, 224), {"bare": [], "here": []}
        wrapper = PytorchWrapper(net, None, "perf-network")
        for _ in range(5):  # in turn, so that both see the same machine
            with torch.no_grad(), timed() as spent:
                expected = net(batch)
            spent_s["bare"].append(spent["cpu_s"])
            with timed() as spent:
                values = wrapper.get_activations(batch, ["logits"])["logits"]
            spent_s["here"].append(spent["cpu_s"])
        difference = float(abs(values - expected.numpy()).max() / expected.abs().max())
        answer[name] = {"ratio": min(spent_s["bare"]) / min(spent_s["here"]), "difference": difference}
    return answer


def table(results):
    own = {name: case for name, case in CASES.items() if name not in ("hooks", "networks")}
    cold, hooks = results["cold"], results["hooks"]["here"]["ratio"]
    ratio = cold["here"]["cpu_s"] / (results["loop"]["here"]["cpu_s"] + results["decode"]["here"]["cpu_s"])
    beside = [["cold, against `loop` and `decode`", f"{ratio:.2f} x", verdict(ratio, LOOP_TARGET, at_most=True)]]
    for case in ("cold", "cached") if "peer" in cold else ():
        here, peer = (results[case][who]["peak_mib"] for who in ("here", "peer"))
        cell = f"{here:.0f} MiB, peer {peer:.0f} MiB: {here / peer:.2f} x"
        beside.append([f"peak memory, {case}", cell, verdict(here / peer, MEMORY_TARGET, at_most=True)])
    beside.append([CASES["hooks"].title, f"{hooks:.2f} x", verdict(hooks, HOOKS_TARGET, at_most=True)])
    for name, network in results["networks"]["here"].items():
        if name in NETWORKS:
            cell = f"{network['ratio']:.2f} x, logits differ by {network['difference']:.0e} of the largest"
            beside.append([f"speed of a bare forward pass, {name}", cell, verdict(network["ratio"], NETWORKS_TARGET)])
    return f"{comparison_table(own, digits=2)(results)}\n\n{markdown(['beside it', 'measured', 'target'], beside)}"


def measure(case, folder):
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
