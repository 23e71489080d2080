"""Measure how long it takes to choose among 10 layers of a network for 4 regions, here and in the published system.

Both get the same network, pictures and responses, an empty home and one thread. The published system scores every layer
on every benchmark through its own `LayerSelection`, `LayerScores` and `LayerPCA`. It fits its principal components to
1,000 validation images of ImageNet, which it downloads; here they are 1,000 pictures of noise, and the time that they
take is also given by itself. What this project does besides, the nested cross-validation and the intervals, is part of
its time. Imports and data are not.
"""

import os
from functools import partial

from harness import Case, measure_cases, size, timed
from made_up_data import neural_benchmark, neuroid_assembly, pictures, stimulus_set

REGIONS = {"V1": "2", "V2": "4", "V4": "6", "IT": "9"}  # and the layer whose activity, with noise, is its responses
N_STIMULI, N_NEUROIDS, SIDE_PX, CEILING = size(500, 60), size(96, 10), 64, 0.9
N_COMPONENTS = size(1000, 10)  # of the published system
CASES = {"selection": Case("10 layers for 4 regions", 10.0)}


def network():
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


def make_data(folder):
    import numpy as np
    import torch
    from PIL import Image

    rng, responses = np.random.default_rng(0), {}
    paths = pictures(folder, N_STIMULI, SIDE_PX)
    pictures(folder, N_COMPONENTS, SIDE_PX, prefix="other")
    torch.save(network().state_dict(), folder / "network.pt")
    shown = np.stack([np.asarray(Image.open(path)) for path in paths])
    activity = torch.from_numpy(shown).permute(0, 3, 1, 2).float() / 127.5 - 1
    with torch.no_grad():
        for index, module in enumerate(network()):
            activity = module(activity)
            for region in (name for name, layer in REGIONS.items() if layer == str(index)):
                features = activity.flatten(1).double().numpy()
                drive = features @ rng.normal(size=(features.shape[1], N_NEUROIDS))
                drive = (drive - drive.mean(axis=0)) / drive.std(axis=0)
                responses[region] = drive + 0.7 * rng.normal(size=drive.shape)
    np.savez(folder / "responses.npz", **responses)


def ceiling():
    from brainscore_core.metrics import Score

    score = Score(CEILING)
    score.attrs["raw"] = Score(CEILING)
    return score


def prepare(folder):
    """Return the layer selection and the benchmarks of the regions; runs in both systems."""
    import numpy as np
    import sklearn.model_selection  # noqa: F401 - the one imports it at the start, the other when it splits
    import torch

    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
    from brainscore_vision.model_helpers.brain_transformation.neural import LayerSelection

    model = network()
    model.load_state_dict(torch.load(folder / "network.pt", weights_only=True))
    preprocessing = partial(load_preprocess_images, image_size=SIDE_PX)
    wrapper = PytorchWrapper(identifier="measured", model=model, preprocessing=preprocessing)
    stimuli = stimulus_set(sorted(folder.glob("picture*.png")))
    with np.load(folder / "responses.npz") as stored:
        averages = {name: neuroid_assembly(stored[name], N_STIMULI, region=name, stimuli=stimuli) for name in REGIONS}
    benchmarks = {name: neural_benchmark(each, stimuli, ceiling, name) for name, each in averages.items()}
    return LayerSelection("measured", wrapper, [str(index) for index in range(10)], visual_degrees=8), benchmarks


def measure_here(_case, folder):
    """Choose with the layer atlas, twice: the second time everything is in the cache."""
    selection, benchmarks = prepare(folder)
    with timed() as first:
        atlas = selection.atlas(benchmarks)
    with timed() as again:
        selection.atlas(benchmarks)
    layers = {choice.region: [choice.layer, choice.separable] for choice in atlas.regions}
    return {**first, "again": again, "chosen": layers}


def measure_peer(_case, folder):
    """Choose with the published classes, region by region, as its `RegionLayerMap` does."""
    from brainscore_vision.model_helpers.activations import pca

    others = sorted(str(path) for path in folder.glob("other*.png"))
    pca._get_imagenet_val = lambda num_images: others[:num_images]  # noqa: SLF001 - what it would download
    selection, benchmarks = prepare(folder)
    components = {"wall_s": 0.0, "cpu_s": 0.0}
    fit = pca.LayerPCA._pcas  # noqa: SLF001 - measured by itself

    def timed_fit(*arguments, **kwargs):
        with timed() as spent:
            fitted = fit(*arguments, **kwargs)
        components.update({name: components[name] + seconds for name, seconds in spent.items()})
        return fitted

    pca.LayerPCA._pcas = timed_fit  # noqa: SLF001 - see above
    with timed() as first:
        chosen = {region: str(selection(region, benchmark)) for region, benchmark in benchmarks.items()}
    return {**first, "components": components, "chosen": chosen}


if __name__ == "__main__":
    measure_cases(
        __doc__,
        CASES,
        measure_peer if os.environ.get("PERF_SYSTEM") == "peer" else measure_here,
        prepare=make_data,
        calls=1,
    )
