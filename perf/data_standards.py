"""Time the data standards of this project and of the published system on the same data, one thread each.

Every measurement runs in a process of its own: the best of some calls, and how much memory a single call needs at most,
its array included.
"""

import shutil
import statistics
import subprocess
import sys

from harness import Case, markdown, measure_cases, memory_mib, reset_peak, size, timed, times_of, verdict

REMARK = """
The rows on images say little beyond their order of magnitude: on the machine of these numbers a plain copy of the same
files took .2 to 1.0 s from one run to the next, and so did the creation of the files in unpacking. Packaging decodes
every image to find the broken ones, about .5 ms each, which the published system does not do. Rows near 1.0 change
sides from run to run.
"""

CALLS, PRESENTATIONS, NEUROIDS, WIDE, IMAGES = size(5, 1), size(100_000, 2_500), 10, 100, size(2_000, 20)
CASES = {
    "construct": Case("constructing, 100,000 presentations, 12 coordinates, text in NumPy arrays", 1.0),
    "construct_objects": Case("the same, text in object arrays (as pandas gives it)", 1.0),
    "construct_lists": Case("the same, text and numbers in lists", 1.0),
    "average_repetition": Case("average_repetition, 100,000 presentations x 10", 20.0),
    "multi_groupby": Case("multi_groupby of two coordinates, mean, 100,000 presentations x 10", 10.0),
    "multi_groupby_narrow": Case("the same, 100,000 presentations x 1", 10.0),
    "write_counts": Case("writing netCDF 20,000 x 100 x 2, spike counts", 8.0),
    "write_noise": Case("writing netCDF 20,000 x 100 x 2, noise", 8.0),
    "write_coordinates": Case("writing netCDF 100,000 x 1 with 12 coordinates"),
    "read": Case("reading netCDF 20,000 x 100 x 2, values in memory", 1.0),
    "walk_coords": Case("walk_coords, 100,000 presentations, 12 coordinates", 1.0),
    "sel_scalar": Case("sel of one value, 100,000 presentations x 10", 1.0),
    "sel_two": Case("sel of a value in each of two levels, 100,000 presentations x 10", 1.0),
    "sel_list": Case("sel of 100 of 2,500 values, 100,000 presentations x 10", 1.0),
    "sel_mask": Case("sel by a mask, 100,000 presentations x 10", 1.0),
    "package_images": Case("packaging 2,000 images of 64 kB"),
    "reload_images": Case("reloading them"),
    # Peak memory in multiples of the array, 80 MB.
    "memory:construct": Case("constructing, 100,000 presentations x 100"),
    "memory:average_repetition": Case("average_repetition"),
    "memory:multi_groupby": Case("multi_groupby"),
    "memory:sel_list": Case("sel of half the values"),
    "memory:write": Case("writing netCDF"),
    "memory:read": Case("reading netCDF"),
}
MEMORY_TARGET = 2.5


def make_coordinates(n, kind="arrays"):
    """Make 12 presentation coordinates: five of text, four of whole numbers, two of fractions, one of truth values."""
    import numpy as np

    rng = np.random.default_rng(0)
    stimuli = np.arange(n) % 2_500
    groups = {"stimulus_id": 2_500, "object_name": 8, "category_name": 3, "background_id": 500}
    text = {name: np.char.add(f"{name.split('_')[0]}_", (stimuli % n).astype(str)) for name, n in groups.items()}
    text["variation"] = np.char.add("V", (stimuli % 4).astype(str))
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


