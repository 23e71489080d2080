"""Files arrive whole and verified or not at all; archives cannot write outside of their folder."""

import hashlib
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brainscore_core.errors import AssemblyError, ChecksumError, CorruptFileError, DownloadError
from brainscore_core.supported_data_standards.brainio import fetch as fetching
from brainscore_core.supported_data_standards.brainio.fetch import (
    S3Object,
    fetch,
    get_assembly,
    get_local_data_path,
    get_stimulus_set,
    resolve_assembly_class,
    split_bucket,
    unzip,
)

CONTENT = b"responses of neurons " * 100
SHA1 = hashlib.sha1(CONTENT, usedforsecurity=False).hexdigest()


class FaultyS3(ThreadingHTTPServer):
    """Answers like S3 for one object; ``faults`` are answers to the next downloads, ``requests`` what was asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), FaultyHandler)
        self.content, self.faults, self.requests = CONTENT, [], []
        self.refuses = lambda handler: None
        self.url = f"http://127.0.0.1:{self.server_port}"

    def downloads(self):
        return [path for method, path, _ in self.requests if method == "GET"]


class FaultyHandler(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.server.requests.append(("HEAD", self.path, self.headers.get("Authorization")))
        status = self.server.refuses(self)
        self.answer(status or 200, b"" if status else self.server.content, send_body=False)

    def do_GET(self):
        self.server.requests.append(("GET", self.path, self.headers.get("Authorization")))
        fault = self.server.faults.pop(0) if self.server.faults else None
        if fault is None:
            self.answer(200, self.server.content)
        elif fault == "cut":
            self.answer(200, self.server.content, cut=True)
        elif fault == "hang":
            self.answer(200, self.server.content, cut=True, hang_s=30)
        elif isinstance(fault, bytes):
            self.answer(200, fault)
        else:
            self.answer(fault, b"")

    def answer(self, status, body, *, send_body=True, cut=False, hang_s=0):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"x"')
        self.end_headers()
        if send_body:
            self.wfile.write(body[: len(body) // 2] if cut else body)
            self.wfile.flush()
        time.sleep(hang_s)
        if cut:
            self.connection.close()

    def log_message(self, *_):
        pass


@pytest.fixture
def no_credentials(monkeypatch, tmp_path):
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_ENDPOINT_URL_S3",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def credentials(no_credentials, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.fixture
def server(no_credentials, monkeypatch):
    with FaultyS3() as running:
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        yield running
        running.shutdown()


SOURCE = S3Object(bucket="bucket", key="folder/assy.nc", sha1=SHA1)
UNVERIFIED = S3Object(bucket="bucket", key="folder/assy.nc")


def visible(folder):
    return sorted(path.name for path in Path(folder).iterdir() if not path.name.endswith((".lock", ".json")))


# --- fetching ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [SOURCE, UNVERIFIED], ids=["verified", "unverified"])
def test_downloads_once(server, tmp_path, source):
    target = tmp_path / "deep" / "down" / "assy.nc"
    assert fetch(source, target) == target
    assert target.read_bytes() == CONTENT
    assert fetch(source, str(target)) == target
    assert server.downloads() == ["/bucket/folder/assy.nc"]
    assert visible(target.parent) == ["assy.nc"]


def test_digest_may_be_in_capitals(server, tmp_path):
    assert fetch(S3Object(bucket="b", key="k", sha1=SHA1.upper()), tmp_path / "k").read_bytes() == CONTENT


def test_asks_for_the_version(server, tmp_path):
    fetch(S3Object(bucket="b", key="k", version_id="v1", sha1=SHA1), tmp_path / "k")
    assert server.downloads() == ["/b/k?versionId=v1"]


@pytest.mark.parametrize("version_id", [None, ""])
def test_no_version_is_the_newest(server, tmp_path, version_id):
    fetch(S3Object(bucket="b", key="k", version_id=version_id), tmp_path / "k")
    assert server.downloads() == ["/b/k"]


@pytest.mark.parametrize("fault", [500, 503, "cut"])
def test_passing_faults_are_retried(server, tmp_path, fault):
    server.faults = [fault]
    assert fetch(SOURCE, tmp_path / "assy.nc").read_bytes() == CONTENT
    assert len(server.downloads()) == 2


@pytest.mark.parametrize("fault", [500, "cut"])
def test_lasting_faults_leave_nothing(server, tmp_path, monkeypatch, fault):
    monkeypatch.setattr(fetching, "_ATTEMPTS", 2)
    server.faults = [fault] * 50
    with pytest.raises(DownloadError, match=r"s3://bucket/folder/assy\.nc|bucket 'bucket', key 'folder/assy\.nc'"):
        fetch(SOURCE, tmp_path / "assy.nc")
    assert visible(tmp_path) == []
    server.faults = []
    assert fetch(SOURCE, tmp_path / "assy.nc").read_bytes() == CONTENT


def test_unreachable_server(no_credentials, monkeypatch, tmp_path):
    monkeypatch.setattr(fetching, "_ATTEMPTS", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(DownloadError, match="Check the connection"):
        fetch(SOURCE, tmp_path / "assy.nc")
    assert visible(tmp_path) == []


def test_wrong_content_is_refused_and_removed(server, tmp_path):
    server.content = b"something else"
    with pytest.raises(ChecksumError) as caught:
        fetch(SOURCE, tmp_path / "assy.nc")
    message = str(caught.value)
    for part in (
        "assy.nc",
        "s3://bucket/folder/assy.nc",
        SHA1,
        hashlib.sha1(server.content, usedforsecurity=False).hexdigest(),
        "removed",
    ):
        assert part in message
    assert visible(tmp_path) == []
    server.content = CONTENT
    assert fetch(SOURCE, tmp_path / "assy.nc").read_bytes() == CONTENT


def test_wrong_content_does_not_replace_a_good_copy(server, tmp_path):
    target = fetch(SOURCE, tmp_path / "assy.nc")
    server.content = b"something else"
    with pytest.raises(ChecksumError):
        fetch(S3Object(bucket="bucket", key="folder/assy.nc", sha1="0" * 40), target)
    assert target.read_bytes() == CONTENT


def test_damaged_copy_is_fetched_again(server, tmp_path):
    target = fetch(SOURCE, tmp_path / "assy.nc")
    target.write_bytes(CONTENT[:-1])
    assert fetch(SOURCE, target).read_bytes() == CONTENT
    assert len(server.downloads()) == 2


def test_changed_copy_of_the_same_size_is_noticed(server, tmp_path):
    target = fetch(SOURCE, tmp_path / "assy.nc")
    target.write_bytes(b"X" + CONTENT[1:])
    assert fetch(SOURCE, target).read_bytes() == CONTENT


def test_unchanged_copy_is_hashed_once(server, tmp_path, monkeypatch):
    target = tmp_path / "assy.nc"
    target.write_bytes(CONTENT)  # as from an older installation: nothing is known about it
    hashed = []
    monkeypatch.setattr(fetching, "file_digest", lambda path: hashed.append(path) or SHA1)
    for _ in range(3):
        fetch(SOURCE, target)
    assert hashed == [target]
    os.utime(target, ns=(1, 1))
    fetch(SOURCE, target)
    assert hashed == [target, target]
    assert server.requests == []


@pytest.mark.parametrize("note", ["", "{", "[]", '{"stamp": 1}', '{"stamp": [1, 2], "sha1": "' + SHA1 + '"}'])
def test_broken_note_is_not_believed(server, tmp_path, note):
    target = tmp_path / "assy.nc"
    target.write_bytes(b"garbage")
    (tmp_path / ".assy.nc.fetched.json").write_text(note)
    assert fetch(SOURCE, target).read_bytes() == CONTENT


def test_unwritable_note_does_not_hinder(server, tmp_path, monkeypatch):
    target = tmp_path / "assy.nc"
    target.write_bytes(CONTENT)

    def refuse(path):
        raise PermissionError(13, "read-only", str(path))

    monkeypatch.setattr(fetching, "atomic_path", refuse)
    assert fetch(SOURCE, target).read_bytes() == CONTENT


def test_other_version_is_fetched_when_there_is_no_digest(server, tmp_path):
    first, second = (S3Object(bucket="b", key="k", version_id=version) for version in ("1", "2"))
    target = fetch(first, tmp_path / "k")
    server.content = b"second"
    assert fetch(first, target).read_bytes() == CONTENT
    assert fetch(second, target).read_bytes() == b"second"
    assert fetch(S3Object(bucket="b", key="k"), target).read_bytes() == b"second"
    assert len(server.downloads()) == 2


def test_file_put_there_by_hand_is_trusted_without_digest(server, tmp_path):
    (tmp_path / "k").write_bytes(b"by hand")
    assert fetch(S3Object(bucket="b", key="k", version_id="1"), tmp_path / "k").read_bytes() == b"by hand"
    assert server.requests == []


def test_offline_uses_what_is_there(server, tmp_path, monkeypatch):
    target = fetch(SOURCE, tmp_path / "assy.nc")
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    asked = len(server.requests)
    assert fetch(SOURCE, target).read_bytes() == CONTENT
    with pytest.raises(DownloadError, match="BRAINSCORE_OFFLINE=1"):
        fetch(SOURCE, tmp_path / "other.nc")
    target.write_bytes(b"damaged")
    with pytest.raises(DownloadError, match="BRAINSCORE_OFFLINE=1"):
        fetch(SOURCE, target)
    assert len(server.requests) == asked
    assert target.read_bytes() == b"damaged"


def test_private_object_without_credentials(server, tmp_path):
    server.refuses = lambda handler: 403
    with pytest.raises(DownloadError) as caught:
        fetch(SOURCE, tmp_path / "assy.nc")
    message = str(caught.value)
    for part in ("'bucket'", "'folder/assy.nc'", "private", "no AWS credentials", "aws configure"):
        assert part in message
    assert [authorization for *_, authorization in server.requests] == [None]


def test_private_object_with_other_peoples_credentials(server, credentials, tmp_path):
    server.refuses = lambda handler: 403
    with pytest.raises(DownloadError, match="credentials found here do not give access"):
        fetch(SOURCE, tmp_path / "assy.nc")


@pytest.mark.parametrize("status", [400, 403])
def test_public_object_with_expired_credentials(server, credentials, tmp_path, status):
    server.refuses = lambda handler: status if handler.headers.get("Authorization") else None
    assert fetch(SOURCE, tmp_path / "assy.nc").read_bytes() == CONTENT
    assert "somebody" in server.requests[0][2]
    assert [authorization for method, _, authorization in server.requests if method == "GET"] == [None]


def test_private_object_with_credentials(server, credentials, tmp_path):
    server.refuses = lambda handler: None if handler.headers.get("Authorization") else 403
    assert fetch(SOURCE, tmp_path / "assy.nc").read_bytes() == CONTENT
    assert "somebody" in server.requests[0][2]


def test_absent_object(server, tmp_path):
    server.refuses = lambda handler: 404
    with pytest.raises(DownloadError, match=r"no such file or version.*version_id"):
        fetch(S3Object(bucket="bucket", key="assy.nc", version_id="v"), tmp_path / "assy.nc")


def test_unknown_profile_is_explained(server, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(DownloadError, match="nobody"):
        fetch(SOURCE, tmp_path / "assy.nc")


def test_progress_is_shown_for_large_files_only(server, tmp_path, monkeypatch, capsys):
    fetch(SOURCE, tmp_path / "small.nc")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(fetching, "_ALWAYS_SHOW_PROGRESS_BYTES", 10)
    fetch(SOURCE, tmp_path / "large.nc")
    assert "bucket/folder/assy.nc: 100%" in capsys.readouterr().err


FETCH_IN_OTHER_PROCESS = textwrap.dedent("""
    import sys
    from brainscore_core.supported_data_standards.brainio.fetch import S3Object, fetch
    print(fetch(S3Object(bucket="bucket", key="k", sha1=sys.argv[1] or None), sys.argv[2]).stat().st_size)
