"""Write the small files of the published system that tests read, and check that files of this project load there.

    python perf/peer_fixtures.py --peer /path/to/peer/bin/python

The files go to ``core/tests/fixtures/published.zip``. The check: each system writes an assembly of each class and a
stimulus set, both load the files of both and must find the same. ``--check`` leaves the archive alone.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ARCHIVE = Path(__file__).parents[1] / "core" / "tests" / "fixtures" / "published.zip"
LARGEST_BYTES = 100_000
EPOCH = (1980, 1, 1, 0, 0, 0)


def make_assemblies():
    """Make an assembly of each class: class name -> assembly. Runs in both systems."""
    import numpy as np

    from brainscore_core.supported_data_standards.brainio import assemblies

    presentation = {
        "stimulus_id": ("presentation", ["a", "b", "c", "a", "b", "c"]),
        "repetition": ("presentation", [0, 0, 0, 1, 1, 1]),
    }
    neuroid = {"neuroid_id": ("neuroid", ["n0", "n1"]), "region": ("neuroid", ["V4", "IT"])}
    bins = {"time_bin_start": ("time_bin", [70, 90]), "time_bin_end": ("time_bin", [90, 110])}
    many = {
        "label": ("presentation", ["", "äß中", "two words", "x" * 40, "1", "nan"]),
        "contrast": ("presentation", [0.25, np.nan, np.inf, -np.inf, 0.5, 1.0]),
        "shown": ("presentation", [True, False, True, True, False, True]),
        "date": ("presentation", np.array([f"2020-01-0{day}" for day in range(1, 7)], dtype="datetime64[ns]")),
    }
    recording = np.arange(24, dtype="float32").reshape(6, 2, 2) / 8
    recording[1, 1, 0] = np.nan
    dims = ["presentation", "neuroid", "time_bin"]
    made = {
        "NeuroidAssembly": (recording[:, :, 0], {**presentation, **neuroid}, dims[:2]),
        "NeuronRecordingAssembly": (recording, {**presentation, **many, **neuroid, **bins}, dims),
        "ModelFeaturesAssembly": (recording[:, :, 0], {**presentation, **neuroid}, dims[:2]),
        "BehavioralAssembly": (np.array(["dog", "cat", "dog", "", "cat", "dog"]), presentation, ["presentation"]),
        "PropertyAssembly": (
            np.array([[0.5], [np.nan]]),
            {**neuroid, "neuronal_property": ("neuronal_property", ["index"])},
            ["neuroid", "neuronal_property"],
        ),
        "MetadataAssembly": (
            np.array([1, 2]),
            {"session_id": ("session", ["s0", "s1"]), "rig": ("session", [3, 4])},
            ["session"],
        ),
        "SpikeTimesAssembly": (
            np.array([0.25, 0.5, 1.5]),
            {"neuroid_id": ("event", ["n0", "n1", "n0"]), "unit": ("event", [1, 2, 1])},
            ["event"],
        ),
        "DataAssembly": (np.array([1, 2, 3]), {"stimulus_id": ("presentation", ["a", "b", "c"])}, ["presentation"]),
    }
    result = {}
    for name, (values, coords, own_dims) in made.items():
        result[name] = getattr(assemblies, name)(values, coords=coords, dims=own_dims)
        result[name].attrs["stimulus_set_identifier"] = "Published2020"
    return result


def write_files(folder):
    """Write an assembly of each class, a file with a group, a legacy name, and a packaged stimulus set."""
    from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly, NeuroidAssembly
    from brainscore_core.supported_data_standards.brainio.packaging import (
        create_stimulus_csv,
        create_stimulus_zip,
        write_netcdf,
    )
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

    made = make_assemblies()
    for name, assembly in made.items():
        write_netcdf(assembly, str(folder / f"{name}.nc"))
    write_netcdf(made["MetadataAssembly"], str(folder / "SpikeTimesAssembly.nc"), append=True, group="sessions")
    legacy = NeuroidAssembly(
        [[1.0], [2.0]],
        coords={
            "image_id": ("presentation", ["a", "b"]),
            "number": ("presentation", [1, 2]),
            "neuroid_id": ("neuroid", [7]),
            "region": ("neuroid", ["IT"]),
        },
        dims=["presentation", "neuroid"],
    )
    write_netcdf(legacy, str(folder / "legacy.nc"))
    write_netcdf(DataAssembly([[0.0]], dims=["x", "y"]), str(folder / "bare.nc"))
    (folder / "originals").mkdir()
    stimuli = StimulusSet(
        [
            {"stimulus_id": "a", "object_name": 'face, "old"', "size": 0.1, "number": 1},
            {"stimulus_id": "b", "object_name": "äß中", "size": float("nan"), "number": 2},
        ]
    )
    stimuli.stimulus_paths = {name: folder / "originals" / f"{name}.png" for name in "ab"}
    for path in stimuli.stimulus_paths.values():
        path.write_bytes(PIXEL)
    stimuli.identifier = "Published2020"
    names = create_stimulus_zip(stimuli, str(folder / "stimulus_Published2020.zip"))[1]
    stimuli["filename"] = names
    create_stimulus_csv(stimuli, str(folder / "stimulus_Published2020.csv"))
    for path in stimuli.stimulus_paths.values():
        path.unlink()
    (folder / "originals").rmdir()


# A PNG image of one black pixel.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
    "0000000a49444154789c63600000000200014873af1d0000000049454e44ae426082"
)


def describe(folder):
    """Load the files and say what they hold, in JSON."""
    from brainscore_core.supported_data_standards.brainio import assemblies
    from brainscore_core.supported_data_standards.brainio.fetch import unzip
    from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

    said = {}
    for path in sorted(folder.glob("*.nc")):
        cls = getattr(assemblies, path.stem, assemblies.DataAssembly)
        loaded = cls.from_files(path)
        # Told apart by what they hold, not by how: dtypes of text and the names of single coordinates differ.
        # The published system keeps the legacy name beside the new one.
        walked = [(dims, values) for name, dims, values in assemblies.walk_coords(loaded) if name != "image_id"]
        coords = sorted([list(dims), plain(values)] for dims, values in walked)
        said[path.name] = {"dims": list(loaded.dims), "values": plain(loaded.values), "coords": coords}
        if path.stem == "SpikeTimesAssembly":
            said[path.name]["sessions"] = plain(loaded.attrs["sessions"].values)
    stimuli = StimulusSet.from_files(
        folder / "stimulus_Published2020.csv", unzip(folder / "stimulus_Published2020.zip")
    )
    columns = {column: plain(stimuli[column].values) for column in sorted(stimuli.columns)}
    said["stimuli"] = {**columns, "files": [Path(stimuli.get_stimulus(name)).read_bytes().hex() for name in "ab"]}
    return said


def plain(values):
    """Return values as nested lists of text, the same in both systems."""
    import numpy as np

    array = np.asarray(values)
    if array.dtype.kind == "M":
        array = array.astype("datetime64[ns]")
    return np.array([str(value) for value in array.ravel()], dtype=object).reshape(array.shape).tolist()


def ask(python, what, folder):
    """Have an interpreter do one part and return its answer."""
    environment = {**os.environ, "BS_INSTALL_DEPENDENCIES": "no"}
    command = [python, __file__, "--part", what, "--folder", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{python} could not {what}:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def differences(here, there):
    """List where two descriptions differ."""
    return [
        f"{name}, {key}: here {here[name].get(key)}, there {there[name].get(key)}"
        for name in here
        for key in here[name]
        if here[name].get(key) != there[name].get(key)
    ]


def pack(folder, archive):
    """Put files into an archive; the same files give the same archive."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(folder.iterdir()):
            if path.is_file():
                packed.writestr(zipfile.ZipInfo(path.name, EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)


def main():
    """Write the files with both systems, load them with both, compare."""
    parser = argparse.ArgumentParser(description="Exchange files with the published system.")
    parser.add_argument("--peer", metavar="PYTHON", help="interpreter with the published packages")
    parser.add_argument("--check", action="store_true", help="compare only; leave the archive alone")
    parser.add_argument("--part", choices=["write", "describe"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(describe(options.folder) if options.part == "describe" else write_files(options.folder)))
        return
    if not options.peer:
        parser.error("--peer is needed")
    problems = []
    for writer in (options.peer, sys.executable):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            ask(writer, "write", folder)
            if writer == options.peer and not options.check:
                pack(folder, ARCHIVE)
                print(f"{ARCHIVE}: {ARCHIVE.stat().st_size} bytes")
                if ARCHIVE.stat().st_size > LARGEST_BYTES:
                    problems.append(f"The archive has more than {LARGEST_BYTES} bytes.")
            found = differences(ask(sys.executable, "describe", folder), ask(options.peer, "describe", folder))
            problems += [f"written by {writer}: {difference}" for difference in found]
    print("\n".join(problems) or "Each system loads the files of both alike.")
    raise SystemExit(bool(problems))


if __name__ == "__main__":
    main()
