"""Files arrive complete and verified or not at all, whatever the server does."""

import hashlib
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from brainscore_core.errors import AssemblyError, ChecksumError, DownloadError, PrivateDataError, UnknownIdentifierError
from brainscore_core.identity import digest
from brainscore_core.supported_data_standards.brainio import fetch as fetching
from brainscore_core.supported_data_standards.brainio.access import naming_public_variant, public_variant
from brainscore_core.supported_data_standards.brainio.fetch import (
    S3Object,
    fetch,
    fetch_all,
    get_assembly,
    get_local_data_path,
    get_stimulus_set,
    place_in_data_home,
    resolve_assembly_class,
    sizes_of,
    split_bucket,
)
from brainscore_core.transfer import fetch as engine
from brainscore_core.transfer import s3_download

CONTENT = b"responses of neurons " * 100
SHA1 = hashlib.sha1(CONTENT, usedforsecurity=False).hexdigest()


@pytest.fixture
def credentials(no_credentials, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


SOURCE = S3Object(bucket="bucket", key="folder/assy.nc", sha1=SHA1)


def visible_files(folder):
    hidden = (".lock", ".json", ".part", ".part.list")
    return sorted(path.name for path in Path(folder).iterdir() if not path.name.endswith(hidden))


def test_file_is_never_placed_under_a_wrong_digest(own_homes, tmp_path):
    (tmp_path / "assy_a.nc").write_bytes(CONTENT)
    placed = place_in_data_home(tmp_path / "assy_a.nc", SHA1)
    assert placed.read_bytes() == CONTENT
    placed.unlink()
    placed.write_bytes(b"damaged")
    assert place_in_data_home(tmp_path / "assy_a.nc", SHA1).read_bytes() == CONTENT
    with pytest.raises(ChecksumError, match=r"assy_a\.nc has changed"):
        place_in_data_home(tmp_path / "assy_a.nc", "0" * 40)
    assert list((placed.parents[1] / ("0" * 40)).iterdir()) == []


# --- fetching ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sha1", [SHA1, SHA1.upper(), None])
def test_file_is_downloaded_once(server, tmp_path, sha1):
    source = S3Object(bucket="bucket", key="folder/assy.nc", sha1=sha1)
    target = tmp_path / "deep" / "down" / "assy.nc"
    assert fetch(source, target) == target
    assert target.read_bytes() == CONTENT
    assert fetch(source, str(target)) == target
    assert server.downloads() == ["/bucket/folder/assy.nc"]
    assert visible_files(target.parent) == ["assy.nc"]


def test_sha256_is_verified_with_the_sha1_and_remembered(server, tmp_path, monkeypatch):
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    fetch(S3Object(bucket="b", key="k", sha1=SHA1), tmp_path / "k")
    wanted = S3Object(bucket="b", key="k", sha1=SHA1, sha256=sha256.upper())
    assert fetch(wanted, tmp_path / "k").read_bytes() == CONTENT
    monkeypatch.setattr(engine, "file_digest", None)  # known digests are not computed again
    for digests in ({"sha1": SHA1}, {"sha256": sha256}, {"sha1": SHA1, "sha256": sha256}):
        assert fetch(S3Object(bucket="b", key="k", **digests), tmp_path / "k").read_bytes() == CONTENT
    assert len(server.downloads()) == 1


@pytest.mark.parametrize(("version_id", "asked"), [("v1", "/b/k?versionId=v1"), (None, "/b/k"), ("", "/b/k")])
def test_requests_the_given_or_the_newest_version(server, tmp_path, version_id, asked):
    fetch(S3Object(bucket="b", key="k", version_id=version_id), tmp_path / "k")
    assert server.downloads() == [asked]


@pytest.mark.parametrize("fault", [500, 503, "cut"])
def test_temporary_faults_are_retried(server, tmp_path, fault):
    server.faults = [fault]
    assert fetch(SOURCE, tmp_path / "assy.nc").read_bytes() == CONTENT
    assert len(server.downloads()) == 2


@pytest.mark.parametrize("fault", [500, "cut"])
def test_lasting_faults_leave_no_file(server, tmp_path, monkeypatch, fault):
    monkeypatch.setattr(s3_download, "_ATTEMPTS", 2)
    server.faults = [fault] * 50
    with pytest.raises(DownloadError, match=r"s3://bucket/folder/assy\.nc|bucket 'bucket', key 'folder/assy\.nc'"):
        fetch(SOURCE, tmp_path / "assy.nc")
    assert visible_files(tmp_path) == []
    server.faults = []
    assert fetch(SOURCE, tmp_path / "assy.nc").read_bytes() == CONTENT


def test_error_for_an_unreachable_server_names_the_connection(no_credentials, monkeypatch, tmp_path):
    monkeypatch.setattr(s3_download, "_ATTEMPTS", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(DownloadError, match="Check the connection"):
        fetch(SOURCE, tmp_path / "assy.nc")
    assert visible_files(tmp_path) == []


def test_wrong_content_is_rejected_and_removed(server, tmp_path):
    server.content = b"something else"
    with pytest.raises(ChecksumError) as caught:
        fetch(SOURCE, tmp_path / "assy.nc")
    other = hashlib.sha1(server.content, usedforsecurity=False).hexdigest()
    for part in ("assy.nc", "s3://bucket/folder/assy.nc", SHA1, other, "removed"):
        assert part in str(caught.value)
    assert visible_files(tmp_path) == []
    server.content = CONTENT
    with pytest.raises(ChecksumError, match="expected sha256 0000"):
        fetch(S3Object(bucket="b", key="k", sha1=SHA1, sha256="0" * 64), tmp_path / "k")
    assert visible_files(tmp_path) == []
    assert fetch(SOURCE, tmp_path / "assy.nc").read_bytes() == CONTENT


def test_wrong_content_does_not_replace_a_good_copy(server, tmp_path):
    target = fetch(SOURCE, tmp_path / "assy.nc")
    server.content = b"something else"
    with pytest.raises(ChecksumError):
        fetch(S3Object(bucket="bucket", key="folder/assy.nc", sha1="0" * 40), target)
    assert target.read_bytes() == CONTENT


def test_unchanged_copy_is_hashed_once(server, tmp_path, monkeypatch):
    target = tmp_path / "assy.nc"
    target.write_bytes(CONTENT)  # as from an older installation, without a note of its digest
    hashed = []
    monkeypatch.setattr(engine, "file_digest", lambda path, algorithm: hashed.append(path) or SHA1)
    for _ in range(3):
        fetch(SOURCE, target)
    assert hashed == [target]
    os.utime(target, ns=(1, 1))
    fetch(SOURCE, target)
    assert hashed == [target, target]
    assert server.requests == []


@pytest.mark.parametrize("note", ["", "{", "[]", '{"stamp": 1}', '{"stamp": [1, 2], "sha1": "' + SHA1 + '"}'])
def test_broken_note_is_ignored(server, tmp_path, note):
    target = tmp_path / "assy.nc"
    target.write_bytes(b"garbage")
    (tmp_path / ".assy.nc.fetched.json").write_text(note)
    assert fetch(SOURCE, target).read_bytes() == CONTENT


def test_unwritable_note_does_not_prevent_loading(server, tmp_path, monkeypatch):
    target = tmp_path / "assy.nc"
    target.write_bytes(CONTENT)

    def refuse(path):
        raise PermissionError(13, "read-only", str(path))

    monkeypatch.setattr(digest, "atomic_path", refuse)
    assert fetch(SOURCE, target).read_bytes() == CONTENT


def test_another_version_without_a_digest_is_fetched(server, tmp_path):
    first, second = (S3Object(bucket="b", key="k", version_id=version) for version in ("1", "2"))
    target = fetch(first, tmp_path / "k")
    server.content = b"second"
    assert fetch(first, target).read_bytes() == CONTENT
    assert fetch(second, target).read_bytes() == b"second"
    assert fetch(S3Object(bucket="b", key="k"), target).read_bytes() == b"second"
    assert len(server.downloads()) == 2
    (tmp_path / "by hand").write_bytes(b"by hand")
    assert fetch(first, tmp_path / "by hand").read_bytes() == b"by hand"
    assert len(server.downloads()) == 2


def test_offline_uses_only_local_files(server, tmp_path, monkeypatch):
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


def test_error_for_a_private_object_asks_for_credentials(server, tmp_path):
    server.refuses = lambda handler: 403
    with pytest.raises(DownloadError) as caught:
        fetch(SOURCE, tmp_path / "assy.nc")
    for part in ("'bucket'", "'folder/assy.nc'", "private", "no AWS credentials", "aws configure"):
        assert part in str(caught.value)
    assert [authorization for *_, authorization in server.requests] == [None]


@pytest.mark.parametrize("status", [400, 403])
def test_public_object_is_fetched_despite_expired_credentials(server, credentials, tmp_path, status):
    server.refuses = lambda handler: status if handler.headers.get("Authorization") else None
    assert fetch(SOURCE, tmp_path / "assy.nc").read_bytes() == CONTENT
    assert "somebody" in server.requests[0][2]
    assert [authorization for method, _, authorization in server.requests if method == "GET"] == [None]


def test_private_object_is_fetched_with_valid_credentials(server, credentials, tmp_path):
    server.refuses = lambda handler: None if handler.headers.get("Authorization") else 403
    assert fetch(SOURCE, tmp_path / "assy.nc").read_bytes() == CONTENT
    assert "somebody" in server.requests[0][2]
    server.refuses = lambda handler: 403
    with pytest.raises(DownloadError, match="credentials found here do not give access"):
        fetch(SOURCE, tmp_path / "other.nc")


def test_absent_object_or_profile_is_explained(server, tmp_path, monkeypatch):
    server.refuses = lambda handler: 404
    with pytest.raises(DownloadError, match=r"no such file or version.*version_id"):
        fetch(S3Object(bucket="bucket", key="assy.nc", version_id="v"), tmp_path / "assy.nc")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(DownloadError, match="nobody"):
        fetch(SOURCE, tmp_path / "assy.nc")


def test_progress_is_shown_for_large_files_only(server, tmp_path, monkeypatch, capsys):
    fetch(SOURCE, tmp_path / "small.nc")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(engine, "_ALWAYS_SHOW_PROGRESS_BYTES", 10)
    fetch(SOURCE, tmp_path / "large.nc")
    assert "bucket/folder/assy.nc: 100%" in capsys.readouterr().err


# --- continuing -------------------------------------------------------------------------------------------------------

LARGE = os.urandom(1_000_000)
LARGE_SOURCE = S3Object(bucket="b", key="large", sha1=hashlib.sha1(LARGE, usedforsecurity=False).hexdigest())


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(s3_download, "_PART_BYTES", 100_000)


@pytest.fixture
def one_attempt(small_parts, monkeypatch):
    """Fetch one part at a time and give up at the first failure."""
    monkeypatch.setattr(s3_download, "_ATTEMPTS", 1)
    monkeypatch.setattr(s3_download, "_PARTS_AT_ONCE", 1)


def test_large_file_is_fetched_in_parts(server, tmp_path, small_parts):
    server.content = LARGE
    assert fetch(LARGE_SOURCE, tmp_path / "large").read_bytes() == LARGE
    assert sorted(server.ranges) == sorted(f"bytes={n}-{n + 99_999}" for n in range(0, 1_000_000, 100_000))


def test_cut_download_resumes_where_it_broke(server, tmp_path):
    server.content, server.faults = LARGE, ["cut"]
    assert fetch(LARGE_SOURCE, tmp_path / "large").read_bytes() == LARGE
    first, second = server.ranges
    assert first is None
    begin = int(second.removeprefix("bytes=").removesuffix("-999999"))
    assert 500_000 - 2**16 <= begin <= 500_000


def test_next_process_fetches_only_the_remaining_parts(server, tmp_path, one_attempt):
    server.content, server.faults = LARGE, [None, None, None, "cut"]
    with pytest.raises(DownloadError, match="the partial download is kept"):
        fetch(LARGE_SOURCE, tmp_path / "large")
    assert not (tmp_path / "large").exists()
    assert len(server.ranges) == 4
    assert fetch(LARGE_SOURCE, tmp_path / "large").read_bytes() == LARGE
    assert server.ranges[4:] == [f"bytes={n}-{n + 99_999}" for n in range(300_000, 1_000_000, 100_000)]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".large.fetched.json", "large", "large.lock"]


def test_damaged_partial_download_is_replaced(server, tmp_path, one_attempt):
    server.content, server.faults = LARGE, [None, "cut"]
    with pytest.raises(DownloadError):
        fetch(LARGE_SOURCE, tmp_path / "large")
    with (tmp_path / ".large.part").open("r+b") as stream:
        stream.write(bytes(1000))  # as after a power failure
    assert fetch(LARGE_SOURCE, tmp_path / "large").read_bytes() == LARGE


OTHER = S3Object(bucket="b", key="large", sha1=hashlib.sha1(LARGE[::-1], usedforsecurity=False).hexdigest())
NO_DIGEST = S3Object(bucket="b", key="large")


@pytest.mark.parametrize(
    ("first", "content", "second"),
    [(OTHER, LARGE[::-1], LARGE_SOURCE), (NO_DIGEST, LARGE, NO_DIGEST)],
    ids=["of another object", "without digest"],
)
def test_partial_download_that_may_not_fit_is_not_resumed(server, tmp_path, one_attempt, first, content, second):
    server.content, server.faults = content, [None, "cut"]
    with pytest.raises(DownloadError):
        fetch(first, tmp_path / "large")
    server.content = LARGE
    server.ranges.clear()
    assert fetch(second, tmp_path / "large").read_bytes() == LARGE
    assert len(server.ranges) == 10


def test_object_replaced_during_download_is_fetched_again(server, tmp_path, small_parts, monkeypatch):
    monkeypatch.setattr(s3_download, "_PARTS_AT_ONCE", 1)
    server.content = b"old" * 100_000
    answer = server.RequestHandlerClass
    seen = []

    class Replacing(answer):
        def do_GET(self):  # noqa: N802 - the name that the base class calls
            seen.append(self.path)
            if len(seen) == 2:
                server.content = b"new" * 100_000
            super().do_GET()

    server.RequestHandlerClass = Replacing
    assert fetch(S3Object(bucket="b", key="k"), tmp_path / "k").read_bytes() == b"new" * 100_000


def test_server_without_ranges_can_serve_small_files_only(server, tmp_path, small_parts):
    server.understands_ranges = False
    assert fetch(SOURCE, tmp_path / "small").read_bytes() == CONTENT
    server.content = LARGE
    with pytest.raises(DownloadError, match="BRAINSCORE_MIRROR"):
        fetch(LARGE_SOURCE, tmp_path / "large")
    assert not (tmp_path / "large").exists()


def test_slow_server_and_empty_file_are_handled(server, tmp_path):
    server.bytes_per_s = 4 * len(CONTENT)
    assert fetch(SOURCE, tmp_path / "assy.nc").read_bytes() == CONTENT
    assert len(server.downloads()) == 1
    server.content = b""
    assert fetch(S3Object(bucket="b", key="k"), tmp_path / "k").read_bytes() == b""


def test_silent_server_is_asked_again(server, tmp_path, monkeypatch):
    monkeypatch.setattr(s3_download, "_READ_TIMEOUT_S", 1)
    server.content, server.faults = LARGE, ["hang"]
    assert fetch(LARGE_SOURCE, tmp_path / "large").read_bytes() == LARGE
    assert len(server.ranges) == 2


# --- several files ----------------------------------------------------------------------------------------------------


def test_fetch_all_fetches_two_to_four_files_at_a_time(server, tmp_path, monkeypatch):
    active, most_active, count, pair = 0, 0, threading.Lock(), threading.Barrier(2)
    one = fetching._fetch

    def counted(*arguments):
        nonlocal active, most_active
        with count:
            active += 1
            most_active = max(most_active, active)
        pair.wait(timeout=60)  # breaks unless files are fetched at least two at a time
        try:
            return one(*arguments)
        finally:
            with count:
                active -= 1

    monkeypatch.setattr(fetching, "_fetch", counted)
    server.objects = {f"/b/{n}": f"{n}".encode() * 1000 for n in range(8)}
    paths = fetch_all([(S3Object(bucket="b", key=str(n)), tmp_path / str(n)) for n in range(8)])
    assert [path.read_bytes() for path in paths] == list(server.objects.values())
    assert 2 <= most_active <= 4


def test_fetch_all_raises_the_real_error_and_stops(server, tmp_path):
    server.refuses = lambda handler: 404 if handler.path == "/b/3" else None
    with pytest.raises(DownloadError, match="'b', key '3'"):
        fetch_all([(S3Object(bucket="b", key=str(n)), tmp_path / str(n)) for n in range(30)])
    assert len(server.downloads()) < 29
    assert all((tmp_path / str(n)).read_bytes() == CONTENT for n in range(30) if (tmp_path / str(n)).exists())


# --- mirror -----------------------------------------------------------------------------------------------------------


def test_key_cannot_leave_the_mirror(server, tmp_path, monkeypatch):
    (tmp_path / "mirror/bucket").mkdir(parents=True)
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path / "mirror"))
    (tmp_path / "secret").write_bytes(b"secret")
    source = S3Object(bucket="bucket", key="../../secret")
    assert fetch(source, tmp_path / "cache" / "secret").read_bytes() == CONTENT


