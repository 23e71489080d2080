"""Time 22 benchmarks on the properties of single units in one call, beside one of them: they share stimuli.

The sets of stimuli are a quarter of the published ones (968 gratings that map receptive fields, 288 of orientations,
528 of spatial frequencies, 576 of sizes, 120 textures, and the blank) and are drawn as pictures of 96 pixels; a model
of one layer, 24 Gabor filters at 24 x 24 places, looks at them. Properties of neurons are drawn too. Each time is
that of a process of its own with an empty home: placing stimuli on the screen, extraction, receptive fields, firing
rates, properties, similarity and ceiling. CPU time counts, because other work on the machine disturbs the clock.

What can be reached: all 22 show 2,481 stimuli, one shows 1,257 (orientations) to 1,833 (sizes): 1.35 to 1.97 times.
"""

import functools
import itertools

from harness import Case, markdown, measure_cases, seconds, size, timed, verdict

SIDE_PX, TARGET = 96, 1.5
GRATING = ("position_y", "position_x", "contrast", "radius", "spatial_frequency", "orientation", "phase")
ONE_OF_EACH = {
    "orientation": "Marques2020_Ringach2002-circular_variance",
    "spatial frequency": "Marques2020_Schiller1976-sf_bandwidth",
    "size": "Marques2020_Cavanaugh2002-surround_diameter",
    "texture": "Marques2020_FreemanZiemba2013-texture_modulation_index",
}
NEUROIDS = {
    "Cavanaugh2002a": (190, "Marques2020_size"),
    "DeValois1982a": (385, "Marques2020_orientation"),
    "DeValois1982b": (363, "Marques2020_spatial_frequency"),
    "FreemanZiemba2013_V1_properties": (102, "FreemanZiemba2013_properties"),
    "Ringach2002": (304, "Marques2020_orientation"),
    "Schiller1976c": (87, "Marques2020_spatial_frequency"),
}


def conditions():
    """Return the columns of each stimulus set, with a quarter of the published conditions."""
    import numpy as np

    frequency, radius = 2.0 ** np.linspace(-1.375, 3.875, 22), 2.0 ** np.linspace(-3.25, 2.25, 12)
    orientation, phase, place = np.arange(0, 180, 15.0), np.arange(0, 360, 180.0), np.linspace(-2.5, 2.5, size(11, 5))
    centre, some = ([0.5], [0.5], [1.0]), frequency[[4, 8, 12, 16]]
    turned = itertools.product((2, 3, 4), some, orientation, phase)
    sets = {
        "blank": [(0.5, 0.5, 0.0, 1.0, 1.0, 0.0, 0.0)],
        "receptive_field": itertools.product(place, place, [1.0], [1 / 6], [3.0], orientation[::3], phase),
        "spatial_frequency": itertools.product(*centre, [0.75, 2.25], frequency, orientation[::2], phase),
        "size": itertools.product(*centre, radius, some, orientation[::2], phase),
        "orientation": ((0.5, 0.5, 1.0, cycles / 2 / f, f, angle, shift) for cycles, f, angle, shift in turned),
    }
    tables = {f"Marques2020_{k}": dict(zip(GRATING, np.array(list(rows)).T, strict=True)) for k, rows in sets.items()}
    kinds = np.array(list(itertools.product([1, 2], range(1, 16), range(1, 5)))).T
    textures = dict(zip(("type", "family", "sample"), kinds, strict=True))
    return {**tables, "FreemanZiemba2013_properties": {**textures, **{n: np.full(120, 0.5) for n in GRATING[:2]}}}


def draw(folder):
    import numpy as np
    import pandas as pd
    from PIL import Image

    rng = np.random.default_rng(0)
    for name, columns in conditions().items():
        degrees = 8 if "type" in columns else 12
        (folder / name).mkdir()
        y, x = np.mgrid[0:SIDE_PX, 0:SIDE_PX] / SIDE_PX * degrees - degrees / 2
        table = pd.DataFrame(columns)
        table["stimulus_id"] = [f"{name}-{number}" for number in range(len(table))]
        table["degrees"] = degrees
        for row in table.itertuples():
            if "type" in columns:
                pixels = 128 + 40 * rng.standard_normal((SIDE_PX, SIDE_PX))
            else:
                angle, down, right = np.deg2rad(row.orientation), y - row.position_y, x - row.position_x
                along = right * np.cos(angle) + down * np.sin(angle)
                wave = np.sin(2 * np.pi * row.spatial_frequency * along + np.deg2rad(row.phase))
                pixels = 128 + 127 * row.contrast * wave * (down**2 + right**2 <= row.radius**2)
            picture = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).convert("RGB")
            picture.save(folder / name / f"{row.stimulus_id}.png")
        table.to_csv(folder / f"{name}.csv", index=False)


