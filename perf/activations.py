"""Time the activations of a network here, in the published system and in a bare loop, with as many threads each.

    python perf/activations.py --peer /path/to/peer/bin/python     # all, results/activations.json and RESULTS.md
    python perf/activations.py --only hooks                        # one measurement anew

The network is a ResNet-18 of our own code with random weights, the same for all; 500 JPEG pictures of 400 x 400 pixels;
six layers with 578,024 units together. Every measurement runs in a process of its own that is bound to as many
processors as it has threads. CPU time counts (of all threads), because other work on the machine disturbs the clock on
the wall; the least of some calls. The bare loop runs the network over tensors that were made before and keeps nothing;
to it the time is added that decoding and normalising the same pictures takes, one by one with Pillow and NumPy.
"""

import tempfile
from functools import partial
from pathlib import Path

from harness import compare, keep, markdown, memory_mib, options_of, ratio_of, read, say, seconds, timed, verdict

IMAGES, SIDE_PX, BATCH = 500, 400, 50
LAYERS = ("stem", "stage1", "stage2", "stage3", "stage4", "fc")
# What is measured, by whom, and how much better than the published system it shall be.
MEASURES = {
    "cold": ("extraction of 500 images x 6 layers, cold", ("here", "peer"), 1.5),
    "cached": ("the same from the cache, all values read", ("here", "peer"), 20.0),
    "preprocess": ("preprocessing of 500 images", ("here", "peer"), 1.0),
    "loop": ("forward passes over preloaded tensors", ("here",), None),
    "decode": ("decoding and normalising one after the other", ("here",), None),
    "hooks": ("10 images, 20 layers against a bare forward pass", ("here",), None),
}
LOOP_TARGET, HOOKS_TARGET, MEMORY_TARGET = 1.15, 1.15, 0.5
REMARKS = """
Peak memory is that of the whole process, interpreter and libraries included; the activations take 1,103 MiB of it. The
cold row of here includes the cache, which the published system writes too; `loop` and `decode` keep nothing. The cached
row of here maps the file and reads it; what is left is the key (weights, code and stimuli are read and digested), the
names of the units, and the sum of all values. CPU time wavers by a tenth or more where others share the processors. The
published system ran with PyTorch 2.15, the others with 2.13.
"""


# -- one measurement, in a process of its own; with either system ------------------------------------------------------