# --- private data -----------------------------------------------------------------------------------------------------


def test_error_for_private_data_names_the_public_variant(server, tmp_path):
    server.refuses = lambda handler: 403
    with (
        pytest.raises(PrivateDataError, match=r"private[\s\S]*There is a public variant of 'X2015': 'X2015\.public'"),
        naming_public_variant("X2015", lambda: ["X2015", "X2015.public"]),
    ):
        fetch(SOURCE, tmp_path / "assy.nc")
    with pytest.raises(PrivateDataError) as caught, naming_public_variant("Y", lambda: ["X2015.public"]):
        fetch(SOURCE, tmp_path / "assy.nc")
    assert "public variant" not in str(caught.value)


@pytest.mark.parametrize(
    ("identifier", "variant"),
    [
        ("X2015", "X2015.public"),
        ("X2015.private", "X2015.public"),
        ("X2015.IT-pls", "X2015public.IT-pls"),
        ("Y2013.aperture-private", "Y2013.aperture-public"),
        ("Y2013.V1-pls", None),
        ("X2015.public", None),
    ],
)
def test_public_variant_is_found_by_name(identifier, variant):
    known = ["X2015", "X2015.public", "X2015public.IT-pls", "X2015public.V4-pls", "Y2013.aperture-public", "republic"]
    assert public_variant(identifier, known) == variant