def register(folder):
    """Let the drawn data take the place of the registered ones in this process."""
    import numpy as np
    import pandas as pd

    from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
    from brainscore_vision import benchmark_registry, data_registry, load_benchmark, stimulus_set_registry
    from brainscore_vision.benchmarks.marques2020 import benchmark
    from brainscore_vision.data import marques2020  # noqa: F401 - registers what is replaced below

    @functools.cache
    def stimuli(name):
        made = StimulusSet(pd.read_csv(folder / f"{name}.csv"))
        made.identifier = name
        made.stimulus_paths = {each: folder / name / f"{each}.png" for each in made["stimulus_id"]}
        return made

    def properties(name):
        number, shown = NEUROIDS[name]
        names = sorted({property_name for dataset, property_name in measured if dataset == name})
        coords = {"neuroid_id": ("neuroid", range(number)), "region": ("neuroid", ["V1"] * number)}
        values = np.random.default_rng(number).random((number, len(names)))
        dims = ["neuroid", "neuronal_property"]
        made = PropertyAssembly(values, coords={**coords, "neuronal_property": names}, dims=dims)
        made.attrs.update({f"{each}_bins": np.linspace(0, 1, 11) for each in names}, number_of_trials=20)
        made.attrs["stimulus_set"] = stimuli(shown)
        return made

    load_benchmark(ONE_OF_EACH["size"])
    identifiers = [name for name in benchmark_registry if name.startswith("Marques2020_")]
    original, measured = benchmark.marques2020, set()

    def noting(name, experiment, property_name, *more, **settings):
        measured.add((experiment.dataset, property_name))
        return original(name, experiment, property_name, *more, **settings)

    benchmark.marques2020 = noting
    for identifier in identifiers:
        benchmark_registry[identifier]()
    for name in conditions():
        stimulus_set_registry[name] = functools.partial(stimuli, name)
    for name in NEUROIDS:
        data_registry[name] = functools.partial(properties, name)
    return identifiers


def model():
    import numpy as np
    import torch

    from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
    from brainscore_vision.model_helpers.brain_transformation import ModelCommitment

    y, x = np.mgrid[-1:1:17j, -1:1:17j]
    bank = []
    for angle, cycles, shift in itertools.product(np.arange(4) * np.pi / 4, (1.0, 1.5, 2.0), (0, np.pi / 2)):
        wave = np.cos(2 * np.pi * cycles * (x * np.cos(angle) + y * np.sin(angle)) + shift)
        gabor = wave * np.exp(-(x**2 + y**2) * 2 * cycles**2)
        bank.append((gabor - gabor.mean()) / np.linalg.norm(gabor))
    layer = torch.nn.Conv2d(3, 24, 17, stride=2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(np.array(bank)[:, None] / 3, dtype=torch.float32).expand(-1, 3, -1, -1))
    preprocessing = functools.partial(load_preprocess_images, image_size=64)
    wrapper = PytorchWrapper(torch.nn.Sequential(layer, torch.nn.ReLU()), preprocessing, identifier="gabors")
    return ModelCommitment("gabors", wrapper, layers=["1"], region_layer_map={"V1": "1"}, visual_degrees=8)


def measure(which, folder):
    from brainscore_vision import score

    identifiers, candidate = register(folder), model()
    chosen = identifiers if which == "all" else [ONE_OF_EACH[which]]
    with timed() as spent:
        scores = score(candidate, chosen, report=False)
    return {**spent, "n": len(scores)}


def table(results):
    shown = {"all": 2481, "orientation": 1257, "spatial frequency": 1785, "size": 1833, "texture": 1377}
    rows = [[CASES["all"].title, seconds(results["all"]["here"]), "", ""]]
    for which in ONE_OF_EACH:
        ratio = results["all"]["here"]["cpu_s"] / results[which]["here"]["cpu_s"]
        times = seconds(results[which]["here"]), f"{ratio:.2f}"
        rows.append([CASES[which].title, *times, verdict(ratio, TARGET, at_most=True)])
    parts = ", ".join(f"{shown['all'] / shown[which]:.2f} ({which})" for which in ONE_OF_EACH)
    remark = f"All show {shown['all']:,} different stimuli; times the number that one of them shows: {parts}."
    head = ["what", "s CPU / wall", "all 22 take as many times as much", "target"]
    return f"{markdown(head, rows)}\n\n{remark}"


CASES = {"all": Case("all 22 benchmarks"), **{which: Case(f"one on {which}") for which in ONE_OF_EACH}}

if __name__ == "__main__":
    measure_cases(
        __doc__, CASES, measure, prepare=draw, table=table, title="Benchmarks that share stimuli", calls=1,
        how="the properties of single units, cold.",
    )  # fmt: skip
