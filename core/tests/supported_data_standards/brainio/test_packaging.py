"""Packages hold exactly what was given, are the same bytes every time, and come back through S3 as they were."""

import contextlib
import hashlib
import zipfile
from pathlib import Path

import boto3
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto.server import ThreadedMotoServer
from PIL import Image

from brainscore_core.errors import AssemblyError, ConfigurationError, StimulusError, UploadError
from brainscore_core.supported_data_standards.brainio import packaging
from brainscore_core.supported_data_standards.brainio.assemblies import (
    BehavioralAssembly,
    DataAssembly,
    MetadataAssembly,
    NeuroidAssembly,
    PropertyAssembly,
)
from brainscore_core.supported_data_standards.brainio.fetch import unzip
from brainscore_core.supported_data_standards.brainio.packaging import (
    create_stimulus_csv,
    create_stimulus_zip,
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

BUCKET = "brainscore-test"
IDS = ["img_001", "007", "img.three", "NA"]


@pytest.fixture
def stimuli(tmp_path):
    return make_stimuli(tmp_path / "stimuli")


def make_stimuli(folder, ids=IDS):
    folder.mkdir()
    rng = np.random.default_rng(0)
    paths = {}
    for number, stimulus_id in enumerate(ids):
        path = folder / f"picture {number}.{'png' if number % 2 else 'jpg'}"
        Image.fromarray(rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)).save(path)
        paths[stimulus_id] = path
    stimulus_set = StimulusSet(
        {
            "stimulus_id": ids,
            "category": ["face", "car", 'says "hi", twice', None],
            "size": [0.1, 0.2, np.nan, 1e-300],
            "number": [1, 2, 3, 4],
            "animate": [True, False, True, False],
        }
    )
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


# --- local packages ---------------------------------------------------------------------------------------------------


def test_stimulus_package(stimuli, tmp_path):
    before = stimuli.copy()
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
    pd.testing.assert_frame_equal(pd.DataFrame(stimuli), pd.DataFrame(before))
    assert stimuli.stimulus_paths is before.stimulus_paths


def test_stimulus_package_is_the_same_bytes_every_time(stimuli, tmp_path):
    first = package_stimulus_set_locally(stimuli, "A", tmp_path / "first")
    for path in stimuli.stimulus_paths.values():  # other dates, rights and object identities
        path.touch()
        path.chmod(0o600)
    reordered = StimulusSet(stimuli[list(reversed(stimuli.columns))].astype({"size": object, "number": "int32"}))
    second = package_stimulus_set_locally(reordered, "A", tmp_path / "second")
    assert (first["csv_sha1"], first["zip_sha1"]) == (second["csv_sha1"], second["zip_sha1"])


def test_stimulus_package_changes_with_its_content(stimuli, tmp_path):
    first = package_stimulus_set_locally(stimuli, "A", tmp_path / "first")
    renamed = stimuli.assign(category="x")
    second = package_stimulus_set_locally(renamed, "A", tmp_path / "second")
    assert first["csv_sha1"] != second["csv_sha1"]
    assert first["zip_sha1"] == second["zip_sha1"]
    Image.new("RGB", (8, 8)).save(stimuli.get_stimulus("007"))
    assert package_stimulus_set_locally(stimuli, "A", tmp_path / "third")["zip_sha1"] != first["zip_sha1"]