""")


def start(sha1, target):
    command = [sys.executable, "-c", FETCH_IN_OTHER_PROCESS, sha1, str(target)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_ten_processes_download_once(server, tmp_path):
    processes = [start(SHA1, tmp_path / "assy.nc") for _ in range(10)]
    sizes = [process.communicate()[0].strip() for process in processes]
    assert sizes == [str(len(CONTENT))] * 10
    assert len(server.downloads()) == 1
    assert visible(tmp_path) == ["assy.nc"]


def test_killed_download_cannot_be_mistaken_for_a_file(server, tmp_path):
    server.faults = ["hang"]
    process = start("", tmp_path / "weights.pth")
    deadline = time.monotonic() + 30
    while not server.downloads() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (tmp_path / "weights.pth").exists()
    assert fetch(S3Object(bucket="bucket", key="k"), tmp_path / "weights.pth").read_bytes() == CONTENT


# --- archives ---------------------------------------------------------------------------------------------------------


FILES = {"a.png": b"first", "b.png": b"second" * 1000, "sub/c.png": b"third", "empty.png": b""}


def make_zip(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, content)
    return path


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def test_unzip(tmp_path):
    folder = unzip(make_zip(tmp_path / "stimulus_Made.2024.zip", FILES))
    assert folder == tmp_path / "stimulus_Made.2024"
    assert contents(folder) == FILES


def test_unzip_takes_a_string_and_folder_entries(tmp_path):
    path = make_zip(tmp_path / "set.zip", [("sub/", b""), ("sub/c.png", b"third")])
    assert contents(unzip(str(path))) == {"sub/c.png": b"third"}


def test_unzip_of_an_empty_archive(tmp_path):
    assert contents(unzip(make_zip(tmp_path / "set.zip", {}))) == {}
    assert (tmp_path / "set").is_dir()


def test_unzip_again_writes_nothing(tmp_path):
    folder = unzip(make_zip(tmp_path / "set.zip", FILES))
    before = (folder / "a.png").stat()
    assert unzip(tmp_path / "set.zip") == folder
    after = (folder / "a.png").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_half_extracted_folder_is_completed(tmp_path):
    path = make_zip(tmp_path / "set.zip", FILES)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "b.png").write_bytes(FILES["b.png"][:100])
    (tmp_path / "set" / "notes.txt").write_bytes(b"of the user")
    assert contents(unzip(path)) == {**FILES, "notes.txt": b"of the user"}


def test_killed_extraction_cannot_be_mistaken_for_a_folder(tmp_path):
    path = make_zip(tmp_path / "set.zip", FILES)
    script = textwrap.dedent("""
        import os, shutil, sys
        from brainscore_core.supported_data_standards.brainio import fetch
        shutil.copyfileobj = lambda *_: os._exit(9)
        fetch.unzip(sys.argv[1])
    """)
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == 9
    assert not (tmp_path / "set").exists()
    assert contents(unzip(path)) == FILES


def test_several_processes_unzip_the_same(tmp_path):
    path = make_zip(tmp_path / "set.zip", {f"{number}.png": os.urandom(1000) for number in range(200)})
    script = "import sys; from brainscore_core.supported_data_standards.brainio.fetch import unzip; unzip(sys.argv[1])"
    processes = [subprocess.Popen([sys.executable, "-c", script, str(path)]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    with zipfile.ZipFile(path) as archive:
        assert contents(tmp_path / "set") == {name: archive.read(name) for name in archive.namelist()}


def special(name, mode):
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info


HOSTILE = {
    "parent": ([("../evil.png", b"x")], "leaves its folder"),
    "parent inside": ([("a/../../evil.png", b"x")], "leaves its folder"),
    "absolute": ([("/tmp/evil.png", b"x")], "relative path"),  # noqa: S108 -- must not be written
    "drive": ([("C:/evil.png", b"x")], "relative path"),
    "backslash": ([("..\\evil.png", b"x")], "relative path"),
    "empty part": ([("a//b.png", b"x")], "not a plain path"),
    "dot": ([("./a.png", b"x")], "not a plain path"),
    "link": ([(special("a.png", stat.S_IFLNK | 0o777), b"/etc/passwd")], "link or a device"),
    "device": ([(special("a.png", stat.S_IFCHR | 0o666), b"")], "link or a device"),
    "pipe": ([(special("a.png", stat.S_IFIFO | 0o666), b"")], "link or a device"),
    "file and folder": ([("a", b"x"), ("a/b.png", b"x")], "a file and a folder"),
}


@pytest.mark.parametrize(("members", "problem"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_archives_are_refused(tmp_path, members, problem):
    (tmp_path / "in").mkdir()
    path = make_zip(tmp_path / "in" / "set.zip", [("ok.png", b"y"), *members])
    with pytest.raises(CorruptFileError, match=problem):
        unzip(path)
    assert [entry.name for entry in (tmp_path / "in").iterdir()] == ["set.zip"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["in"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_same_name_twice_is_refused(tmp_path):
    path = make_zip(tmp_path / "set.zip", [("a.png", b"first"), ("a.png", b"other")])
    with pytest.raises(CorruptFileError, match=r"'a\.png' is there twice"):
        unzip(path)


def test_all_problems_are_listed_up_to_ten(tmp_path):
    path = make_zip(tmp_path / "set.zip", [(f"../{number}", b"x") for number in range(13)])
    with pytest.raises(CorruptFileError, match=r"(?s)'\.\./0'.*'\.\./9'.*and 3 more"):
        unzip(path)


def test_other_compressions_and_encryption_are_refused(tmp_path):
    with pytest.raises(CorruptFileError, match="deflate"):
        unzip(make_zip(tmp_path / "bz2.zip", FILES, zipfile.ZIP_BZIP2))
    path = make_zip(tmp_path / "set.zip", {"a.png": b"x"}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[6] |= 1  # flag in the header of the member
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match="encrypted"):
        unzip(path)


def test_too_large_archives_are_refused(tmp_path, monkeypatch):
    path = make_zip(tmp_path / "set.zip", {"a.png": b"0" * 10_000_000})
    with pytest.raises(CorruptFileError, match="most_bytes"):
        unzip(path, most_bytes=9_999_999)
    monkeypatch.setattr(fetching, "_RATIO_FROM_BYTES", 1_000_000)
    with pytest.raises(CorruptFileError, match="most_ratio"):
        unzip(path)
    assert not (tmp_path / "set").exists()
    assert unzip(path, most_ratio=2000).is_dir()


def test_link_within_the_target_folder_is_not_followed(tmp_path):
    path = make_zip(tmp_path / "set.zip", FILES)
    (tmp_path / "outside").mkdir()
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "sub").symlink_to(tmp_path / "outside")
    with pytest.raises(CorruptFileError, match="outside"):
        unzip(path)
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04"], ids=["empty", "text", "header only"])
def test_what_is_no_archive(tmp_path, content):
    (tmp_path / "set.zip").write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"set\.zip cannot be unpacked"):
        unzip(tmp_path / "set.zip")


def test_archive_without_suffix(tmp_path):
    with pytest.raises(CorruptFileError, match="suffix"):
        unzip(make_zip(tmp_path / "set", FILES))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4), cut=st.booleans()
)
def test_damaged_archives_give_one_error_and_no_folder(tmp_path_factory, changes, cut):
    folder = tmp_path_factory.mktemp("damaged")
    path = make_zip(folder / "set.zip", {"a.png": b"first" * 50, "sub/c.png": b"third"})
    damaged = bytearray(path.read_bytes())
    for position, byte in changes:
        damaged[position % len(damaged)] = byte
    path.write_bytes(damaged[: changes[0][0] % len(damaged)] if cut else damaged)
    try:
        unzip(path)
    except CorruptFileError:
        assert not (folder / "set").exists()
    assert {entry.name for entry in folder.iterdir()} <= {"set.zip", "set", "set.lock"}


# --- names ------------------------------------------------------------------------------------------------------------


def test_local_data_path(monkeypatch, tmp_path):
    monkeypatch.setenv("BRAINIO_HOME", str(tmp_path / "home"))
    assert get_local_data_path() == tmp_path / "home"
    monkeypatch.setattr(fetching, "_local_data_path", str(tmp_path / "patched"))
    assert get_local_data_path() == tmp_path / "patched"


@pytest.mark.parametrize(
    ("bucket", "expected"),
    [
        ("bucket", ("bucket", "f.nc")),
        ("bucket/folder/sub", ("bucket", "folder/sub/f.nc")),
        ("bucket/folder/", ("bucket", "folder/f.nc")),
    ],
)
def test_split_bucket(bucket, expected):
    assert split_bucket(bucket, "f.nc") == expected


@pytest.mark.parametrize(
    "name",
    [
        "BehavioralAssembly",
        "DataAssembly",
        "MetadataAssembly",
        "NeuroidAssembly",
        "NeuronRecordingAssembly",
        "PropertyAssembly",
        "SpikeTimesAssembly",
    ],
)
def test_resolve_assembly_class(name):
    assert resolve_assembly_class(name).__name__ == name


@pytest.mark.parametrize("name", ["NeuroidAsembly", "xr", "check_assembly", ""])
def test_only_assembly_classes_are_resolved(name):
    with pytest.raises(AssemblyError, match="There are: BehavioralAssembly"):
        resolve_assembly_class(name)


def test_near_names_are_suggested():
    with pytest.raises(ValueError, match="Did you mean 'NeuroidAssembly'"):
        resolve_assembly_class("NeuroidAsembly")


@pytest.mark.parametrize("function", [get_assembly, get_stimulus_set])
def test_there_is_no_catalogue(function):
    with pytest.raises(NotImplementedError, match=r"load_.*'Made2024'"):
        function("Made2024")
