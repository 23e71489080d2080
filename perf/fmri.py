"""Measure the memory and the time of benchmarks on large sets of fMRI and EEG, on stand-ins of their size.

Every case writes files of the published shape, with a planted signal, and scores a model of random features of that
signal in a process of its own, through ``load_benchmark``. ``--share`` is the part of the stimuli of Gifford2022 that
is made (all of them are 11 GB). Prints score, seconds and the peak of the memory that the process holds, beside the
size of the files. Pages of files that are mapped are not counted: the system takes them back when it needs them.
"""

import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from harness import QUICK, ask, keep, memory_mib, options_of, read, say, size, timed
from made_up_data import stimulus_set

N_FEATURES, N_DIMENSIONS = 1000, 20
CASES = {  # benchmark, {split: (stimuli, repetitions)}, neuroids of each subject, time bins
    "hebart2023_fmri": (
        "Hebart2023_fmri.IT-ridgecv", {"train": (8640, 1), "test": (100, 12)}, [size(6131, 300)] * 3, None,
    ),
    "allen2022_fmri_surface": (
        "Allen2022_fmri_surface.IT-ridge", {"train": (412, 1), "test": (103, 3)}, [size(27646, 100)] * 8, None,
    ),
    "gifford2022": ("Gifford2022.IT-ridgecv", {"train": (16540, 4), "test": (200, 80)}, [17] * 10, size(100, 60)),
}  # fmt: skip
STIMULI = {"Allen2022_fmri_surface": "Allen2022_fmri"}


def write(folder, case, share):
    """Write recordings and features of the model, block by block; returns the bytes of the recordings."""
    import h5netcdf

    _, splits, subjects, n_bins = CASES[case]
    rng = np.random.default_rng(0)
    n_neuroids, bins = sum(subjects), n_bins or 1
    mixing = rng.normal(size=(N_DIMENSIONS, n_neuroids * bins)).astype(np.float32) / np.sqrt(N_DIMENSIONS)
    readout = rng.normal(size=(N_DIMENSIONS, N_FEATURES)).astype(np.float32)
    dtype = np.float32 if case.startswith("allen") else np.float64
    for split, (n, repetitions) in splits.items():
        n = max(50, int(n * share)) if case == "gifford2022" or QUICK else n
        signal = rng.normal(size=(n, N_DIMENSIONS)).astype(np.float32)
        np.save(folder / f"{split}.npy", signal @ readout)
        shown = np.repeat(np.arange(n), repetitions)
        with h5netcdf.File(folder / f"{split}.nc", "w") as file:
            file.dimensions = {"presentation": len(shown), "neuroid": n_neuroids, "time_bin": bins}
            values = file.create_variable("data", ("presentation", "neuroid", "time_bin"), dtype)
            for start in range(0, len(shown), 2000):
                rows = shown[start : start + 2000]
                block = signal[rows] @ mixing + rng.standard_normal((len(rows), mixing.shape[1]), dtype=np.float32)
                values[start : start + len(rows)] = block.reshape(len(rows), n_neuroids, bins)
            labels = coords(case, split, shown, repetitions, subjects)
            values.attrs["coordinates"] = " ".join(labels)
            for name, (dim, column) in labels.items():
                is_text = column.dtype.kind == "U"
                kind = h5netcdf.core.h5py.string_dtype() if is_text else column.dtype
                file.create_variable(name, (dim,), kind)[:] = column.astype(object) if is_text else column
    return sum((folder / f"{split}.nc").stat().st_size for split in splits)


def coords(case, split, shown, repetitions, subjects):
    """Return the coordinates of the published files that the benchmarks use."""
    n = sum(subjects)
    result = {
        "stimulus_id": ("presentation", np.array([f"{split}{number:05d}" for number in shown])),
        "neuroid_id": ("neuroid", np.concatenate([np.arange(size) for size in subjects])),
        "subject": ("neuroid", np.repeat([f"{number:02d}" for number in range(len(subjects))], subjects)),
    }
    if repetitions > 1 or split == "test":
        result["repetition"] = ("presentation", np.tile(np.arange(repetitions), len(shown) // repetitions))
    if case == "gifford2022":
        starts = np.arange(CASES[case][3]) / 100 - 0.2
        return result | {"time_bin_start": ("time_bin", starts), "time_bin_end": ("time_bin", starts + 0.01)}
    # As many are of IT and reliable as in the published recordings, about.
    regions = np.where(np.arange(n) % 3 < 2, "IT", "V1")
    reliability = np.where(np.arange(n) % 10 < (1 if case == "hebart2023_fmri" else 5), 80.0, 10.0)
    result |= {"region": ("neuroid", regions), "nc_testset": ("neuroid", reliability)}
    return result | {"time_bin_start": ("time_bin", np.array([70])), "time_bin_end": ("time_bin", np.array([170]))}


def watch(peaks):
    """Look every 10 ms how much memory this process holds that is of no file; Linux only."""
    while True:
        peaks[0] = max(peaks[0], memory_mib("RssAnon"))
        time.sleep(0.01)


def score(folder, case):
    from brainscore_core.plugin_management.import_plugin import import_plugin
    from brainscore_core.supported_data_standards.brainio import s3
    from brainscore_core.testing.synthetic import assembly_of
    from brainscore_vision import load_benchmark, stimulus_set_registry
    from brainscore_vision.benchmark_helpers import PrecomputedFeatures

    identifier, splits, _, _ = CASES[case]
    dataset = identifier.partition(".")[0]
    features = {}
    for split in splits:
        values = np.load(folder / f"{split}.npy")
        name = f"{STIMULI.get(dataset, dataset)}_stim_{split}"
        stimuli = stimulus_set([folder / f"{split}{number:05d}.png" for number in range(len(values))], name)
        import_plugin("brainscore_vision", "stimulus_set", name)  # so that it does not register after the stand-in
        stimulus_set_registry[name] = lambda stimuli=stimuli: stimuli
        numbers = ("neuroid", np.arange(values.shape[1]))
        features[name] = assembly_of(values, stimulus_id=stimuli["stimulus_id"].values, neuroid_id=numbers)
    s3.get_path = lambda identifier, *_, **__: folder / f"{'train' if 'train' in identifier else 'test'}.nc"
    benchmark = load_benchmark(identifier)
    peaks = [0.0]
    threading.Thread(target=watch, args=(peaks,), daemon=True).start()
    with timed() as spent:
        result = benchmark(PrecomputedFeatures(features, visual_degrees=benchmark._visual_degrees))  # noqa: SLF001 - its own size
    return {
        "score": round(float(result), 4),
        "ceiling": round(float(benchmark.ceiling), 4),
        "n_neuroids": int(result.attrs["n_neuroids"]),
        "seconds": round(spent["wall_s"], 1),
        "peak_gb": round(peaks[0] * 2**20 / 1e9, 2),
    }


if __name__ == "__main__":
    options = options_of(
        __doc__, only=([], ", ".join(CASES)), share=(size(100, 1) / 400, "of the stimuli of Gifford2022"), measure=None
    )
    if options.measure:
        say(score(Path(options.measure[1]), options.measure[0]))
        sys.exit()
    results = read("fmri") if options.only else {}
    for case in options.only or CASES:
        with tempfile.TemporaryDirectory() as folder:
            size_bytes = write(Path(folder), case, options.share)
            answer = ask(sys.executable, __file__, "--measure", case, folder)
        share = {"share": options.share} if case == "gifford2022" else {}
        results[case] = {"files_gb": round(size_bytes / 1e9, 2), **answer, **share}
        print(case, results[case], flush=True)
    keep("fmri", results)