def make_assembly(n, width=NEUROIDS, *, counts=False, n_bins=0, coords=None):
    """Make responses of noise, or spike counts; in several time bins with three coordinates of presentations."""
    import numpy as np

    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

    rng, shape, coords = np.random.default_rng(1), (n, width), dict(coords or make_coordinates(n))
    if n_bins:
        edges, shape = 70 * np.arange(n_bins), (n, width, n_bins)
        coords = {name: coords[name] for name in ("stimulus_id", "object_name", "repetition")}
        coords |= {"time_bin_start": ("time_bin", edges), "time_bin_end": ("time_bin", edges + 70)}
    coords["neuroid_id"] = ("neuroid", np.char.add("neuroid_", np.arange(width).astype(str)))
    coords["region"] = ("neuroid", np.where(np.arange(width) % 2 == 0, "V4", "IT"))
    coords["subject"] = ("neuroid", np.where(np.arange(width) % 3 == 0, "a", "b"))
    values = rng.poisson(3.0, shape).astype(float) if counts else rng.normal(size=shape)
    return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid", "time_bin"][: len(shape)])


def make_images(folder):
    """Write images of noise, about 64 kB each, no two alike: they do not compress."""
    import io

    import numpy as np
    from PIL import Image

    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

    folder.mkdir()
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
    stimuli.name = stimuli.identifier = "Perf2026"
    return stimuli


def package(stimuli, folder):
    """Package a stimulus set, without its progress bar."""
    from brainscore_core.supported_data_standards.brainio.packaging import package_stimulus_set_locally

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    copy = stimuli.copy()  # the published system writes to what it is given
    copy.stimulus_paths = stimuli.stimulus_paths
    package_stimulus_set_locally(copy, "Perf2026", downloads_path=str(folder))
    return next(folder.rglob("*.csv")), next(folder.rglob("*.zip"))


def reload_images(csv, archive):
    from brainscore_core.supported_data_standards.brainio.fetch import unzip
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

    unpacked = archive.with_suffix("")
    shutil.rmtree(unpacked, ignore_errors=True)
    loaded = StimulusSet.from_files(csv, unzip(archive))
    if len(loaded) != IMAGES:
        raise RuntimeError(f"{len(loaded)} images came back")