# --- names ------------------------------------------------------------------------------------------------------------


def test_local_data_path_follows_the_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("BRAINIO_HOME", str(tmp_path / "home"))
    assert get_local_data_path() == tmp_path / "home"
    monkeypatch.setattr(fetching, "_local_data_path", str(tmp_path / "patched"))
    assert get_local_data_path() == tmp_path / "patched"


def test_split_bucket_separates_folder_from_bucket():
    for folder, key in (("", "f.nc"), ("/folder/sub", "folder/sub/f.nc"), ("/folder/", "folder/f.nc")):
        assert split_bucket(f"bucket{folder}", "f.nc") == ("bucket", key)


def test_only_assembly_classes_are_resolved():
    for kind in ("Behavioral", "Data", "Metadata", "Neuroid", "NeuronRecording", "Property", "SpikeTimes"):
        assert resolve_assembly_class(f"{kind}Assembly").__name__ == f"{kind}Assembly"
    for name in ("NeuroidAsembly", "xr", "check_assembly", ""):
        with pytest.raises(AssemblyError, match="There are: BehavioralAssembly"):
            resolve_assembly_class(name)


@pytest.mark.parametrize(
    ("function", "loader"), [(get_assembly, "load_dataset"), (get_stimulus_set, "load_stimulus_set")]
)
def test_old_loaders_search_the_installed_domains(function, loader, monkeypatch):
    def domain(known):
        def load(identifier):
            if identifier != known:
                raise UnknownIdentifierError(f"only {known}")
            return f"{loader} of {known}"

        return SimpleNamespace(**{loader: load})

    points = [SimpleNamespace(module="sound.board"), SimpleNamespace(module="sight.catalogue.board")]
    monkeypatch.setattr(fetching, "entry_points", lambda group: points if group == "brainscore.catalogues" else [])
    monkeypatch.setattr(fetching, "import_module", lambda name: {"sight": domain("A"), "sound": domain("B")}[name])
    assert [function(name) for name in "AB"] == [f"{loader} of A", f"{loader} of B"]
    with pytest.raises(UnknownIdentifierError, match="only B"):
        function("Made2024")
    points.clear()
    with pytest.raises(NotImplementedError, match="No installed domain has plugins that could register 'Made2024'"):
        function("Made2024")