def test_default_folder(stimuli, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    package = package_stimulus_set_locally(stimuli, "A")
    folder = tmp_path / "home" / "Downloads" / "brainscore_packages"
    assert package["csv_path"] == str(folder / "stimulus_A.csv")
    assert package_data_assembly_locally(make_neural(), "A", "A")["path"] == str(folder / "assy_A.nc")


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
    stimuli["stimulus_id"] = [1, 2, 3, 4]
    stimuli.stimulus_paths = dict(zip([1, 2, 3, 4], stimuli.stimulus_paths.values(), strict=True))


def break_everything(stimuli):
    stimuli["filename"] = "x"
    stimuli.loc[1, "stimulus_id"] = "img_001"
    Path(stimuli.stimulus_paths["img.three"]).unlink()
    Path(stimuli.stimulus_paths["NA"]).write_bytes(b"no image")


def set_column(name, values):
    def change(stimuli):
        stimuli[name] = values

    return change


def unset_paths(stimuli):
    del stimuli.stimulus_paths


BROKEN = {
    "integers": (break_ids, [r"holds int", r"astype\(str\)"]),
    "column filename": (set_column("filename", "x"), [r"rename\(columns=\{'filename': 'stimulus_filename'\}\)"]),
    "no paths": (unset_paths, ["stimulus_paths is not set"]),
    "everything at once": (
        break_everything,
        [
            r"'img_001' is there 2 times",
            "'filename'",
            r"picture 2\.jpg does not exist",
            r"picture 3\.png cannot be dec",
        ],
    ),
    "same name within the archive": (
        set_column("stimulus_path_within_store", ["a", "a", "b", "c"]),
        ["'a' is there 2 times"],
    ),
    "path out of the archive": (
        set_column("stimulus_path_within_store", ["../a", "/b", "c", "d"]),
        [r"'\.\./a'", "'/b'"],
    ),
}


@pytest.mark.parametrize(("change", "problems"), BROKEN.values(), ids=BROKEN)
def test_broken_stimulus_sets_are_refused(stimuli, tmp_path, change, problems):
    change(stimuli)
    for problem in problems:
        with pytest.raises(StimulusError, match=problem):
            package_stimulus_set_locally(stimuli, "A", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("identifier", [None, "", "a b", "../a", "a/b", 5])
def test_unusable_identifiers_are_refused(stimuli, tmp_path, identifier):
    with pytest.raises(StimulusError, match="identifier"):
        package_stimulus_set_locally(stimuli, identifier, tmp_path / "out")
    with pytest.raises(AssemblyError, match="identifier"):
        package_data_assembly_locally(make_neural(), identifier, "A", downloads_path=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_two_stimuli_of_one_name_are_refused(stimuli, tmp_path):
    stimuli["stimulus_path_within_store"] = ["a", "b", "a", "c"]
    with pytest.raises(StimulusError, match=r"a\.jpg"):
        create_stimulus_zip(stimuli, tmp_path / "set.zip")
    assert list(tmp_path.glob("*.zip")) == []


def test_parts_by_themselves(stimuli, tmp_path):
    sha1, filenames = create_stimulus_zip(stimuli, str(tmp_path / "new" / "set.zip"))
    assert sha1 == sha1_hash(tmp_path / "new" / "set.zip")
    assert filenames == ["img_001.jpg", "007.png", "img.three.jpg", "NA.png"]
    assert create_stimulus_csv(stimuli, str(tmp_path / "set.csv")) == sha1_hash(tmp_path / "set.csv")


# --- assemblies -------------------------------------------------------------------------------------------------------


def test_assembly_package(tmp_path):
    assembly = make_neural(experiment_date="2024-03-22", sampling_rate=280000)
    before = assembly.copy(deep=True)
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
    }
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert assembly.identical(before)
    with xr.open_dataset(path, engine="h5netcdf") as stored:
        np.testing.assert_array_equal(stored["data"].values, assembly.values)
    loaded = NeuroidAssembly.from_files(path)
    assert loaded["region"].values.tolist() == ["V4", "IT", "IT"]
    assert loaded.attrs["sampling_rate"] == 280000


def test_assembly_package_is_the_same_bytes_every_time(tmp_path):
    sha1s = {package_data_assembly_locally(make_neural(), "A", "A", downloads_path=tmp_path / n)["sha1"] for n in "12"}
    assert len(sha1s) == 1


def test_assembly_without_stimuli(tmp_path):
    assembly = PropertyAssembly(
        [[1.0, 2.0]], coords={"neuroid_id": ("neuroid", ["a"])}, dims=["neuroid", "neuronal_property"]
    )
    package = package_data_assembly_locally(assembly, "A", None, "PropertyAssembly", tmp_path)
    with xr.open_dataset(package["path"], engine="h5netcdf") as stored:
        assert "stimulus_set_identifier" not in {**stored.attrs, **stored["data"].attrs}


def test_stimulus_set_identifier_is_stored(tmp_path):
    package = package_data_assembly_locally(make_neural(), "A", "S2024", downloads_path=tmp_path)
    with xr.open_dataset(package["path"], engine="h5netcdf") as stored:
        assert "S2024" in {**stored.attrs, **stored["data"].attrs}.values()


def test_extras_are_groups(tmp_path):
    extra = MetadataAssembly([5.0, 6.0], coords={"session": ("event", ["s1", "s2"])}, dims=["event"])
    package = package_data_assembly_locally(
        make_neural(), "A", "A", downloads_path=tmp_path, extras={"sessions": extra}
    )
    with xr.open_dataset(package["path"], engine="h5netcdf", group="sessions") as stored:
        np.testing.assert_array_equal(stored["data"].values, [5.0, 6.0])
    assert package["sha1"] == sha1_hash(package["path"])
    np.testing.assert_array_equal(NeuroidAssembly.from_files(package["path"]).values, make_neural().values)


def test_nans_have_to_be_declared(tmp_path):
    assembly = make_neural()
    assembly.values[2:5, 1, 0] = np.nan
    with pytest.raises(AssemblyError, match=r"3 of 48 values are NaN \(in 3 of 8 presentation, 1 of 3 neuroid, 1 of 2"):
        package_data_assembly_locally(assembly, "A", "A", downloads_path=tmp_path)
    package = package_data_assembly_locally(assembly, "A", "A", downloads_path=tmp_path, nans_expected=True)
    np.testing.assert_array_equal(NeuroidAssembly.from_files(package["path"]).values, assembly.values)


def test_stimuli_have_to_be_in_the_stimulus_set(stimuli, tmp_path):
    assembly = make_neural(ids=["img_001", "007", "img_x", "img_y"])
    with pytest.raises(AssemblyError, match=r"2 of 4 stimulus_ids .* img_x, img_y"):
        package_data_assembly_locally(assembly, "A", "A", downloads_path=tmp_path, stimulus_set=stimuli)
    assembly.attrs["stimulus_set"] = stimuli
    with pytest.raises(AssemblyError, match="img_x, img_y"):
        package_data_assembly_locally(assembly, "A", "A", downloads_path=tmp_path)
    assert list(tmp_path.glob("*.nc")) == []


@pytest.mark.parametrize(
    ("assembly", "class_name", "problem"),
    [
        (DataAssembly(np.ones((2, 3)), dims=["presentation", "measurement"]), "NeuroidAssembly", "neuroid"),
        (DataAssembly(np.ones((2, 0)), dims=["presentation", "neuroid"]), "NeuroidAssembly", "no values"),
        (make_neural(ids=[1, 2, 3, 4]), "NeuroidAssembly", "stimulus_id"),
        (make_neural(ids=[1, 2, 3, 4]), "DataAssembly", r"str\(id\)"),
        (BehavioralAssembly([1.0], dims=["presentation"]), "BehavioralAssembly", "stimulus_id"),
        (make_neural(), "NeuroidAsembly", "Did you mean 'NeuroidAssembly'"),
    ],
)
def test_broken_assemblies_are_refused(tmp_path, assembly, class_name, problem):
    with pytest.raises(AssemblyError, match=problem):
        package_data_assembly_locally(assembly, "A", "A", class_name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_extras_have_to_be_arrays(tmp_path):
    with pytest.raises(AssemblyError, match="extra 'x' is a list"):
        package_data_assembly_locally(make_neural(), "A", "A", downloads_path=tmp_path, extras={"x": [1]})


def test_failed_writing_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packaging, "write_netcdf", fail)
    with pytest.raises(OSError, match="No space"):
        package_data_assembly_locally(make_neural(), "A", "A", downloads_path=tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- through S3 and back ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moto_url():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with contextlib.redirect_stderr(None):
        server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_client(moto_url, monkeypatch, tmp_path):
    for name, value in {
        "AWS_ENDPOINT_URL": moto_url,
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "no-config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "no-credentials"),
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket=BUCKET)
    yield client
    for kind in ("Versions", "DeleteMarkers"):
        for entry in client.list_object_versions(Bucket=BUCKET).get(kind, []):
            client.delete_object(Bucket=BUCKET, Key=entry["Key"], VersionId=entry["VersionId"])
    client.delete_bucket(Bucket=BUCKET)


@pytest.mark.parametrize("folder", ["", "/brainscore-vision/data"])
@pytest.mark.parametrize("versioned", [False, True])
def test_round_trip(s3_client, stimuli, folder, versioned):
    if versioned:
        s3_client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    bucket = BUCKET + folder
    packaged = package_stimulus_set(None, stimuli, stimulus_set_identifier=stimuli.name, bucket_name=bucket)
    assert set(packaged) == {"identifier", "bucket", "csv_sha1", "zip_sha1", "csv_version_id", "zip_version_id"}
    assert (packaged["bucket"], bool(packaged["csv_version_id"])) == (bucket, versioned)
    assembly = make_neural()
    packaged_assembly = package_data_assembly(
        None, assembly, "MyExperiment2024.neural", stimuli.name, "NeuroidAssembly", bucket, stimulus_set=stimuli
    )
    assert set(packaged_assembly) == {"identifier", "version_id", "sha1", "bucket", "cls"}
    keys = {entry["Key"] for entry in s3_client.list_objects_v2(Bucket=BUCKET)["Contents"]}
    prefix = f"{folder}/".lstrip("/")
    names = (
        "assy_MyExperiment2024_neural.nc",
        "stimulus_MyExperiment2024_first.csv",
        "stimulus_MyExperiment2024_first.zip",
    )
    assert keys == {prefix + name for name in names}

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


def test_new_version_is_uploaded_and_the_old_one_still_loads(s3_client, stimuli):
    s3_client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    first = package_stimulus_set(None, stimuli, "A", BUCKET)
    second = package_stimulus_set(None, stimuli.assign(category="new"), "A", BUCKET)
    assert first["csv_version_id"] != second["csv_version_id"]
    assert load_stimulus_set_from_s3(**second)["category"].tolist() == ["new"] * 4
    assert load_stimulus_set_from_s3(**first)["category"].tolist()[0] == "face"


def test_upload_names_the_uploader(s3_client, tmp_path):
    (tmp_path / "file.bin").write_bytes(b"x" * 1000)
    answer = upload_to_s3(tmp_path / "file.bin", BUCKET, "folder/file.bin")
    assert (answer["ContentLength"], "ETag" in answer) == (1000, True)
    tags = s3_client.get_object_tagging(Bucket=BUCKET, Key="folder/file.bin")["TagSet"]
    assert [tag["Key"] for tag in tags] == ["uploadedBy"]


def test_upload_without_knowing_the_uploader(s3_client, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    (tmp_path / "file.bin").write_bytes(b"x")
    upload_to_s3(str(tmp_path / "file.bin"), BUCKET, "file.bin")
    assert s3_client.get_object(Bucket=BUCKET, Key="file.bin")["Body"].read() == b"x"


def test_upload_to_a_bucket_that_is_not_there(s3_client, tmp_path):
    (tmp_path / "file.bin").write_bytes(b"x")
    with pytest.raises(UploadError, match=r"s3://no-such-bucket/file\.bin"):
        upload_to_s3(tmp_path / "file.bin", "no-such-bucket", "file.bin")


def test_upload_without_credentials(s3_client, tmp_path, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    (tmp_path / "file.bin").write_bytes(b"x")
    with pytest.raises(ConfigurationError, match=r"aws configure.*package_stimulus_set_locally"):
        upload_to_s3(tmp_path / "file.bin", BUCKET, "file.bin")


def test_invalid_data_is_not_uploaded(s3_client, stimuli):
    stimuli["filename"] = "x"
    with pytest.raises(StimulusError):
        package_stimulus_set(None, stimuli, "A", BUCKET)
    assert s3_client.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 0


# --- the tutorials, with small data -----------------------------------------------------------------------------------


def make_images(folder, names):
    folder.mkdir()
    for number, name in enumerate(names):
        Image.new("RGB", (8, 8), color=(number, 0, 0)).save(folder / name)
    return folder


def test_tutorial_data_packaging(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    stimuli_dir = make_images(tmp_path / "stimuli", ["face_happy.jpg", "face_sad.jpg", "car.jpg", "house.jpg"])
    stimuli_data = [
        {"stimulus_id": "img_000", "category": "face", "emotion": "happy"},
        {"stimulus_id": "img_001", "category": "face", "emotion": "sad"},
        {"stimulus_id": "img_002", "category": "object", "subcategory": "car"},
        {"stimulus_id": "img_003", "category": "object", "subcategory": "house"},
    ]
    stimulus_set = StimulusSet(stimuli_data)
    stimulus_set.stimulus_paths = {
        "img_000": str(stimuli_dir / "face_happy.jpg"),
        "img_001": str(stimuli_dir / "face_sad.jpg"),
        "img_002": str(stimuli_dir / "car.jpg"),
        "img_003": str(stimuli_dir / "house.jpg"),
    }
    stimulus_set.name = "MyExperiment2024"
    packaged = package_stimulus_set_locally(proto_stimulus_set=stimulus_set, stimulus_set_identifier=stimulus_set.name)
    assert list(packaged) == ["identifier", "csv_path", "zip_path", "csv_sha1", "zip_sha1"]
    assert packaged["csv_path"].endswith("/Downloads/brainscore_packages/stimulus_MyExperiment2024.csv")
    assert packaged["zip_path"].endswith("/Downloads/brainscore_packages/stimulus_MyExperiment2024.zip")

    assembly = NeuroidAssembly(
        np.random.default_rng(0).random((12, 10, 10)),
        coords={
            "stimulus_id": ("presentation", [f"img_{i % 4:03d}" for i in range(12)]),
            "repetition": ("presentation", [i % 3 for i in range(12)]),
            "neuroid_id": ("neuroid", [f"neuron_{i:03d}" for i in range(10)]),
            "region": ("neuroid", ["V4"] * 5 + ["IT"] * 5),
            "animal": ("neuroid", ["monkey_A"] * 10),
            "time_bin_start": ("time_bin", list(range(0, 100, 10))),
            "time_bin_end": ("time_bin", list(range(10, 110, 10))),
        },
        dims=["presentation", "neuroid", "time_bin"],
    )
    assembly.attrs["experiment_date"] = "2024-03-22"
    assembly.attrs["sampling_rate"] = 280000  # Hz
    packaged = packaging.package_data_assembly_locally(
        proto_data_assembly=assembly,
        assembly_identifier=stimulus_set.name,
        stimulus_set_identifier=stimulus_set.name,
        assembly_class_name="NeuroidAssembly",
    )
    assert list(packaged) == ["identifier", "path", "sha1", "cls"]
    assert packaged["path"].endswith("/Downloads/brainscore_packages/assy_MyExperiment2024.nc")

    # the checklist
    assert stimulus_set["stimulus_id"].nunique() == len(stimulus_set)
    assert all(Path(path).exists() for path in stimulus_set.stimulus_paths.values())
    assert set(assembly["stimulus_id"].values) <= set(stimulus_set["stimulus_id"])


def test_tutorial_stimulus_set_from_a_csv_file(tmp_path):
    stimuli_directory = make_images(tmp_path / "stimuli", ["1.png", "2.png"])
    (tmp_path / "stimuli.csv").write_text("stimulus_id,filename,category\n1,1.png,face\n2,2.png,car\n")
    df = pd.read_csv(tmp_path / "stimuli.csv")
    df["stimulus_id"] = df["stimulus_id"].astype(str)
    if "filename" in df.columns:
        df = df.rename(columns={"filename": "image_filename"})
    stimulus_set = StimulusSet(df)
    stimulus_set.name = "MyExperiment2024"
    filename_col = "image_filename" if "image_filename" in stimulus_set.columns else "filename"
    stimulus_set.stimulus_paths = {
        str(row["stimulus_id"]): Path(stimuli_directory) / row[filename_col] for _, row in stimulus_set.iterrows()
    }
    packaged = package_stimulus_set_locally(stimulus_set, stimulus_set.name, tmp_path / "out")
    loaded = StimulusSet.from_files(packaged["csv_path"], unzip(packaged["zip_path"]))
    assert loaded["stimulus_id"].tolist() == ["1", "2"]  # texts, as they were packaged


@pytest.mark.parametrize(
    "assembly",
    [
        BehavioralAssembly(
            np.array([1, 0, 1]),
            coords={
                "stimulus_id": ("presentation", ["img_000", "img_001", "img_002"]),
                "subject": ("presentation", ["subj_01"] * 3),
                "response_time": ("presentation", [0.5, 0.7, 0.4]),
                "correct": ("presentation", [1, 0, 1]),
            },
            dims=["presentation"],
        ),
        BehavioralAssembly(
            np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]]),
            coords={
                "stimulus_id": ("presentation", ["img_000", "img_001"]),
                "choice": ("choice", ["A", "B", "C"]),
            },
            dims=["presentation", "choice"],
        ),
        BehavioralAssembly(
            ["dog", "dog", "cat"],
            coords={
                "stimulus_id": ("presentation", ["image1", "image2", "image3"]),
                "sample_object": ("presentation", ["dog", "cat", "cat"]),
                "distractor_object": ("presentation", ["cat", "dog", "dog"]),
            },
            dims=["presentation"],
        ),
    ],
    ids=["binary", "probabilities", "words"],
)
def test_tutorial_behavioral_assemblies(tmp_path, assembly):
    package = package_data_assembly_locally(assembly, "A2024", "A2024", "BehavioralAssembly", tmp_path)
    loaded = BehavioralAssembly.from_files(package["path"])
    np.testing.assert_array_equal(loaded.values, assembly.values)
    for name in assembly.coords:
        np.testing.assert_array_equal(loaded[name].values, assembly[name].values)


def test_tutorial_upload(s3_client, tmp_path):
    stimuli_directory = make_images(tmp_path / "stimuli", ["dog_1.png", "cat_1.png", "cat_2.png"])
    stimuli = []
    stimulus_paths = {}
    for filepath in Path(stimuli_directory).glob("*.png"):
        stimulus_id = filepath.stem
        object_name = filepath.stem.split("_")[0]
        stimulus_paths[stimulus_id] = filepath
        stimuli.append({"stimulus_id": stimulus_id, "object_name": object_name})
    stimuli = StimulusSet(stimuli)
    stimuli.stimulus_paths = stimulus_paths
    stimuli.name = "AuthorYear"
    packaged_stimulus_metadata = package_stimulus_set(
        catalog_name=None, proto_stimulus_set=stimuli, stimulus_set_identifier=stimuli.name, bucket_name=BUCKET
    )
    assembly = BehavioralAssembly(
        ["dog", "dog", "cat"],
        coords={
            "stimulus_id": ("presentation", ["dog_1", "cat_1", "cat_2"]),
            "sample_object": ("presentation", ["dog", "cat", "cat"]),
        },
        dims=["presentation"],
    )
    assembly.name = "authoryear"
    packaged_assembly_metadata = package_data_assembly(
        proto_data_assembly=assembly,
        assembly_identifier=assembly.name,
        stimulus_set_identifier=stimuli.name,
        assembly_class_name="BehavioralAssembly",
        bucket_name=BUCKET,
        catalog_identifier=None,
    )
    assert packaged_assembly_metadata["cls"] == "BehavioralAssembly"
    loaded = load_assembly_from_s3(
        identifier="authoryear",
        version_id=packaged_assembly_metadata["version_id"],
        sha1=packaged_assembly_metadata["sha1"],
        bucket=BUCKET,
        cls=BehavioralAssembly,
        stimulus_set_loader=lambda: load_stimulus_set_from_s3(
            filename_prefix="stimulus_", **packaged_stimulus_metadata
        ),
    )
    np.testing.assert_array_equal(loaded.dims, ["presentation"])
    assert loaded["object_name"].values.tolist() == ["dog", "cat", "cat"]
    assert len(loaded.stimulus_set) == 3


# --- tables -----------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(TEXTS, st.floats(allow_nan=True, allow_infinity=True), st.integers(-(2**60), 2**60), st.booleans()),
        min_size=1,
        max_size=5,
    )
)
def test_tables_come_back_as_they_were(tmp_path_factory, rows):
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