def prepare(case, folder):
    import numpy as np

    if case.startswith("construct"):
        return construct(np.zeros(PRESENTATIONS), make_coordinates(PRESENTATIONS, case.partition("_")[2] or "arrays"))
    if case in ("package_images", "reload_images"):
        stimuli = make_images(folder / "images")
        if case == "package_images":
            return lambda: package(stimuli, folder / "packages")
        csv, archive = package(stimuli, folder / "packages")
        return lambda: reload_images(csv, archive)
    if case in ("write_counts", "write_noise", "read"):
        runs = operations(make_assembly(PRESENTATIONS // 5, 100, counts=case != "write_noise", n_bins=2), folder)
        if case == "read":
            runs["write"]()
        return runs[case.partition("_")[0]]
    one = case in ("multi_groupby_narrow", "write_coordinates")
    runs = operations(make_assembly(PRESENTATIONS, 1 if one else NEUROIDS), folder)
    return runs[case.rpartition("_")[0] if one else case]


def construct(values, coords):
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

    return lambda: NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"][: values.ndim])


def operations(assembly, folder):
    """Return calls on an assembly, for time and for memory."""
    from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly, walk_coords
    from brainscore_core.supported_data_standards.brainio.packaging import write_netcdf
    from brainscore_vision.benchmark_helpers.neural_common import average_repetition

    some, file = [f"stimulus_{number}" for number in range(100)], folder / "written.nc"
    return {
        "average_repetition": lambda: average_repetition(assembly),
        "multi_groupby": lambda: assembly.multi_groupby(["object_name", "stimulus_id"]).mean(dim="presentation"),
        "walk_coords": lambda: list(walk_coords(assembly)),
        "sel_scalar": lambda: assembly.sel(object_name="object_3"),
        "sel_two": lambda: assembly.sel(object_name="object_3", repetition=0),
        "sel_list": lambda: assembly.sel(presentation=assembly["stimulus_id"].isin(some)),
        "sel_mask": lambda: assembly.sel(presentation=assembly["object_name"] == "object_3"),
        "sel_half": lambda: assembly.sel(presentation=assembly["number"] < 1_250),
        "write": lambda: write_netcdf(assembly, file),
        "read": lambda: NeuroidAssembly.from_files(file).values,
    }


def time_case(case, folder):
    """Time a case in this process, and copies of its images, one by one, as the disk allows."""

    def copy_images():
        shutil.rmtree(folder / "copied", ignore_errors=True)
        (folder / "copied").mkdir()
        for path in (folder / "images").iterdir():
            shutil.copyfile(path, folder / "copied" / path.name)

    run = prepare(case, folder)
    if case in ("package_images", "reload_images"):
        run()  # libraries load and caches fill
        times = {run: [], copy_images: []}
        for call in range(CALLS):
            # A disk is slower after much was written, so they take turns to come second.
            for step in list(times)[:: -1 if call % 2 == 0 else 1]:
                with timed() as spent:
                    step()
                times[step].append(spent["wall_s"])
        return {"s": statistics.median(times[run]), "copy_s": statistics.median(times[copy_images])}
    answer = {"s": min(times_of(run, CALLS, "wall_s"))}
    return {**answer, "bytes": next(folder.glob("*.nc")).stat().st_size} if case.startswith("write") else answer


def measure_memory(case, folder):
    """Measure the peak memory of one call beyond that before the array was made, in multiples of the array."""
    import numpy as np

    case = "sel_half" if case == "sel_list" else case
    small = operations(make_assembly(500, 10), folder)
    for name in ("write", "read", case if case in small else "write"):
        small[name]()  # libraries load
    coords = make_coordinates(PRESENTATIONS)
    if case == "read":  # written by a process of its own, so that this one never held the array
        command = [sys.executable, __file__, "--measure", "memory:write", str(folder.parent)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        folder = folder.parent / "memory-write"
    before = memory_mib("VmRSS")
    if case == "construct":
        run = construct(np.ones((PRESENTATIONS, WIDE)), coords)
    else:
        run = operations(None if case == "read" else make_assembly(PRESENTATIONS, WIDE, coords=coords), folder)[case]
    reset_peak()
    _result = run()
    return {"s": (memory_mib("VmHWM") - before) * 2**20 / (PRESENTATIONS * WIDE * 8)}


def measure(case, folder):
    own = folder / case.replace(":", "-")
    own.mkdir(exist_ok=True)
    kind, _, name = case.rpartition(":")
    return measure_memory(name, own) if kind else time_case(case, own)


def table(results):
    rows, memory = [], []
    for case, result in results.items():
        here, peer = result["here"], result.get("peer")
        if case.startswith("memory:"):
            cells = [f"{peer['s']:.2f}" if peer else "-", f"{here['s']:.2f}"]
            memory.append([CASES[case].title, *cells, verdict(here["s"], MEMORY_TARGET, at_most=True)])
            continue
        what, ratio = CASES[case].title, peer["s"] / here["s"] if peer else None
        if "bytes" in here:
            beside = f", peer {peer['bytes'] / 1e6:.1f} MB" if peer else ""
            what += f" ({here['bytes'] / 1e6:.1f} MB{beside})"
        reached = verdict(ratio, CASES[case].times)
        if "copy_s" in here:
            copies = here["s"] / here["copy_s"]
            reached = f"{copies:.2f} x a plain copy, {verdict(copies, 2, at_most=True)}"
        cells = [f"{peer['s']:.3g}" if peer else "-", f"{here['s']:.3g}", f"{ratio:.1f}" if peer else "-"]
        rows.append([what, *cells, reached])
    times = markdown(["what", "peer, s", "here, s", "times faster", "target"], rows)
    return f"{times}\n\n{markdown(['peak memory, multiples of the array (80 MB)', 'peer', 'here', 'target'], memory)}"


if __name__ == "__main__":
    measure_cases(
        __doc__, CASES, measure, table=table, title="Data standards", remark=REMARK, by="s", calls=1,
        how=f"one thread, best of {CALLS} or more calls.",
    )  # fmt: skip