# -- sizes -------------------------------------------------------------------------------------------------------------


def s3_objects(*keys):
    return [S3Object(bucket="bucket", key=key) for key in keys]


def test_sizes_are_known_without_fetching(server):
    server.objects["/bucket/small"] = b"123"
    assert sizes_of(s3_objects("small", "a", "b")) == [3, len(CONTENT), len(CONTENT)]
    assert sizes_of([]) == []
    assert server.downloads() == []


def test_unknown_sizes_are_none(server, monkeypatch, tmp_path):
    server.refuses = lambda handler: 403 if "private" in handler.path else 404 if "absent" in handler.path else None
    assert sizes_of(s3_objects("private", "absent", "a")) == [None, None, len(CONTENT)]
    copy = tmp_path / "mirror" / "bucket" / "private"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(b"12")
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path / "mirror"))
    assert sizes_of(s3_objects("a", "private")) == [len(CONTENT), 2]
    server.requests.clear()
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    assert sizes_of(s3_objects("a", "private")) == [None, 2]
    assert server.requests == []


def test_unreachable_server_is_asked_about_one_file_only(no_credentials, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setattr(s3_download, "_ATTEMPTS", 1)
    asked = []
    head_of = s3_download.head_of
    monkeypatch.setattr(s3_download, "head_of", lambda *args: asked.append(args) or head_of(*args))
    assert sizes_of(s3_objects("a", "b", "c")) == [None, None, None]
    assert len(asked) == 1
