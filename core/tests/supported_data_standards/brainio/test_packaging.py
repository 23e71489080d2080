"""Packages contain exactly the given data, are byte-identical every time, and survive a round trip through S3."""

import ast
import copy
import errno
import functools
import hashlib
import itertools
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
import warnings
import zipfile
from pathlib import Path

import boto3
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from brainscore_core.errors import AssemblyError, ConfigurationError, StimulusError, UploadError
from brainscore_core.supported_data_standards.brainio import packaging
from brainscore_core.supported_data_standards.brainio.assemblies import (
    BehavioralAssembly,
    DataAssembly,
    MetadataAssembly,
    NeuroidAssembly,
)
from brainscore_core.supported_data_standards.brainio.fetch import get_local_data_path, unzip
from brainscore_core.supported_data_standards.brainio.packaging import (
    create_stimulus_csv,
    create_stimulus_zip,
    get_user_info,
    package_data_assembly,
    package_data_assembly_locally,
    package_stimulus_set,
    package_stimulus_set_locally,
    upload_to_s3,
)
from brainscore_core.supported_data_standards.brainio.s3 import (
    load_assembly_from_s3,
    load_stimulus_set_from_s3,
    sha1_hash,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import make_neuroid_assembly

BUCKET = "brainscore-test"
registration_code = functools.partial(packaging.registration_code, library="brainscore_vision")
IDS = ["img_001", "007", "img.three", "NA"]


@pytest.fixture
def stimuli(tmp_path):
    folder = tmp_path / "stimuli"
    folder.mkdir()
    rng = np.random.default_rng(0)
    paths = {}
    for number, stimulus_id in enumerate(IDS):
        path = folder / f"picture {number}.{'png' if number % 2 else 'jpg'}"
        Image.fromarray(rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)).save(path)
        paths[stimulus_id] = path
    columns = {"category": ["face", "car", 'says "hi", twice', None], "size": [0.1, 0.2, np.nan, 1e-300]}
    columns |= {"number": [1, 2, 3, 4], "animate": [True, False, True, False]}
    stimulus_set = StimulusSet({"stimulus_id": IDS, **columns})
    stimulus_set.stimulus_paths = paths
    stimulus_set.name = "MyExperiment2024.first"
    return stimulus_set


def make_neural(ids=IDS, **attrs):
    values = np.random.default_rng(1).random((len(ids) * 2, 3, 2))
    return NeuroidAssembly(
        values,
        coords={
            "stimulus_id": ("presentation", ids * 2),
            "repetition": ("presentation", [0] * len(ids) + [1] * len(ids)),
            "neuroid_id": ("neuroid", ["n1", "n2", "n3"]),
            "region": ("neuroid", ["V4", "IT", "IT"]),
            "time_bin_start": ("time_bin", [0, 70]),
            "time_bin_end": ("time_bin", [70, 170]),
        },
        dims=["presentation", "neuroid", "time_bin"],
        attrs=attrs,
    )


def make_images(folder, names):
    folder.mkdir()
    for number, name in enumerate(names):
        if name.endswith(".bin"):
            (folder / name).write_bytes(np.random.default_rng(number).bytes(200_000))
        else:
            Image.new("RGB", (8, 8), color=(number, 0, 0)).save(folder / name)
    return folder


# --- local packages ---------------------------------------------------------------------------------------------------


def test_stimulus_package_contains_table_and_archive(stimuli, tmp_path):
    package = package_stimulus_set_locally(
        proto_stimulus_set=stimuli, stimulus_set_identifier=stimuli.name, downloads_path=tmp_path / "out"
    )
    csv_path, zip_path = (tmp_path / "out" / f"stimulus_MyExperiment2024_first.{kind}" for kind in ("csv", "zip"))
    assert package == {
        "identifier": "MyExperiment2024.first",
        "csv_path": str(csv_path),
        "zip_path": str(zip_path),
        "csv_sha1": hashlib.sha1(csv_path.read_bytes(), usedforsecurity=False).hexdigest(),
        "zip_sha1": hashlib.sha1(zip_path.read_bytes(), usedforsecurity=False).hexdigest(),
        "csv_sha256": hashlib.sha256(csv_path.read_bytes()).hexdigest(),
        "zip_sha256": hashlib.sha256(zip_path.read_bytes()).hexdigest(),
    }
    assert csv_path.read_text(encoding="utf-8") == (
        '"stimulus_id","animate","category","number","size","filename"\n'
        '"img_001",True,"face",1,0.1,"img_001.jpg"\n'
        '"007",False,"car",2,0.2,"007.png"\n'
        '"img.three",True,"says ""hi"", twice",3,"","img.three.jpg"\n'
        '"NA",False,"",4,1e-300,"NA.png"\n'
    )
    with zipfile.ZipFile(zip_path) as archive:
        assert archive.namelist() == ["007.png", "NA.png", "img.three.jpg", "img_001.jpg"]
        for stimulus_id, path in stimuli.stimulus_paths.items():
            assert archive.read(f"{stimulus_id}{path.suffix}") == path.read_bytes()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [csv_path.name, zip_path.name]


