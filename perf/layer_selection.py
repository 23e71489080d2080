"""Measure how long it takes to choose among 10 layers of a network for 4 regions, here and in the published system.

    python perf/layer_selection.py --peer /path/to/peer/bin/python

Both get the same network, pictures and responses, an empty home and one thread. The published system scores every layer
on every benchmark through its own `LayerSelection`, `LayerScores` and `LayerPCA`. It fits its principal components to
1,000 validation images of ImageNet, which it downloads; here they are 1,000 pictures of noise, and the time that they
take is also given by itself. What this project does besides, the nested cross-validation and the intervals, is part of
its time. Imports and data are not.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from harness import ask, keep, options_of, say, timed

REGIONS = {"V1": "2", "V2": "4", "V4": "6", "IT": "9"}  # and the layer whose activity, with noise, is its responses
N_STIMULI, N_NEUROIDS, SIZE_PX, CEILING = 500, 96, 64, 0.9
LAYERS = [str(index) for index in range(10)]
TARGET = 10
N_COMPONENTS = 1000  # of the published system


# -- the same for both -------------------------------------------------------------------------------------------------


def network():
    """Make a network of ten modules."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
        nn.Conv2d(32, 32, 3), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2), nn.ReLU(),
        nn.Sequential(nn.Flatten(), nn.Linear(1600, 1000)), nn.ReLU(),
    ).eval()  # fmt: skip


def make_data(folder, n_stimuli, n_others):
    """Write pictures of noise whose power falls with frequency, the network, and responses of four regions."""
    import numpy as np
    import torch
    from PIL import Image

    rng = np.random.default_rng(0)
    frequencies = np.hypot(*np.meshgrid(np.fft.fftfreq(SIZE_PX), np.fft.fftfreq(SIZE_PX)))
    amplitude = 1 / np.maximum(frequencies, 1 / SIZE_PX)
    for kind, count in (("shown", n_stimuli), ("other", n_others)):
        for index in range(count):
            noise = np.fft.ifft2(np.fft.fft2(rng.normal(size=(3, SIZE_PX, SIZE_PX))) * amplitude).real
            pixels = 128 + 50 * noise / noise.std()
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8).transpose(1, 2, 0)).save(
                folder / f"{kind}{index:04d}.png"
            )
    torch.save(network().state_dict(), folder / "network.pt")
    shown = np.stack([np.asarray(Image.open(folder / f"shown{index:04d}.png")) for index in range(n_stimuli)])
    values = torch.from_numpy(shown).permute(0, 3, 1, 2).float() / 127.5 - 1
    responses, activity = {}, values
    with torch.no_grad():
        for index, module in enumerate(network()):
            activity = module(activity)
            for region in (name for name, layer in REGIONS.items() if layer == str(index)):
                features = activity.flatten(1).double().numpy()
                drive = features @ rng.normal(size=(features.shape[1], N_NEUROIDS))
                drive = (drive - drive.mean(axis=0)) / drive.std(axis=0)
                responses[region] = drive + 0.7 * rng.normal(size=drive.shape)
    np.savez(folder / "responses.npz", **responses)


def prepare(folder):
    """Return the activations model and the benchmarks of the regions; runs in both systems."""
    from functools import partial

    import numpy as np
    import sklearn.model_selection  # noqa: F401 - the one imports it at the start, the other when it splits
    import torch

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision import load_metric
    from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark
    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images

    model = network()
    model.load_state_dict(torch.load(folder / "network.pt", weights_only=True))
    preprocessing = partial(load_preprocess_images, image_size=SIZE_PX)
    wrapper = PytorchWrapper(identifier="measured", model=model, preprocessing=preprocessing)
    benchmarks = {}
    with np.load(folder / "responses.npz") as stored:
        for region in REGIONS:
            responses = stored[region]
            ids = [f"shown{index:04d}" for index in range(len(responses))]
            stimuli = StimulusSet({"stimulus_id": ids, "object_name": [f"object{i % 8}" for i in range(len(ids))]})
            stimuli.stimulus_paths = {each: folder / f"{each}.png" for each in ids}
            stimuli.identifier = "measured"
            assembly = NeuroidAssembly(
                responses[:, :, None],
                coords={
                    "stimulus_id": ("presentation", ids),
                    "object_name": ("presentation", stimuli["object_name"].values),
                    "neuroid_id": ("neuroid", np.arange(responses.shape[1])),
                    "region": ("neuroid", [region] * responses.shape[1]),
                    "time_bin_start": ("time_bin", [70]),
                    "time_bin_end": ("time_bin", [170]),
                },
                dims=["presentation", "neuroid", "time_bin"],
            ).squeeze("time_bin")
            assembly.attrs["stimulus_set"] = stimuli
            benchmarks[region] = NeuralBenchmark(
                identifier=f"measured.{region}-pls",
                version=1,
                assembly=assembly,
                similarity_metric=load_metric("pls"),
                visual_degrees=8,
                number_of_trials=1,
                ceiling_func=ceiling,
                parent=region,
                bibtex=None,
            )
    return wrapper, benchmarks


