"""References to artefacts load files, stimulus sets and assemblies, with real boto3 traffic to a local server."""

import hashlib
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from brainscore_core.errors import (
    ChecksumError,
    ConfigurationError,
    CorruptFileError,
    MissingStimulusError,
    StimulusError,
)
from brainscore_core.supported_data_standards.brainio import fetch as fetching
from brainscore_core.supported_data_standards.brainio import s3
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_core.supported_data_standards.brainio.netcdf import write_netcdf
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

BUCKET = "brainscore-storage"


@pytest.fixture
def storage(new_bucket):
    return new_bucket(BUCKET)


def put(client, key, content):
    """Store bytes; return their version and SHA-1, which a registration would name."""
    version_id = client.put_object(Bucket=BUCKET, Key=key, Body=content)["VersionId"]
    return version_id, hashlib.sha1(content, usedforsecurity=False).hexdigest()


# --- files ------------------------------------------------------------------------------------------------------------


def test_load_file_takes_the_folder_from_argument_or_setting(storage, own_homes, monkeypatch):
    put(storage, "brainscore-vision/models/w.pth", b"named")
    put(storage, "variable/w.pth", b"from the variable")
    named = s3.load_file(bucket=BUCKET, folder_name="brainscore-vision/models", relative_path="w.pth", version_id="")
    assert named == own_homes / "brain-score" / "brainscore-vision" / "models" / "w.pth"
    assert named.read_bytes() == b"named"
    monkeypatch.setenv("BRAINSCORE_S3_WEIGHT_FOLDER", "variable")
    assert s3.load_file(bucket=BUCKET, relative_path="w.pth", version_id=None).read_bytes() == b"from the variable"


def test_load_file_keeps_versions_apart(storage):
    first, _ = put(storage, "models/w.pth", b"first")
    second, _ = put(storage, "models/w.pth", b"second")
    load = {version: s3.load_file(BUCKET, "w.pth", version).read_bytes() for version in (first, second)}
    assert load == {first: b"first", second: b"second"}
    assert s3.load_file(BUCKET, "w.pth", first).read_bytes() == b"first"


def test_null_version_is_the_one_from_before_versioning(storage, new_bucket):
    storage.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Suspended"})
    storage.put_object(Bucket=BUCKET, Key="models/w.pth", Body=b"unversioned")
    storage.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    storage.put_object(Bucket=BUCKET, Key="models/w.pth", Body=b"newest")
    assert s3.load_file(BUCKET, "w.pth", "null").read_bytes() == b"unversioned"
    new_bucket("plain-bucket", versioned=False)
    storage.put_object(Bucket="plain-bucket", Key="models/plain.pth", Body=b"only one")
    assert s3.load_file("plain-bucket", "plain.pth", "null").read_bytes() == b"only one"


def test_load_weight_file_verifies_the_digest(storage, own_homes):
    version_id, sha1 = put(storage, "models/w.pth", b"weights")
    with pytest.raises(ChecksumError):
        s3.load_weight_file(bucket=BUCKET, relative_path="w.pth", version_id=version_id, sha1="0" * 40)
    assert not (own_homes / "brain-score" / "models" / "w.pth").exists()
    path = s3.load_weight_file(bucket=BUCKET, relative_path="w.pth", version_id=version_id, sha1=sha1)
    assert path.read_bytes() == b"weights"
    assert s3.load_weight_file(bucket=BUCKET, relative_path="w.pth", version_id=version_id, sha1=None) == path


def test_load_folder_fetches_every_file(storage, tmp_path):
    first_version, first_sha1 = put(storage, "folder/sub/a.bin", b"a")
    put(storage, "folder/sub/b.bin", b"b")
    files = [("a.bin", first_version, first_sha1), ("b.bin", None, None)]
    s3.load_folder_from_s3(BUCKET, "folder/sub", files, tmp_path / "new")
    assert {path.name: path.read_bytes() for path in (tmp_path / "new").glob("?.bin")} == {"a.bin": b"a", "b.bin": b"b"}


def test_download_file_if_not_exists_keeps_an_existing_file(storage, tmp_path):
    put(storage, "tests/features.nc", b"features")
    s3.download_file_if_not_exists(tmp_path / "features.nc", bucket=BUCKET, remote_filepath="tests/features.nc")
    assert (tmp_path / "features.nc").read_bytes() == b"features"
    (tmp_path / "mine.nc").write_bytes(b"mine")
    s3.download_file_if_not_exists(str(tmp_path / "mine.nc"), bucket=BUCKET, remote_filepath="tests/features.nc")
    assert (tmp_path / "mine.nc").read_bytes() == b"mine"


# --- stimulus sets ----------------------------------------------------------------------------------------------------