def test_stimulus_package_is_byte_identical_every_time(stimuli, tmp_path):
    first = package_stimulus_set_locally(stimuli, "A", tmp_path / "first")
    for path in stimuli.stimulus_paths.values():  # other dates, permissions and object identities
        path.touch()
        path.chmod(0o600)
    reordered = StimulusSet(stimuli[list(reversed(stimuli.columns))].astype({"size": object, "number": "int32"}))
    second = package_stimulus_set_locally(reordered, "A", tmp_path / "second")
    assert (first["csv_sha1"], first["zip_sha1"]) == (second["csv_sha1"], second["zip_sha1"])


def test_names_within_the_archive_can_be_chosen(stimuli, tmp_path):
    stimuli["stimulus_path_within_store"] = ["one", "two.png", "sub/three", "four"]
    package = package_stimulus_set_locally(stimuli, "A", tmp_path / "out")
    with zipfile.ZipFile(package["zip_path"]) as archive:
        assert archive.namelist() == ["four.png", "one.jpg", "sub/three.jpg", "two.png"]
    table = pd.read_csv(package["csv_path"])
    assert table["filename"].tolist() == ["one.jpg", "two.png", "sub/three.jpg", "four.png"]
    assert "stimulus_path_within_store" not in table.columns


def test_older_id_column_is_accepted(stimuli, tmp_path):
    older = stimuli.rename(columns={"stimulus_id": "image_id"})
    package = package_stimulus_set_locally(older, "A", tmp_path / "out")
    assert Path(package["csv_path"]).read_text().startswith('"stimulus_id","animate","category","image_id"')
    assert "stimulus_id" not in older.columns


def break_ids(stimuli):
    ids = [1, "b", 3, "d"]
    stimuli["stimulus_id"] = pd.Series(ids, dtype=object)
    stimuli.stimulus_paths = dict(zip(ids, stimuli.stimulus_paths.values(), strict=True))


def break_everything(stimuli):
    stimuli["filename"] = "x"
    stimuli.loc[1, "stimulus_id"] = "img_001"
    Path(stimuli.stimulus_paths["img.three"]).unlink()
    Path(stimuli.stimulus_paths["NA"]).write_bytes(b"no image")


def name_within(*names):
    return lambda stimuli: stimuli.insert(0, "stimulus_path_within_store", names)


BROKEN = {
    "integers and texts": (break_ids, [r"contains int", r"astype\(str\)"]),
    "column filename": (
        lambda stimuli: stimuli.insert(0, "filename", "x"),
        [r"rename\(columns=\{'filename': 'stimulus_filename'\}\)"],
    ),
    "no paths": (lambda stimuli: delattr(stimuli, "stimulus_paths"), ["stimulus_paths is not set"]),
    "everything at once": (
        break_everything,
        ["'img_001' occurs 2 times", "'filename'", r"2\.jpg does not exist", r"picture 3\.png cannot be dec"],
    ),
    "same name in the archive": (name_within("a", "a", "b", "c"), ["'a' occurs 2 times"]),
    "path out of the archive": (name_within("../a", "/b", "c", "d"), [r"'\.\./a'", "'/b'"]),
}


