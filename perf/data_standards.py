"""Time the data standards of this project and of the published system on the same data, one thread each.

    python perf/data_standards.py --peer /path/to/peer/bin/python

Every measurement runs in a process of its own: the best of some calls, and how much memory a single call needs at most,
its array included. Without ``--peer`` only this project is measured. Results go to ``results/data_standards.json`` and
to a section of ``RESULTS.md``; other sections stay as they are.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import compare, keep, markdown, memory_mib, options_of, read, reset_peak, say, timed, verdict

NOTE = """
The rows on images say little beyond their order of magnitude: on the machine of these numbers a plain copy of the same
files took .2 to 1.0 s from one run to the next, and so did the creation of the files in unpacking. Packaging decodes
every image to find the broken ones, about .5 ms each, which the published system does not do. Rows near 1.0 change
sides from run to run.
"""

PRESENTATIONS = 100_000
NEUROIDS = 10
WIDE = 100
IMAGES = 2_000

# case: (what is measured, how many times faster than the published system it shall be; None: no target of its own)
CASES = {
    "construct": ("constructing, 100,000 presentations, 12 coordinates, text in NumPy arrays", 1.0),
    "construct_objects": ("the same, text in object arrays (as pandas gives it)", 1.0),
    "construct_lists": ("the same, text and numbers in lists", 1.0),
    "average_repetition": ("average_repetition, 100,000 presentations x 10", 20.0),
    "multi_groupby": ("multi_groupby of two coordinates, mean, 100,000 presentations x 10", 10.0),
    "multi_groupby_narrow": ("the same, 100,000 presentations x 1", 10.0),
    "write_counts": ("writing netCDF 20,000 x 100 x 2, spike counts", 8.0),
    "write_noise": ("writing netCDF 20,000 x 100 x 2, noise", 8.0),
    "write_coordinates": ("writing netCDF 100,000 x 1 with 12 coordinates", None),
    "read": ("reading netCDF 20,000 x 100 x 2, values in memory", 1.0),
    "walk_coords": ("walk_coords, 100,000 presentations, 12 coordinates", 1.0),
    "sel_scalar": ("sel of one value, 100,000 presentations x 10", 1.0),
    "sel_two": ("sel of a value in each of two levels, 100,000 presentations x 10", 1.0),
    "sel_list": ("sel of 100 of 2,500 values, 100,000 presentations x 10", 1.0),
    "sel_mask": ("sel by a mask, 100,000 presentations x 10", 1.0),
    "package_images": ("packaging 2,000 images of 64 kB", None),
    "reload_images": ("reloading them", None),
}
# case: peak memory in multiples of the array, 80 MB
MEMORY = {
    "construct": "constructing, 100,000 presentations x 100",
    "average_repetition": "average_repetition",
    "multi_groupby": "multi_groupby",
    "sel_list": "sel of half the values",
    "write": "writing netCDF",
    "read": "reading netCDF",
}
MEMORY_TARGET = 2.5


def make_coordinates(n, kind="arrays"):
    """Make 12 presentation coordinates: five of text, four of whole numbers, two of fractions, one of truth values."""
    import numpy as np

    rng = np.random.default_rng(0)
    stimuli = np.arange(n) % 2_500
    text = {
        "stimulus_id": np.char.add("stimulus_", stimuli.astype(str)),
        "object_name": np.char.add("object_", (stimuli % 8).astype(str)),
        "category_name": np.char.add("category_", (stimuli % 3).astype(str)),
        "background_id": np.char.add("background_", (stimuli % 500).astype(str)),
        "variation": np.char.add("V", (stimuli % 4).astype(str)),
    }
    numbers = {
        "repetition": np.arange(n) // 2_500,
        "rxy": stimuli % 360,
        "size_px": stimuli % 17,
        "number": stimuli,
        "ty": rng.normal(size=2_500)[stimuli],
        "tz": rng.normal(size=2_500)[stimuli],
        "shown": stimuli % 2 == 0,
    }
    text = {name: np.array(values.tolist()) for name, values in text.items()}  # no wider than the longest
    if kind == "objects":
        text = {name: values.astype(object) for name, values in text.items()}
    coords = {**text, **numbers}
    if kind == "lists":
        coords = {name: values.tolist() for name, values in coords.items()}
    return {name: ("presentation", values) for name, values in coords.items()}


def make_assembly(n, width=NEUROIDS, coordinates=None):
    """Make responses of a number of neuroids, seeded."""
    import numpy as np

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

    coords = dict(coordinates or make_coordinates(n))
    coords["neuroid_id"] = ("neuroid", np.char.add("neuroid_", np.arange(width).astype(str)))
    coords["region"] = ("neuroid", np.where(np.arange(width) % 2 == 0, "V4", "IT"))
    coords["subject"] = ("neuroid", np.where(np.arange(width) % 3 == 0, "a", "b"))
    values = np.random.default_rng(1).normal(size=(n, width))
    return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])


def make_recording(kind):
    """Make spike counts, or noise, in two time bins."""
    import numpy as np

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

    n, width = 20_000, 100
    rng = np.random.default_rng(2)
    shape = (n, width, 2)
    values = rng.poisson(3.0, size=shape).astype(float) if kind == "counts" else rng.normal(size=shape)
    coords = {
        "stimulus_id": ("presentation", np.char.add("stimulus_", (np.arange(n) % 2_500).astype(str))),
        "object_name": ("presentation", np.char.add("object_", (np.arange(n) % 8).astype(str))),
        "repetition": ("presentation", np.arange(n) // 2_500),
        "neuroid_id": ("neuroid", np.char.add("neuroid_", np.arange(width).astype(str))),
        "region": ("neuroid", np.where(np.arange(width) % 2 == 0, "V4", "IT")),
        "time_bin_start": ("time_bin", [0, 70]),
        "time_bin_end": ("time_bin", [70, 170]),
    }
    return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid", "time_bin"])


def make_images(folder):
    """Write images of noise, about 64 kB each, no two alike: they do not compress."""
    import io

    import numpy as np
    from PIL import Image

    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

    folder.mkdir(parents=True)
    rng = np.random.default_rng(3)
    noise = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, size=(256, 256, 3), dtype=np.uint8)).save(noise, "jpeg", quality=92)
    paths = {}
    for number in range(IMAGES):
        path = folder / f"image_{number:04d}.jpg"
        path.write_bytes(noise.getvalue() + rng.bytes(16))  # what follows the end of the image does not matter
        paths[path.stem] = path
    stimuli = StimulusSet([{"stimulus_id": name, "object_name": "face", "size": 1.0} for name in paths])
    stimuli.stimulus_paths = paths
    stimuli.name = "Perf2026"
    stimuli.identifier = "Perf2026"
    return stimuli


def average(assembly):
    """Average repetitions as each system does."""
    from brainscore_vision.benchmark_helpers.neural_common import average_repetition

    return average_repetition(assembly)


def package(stimuli, folder):
    """Package a stimulus set, without its progress bar."""
    from brainscore_core.supported_data_standards.brainio.packaging import package_stimulus_set_locally

    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    copy = stimuli.copy()  # the published system writes to what it is given
    copy.stimulus_paths = stimuli.stimulus_paths
    package_stimulus_set_locally(copy, "Perf2026", downloads_path=str(folder))
    return next(folder.rglob("*.csv")), next(folder.rglob("*.zip"))


def reload_images(csv, archive):
    """Unpack a packaged stimulus set and load it."""
    from brainscore_core.supported_data_standards.brainio.fetch import unzip
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

    unpacked = archive.with_suffix("")
    if unpacked.exists():
        shutil.rmtree(unpacked)
    loaded = StimulusSet.from_files(csv, unzip(archive))
    if len(loaded) != IMAGES:
        raise RuntimeError(f"{len(loaded)} images came back")


def prepare(case, folder):
    """Return a function to time."""
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, walk_coords
    from brainscore_core.supported_data_standards.brainio.packaging import write_netcdf

    if case.startswith("construct"):
        import numpy as np

        coords = make_coordinates(PRESENTATIONS, case.partition("_")[2] or "arrays")
        values = np.zeros(PRESENTATIONS)
        return lambda: NeuroidAssembly(values, coords=coords, dims=["presentation"])
    if case in ("write_counts", "write_noise", "read"):
        recording = make_recording(case.split("_")[-1] if case != "read" else "counts")
        path = folder / "recording.nc"
        if case != "read":
            return lambda: write_netcdf(recording, path)
        write_netcdf(recording, path)
        return lambda: NeuroidAssembly.from_files(path).values
    if case == "write_coordinates":
        narrow = make_assembly(PRESENTATIONS, 1)
        return lambda: write_netcdf(narrow, folder / "narrow.nc")
    if case in ("package_images", "reload_images"):
        stimuli = make_images(folder / "images")
        if case == "package_images":
            return lambda: package(stimuli, folder / "packages")
        csv, archive = package(stimuli, folder / "packages")
        return lambda: reload_images(csv, archive)
    assembly = make_assembly(PRESENTATIONS, 1 if case == "multi_groupby_narrow" else NEUROIDS)
    some = [f"stimulus_{number}" for number in range(100)]
    return {
        "average_repetition": lambda: average(assembly),
        "multi_groupby": lambda: assembly.multi_groupby(["object_name", "stimulus_id"]).mean(dim="presentation"),
        "multi_groupby_narrow": lambda: assembly.multi_groupby(["object_name", "stimulus_id"]).mean(dim="presentation"),
        "walk_coords": lambda: list(walk_coords(assembly)),
        "sel_scalar": lambda: assembly.sel(object_name="object_3"),
        "sel_two": lambda: assembly.sel(object_name="object_3", repetition=0),
        "sel_list": lambda: assembly.sel(presentation=assembly["stimulus_id"].isin(some)),
        "sel_mask": lambda: assembly.sel(presentation=assembly["object_name"] == "object_3"),
    }[case]


def copy_images(folder):
    """Copy the files of the images one by one, as the disk allows."""
    source, target = folder / "images", folder / "copied"
    if target.exists():
        shutil.rmtree(target)
    target.mkdir()
    for path in source.iterdir():
        shutil.copyfile(path, target / path.name)


def wall_s(run):
    """Return how long a call takes in seconds."""
    with timed() as spent:
        run()
    return spent["wall_s"]


def time_case(case, calls, folder):
    """Time a case in this process."""
    run = prepare(case, folder)
    run()  # libraries load and caches fill
    with_images = case in ("package_images", "reload_images")
    seconds, copies = [], []
    for call in range(calls):
        # A disk is slower after much was written: whoever comes second pays, so they take turns.
        if with_images and call % 2 == 0:
            copies.append(wall_s(lambda: copy_images(folder)))
        seconds.append(wall_s(run))
        if with_images and call % 2 == 1:
            copies.append(wall_s(lambda: copy_images(folder)))
    answer = {"s": min(seconds)}
    if with_images:
        answer = {"s": statistics.median(seconds), "copy_s": statistics.median(copies)}
    if case.startswith("write"):
        answer["bytes"] = next(folder.glob("*.nc")).stat().st_size
    return answer


def measure_memory(case, folder):
    """Measure the peak memory of one call beyond that before the array was made, in multiples of the array."""
    import numpy as np

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.packaging import write_netcdf

    runs = {
        "average_repetition": average,
        "multi_groupby": lambda assembly: assembly.multi_groupby(["object_name", "stimulus_id"]).mean("presentation"),
        "sel_list": lambda assembly: assembly.sel(presentation=assembly["number"] < 1_250),
        "write": lambda assembly: write_netcdf(assembly, folder / "memory.nc"),
    }
    n, width = PRESENTATIONS, WIDE
    small = make_assembly(500, 10)
    small.sel(presentation=small["number"] < 50)
    if case in runs:
        runs[case](small)  # libraries load
    write_netcdf(small, folder / "small.nc")
    NeuroidAssembly.from_files(folder / "small.nc").values.sum()
    coords = make_coordinates(n)
    if case == "read":
        # Written by a process of its own, so that this one never held the array.
        command = [sys.executable, __file__, "--measure", "memory:write", str(folder)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    before = memory_mib("VmRSS")
    if case == "construct":
        values = np.ones((n, width))
        reset_peak()
        assembly = NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])
    elif case == "read":
        reset_peak()
        assembly = NeuroidAssembly.from_files(folder / "memory.nc")
        values = assembly.values
    else:
        assembly = make_assembly(n, width, coords)
        reset_peak()
        runs[case](assembly)
    peak = memory_mib("VmHWM") - before
    return {"ratio": peak * 2**20 / (n * width * 8)}


def table(results):
    """Return the results as Markdown."""
    rows, memory = [], []
    for case, (what, target) in CASES.items():
        if case not in results:
            continue
        here, peer = results[case]["here"], results[case].get("peer")
        ratio = peer["s"] / here["s"] if peer else None
        if "bytes" in here:
            beside = f", peer {peer['bytes'] / 1e6:.1f} MB" if peer else ""
            what += f" ({here['bytes'] / 1e6:.1f} MB{beside})"
        reached = verdict(ratio, target)
        if "copy_s" in here:
            copies = here["s"] / here["copy_s"]
            reached = f"{copies:.2f} x a plain copy, {verdict(copies, 2, at_most=True)}"
        cells = [f"{peer['s']:.3g}" if peer else "-", f"{here['s']:.3g}", f"{ratio:.1f}" if peer else "-"]
        rows.append([what, *cells, reached])
    for case, what in MEMORY.items():
        if f"memory:{case}" in results:
            here, peer = (results[f"memory:{case}"].get(who, {}).get("ratio") for who in ("here", "peer"))
            beside = "-" if peer is None else f"{peer:.2f}"
            memory.append([what, beside, f"{here:.2f}", verdict(here, MEMORY_TARGET, at_most=True)])
    times = markdown(["what", "peer, s", "here, s", "times faster", "target"], rows)
    return f"{times}\n\n{markdown(['peak memory, multiples of the array (80 MB)', 'peer', 'here', 'target'], memory)}"


def main():
    """Measure and write the table."""
    cases = [*CASES, *(f"memory:{case}" for case in MEMORY)]
    options = options_of(__doc__, cases, calls=5)
    if options.measure:
        case, *folder = options.measure
        kind, _, name = case.rpartition(":")
        with tempfile.TemporaryDirectory() as own:
            place = Path(*folder or (own,))
            say(measure_memory(name, place) if kind else time_case(case, options.calls, place))
        return
    calls, options.calls = options.calls, 1  # each process makes its calls itself
    results = read("data_standards") if options.only else {}
    results |= compare(__file__, dict.fromkeys(cases, ("here", "peer")), options)
    how = f"`python perf/data_standards.py --peer PYTHON`, one thread, best of {calls} or more calls."
    keep("data_standards", results, title="Data standards", text=f"{how}\n\n{table(results)}\n{NOTE}")
    print(table(results))


if __name__ == "__main__":
    main()