def put_stimulus_set(client, tmp_path, *, csv_text, members, prefix="stimulus_", folder=""):
    path = tmp_path / "upload.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    csv_version_id, csv_sha1 = put(client, f"{folder}{prefix}lab_Made2024.csv", csv_text.encode())
    zip_version_id, zip_sha1 = put(client, f"{folder}{prefix}lab_Made2024.zip", path.read_bytes())
    return {
        "identifier": "lab.Made2024",
        "csv_sha1": csv_sha1,
        "zip_sha1": zip_sha1,
        "csv_version_id": csv_version_id,
        "zip_version_id": zip_version_id,
    }


CSV = "stimulus_id,filename,object_name\nb,b.png,car\na,a.png,face\n"
MEMBERS = {"a.png": b"A", "b.png": b"B"}


@pytest.mark.parametrize(
    ("folder", "prefix"), [("", None), ("brainscore-vision/data/", "stimulus_"), ("brainscore-vision/data/", "image_")]
)
def test_load_stimulus_set_finds_folder_and_prefix(storage, tmp_path, own_homes, folder, prefix):
    reference = put_stimulus_set(
        storage, tmp_path, csv_text=CSV, members=MEMBERS, prefix=prefix or "stimulus_", folder=folder
    )
    stimuli = s3.load_stimulus_set_from_s3(bucket=f"{BUCKET}/{folder}".rstrip("/"), filename_prefix=prefix, **reference)
    assert type(stimuli) is StimulusSet
    assert stimuli.identifier == "lab.Made2024"
    assert stimuli["object_name"].tolist() == ["car", "face"]
    assert {key: path.read_bytes() for key, path in stimuli.stimulus_paths.items()} == {"a": b"A", "b": b"B"}
    assert all(path.is_relative_to(own_homes / "brainio") for path in stimuli.stimulus_paths.values())


def test_archive_may_contain_folders(storage, tmp_path):
    text = "stimulus_id,filename\na,cars/a.png\nb,cars/b.png\n"
    reference = put_stimulus_set(storage, tmp_path, csv_text=text, members={"cars/a.png": b"A", "cars/b.png": b"B"})
    assert s3.load_stimulus_set_from_s3(bucket=BUCKET, **reference).get_stimulus("b").read_bytes() == b"B"


def test_table_and_archive_must_agree(storage, tmp_path):
    reference = put_stimulus_set(storage, tmp_path, csv_text=CSV, members={**MEMBERS, "c.png": b"C"})
    with pytest.raises(StimulusError, match=r"1 file .* does not list \(c\.png\)"):
        s3.load_stimulus_set_from_s3(bucket=BUCKET, **reference)
    reference = put_stimulus_set(storage, tmp_path, csv_text=CSV, members={"a.png": b"A"})
    with pytest.raises(MissingStimulusError, match=r"1 of 2 stimulus files .*\n.*'b': .*b\.png"):
        s3.load_stimulus_set_from_s3(bucket=BUCKET, **reference)


def test_hostile_archive_is_not_unpacked(storage, tmp_path):
    reference = put_stimulus_set(storage, tmp_path, csv_text=CSV, members={**MEMBERS, "../../evil.png": b"x"})
    with pytest.raises(CorruptFileError, match="evil"):
        s3.load_stimulus_set_from_s3(bucket=BUCKET, **reference)
    assert list(Path(fetching.get_local_data_path()).rglob("evil.png")) == []


@pytest.mark.parametrize("wrong", ["csv_sha1", "zip_sha1", "csv_sha256", "zip_sha256"])
def test_rejects_a_file_with_another_digest(storage, tmp_path, wrong):
    """The SHA-256 is checked too, because files with equal SHA-1 can be constructed."""
    reference = put_stimulus_set(storage, tmp_path, csv_text=CSV, members=MEMBERS)
    assert len(s3.load_stimulus_set_from_s3(bucket=BUCKET, **reference)) == 2
    kind, _, algorithm = wrong.partition("_")
    with pytest.raises(ChecksumError, match=rf"stimulus_lab_Made2024\.{kind}.*expected {algorithm} 0000"):
        s3.load_stimulus_set_from_s3(bucket=BUCKET, **reference | {wrong: "0" * (40 if algorithm == "sha1" else 64)})


@pytest.mark.parametrize("sha256", ["0" * 40, "0" * 63, "g" * 64])
def test_rejects_malformed_digests(sha256):
    with pytest.raises(ConfigurationError, match="is not a SHA-256 digest; expected 64"):
        s3.locate("A2024", "nc", "bucket", None, "0" * 40, sha256=sha256)
    with pytest.raises(ConfigurationError, match="is not a SHA-1 digest"):  # the digest names a folder
        s3.get_path("X", "csv", BUCKET, None, "../../outside")