def test_warning_names_one_picture_under_two_identifiers(stimuli, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        package_stimulus_set_locally(stimuli, "A", tmp_path / "apart")
    copied = stimuli.stimulus_paths["007"]
    stimuli.stimulus_paths["NA"].write_bytes(copied.read_bytes())
    said = r"'A', stimulus files: 2 stimuli share 1 file: '007' = 'NA'; .*training and in testing\."
    with pytest.warns(UserWarning, match=said) as found:
        package_stimulus_set_locally(stimuli, "A", tmp_path / "alike")
    assert [each.filename for each in found] == [__file__]


def test_integer_ids_become_text_with_a_warning(stimuli, tmp_path):
    paths = list(stimuli.stimulus_paths.values())
    texts, numbers = stimuli.copy(), stimuli.copy()
    for table, ids in ((texts, ["1", "2", "3", "4"]), (numbers, [1, 2, 3, 4])):
        table["stimulus_id"] = ids
        table.stimulus_paths = dict(zip(ids, paths, strict=True))
    with pytest.warns(UserWarning, match="1 into '1'"):
        packaged = package_stimulus_set_locally(numbers, "A", tmp_path / "numbers")
    expected = package_stimulus_set_locally(texts, "A", tmp_path / "texts")
    assert (packaged["csv_sha1"], packaged["zip_sha1"]) == (expected["csv_sha1"], expected["zip_sha1"])
    assert numbers["stimulus_id"].tolist() == [1, 2, 3, 4]  # the input is unchanged
    assert list(numbers.stimulus_paths) == [1, 2, 3, 4]

    assembly = BehavioralAssembly([0.5, 0.25], coords={"stimulus_id": ("presentation", [4, 1])}, dims=["presentation"])
    with pytest.warns(UserWarning, match="4 into '4'"):
        package = package_data_assembly_locally(
            assembly, "A", "A", "BehavioralAssembly", tmp_path / "numbers", stimulus_set=numbers
        )
    loaded = BehavioralAssembly.from_files(package["path"])
    assert loaded["stimulus_id"].values.tolist() == ["4", "1"]
    assert assembly["stimulus_id"].values.tolist() == [4, 1]


@pytest.mark.parametrize(("change", "problems"), BROKEN.values(), ids=BROKEN)
def test_rejects_broken_stimulus_sets(stimuli, tmp_path, change, problems):
    change(stimuli)
    for problem in problems:
        with pytest.raises(StimulusError, match=problem):
            package_stimulus_set_locally(stimuli, "A", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("identifier", ["", "a b", "../a", "a/b", 5])
def test_rejects_unusable_identifiers(stimuli, tmp_path, identifier):
    with pytest.raises(StimulusError, match="identifier"):
        package_stimulus_set_locally(stimuli, identifier, tmp_path / "out")
    with pytest.raises(AssemblyError, match="identifier"):
        package_data_assembly_locally(make_neural(), identifier, "A", downloads_path=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_archive_and_table_can_be_created_separately(stimuli, tmp_path):
    sha1, filenames = create_stimulus_zip(stimuli, str(tmp_path / "new" / "set.zip"))
    assert sha1 == sha1_hash(tmp_path / "new" / "set.zip")
    assert filenames == ["img_001.jpg", "007.png", "img.three.jpg", "NA.png"]
    assert create_stimulus_csv(stimuli, str(tmp_path / "set.csv")) == sha1_hash(tmp_path / "set.csv")
    stimuli["stimulus_path_within_store"] = ["a", "b", "a", "c"]
    with pytest.raises(StimulusError, match=r"a\.jpg"):
        create_stimulus_zip(stimuli, tmp_path / "set.zip")
    assert list(tmp_path.glob("*.zip")) == []


# --- assemblies -------------------------------------------------------------------------------------------------------


def test_assembly_package_contains_values_and_attrs(tmp_path):
    assembly = make_neural(experiment_date="2024-03-22", sampling_rate=280000)
    package = package_data_assembly_locally(
        proto_data_assembly=assembly,
        assembly_identifier="MyExperiment2024.first",
        stimulus_set_identifier="MyExperiment2024.first",
        assembly_class_name="NeuroidAssembly",
        downloads_path=tmp_path,
    )
    path = tmp_path / "assy_MyExperiment2024_first.nc"
    assert package == {
        "identifier": "MyExperiment2024.first",
        "path": str(path),
        "sha1": hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest(),
        "cls": "NeuroidAssembly",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    with xr.open_dataset(path, engine="h5netcdf") as stored:
        np.testing.assert_array_equal(stored["data"].values, assembly.values)
    loaded = NeuroidAssembly.from_files(path)
    assert loaded["region"].values.tolist() == ["V4", "IT", "IT"]
    assert loaded.attrs["sampling_rate"] == 280000


def test_extras_are_stored_as_groups(tmp_path):
    extra = MetadataAssembly([5.0, 6.0], coords={"session": ("event", ["s1", "s2"])}, dims=["event"])
    package = package_data_assembly_locally(
        make_neural(), "A", "A", downloads_path=tmp_path, extras={"sessions": extra}
    )
    with xr.open_dataset(package["path"], engine="h5netcdf", group="sessions") as stored:
        np.testing.assert_array_equal(stored["data"].values, [5.0, 6.0])
    assert package["sha1"] == sha1_hash(package["path"])
    np.testing.assert_array_equal(NeuroidAssembly.from_files(package["path"]).values, make_neural().values)
    with pytest.raises(AssemblyError, match="extra 'x' is a list"):
        package_data_assembly_locally(make_neural(), "A", "A", downloads_path=tmp_path, extras={"x": [1]})


def test_nan_values_must_be_declared(tmp_path):
    assembly = make_neural()
    assembly.values[2:5, 1, 0] = np.nan
    with pytest.raises(AssemblyError, match=r"3 of 48 values are NaN \(in 3 of 8 presentation, 1 of 3 neuroid, 1 of 2"):
        package_data_assembly_locally(assembly, "A", "A", downloads_path=tmp_path)
    package = package_data_assembly_locally(assembly, "A", "A", downloads_path=tmp_path, nans_expected=True)
    assert stored_attrs(package)["nans_expected"] == 1
    again = NeuroidAssembly.from_files(package["path"])
    np.testing.assert_array_equal(again.values, assembly.values)
    assert package_data_assembly_locally(again, "A", "A", downloads_path=tmp_path)["sha1"] == package["sha1"]


def test_stimuli_must_be_in_the_stimulus_set(s3_client, stimuli, tmp_path):
    assembly = make_neural(ids=["img_001", "007", "img_x", "img_y"])
    with pytest.raises(AssemblyError, match=r"2 of 4 stimulus_ids .* img_x, img_y"):
        package_data_assembly_locally(assembly, "A", "A", downloads_path=tmp_path, stimulus_set=stimuli)
    assembly.attrs["stimulus_set"] = stimuli
    with pytest.raises(AssemblyError, match="img_x, img_y"):
        package_data_assembly_locally(assembly, "A", "A", downloads_path=tmp_path)
    del assembly.attrs["stimulus_set"]
    package_stimulus_set_locally(stimuli, "A.b", tmp_path)
    with pytest.raises(AssemblyError, match="img_x, img_y"):  # packaged into the same folder
        package_data_assembly_locally(assembly, "A", "A.b", downloads_path=tmp_path)
    package_stimulus_set(None, stimuli, "A.b", BUCKET)
    with pytest.raises(AssemblyError, match="img_x, img_y"):  # uploaded from this machine
        package_data_assembly(None, assembly, "A", "A.b", bucket_name=BUCKET)
    assert list(tmp_path.glob("*.nc")) == []


def test_local_packages_can_be_loaded_before_upload(stimuli, tmp_path, registries, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    first = package_stimulus_set_locally(stimuli, downloads_path=tmp_path / "packages")
    second = package_data_assembly_locally(make_neural(stimulus_set=stimuli), downloads_path=tmp_path / "packages")
    shutil.rmtree(tmp_path / "packages")  # uploaded and removed, or moved
    run_registration(registration_code(first, second, bucket="somewhere"))
    loaded = registries.load_dataset("MyExperiment2024.first")
    np.testing.assert_array_equal(loaded.values, make_neural().values)
    assert loaded.stimulus_set["stimulus_id"].tolist() == IDS
    shutil.rmtree(get_local_data_path())
    get_local_data_path().write_text("no folder")  # the local copy cannot be stored, but packaging still works
    assert package_stimulus_set_locally(stimuli, downloads_path=tmp_path / "packages") == first


@pytest.mark.parametrize(
    ("assembly", "class_name", "problem"),
    [
        (DataAssembly(np.ones((2, 3)), dims=["presentation", "measurement"]), "NeuroidAssembly", "neuroid"),
        (DataAssembly(np.ones((2, 0)), dims=["presentation", "neuroid"]), "NeuroidAssembly", "no values"),
        (make_neural(ids=[1.0, 2.0, 3.0, 4.0]), "NeuroidAssembly", "stimulus_id"),
        (make_neural(ids=[1.0, 2.0, 3.0, 4.0]), "DataAssembly", r"str\(id\)"),
        (BehavioralAssembly([1.0], dims=["presentation"]), "BehavioralAssembly", "stimulus_id"),
        (make_neural(), "NeuroidAsembly", "Did you mean 'NeuroidAssembly'"),
    ],
)
def test_rejects_broken_assemblies(tmp_path, assembly, class_name, problem):
    with pytest.raises(AssemblyError, match=problem):
        package_data_assembly_locally(assembly, "A", "A", class_name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_failed_write_leaves_no_files(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packaging, "write_netcdf", fail)
    with pytest.raises(OSError, match="No space"):
        package_data_assembly_locally(make_neural(), "A", "A", downloads_path=tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- through S3 and back ----------------------------------------------------------------------------------------------


@pytest.fixture
def s3_client(new_bucket):
    return new_bucket(BUCKET, versioned=False)


def keys_of(s3_client):
    return {entry["Key"] for entry in s3_client.list_objects_v2(Bucket=BUCKET).get("Contents", [])}


@pytest.mark.parametrize(("folder", "versioned"), [("", False), ("/brainscore-vision/data", True)])
def test_data_survive_a_round_trip_through_s3(s3_client, stimuli, folder, versioned):
    if versioned:
        s3_client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    bucket = BUCKET + folder
    packaged = package_stimulus_set(None, stimuli, stimulus_set_identifier=stimuli.name, bucket_name=bucket)
    digests = {"csv_sha1", "zip_sha1", "csv_sha256", "zip_sha256"}
    assert set(packaged) == {"identifier", "bucket", "csv_version_id", "zip_version_id"} | digests
    assert (packaged["bucket"], bool(packaged["csv_version_id"])) == (bucket, versioned)
    assembly = make_neural()
    packaged_assembly = package_data_assembly(
        None, assembly, "MyExperiment2024.neural", stimuli.name, "NeuroidAssembly", bucket, stimulus_set=stimuli
    )
    assert set(packaged_assembly) == {"identifier", "version_id", "sha1", "sha256", "bucket", "cls"}
    keys = keys_of(s3_client)
    names = ("assy_{}_neural.nc", "stimulus_{}_first.csv", "stimulus_{}_first.zip")
    assert keys == {f"{folder}/".lstrip("/") + name.format("MyExperiment2024") for name in names}

    loaded = load_stimulus_set_from_s3(**packaged)
    assert loaded.identifier == "MyExperiment2024.first"
    assert loaded["stimulus_id"].tolist() == IDS
    assert loaded["category"].tolist()[:3] == stimuli["category"].tolist()[:3]
    assert loaded["category"].isna().tolist() == [False, False, False, True]
    np.testing.assert_array_equal(loaded["size"], stimuli["size"])
    assert loaded["animate"].tolist() == stimuli["animate"].tolist()
    for stimulus_id in IDS:
        assert loaded.get_stimulus(stimulus_id).read_bytes() == stimuli.get_stimulus(stimulus_id).read_bytes()

    del packaged_assembly["cls"]
    back = load_assembly_from_s3(
        **packaged_assembly, cls=NeuroidAssembly, stimulus_set_loader=lambda: load_stimulus_set_from_s3(**packaged)
    )
    assert type(back) is NeuroidAssembly
    np.testing.assert_array_equal(back.values, assembly.values)
    assert back.attrs["identifier"] == "MyExperiment2024.neural"
    assert back.attrs["stimulus_set_identifier"] == "MyExperiment2024.first"
    assert back.stimulus_set.identifier == "MyExperiment2024.first"
    assert back["stimulus_id"].values.tolist() == IDS * 2
    assert back["number"].values.tolist() == [1, 2, 3, 4] * 2
    assert set(back["stimulus_id"].values).issubset(set(back.stimulus_set["stimulus_id"].values))


def test_upload_is_tagged_with_the_uploader(s3_client, tmp_path):
    (tmp_path / "file.bin").write_bytes(b"x" * 1000)
    answer = upload_to_s3(tmp_path / "file.bin", BUCKET, "folder/file.bin")
    assert (answer["ContentLength"], "ETag" in answer) == (1000, True)
    tags = s3_client.get_object_tagging(Bucket=BUCKET, Key="folder/file.bin")["TagSet"]
    assert [tag["Key"] for tag in tags] == ["uploadedBy"]


@pytest.mark.parametrize(
    ("arn", "user"),
    [
        ("arn:aws:iam::123456789012:user/testuser", "testuser"),
        ("arn:aws:iam::123456789012:user/lab/testuser", "testuser"),
        ("arn:aws:sts::123456789012:assumed-role/lab/session", "session"),
        ("arn:aws:iam::123456789012:root", "root"),
    ],
)
def test_uploader_is_read_from_the_identity(s3_client, arn, user):
    from botocore.stub import Stubber

    client = boto3.client("sts", region_name="us-east-1")
    answer = {"Account": "123456789012", "Arn": arn, "UserId": "AIDA:x"}
    with Stubber(client) as stubber:
        stubber.add_response("get_caller_identity", answer)
        assert get_user_info(client) == ("123456789012", user)


def test_upload_function_can_be_replaced(s3_client, stimuli, monkeypatch):
    # Packaging scripts of the published system do this to upload into a folder of a bucket.
    def into_folder(path, bucket_name, key):
        return upload_to_s3(path, bucket_name, f"folder/{key}")

    monkeypatch.setattr(packaging, "upload_to_s3", into_folder)
    package_stimulus_set(None, stimuli, "A", BUCKET)
    package_data_assembly(None, make_neural(), "A", "A", "NeuroidAssembly", BUCKET)
    assert keys_of(s3_client) == {"folder/stimulus_A.csv", "folder/stimulus_A.zip", "folder/assy_A.nc"}


def test_upload_works_if_the_uploader_is_unknown(s3_client, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    (tmp_path / "file.bin").write_bytes(b"x")
    upload_to_s3(str(tmp_path / "file.bin"), BUCKET, "file.bin")
    assert s3_client.get_object(Bucket=BUCKET, Key="file.bin")["Body"].read() == b"x"


def test_error_of_an_upload_names_the_target_or_the_remedy(s3_client, tmp_path, monkeypatch):
    (tmp_path / "file.bin").write_bytes(b"x")
    with pytest.raises(UploadError, match=r"s3://no-such-bucket/file\.bin"):
        upload_to_s3(tmp_path / "file.bin", "no-such-bucket", "file.bin")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(ConfigurationError, match=r"aws configure.*package_stimulus_set_locally"):
        upload_to_s3(tmp_path / "file.bin", BUCKET, "file.bin")


def test_invalid_data_is_not_uploaded(s3_client, stimuli):
    stimuli["filename"] = "x"
    with pytest.raises(StimulusError):
        package_stimulus_set(None, stimuli, "A", BUCKET)
    assert keys_of(s3_client) == set()


# --- identifiers that are left out ------------------------------------------------------------------------------------


def test_identifiers_default_to_those_of_the_data(stimuli, tmp_path):
    assert package_stimulus_set_locally(stimuli, downloads_path=tmp_path)["identifier"] == "MyExperiment2024.first"
    linked = make_neural(stimulus_set=stimuli)
    package = package_data_assembly_locally(linked, downloads_path=tmp_path)
    assert package["identifier"] == "MyExperiment2024.first"
    assert stored_attrs(package)["stimulus_set_identifier"] == "MyExperiment2024.first"
    given = package_data_assembly_locally(make_neural(), stimulus_set=stimuli, downloads_path=tmp_path)
    assert given == package
    linked.name = "MyExperiment2024.IT"
    package = package_data_assembly_locally(linked, downloads_path=tmp_path)
    assert package["identifier"] == "MyExperiment2024.IT"
    linked.attrs["identifier"] = "MyExperiment2024.V4"  # as if it had been loaded
    assert package_data_assembly_locally(linked, downloads_path=tmp_path)["identifier"] == "MyExperiment2024.V4"
    assert package_data_assembly_locally(linked, "B2024", None, downloads_path=tmp_path)["identifier"] == "B2024"
    assert "stimulus_set_identifier" not in stored_attrs({"path": tmp_path / "assy_B2024.nc"})


def stored_attrs(package):
    with xr.open_dataset(package["path"], engine="h5netcdf") as stored:
        return {**stored.attrs, **stored["data"].attrs}


def test_error_without_an_identifier_names_the_attribute_to_set(stimuli, tmp_path):
    stimuli.identifier = None
    with pytest.raises(StimulusError, match=r"stimulus_set\.name = "):
        package_stimulus_set_locally(stimuli, downloads_path=tmp_path)
    with pytest.raises(
        AssemblyError, match=r"identifier is None(.|\n)*the stimulus set that was shown is not specified"
    ):
        package_data_assembly_locally(make_neural(), downloads_path=tmp_path)
    assert list(tmp_path.glob("*.nc")) == []


# --- the same bytes everywhere ----------------------------------------------------------------------------------------

PACKAGE_IN_ANY_ORDER = """
import json, random, sys
from pathlib import Path
import numpy as np
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.packaging import (
    package_data_assembly_locally, package_stimulus_set_locally)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

folder, target, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
shuffled = lambda mapping: dict(random.Random(seed).sample(sorted(mapping.items()), len(mapping)))
columns = {"stimulus_id": ["a", "b"], "object_name": ["x", "y"], "size": [0.1, 2e-9], "animate": [True, False]}
stimuli = StimulusSet(shuffled(columns))
stimuli.stimulus_paths = shuffled({"a": folder / "a.png", "b": folder / "b.png"})
first = package_stimulus_set_locally(stimuli, "A2024", target)
attrs = {"units": "Hz", "session": "s1", "rate": 3, "parts": ["V4", "IT"], "extra": {"k": {"x": 1, "y": 2}}}
assembly = NeuroidAssembly(
    np.random.default_rng(0).random((200, 30)),
    coords={"stimulus_id": ("presentation", ["a", "b"] * 100), "repetition": ("presentation", np.arange(200) // 2),
            "neuroid_id": ("neuroid", [f"n{i}" for i in range(30)]), "region": ("neuroid", ["V4"] * 15 + ["IT"] * 15)},
    dims=["presentation", "neuroid"], attrs=shuffled(attrs))
second = package_data_assembly_locally(assembly, "A2024", "A2024", downloads_path=target,
                                       extras=shuffled({"p": assembly[:3], "q": assembly[:2]}))
print(json.dumps([first["csv_sha1"], first["zip_sha1"], second["sha1"]]))
"""


@pytest.mark.slow
def test_packages_are_byte_identical_in_every_process(tmp_path, capsys, monkeypatch):
    folder = make_images(tmp_path / "stimuli", ["a.png", "b.png"])
    monkeypatch.setattr(sys, "argv", ["", folder, tmp_path / "here", 1])
    exec(PACKAGE_IN_ANY_ORDER, {})  # noqa: S102 - defined a few lines above
    command = [sys.executable, "-c", PACKAGE_IN_ANY_ORDER, str(folder), str(tmp_path / "there"), "2"]
    environment = {**os.environ, "PYTHONHASHSEED": "2", "TZ": "America/Lima"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == (digests := json.loads(capsys.readouterr().out))
    assert len(set(digests)) == 3


# --- nothing else changes ---------------------------------------------------------------------------------------------


def test_packaging_never_changes_its_input(stimuli, tmp_path):
    stimuli.attrs["origin"] = {"lab": ["a", "b"]}
    assembly = make_neural(
        stimulus_set=stimuli, units="Hz", sessions={"monkey": [1, 2]}, table=pd.DataFrame({"x": [1]})
    )
    assembly.values[0, 0, 0] = np.nan
    extra = MetadataAssembly([5.0], coords={"session": ("event", ["s1"])}, dims=["event"], attrs={"a": [1]})
    table, paths = pd.DataFrame(stimuli).copy(deep=True), dict(stimuli.stimulus_paths)
    side, values = copy.deepcopy(stimuli.attrs), assembly.values.copy()
    attrs = copy.deepcopy({key: value for key, value in assembly.attrs.items() if key != "stimulus_set"})
    coords = {name: coord.copy(deep=True) for name, coord in assembly.coords.items()}
    extra_before = extra.copy(deep=True)
    files = {path: path.read_bytes() for path in paths.values()}

    package_stimulus_set_locally(stimuli, "A2024", tmp_path / "out")
    package_data_assembly_locally(
        assembly, "A2024", "A2024", downloads_path=tmp_path / "out", extras={"e": extra}, nans_expected=True
    )
    with pytest.raises(AssemblyError):
        package_data_assembly_locally(assembly, "a b", downloads_path=tmp_path / "out")

    pd.testing.assert_frame_equal(pd.DataFrame(stimuli), table)
    assert (stimuli.stimulus_paths, stimuli.attrs, stimuli.identifier) == (paths, side, "MyExperiment2024.first")
    assert {path: path.read_bytes() for path in paths.values()} == files
    np.testing.assert_array_equal(assembly.values, values)
    assert assembly.attrs.pop("stimulus_set") is stimuli
    assert assembly.attrs.pop("table").equals(attrs.pop("table"))
    assert assembly.attrs == attrs
    assert list(assembly.attrs) == list(attrs)
    assert list(assembly.coords) == list(coords)
    assert all(assembly.coords[name].identical(coord) for name, coord in coords.items())
    assert extra.identical(extra_before)
    assert extra.attrs == {"a": [1]}


def test_videos_and_sounds_can_be_packaged(tmp_path):
    box = lambda kind, content: (len(content) + 8).to_bytes(4, "big") + kind + content  # noqa: E731 - one line says it
    contents = {
        "clip.mp4": box(b"ftyp", b"isom") + box(b"moov", b"x") + box(b"mdat", b"y" * 50),
        "sound.WAV": b"RIFF" + (12).to_bytes(4, "little") + b"WAVEfmt 1234",
        "other.webm": b"\x1a\x45\xdf\xa3" + b"z" * 30,
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    stimulus_set = StimulusSet({"stimulus_id": ["one", "two", "three"]})
    stimulus_set.stimulus_paths = dict(zip(["one", "two", "three"], map(tmp_path.joinpath, contents), strict=True))
    package = package_stimulus_set_locally(stimulus_set, "Videos2024", tmp_path / "out")
    loaded = StimulusSet.from_files(package["csv_path"], unzip(package["zip_path"]))
    assert [path.name for path in loaded.stimulus_paths.values()] == ["one.mp4", "two.WAV", "three.webm"]
    assert [path.read_bytes() for path in loaded.stimulus_paths.values()] == list(contents.values())
    (tmp_path / "clip.mp4").write_bytes(contents["clip.mp4"][:-1])
    with pytest.raises(StimulusError, match=r"'one': .*clip\.mp4 is truncated"):
        package_stimulus_set_locally(stimulus_set, "Videos2024", tmp_path / "out")


# --- faults -----------------------------------------------------------------------------------------------------------


def stimuli_of(folder):
    stimuli = StimulusSet({"stimulus_id": sorted(path.stem for path in folder.iterdir())})
    stimuli.stimulus_paths = {path.stem: path for path in folder.iterdir()}
    return stimuli


N_NEUROIDS = 2000  # few: packaging both takes a quarter of the longest time that a process gets


def package_forever(folder, target, ready):
    stimuli = stimuli_of(folder)
    ids = stimuli["stimulus_id"].tolist()
    coords = {"stimulus_id": ("presentation", ids), "neuroid_id": ("neuroid", [f"n{i}" for i in range(N_NEUROIDS)])}
    values = np.random.default_rng(0).random((len(ids), N_NEUROIDS))
    assembly = NeuroidAssembly(values, dims=["presentation", "neuroid"], coords=coords)
    ready.set()
    for number in itertools.count():
        package_stimulus_set_locally(stimuli.assign(number=number), "A2024", target)
        package_data_assembly_locally(assembly + number, "A2024", "A2024", downloads_path=target)


@pytest.mark.slow
def test_kill_leaves_no_half_written_file(tmp_path):
    """Kill the packaging process many times; every file under its final name is complete."""
    folder = make_images(tmp_path / "stimuli", [f"s{number}.bin" for number in range(6)])
    target = tmp_path / "out"
    rng, seen = np.random.default_rng(0), 0
    forked = multiprocessing.get_context("fork")  # a spawned process would import everything again, which takes seconds
    for _ in range(100):
        ready = forked.Event()
        process = forked.Process(target=package_forever, args=(folder, target, ready))
        process.start()
        assert ready.wait(timeout=60)
        time.sleep(rng.uniform(0, 0.15))
        process.kill()
        process.join()
        names = {path.name for path in target.glob("[!.]*")}
        assert names <= {"stimulus_A2024.csv", "stimulus_A2024.zip", "assy_A2024.nc"}
        seen += len(names)
        if "stimulus_A2024.zip" in names:
            with zipfile.ZipFile(target / "stimulus_A2024.zip") as archive:
                assert archive.testzip() is None
                assert len(archive.namelist()) == 6
        if "stimulus_A2024.csv" in names:
            assert pd.read_csv(target / "stimulus_A2024.csv")["filename"].tolist() == [f"s{n}.bin" for n in range(6)]
        if "assy_A2024.nc" in names:
            loaded = NeuroidAssembly.from_files(target / "assy_A2024.nc")
            assert np.isfinite(loaded.values).all()
            assert loaded.shape == (6, N_NEUROIDS)
        for path in target.glob("*"):
            if rng.random() < 0.5:
                path.unlink()  # so that trials start with and without earlier files
    assert seen


@pytest.fixture
def large_stimuli(tmp_path):
    return stimuli_of(make_images(tmp_path / "large", [f"{number}.bin" for number in range(6)]))


def test_full_disk_leaves_no_files(small_disk, large_stimuli):
    disk = small_disk("size=1m")
    problem = rf"'A2024' cannot be packaged to {disk}/new: .*Nothing was left.*downloads_path"
    with pytest.raises(OSError, match=problem) as found:
        package_stimulus_set_locally(large_stimuli, "A2024", disk / "new")
    assert found.value.errno == errno.ENOSPC
    assert list(disk.iterdir()) == []
    with pytest.raises(OSError, match=rf"'A2024' cannot be packaged to {disk}: No space left .*Nothing was left"):
        package_data_assembly_locally(make_neuroid_assembly(300, 1000), "A2024", "A2024", downloads_path=disk)
    assert list(disk.iterdir()) == []


def test_full_disk_leaves_the_earlier_package(small_disk, stimuli, large_stimuli):
    disk = small_disk("size=1m")
    before = package_stimulus_set_locally(stimuli, "A2024", disk)
    with pytest.raises(OSError, match="cannot be packaged"):
        package_stimulus_set_locally(large_stimuli, "A2024", disk)
    assert {path.name for path in disk.iterdir()} == {"stimulus_A2024.csv", "stimulus_A2024.zip"}
    assert (sha1_hash(before["csv_path"]), sha1_hash(before["zip_path"])) == (before["csv_sha1"], before["zip_sha1"])


def test_error_names_a_read_only_folder(small_disk, stimuli, tmp_path):
    disk = small_disk("size=1m,ro")
    with pytest.raises(OSError, match=rf"'A2024' cannot be packaged to {disk}: .*Read-only") as found:
        package_stimulus_set_locally(stimuli, "A2024", disk)
    assert found.value.errno == errno.EROFS
    with pytest.raises(OSError, match=rf"cannot be packaged to {disk}/new: .*Read-only"):
        package_data_assembly_locally(make_neural(), "A2024", "A2024", downloads_path=disk / "new")
    assert list(disk.iterdir()) == []


# --- registration -----------------------------------------------------------------------------------------------------


def run_registration(code):
    exec(code, {})  # noqa: S102 - the code under test


def test_registration_code_loads_the_data(s3_client, stimuli, tmp_path, registries):
    s3_client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    bucket = f"{BUCKET}/brainscore-vision/data/user_1"
    first = package_stimulus_set_locally(stimuli, downloads_path=tmp_path)
    second = package_data_assembly_locally(make_neural(stimulus_set=stimuli), downloads_path=tmp_path)
    paths = {"csv_version_id": first["csv_path"], "zip_version_id": first["zip_path"], "version_id": second["path"]}
    versions = {key: upload_to_s3(path, bucket, Path(path).name).get("VersionId") for key, path in paths.items()}
    shutil.rmtree(get_local_data_path())  # as on another machine
    code = registration_code(first, second, bucket=bucket, **versions)
    run_registration(code)
    loaded = registries.load_dataset("MyExperiment2024.first")
    assert type(loaded) is NeuroidAssembly
    np.testing.assert_array_equal(loaded.values, make_neural().values)
    assert loaded.identifier == loaded.stimulus_set.identifier == "MyExperiment2024.first"
    stimulus_set = registries.load_stimulus_set("MyExperiment2024.first")
    assert stimulus_set["stimulus_id"].tolist() == IDS
    assert "None" not in code


def test_registration_code_works_for_uploads(s3_client, stimuli, registries):
    first = package_stimulus_set(None, stimuli, "A2024", BUCKET)
    second = package_data_assembly(None, make_neural(), "A2024.IT", "A2024", "NeuroidAssembly", BUCKET)
    assert "None" in registration_code(first)  # the bucket has no versions
    run_registration(registration_code(first))
    run_registration(registration_code(assembly_package=second, stimulus_set_identifier="A2024"))
    assert registries.load_dataset("A2024.IT").stimulus_set.identifier == "A2024"


def test_registration_code_has_placeholders_and_rejects_gaps(stimuli, tmp_path):
    first = package_stimulus_set_locally(stimuli, "A2024", tmp_path)
    second = package_data_assembly_locally(make_neural(), "A2024", "A2024", downloads_path=tmp_path)
    code = registration_code(first, second)
    assert code.count('bucket="...",  # where the upload put it') == 2
    compile(code, "__init__.py", "exec")
    alone = registration_code(assembly_package=second, bucket="b", library="brainscore_language")
    assert "stimulus" not in alone
    assert "from brainscore_language import data_registry" in alone
    with pytest.raises(ConfigurationError, match="nothing to register"):
        registration_code()
    with pytest.raises(ConfigurationError, match=r"stimulus set lacks csv_sha1, zip_sha1"):
        registration_code(second)


def test_registration_code_includes_sha256_if_packages_have_it():
    stimuli = {"identifier": "A", "csv_sha1": "1", "zip_sha1": "2", "csv_sha256": "3", "zip_sha256": "4"}
    assembly = {"identifier": "A", "sha1": "5", "cls": "NeuroidAssembly"}
    code = registration_code(stimuli, {**assembly, "sha256": "6"}, library="brainscore_language")
    assert all(f'{name}="{value}",' in code for name, value in stimuli.items())
    assert '    sha256="6",' in code
    assert "sha256" not in registration_code(assembly_package=assembly, library="brainscore_language")


def test_registration_code_quotes_its_values(tmp_path):
    package = {"identifier": 'A"2024\\', "sha1": "x", "cls": "NeuroidAssembly"}
    tree = ast.parse(registration_code(assembly_package=package, bucket="b'\n"))
    constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert {'A"2024\\', "b'\n"} <= constants


# --- tables -----------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(TEXTS, st.floats(), st.integers(-(2**60), 2**60), st.booleans()), min_size=1, max_size=5)
)
def test_tables_survive_a_round_trip(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("table")
    (folder / "x.png").write_bytes(b"x")
    texts, floats, integers, booleans = (list(values) for values in zip(*rows, strict=True))
    table = pd.DataFrame({"stimulus_id": texts, "float": floats, "integer": integers, "boolean": booleans})
    table["filename"] = "x.png"
    sha1 = create_stimulus_csv(table, folder / "table.csv")
    assert create_stimulus_csv(table[table.columns[::-1]], folder / "other.csv") == sha1
    loaded = StimulusSet.from_files(folder / "table.csv", folder)
    assert loaded["stimulus_id"].tolist() == texts
    np.testing.assert_array_equal(loaded["float"].to_numpy(dtype=float), floats)
    assert loaded["integer"].tolist() == integers
    assert loaded["boolean"].tolist() == booleans


@pytest.mark.parametrize("bibtex", ["@article{a2024,\n  title={A {\\'e}tude}\n}", 'ends in a "quote"', 'has """ three'])
def test_registration_code_keeps_the_citation_unchanged(bibtex):
    package = {"identifier": "A2024", "sha1": "3c45", "cls": "PropertyAssembly"}
    code = registration_code(assembly_package=package, bucket="storage", bibtex=bibtex)
    assignments = [node for node in ast.parse(code).body if isinstance(node, ast.Assign)]
    (assigned,) = [node for node in assignments if isinstance(node.targets[0], ast.Name)]
    assert ast.literal_eval(assigned.value) == bibtex