def network():
    """Make a ResNet-18 (He et al. 2016, https://arxiv.org/abs/1512.03385) with seeded weights."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, before, after, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.bn1, self.bn2, self.relu = nn.BatchNorm2d(after), nn.BatchNorm2d(after), nn.ReLU()
            self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.shortcut = nn.Identity()
            if stride > 1 or before != after:
                self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

        def forward(self, x):
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(out + self.shortcut(x))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
            )
            for stage, (before, after) in enumerate(((64, 64), (64, 128), (128, 256), (256, 512)), 1):
                blocks = nn.Sequential(Block(before, after, 1 if stage == 1 else 2), Block(after, after, 1))
                setattr(self, f"stage{stage}", blocks)
            self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(512, 1000)

        def forward(self, x):
            x = self.stage4(self.stage3(self.stage2(self.stage1(self.stem(x)))))
            return self.fc(self.pool(x).flatten(1))

    torch.manual_seed(0)
    return Network().eval()


def preprocessing():
    from brainscore_vision.model_helpers.activations.pytorch import load_preprocess_images

    return partial(load_preprocess_images, image_size=224)


def stimulus_set(paths):
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

    names = [path.stem for path in paths]
    stimuli = StimulusSet({"stimulus_id": names, "object_name": [f"object{index % 8}" for index in range(len(names))]})
    stimuli.stimulus_paths = dict(zip(names, paths, strict=True))
    stimuli.identifier = "perf-activations"
    return stimuli


def measure_extraction(paths):
    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper

    stimuli = stimulus_set(paths)
    wrapper = PytorchWrapper(network(), preprocessing(), "perf-network", batch_size=BATCH)
    with timed() as spent:
        activations = wrapper(stimuli, layers=list(LAYERS))
        total = float(activations.values.sum(dtype="float64"))
    return {**spent, "peak_mib": memory_mib("VmHWM"), "sum": total, "shape": list(activations.shape)}


def measure_preprocess(paths):
    prepare, names = preprocessing(), [str(path) for path in paths]
    prepare(names[:2])
    with timed() as spent:
        for start in range(0, len(names), BATCH):
            prepare(names[start : start + BATCH])
    return spent


def measure_decode(paths):
    import numpy as np
    from PIL import Image

    mean, std = (np.asarray(each, dtype=np.float32) for each in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    with timed() as spent:
        for path in paths:
            with Image.open(path) as image:
                pixels = np.asarray(
                    image.convert("RGB").resize((224, 224), Image.Resampling.BILINEAR), dtype=np.float32
                )
            np.ascontiguousarray(((pixels / 255 - mean) / std).transpose(2, 0, 1))
    return spent


def measure_loop(paths):
    import torch

    net, batch = network(), torch.randn(BATCH, 3, 224, 224)
    with torch.no_grad():
        net(batch[:2])
        with timed() as spent:
            for _ in range(len(paths) // BATCH):
                net(batch)
    return spent


def measure_hooks(_paths):
    import torch

    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper

    net, batch = network(), torch.randn(10, 3, 224, 224)
    blocks = [f"stage{stage}.{block}" for stage in range(1, 5) for block in range(2)]
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


# -- all measurements --------------------------------------------------------------------------------------------------


def write_images(folder):
    """Write pictures of coarse and fine texture, always the same."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    for number in range(IMAGES):
        coarse = rng.integers(0, 256, size=(25, 25, 3), dtype=np.uint8).repeat(16, axis=0).repeat(16, axis=1)
        fine = rng.integers(-20, 20, size=(SIDE_PX, SIDE_PX, 1))
        pixels = (coarse + fine).clip(0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(Path(folder) / f"image{number:04d}.jpg", quality=90)


def table(results):
    """Return the results as Markdown."""
    rows = []
    for what, (title, _systems, target) in MEASURES.items():
        if what != "hooks" and what in results:
            ratio = ratio_of(results[what])
            cells = [title, seconds(results[what].get("peer")), seconds(results[what]["here"])]
            rows.append([*cells, f"{ratio:.2f}" if ratio else "-", verdict(ratio, target)])
    cold, hooks = results["cold"], results["hooks"]["here"]["ratio"]
    ratio = cold["here"]["cpu_s"] / (results["loop"]["here"]["cpu_s"] + results["decode"]["here"]["cpu_s"])
    beside = [["cold, against `loop` and `decode`", f"{ratio:.2f} x", verdict(ratio, LOOP_TARGET, at_most=True)]]
    for what in ("cold", "cached") if "peer" in cold else ():
        here, peer = (results[what][who]["peak_mib"] for who in ("here", "peer"))
        cell = f"{here:.0f} MiB, peer {peer:.0f} MiB: {here / peer:.2f} x"
        beside.append([f"peak memory, {what}", cell, verdict(here / peer, MEMORY_TARGET, at_most=True)])
    beside.append([MEASURES["hooks"][0], f"{hooks:.2f} x", verdict(hooks, HOOKS_TARGET, at_most=True)])
    head = ["what", "peer, s CPU / wall", "here, s CPU / wall", "times faster", "target"]
    return f"{markdown(head, rows)}\n\n{markdown(['beside it', 'measured', 'target'], beside)}"


def main():
    """Measure and write the table."""
    more = [("--threads", {"type": int, "default": 1, "help": "of each process, and processors it may use"})]
    options = options_of(__doc__, MEASURES, more=more)
    if options.measure:
        what, images = options.measure
        measure = measure_extraction if what in ("cold", "cached") else globals()[f"measure_{what}"]
        say(measure(sorted(Path(images).glob("*.jpg"))))
        return
    if options.only and "cached" in options.only:
        options.only.append("cold")  # `cached` reads what `cold` leaves
    systems = {what: systems for what, (_title, systems, _target) in MEASURES.items()}
    with tempfile.TemporaryDirectory() as images, tempfile.TemporaryDirectory() as homes:
        write_images(images)
        results = compare(__file__, systems, options, images, homes=homes, threads=options.threads)
    stored = read("activations") if options.only else {}
    if stored.pop("threads", options.threads) != options.threads:
        return
    results = {**stored, **results}
    how = f"`python perf/activations.py --peer PYTHON`, {options.threads} thread(s)."
    keep(
        "activations",
        {"threads": options.threads, **results},
        title="Activations",
        text=f"{how}\n\n{table(results)}\n{REMARKS}",
    )
    print(table(results))


if __name__ == "__main__":
    main()