def test_stimulus_set_loads_from_a_mirror_without_network(storage, tmp_path, own_homes, monkeypatch):
    reference = put_stimulus_set(storage, tmp_path, csv_text=CSV, members=MEMBERS, folder="vision/data/")
    folder = tmp_path / "mirror" / BUCKET / "vision" / "data"
    folder.mkdir(parents=True)
    for ending in ("csv", "zip"):
        key = f"vision/data/stimulus_lab_Made2024.{ending}"
        (folder / f"stimulus_lab_Made2024.{ending}").write_bytes(
            storage.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        )
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    stimuli = s3.load_stimulus_set_from_s3(bucket=f"{BUCKET}/vision/data", **reference)
    assert stimuli.get_stimulus("a").read_bytes() == b"A"
    assert stimuli.get_stimulus("a").is_relative_to(own_homes / "brainio")


# --- assemblies -------------------------------------------------------------------------------------------------------


def put_assembly(client, tmp_path, assembly, folder=""):
    write_netcdf(assembly, tmp_path / "upload.nc")
    version_id, sha1 = put(client, f"{folder}assy_lab_Made2024_choices.nc", (tmp_path / "upload.nc").read_bytes())
    return {"identifier": "lab.Made2024.choices", "version_id": version_id, "sha1": sha1}


def make_stimuli():
    stimuli = StimulusSet({"stimulus_id": ["a", "b", "unused"], "object_name": ["face", "car", "dog"]})
    stimuli.identifier = "lab.Made2024"
    return stimuli


def make_choices(ids=("b", "a", "b")):
    coords = {"stimulus_id": ("presentation", list(ids)), "subject": ("presentation", ["s1", "s1", "s2"])}
    return BehavioralAssembly(["car", "face", "dog"], coords=coords, dims=["presentation"])


def test_load_assembly_merges_the_stimulus_set(storage, tmp_path):
    reference = put_assembly(storage, tmp_path, make_choices(), folder="data/")
    assembly = s3.load_assembly_from_s3(
        **reference, bucket=f"{BUCKET}/data", cls=BehavioralAssembly, stimulus_set_loader=make_stimuli
    )
    assert type(assembly) is BehavioralAssembly
    assert assembly.values.tolist() == ["car", "face", "dog"]
    assert assembly["object_name"].values.tolist() == ["car", "face", "car"]
    assert assembly["stimulus_id"].values.tolist() == ["b", "a", "b"]
    assert assembly.identifier == "lab.Made2024.choices"
    assert assembly.stimulus_set_identifier == "lab.Made2024"
    assert assembly.stimulus_set.identifier == "lab.Made2024"
    assert assembly.sel(object_name="car").values.tolist() == ["car", "dog"]


def test_load_assembly_can_skip_merging_the_stimulus_set(storage, tmp_path):
    reference = put_assembly(storage, tmp_path, make_choices()) | {"bucket": BUCKET, "cls": BehavioralAssembly}
    assembly = s3.load_assembly_from_s3(**reference, stimulus_set_loader=make_stimuli, merge_stimulus_set_meta=False)
    assert type(assembly) is BehavioralAssembly
    assert assembly.stimulus_set.identifier == assembly.stimulus_set_identifier == "lab.Made2024"
    assert "object_name" not in assembly.coords
    assembly = s3.load_assembly_from_s3(**reference)
    assert assembly.identifier == "lab.Made2024.choices"
    assert not hasattr(assembly, "stimulus_set")


@pytest.mark.parametrize("by", ["argument", "setting"])
def test_values_can_stay_on_disk(storage, tmp_path, own_homes, monkeypatch, by):
    reference = put_assembly(
        storage,
        tmp_path,
        BehavioralAssembly([0.5, 0.25], coords={"stimulus_id": ("presentation", ["a", "b"])}, dims=["presentation"]),
    )
    monkeypatch.setenv("BRAINSCORE_MEMORY_MAP", "1" if by == "setting" else "0")
    assembly = s3.load_assembly_from_s3(
        **reference,
        bucket=BUCKET,
        cls=BehavioralAssembly,
        stimulus_set_loader=make_stimuli,
        memory_map=True if by == "argument" else None,
    )
    assert assembly.values.tolist() == [0.5, 0.25]
    assert assembly["object_name"].values.tolist() == ["face", "car"]
    base = assembly.values
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert base is not None
    assert (own_homes / "brain-score" / "cache" / "memory_maps" / f"{reference['sha1']}.npy").is_file()


def test_truncated_assembly_is_fetched_again(storage, tmp_path, own_homes):
    reference = put_assembly(storage, tmp_path, make_choices())
    s3.load_assembly_from_s3(**reference, bucket=BUCKET, cls=BehavioralAssembly)
    (cached,) = (own_homes / "brainio").rglob("assy_*.nc")
    os.truncate(cached, cached.stat().st_size - 1)
    storage.put_object(Bucket=BUCKET, Key="assy_lab_Made2024_choices.nc", Body=b"replaced")
    loaded = s3.load_assembly_from_s3(**reference, bucket=BUCKET, cls=BehavioralAssembly)
    np.testing.assert_array_equal(loaded.values, make_choices().values)
