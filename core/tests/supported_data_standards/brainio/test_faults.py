"""After any fault a cache entry is complete or absent; no file makes the library read other files or run code."""

import contextlib
import hashlib
import io
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

from brainscore_core.errors import AssemblyError, CorruptFileError, DownloadError
from brainscore_core.files import LOCKS
from brainscore_core.supported_data_standards.brainio import s3
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_core.supported_data_standards.brainio.fetch import S3Object, fetch, unzip
from brainscore_core.supported_data_standards.brainio.netcdf import check_self_contained, read_netcdf
from brainscore_core.transfer import s3_download
from brainscore_core.transfer import unzip as unzip_module


def sha1_of(content):
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def zip_of(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


# --- kill -9 ----------------------------------------------------------------------------------------------------------

TRIALS = textwrap.dedent("""
    import contextlib, glob, json, os, random, signal, sys, time
    from brainscore_core.supported_data_standards.brainio import s3
    from brainscore_core.transfer import s3_download
    import boto3, botocore.config  # what a child would import first, so that the kill hits the work itself

    reference, trials, seed, home = json.loads(sys.argv[1])
    s3_download._PART_BYTES = 50_000
    random.seed(seed)
    sys.path.insert(0, home)

    def progress():
        # Return how many blocks of the disk the cache takes: downloads and what is extracted, finished or not.
        return sum(os.lstat(path).st_blocks for path in glob.glob(cache + "/**", recursive=True, include_hidden=True))

    def trial(until):
        # Return whether a child was killed when the cache had grown so far: not by time, which hangs on the machine.
        child = os.fork()
        if child == 0:
            try:
                s3.load_stimulus_set_from_s3(**reference)
            finally:
                os._exit(0)
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status == signal.SIGKILL
            with contextlib.suppress(FileNotFoundError):  # it was there a moment ago
                if progress() >= until:
                    os.kill(child, signal.SIGKILL)
                    return os.waitpid(child, 0)[1] == signal.SIGKILL
            time.sleep(0.001)

    cache = os.environ["BRAINIO_HOME"]
    trial(float("inf"))
    whole = progress()
    print("whole", flush=True)
    for number in range(trials):
        if input() == "stop":
            break
        until = 1.1 * whole * random.random() ** 3  # most steps are early: the table, locks, the first part
        print("killed" if trial(until) else "done", flush=True)
""")


def paths_in(home):
    """Return the paths in the folders of a cache, except in its lock folder, which holds no content."""
    return [path for path in Path(home).glob("*/*") if path.parent.name != LOCKS]


def broken_entries(home):
    """Return every incomplete cache entry, by a check that is independent of the library's."""
    broken = []
    for path in paths_in(home):
        if path.name.startswith("."):
            continue
        if path.is_file() and sha1_of(path.read_bytes()) != path.parent.name:
            broken.append(path)
        if path.is_dir():
            with zipfile.ZipFile(path.with_suffix(".zip")) as archive:
                broken += [
                    path / name
                    for name in archive.namelist()
                    if not (path / name).is_file() or (path / name).read_bytes() != archive.read(name)
                ]
    return broken


@pytest.mark.slow
def test_cache_survives_kills_during_download_and_extraction(server, tmp_path):
    trials = 100
    names = [f"{number:03}.png" for number in range(100)]
    archive = zip_of({name: random.Random(name).randbytes(6000) for name in names})  # noqa: S311 - just bytes
    table = "stimulus_id,filename\n" + "".join(f"{name},{name}\n" for name in names)
    server.objects = {"/bucket/stimulus_X.zip": archive, "/bucket/stimulus_X.csv": table.encode()}
    server.bytes_per_s = 8_000_000  # per connection
    reference = {
        "identifier": "X",
        "bucket": "bucket",
        "csv_sha1": sha1_of(table.encode()),
        "zip_sha1": sha1_of(archive),
        "csv_version_id": None,
        "zip_version_id": None,
    }
    home = Path(os.environ["BRAINIO_HOME"])
    arguments = json.dumps([reference, trials, 0, str(tmp_path)])
    process = subprocess.Popen(
        [sys.executable, "-c", TRIALS, arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    outcomes, states = [], set()
    assert process.stdout.readline() == "whole\n"
    assert broken_entries(home) == []
    shutil.rmtree(home)
    for _ in range(trials):
        process.stdin.write("\n")
        process.stdin.flush()
        outcomes.append(process.stdout.readline().strip())
        assert broken_entries(home) == []
        states.add(tuple(sorted(path.name for path in paths_in(home))))
        if outcomes[-1] == "done" or random.Random(len(outcomes)).random() < 0.3:  # noqa: S311 - some from the start
            shutil.rmtree(home, ignore_errors=True)
    process.communicate()
    assert process.returncode == 0
    assert outcomes.count("killed") > trials / 3
    assert len(states) > 3  # the kills hit different stages of the work
    stimuli = s3.load_stimulus_set_from_s3(**reference)
    assert len(stimuli) == len(names)
    assert broken_entries(home) == []
    hidden = [path for path in home.rglob(".*") if not path.name.endswith((".fetched.json", ".lock"))]
    assert hidden == [home / LOCKS]  # leftovers of killed processes are used or removed


# --- disks ------------------------------------------------------------------------------------------------------------

MEGABYTE = 2**20


@pytest.fixture(params=["asked before", "noticed while writing"])
def full_disk_detection(request, monkeypatch):
    """Detect a full disk before writing or, as when several programs fill it, only while writing."""
    if request.param == "noticed while writing":
        monkeypatch.setattr(s3_download, "check_free_space", lambda *_: None)
        monkeypatch.setattr(unzip_module, "_check_file_system", lambda *_: None)


def test_full_disk_during_download_keeps_almost_nothing(server, small_disk, full_disk_detection):
    disk = small_disk("size=2m")
    server.content = os.urandom(3 * MEGABYTE)
    (disk / "mine").write_bytes(b"mine")
    with pytest.raises(DownloadError, match="BRAINIO_HOME") as caught:
        fetch(S3Object(bucket="b", key="k", sha1=sha1_of(server.content)), disk / "cache" / "k")
    assert str(disk) in str(caught.value)
    left = [path.name for path in (disk / "cache").iterdir() if path.suffix != ".lock"]
    assert [name for name in left if not name.startswith(".k.part")] == []
    assert sum(path.stat().st_blocks for path in (disk / "cache").iterdir()) * 512 < MEGABYTE / 10
    server.content = b"small"
    fetched = fetch(S3Object(bucket="b", key="k", sha1=sha1_of(b"small")), disk / "cache" / "k")
    assert fetched.read_bytes() == b"small"


def test_full_disk_during_extraction_leaves_no_files(small_disk, full_disk_detection):
    disk = small_disk("size=2m")
    with zipfile.ZipFile(disk / "set.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(30):
            archive.writestr(f"{number}.png", bytes(MEGABYTE // 10))
    with pytest.raises(DownloadError, match="disk is full"):
        unzip(disk / "set.zip")
    assert {path.name for path in disk.iterdir()} <= {"set.zip", "set.lock"}


def read_only(disk):
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)


def test_complete_read_only_cache_is_used(server, small_disk):
    """Another program may have filled it, so no note says that the file was verified."""
    disk = small_disk("size=2m")
    content = b"responses"
    (disk / "k").write_bytes(content)
    (disk / "set.zip").write_bytes(zip_of({"a.png": b"x"}))
    unzip(disk / "set.zip")
    read_only(disk)
    for _ in range(2):
        found = fetch(S3Object(bucket="b", key="k", sha1=sha1_of(content)), disk / "k")
        assert found.read_bytes() == content
    assert (unzip(disk / "set.zip") / "a.png").read_bytes() == b"x"
    assert server.requests == []


def test_error_for_a_read_only_cache_names_the_setting(server, small_disk):
    disk = small_disk("size=2m")
    (disk / "set.zip").write_bytes(zip_of({"a.png": b"x"}))
    read_only(disk)
    with pytest.raises(DownloadError, match=r"cannot be put there \(Read-only.*BRAINIO_HOME"):
        fetch(S3Object(bucket="b", key="k"), disk / "deep" / "k")
    with pytest.raises(DownloadError, match=r"cannot be put there \(Read-only.*BRAINIO_HOME"):
        fetch(S3Object(bucket="b", key="k"), disk / "k")
    with pytest.raises(DownloadError, match=r"cannot be written \(Read-only.*BRAINIO_HOME"):
        unzip(disk / "set.zip")


# --- netCDF -----------------------------------------------------------------------------------------------------------


class Bomb:
    """Runs a command when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return (Path.touch, (self.trace,))


def write_with_data(path, make, **options):
    with h5py.File(path, "w", **options) as file:
        make(file)
        scale = file.create_dataset("presentation", data=np.arange(2))
        scale.make_scale("presentation")
        if isinstance(file.get("data", getlink=True), h5py.HardLink):
            file["data"].dims[0].attach_scale(scale)
    return path


def write_values(path, values=(1.0, 2.0), **attrs):
    return write_with_data(path, lambda file: file.create_dataset("data", data=np.asarray(values)).attrs.update(attrs))


def test_attributes_are_not_unpickled(tmp_path):
    trace = tmp_path / "trace"
    payload = pickle.dumps(Bomb(trace), protocol=0)
    pickle.loads(payload)  # noqa: S301 - the payload of this test has to work
    trace.unlink()
    path = write_values(tmp_path / "a.nc", plain=np.void(payload), TITLE=payload.decode("ascii"), CLASS="GROUP")
    with contextlib.suppress(CorruptFileError, AssemblyError):
        read_netcdf(path, DataAssembly)
    with h5py.File(path, "a") as file:
        file.create_dataset("note", data=np.array([payload.decode("ascii")] * 2, dtype=h5py.string_dtype()))
    with contextlib.suppress(CorruptFileError, AssemblyError):
        read_netcdf(path, DataAssembly)
    assert not trace.exists()


def test_library_does_not_unpickle():
    """No module that reads files imports `pickle` or passes `allow_pickle=True`."""
    folder = Path(s3.__file__).parent
    modules = [*folder.glob("*.py"), *folder.glob("_files/*.py"), *Path(s3_download.__file__).parent.glob("*.py")]
    assert len(modules) > 15
    for module in modules:
        text = module.read_text()
        assert "import pickle" not in text
        assert "allow_pickle=True" not in text
        assert "read_pickle" not in text


@pytest.mark.parametrize(
    "dtype", [h5py.vlen_dtype(np.int32), h5py.ref_dtype, np.dtype([("x", "i4"), ("y", "f8")]), np.dtype("V7")]
)
def test_object_arrays_do_no_harm(tmp_path, dtype):
    """Ragged arrays, references and records are read as plain values or rejected with one of the library's errors."""
    write_with_data(tmp_path / "a.nc", lambda file: file.create_dataset("data", shape=(2,), dtype=dtype))
    with contextlib.suppress(CorruptFileError, AssemblyError):
        read_netcdf(tmp_path / "a.nc", DataAssembly)


def _link(file, secret):
    file["data"] = h5py.ExternalLink(str(secret), "data")


def _raw(file, secret):
    file.create_dataset("data", shape=(2,), dtype="f8", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])


def _virtual(file, secret):
    layout = h5py.VirtualLayout(shape=(2,), dtype="f8")
    layout[:] = h5py.VirtualSource(str(secret), "data", shape=(2,))
    file.create_virtual_dataset("data", layout)


def load_from_mirror(path, monkeypatch):
    """Load a file as a plugin loads it from S3."""
    mirror = path.parent / "mirror" / "bucket"
    mirror.mkdir(parents=True)
    shutil.copyfile(path, mirror / "assy_X.nc")
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(mirror.parent))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    return s3.load_assembly_from_s3("X", None, sha1_of(path.read_bytes()), "bucket", DataAssembly)


@pytest.mark.parametrize("block", [0, 512])
def test_valid_file_is_loaded(tmp_path, monkeypatch, block):
    path = write_with_data(
        tmp_path / "a.nc", lambda file: file.create_dataset("data", data=[1.0, 2.0]), userblock_size=block
    )
    assert load_from_mirror(path, monkeypatch).values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("kind", [_link, _raw, _virtual])
@pytest.mark.parametrize("block", [0, 512, 4096])
def test_references_to_other_files_are_rejected(tmp_path, monkeypatch, kind, block):
    """HDF5 can refer to other files; any bytes may precede it, if their number is a power of two from 512 on."""
    secret = write_values(tmp_path / "secret.nc", values=(41.0, 42.0))
    if kind is _raw:
        secret.write_bytes(np.array([41.0, 42.0]).tobytes())
    path = write_with_data(tmp_path / "a.nc", lambda file: kind(file, secret), userblock_size=block)
    assert path.read_bytes().startswith(b"\x89HDF") is not bool(block)
    with pytest.raises(CorruptFileError, match=r"not safe:\n.*data'.*other file"):
        load_from_mirror(path, monkeypatch)


def test_rejects_coordinates_that_are_huge_together(tmp_path, monkeypatch):
    """A few kB whose coordinates claim to hold 8 GB."""
    with h5py.File(write_values(tmp_path / "a.nc"), "a") as file:
        for number in range(60):
            other = file.create_dataset(f"more_{number}", shape=(2**27,), dtype="i1", chunks=True)
            other.make_scale(f"more_{number}")
    with pytest.raises(CorruptFileError, match=r"all 62 together 8053063712\)"):
        load_from_mirror(tmp_path / "a.nc", monkeypatch)


def test_references_to_other_files_in_groups_are_rejected(tmp_path):
    secret = write_values(tmp_path / "secret.nc", values=(41.0, 42.0))
    with h5py.File(write_values(tmp_path / "a.nc"), "a") as file:
        file.create_group("one/two")["far"] = h5py.ExternalLink(str(secret), "data")
        file["one/two/back"] = file["one"]  # a circle
    with pytest.raises(CorruptFileError, match="/one/two: 'far' is a link to another file"):
        check_self_contained(tmp_path / "a.nc")


def test_rejects_a_file_that_claims_to_be_huge(tmp_path, monkeypatch):
    """A few kB that claim to hold 80 TB of zeros."""
    with h5py.File(tmp_path / "a.nc", "w") as file:
        data = file.create_dataset("data", shape=(10**13,), dtype="f8", chunks=(1024,), compression="gzip")
        scale = file.create_dataset("presentation", shape=(10**13,), dtype="i1", chunks=(1024,), compression="gzip")
        scale.make_scale("presentation")
        data.dims[0].attach_scale(scale)
    with pytest.raises(CorruptFileError, match="'/data' claims to hold 80000000000000 bytes"):
        load_from_mirror(tmp_path / "a.nc", monkeypatch)