def ceiling():
    """Return a ceiling that costs nothing, so that only the selection is measured."""
    from brainscore_core.metrics import Score

    score = Score(CEILING)
    score.attrs["raw"] = Score(CEILING)
    return score


# -- one measurement, in a process of its own --------------------------------------------------------------------------


def measure_here(folder):
    """Choose with the layer atlas, twice: the second time everything is in the cache."""
    from brainscore_vision.model_helpers.brain_transformation.neural import LayerSelection

    wrapper, benchmarks = prepare(folder)
    selection = LayerSelection("measured", wrapper, LAYERS, visual_degrees=8)
    found = {}
    for name in ("first", "again"):
        with timed() as found[name]:
            atlas = selection.atlas(benchmarks)
    found["chosen"] = {choice.region: choice.layer for choice in atlas.regions}
    found["separable"] = {choice.region: choice.separable for choice in atlas.regions}
    return found


def measure_peer(folder):
    """Choose with the published classes, region by region, as its `RegionLayerMap` does."""
    from brainscore_vision.model_helpers.activations import pca
    from brainscore_vision.model_helpers.brain_transformation.neural import LayerSelection

    others = sorted(str(path) for path in folder.glob("other*.png"))
    pca._get_imagenet_val = lambda num_images: others[:num_images]  # noqa: SLF001 - what it would download
    wrapper, benchmarks = prepare(folder)
    components = {"wall_s": 0.0, "cpu_s": 0.0}
    fit = pca.LayerPCA._pcas  # noqa: SLF001 - measured by itself

    def timed_fit(*arguments, **kwargs):
        with timed() as spent:
            fitted = fit(*arguments, **kwargs)
        components["wall_s"] += spent["wall_s"]
        components["cpu_s"] += spent["cpu_s"]
        return fitted

    pca.LayerPCA._pcas = timed_fit  # noqa: SLF001 - see above
    selection = LayerSelection("measured", wrapper, LAYERS, visual_degrees=8)
    with timed() as first:
        chosen = {region: str(selection(region, benchmark)) for region, benchmark in benchmarks.items()}
    return {"first": first, "components": components, "chosen": chosen}


def main():
    """Measure, print and write results/layer_selection.json."""
    options = options_of(__doc__, (), more=[("--stimuli", {"type": int, "default": N_STIMULI})])
    if options.measure:
        who, folder = options.measure
        say({"here": measure_here, "peer": measure_peer}[who](Path(folder)))
        return
    with tempfile.TemporaryDirectory() as name:
        make_data(Path(name), options.stimuli, N_COMPONENTS if options.peer else 0)
        results = {"stimuli": options.stimuli, "here": ask(sys.executable, __file__, "--measure", "here", name)}
        if options.peer:
            results["peer"] = ask(options.peer, __file__, "--measure", "peer", name)
    if "peer" in results:
        here, peer = results["here"]["first"], results["peer"]["first"]
        results["times_faster"] = {key: peer[key] / here[key] for key in here}
        fits = {key: peer[key] - results["peer"]["components"][key] for key in here}
        results["times_faster_without_components"] = {key: fits[key] / here[key] for key in here}
        results["target"] = TARGET
        keep("layer_selection", results)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
