import struct
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.submission.archive import Archive, ArchivePolicy, Rejection
from brainscore_ci.submission.archive import inspect_archive as inspect_archive_by
from brainscore_ci.submission.place import extract

HERE = "benchmarks/myexperiment2024"
LIBRARIES = ("vision/brainscore_vision",)


def inspect_archive(source, policy=None):
    return inspect_archive_by(source, policy=policy or ArchivePolicy(libraries=LIBRARIES))


def with_plugin(files, plugin_files):
    """Return (name, content) pairs of a complete plugin and further files, which may repeat names."""
    return [*((f"{HERE}/{name}", text) for name, text in plugin_files.items()), *files]


def text_of(result):
    assert isinstance(result, Rejection)
    assert result.problems
    return str(result)


@pytest.fixture
def refusal(pack, plugin_files):
    """Return a function that returns why a plugin with further files, named relative to its folder, is refused."""

    def why(*files, **options):
        below = [(f"{HERE}/{name}", content) for name, content in files]
        return text_of(inspect_archive(pack(with_plugin(below, plugin_files), **options)))

    return why


@pytest.mark.parametrize(
    "before",
    ["", "vision/brainscore_vision/", "brainscore_vision/", "my zip/", "my zip/vision/brainscore_vision/", "data/"],
)
def test_accepts_the_folders_of_the_tutorials(pack, plugin_files, before):
    archive = inspect_archive(pack.plugin(f"{before}{HERE}", **{"test_resources/a.csv": "1,2\n"}))
    assert isinstance(archive, Archive)
    assert archive.plugin == PluginName("benchmarks", "myexperiment2024")
    assert archive.path == f"vision/brainscore_vision/{HERE}"
    assert archive.files == {
        **{name: text.encode() for name, text in plugin_files.items()},
        "test_resources/a.csv": b"1,2\n",
    }
    assert archive.notes == ()


def test_reads_a_zip_file_by_path(pack, tmp_path):
    (tmp_path / "a.zip").write_bytes(pack.plugin())
    assert inspect_archive(tmp_path / "a.zip") == inspect_archive(pack.plugin())
    assert "cannot be read" in text_of(inspect_archive(tmp_path / "absent.zip"))


def test_folder_selects_the_library(pack):
    policy = ArchivePolicy(libraries=("vision/brainscore_vision", "language/brainscore_language"))
    for before, library in (("", policy.libraries[0]), ("brainscore_language/", policy.libraries[1])):
        archive = inspect_archive(pack.plugin(f"{before}metrics/mine"), policy=policy)
        assert archive.path == f"{library}/metrics/mine"


def test_digest_depends_on_content_and_place_only(pack, plugin_files):
    first = inspect_archive(pack.plugin())
    files = {f"zip/{HERE}/{name}": text for name, text in reversed(plugin_files.items())}
    assert inspect_archive(pack(files, compression=zipfile.ZIP_STORED)).digest == first.digest
    assert inspect_archive(pack.plugin(HERE, **{"test.py": ""})).digest != first.digest
    assert inspect_archive(pack.plugin("benchmarks/other")).digest != first.digest


def test_leaves_out_system_files(pack, plugin_files):
    below = (".DS_Store", "__pycache__/test.cpython-311.pyc", ".ipynb_checkpoints/a.ipynb", "Thumbs.db")
    names = [
        ".DS_Store",
        f"__MACOSX/{HERE}/._test.py",
        f"__MACOSX/{HERE}/._é.py",
        *(f"{HERE}/{name}" for name in below),
    ]
    archive = inspect_archive(pack(with_plugin([(name, b"\0\1") for name in names], plugin_files)))
    assert set(archive.files) == set(plugin_files)
    assert archive.notes == ("7 files that the operating system created in the folder are left out",)


# -- names


@pytest.mark.parametrize(
    "name",
    [
        "../../evil.py", f"{HERE}/../../../evil.py", f"{HERE}/./a.py", f"{HERE}//a.py", "/etc/cron.d/evil",
        "//host/share/evil", "C:/evil.py", "C:evil.py", f"{HERE}\\evil.py", "..\\evil.py",
        f"../{HERE}/__pycache__/evil.py",
    ],
)  # fmt: skip
def test_refuses_paths_outside_the_archive(pack, plugin_files, name):
    assert "points outside" in text_of(inspect_archive(pack(with_plugin([(name, "x")], plugin_files))))


@pytest.mark.parametrize(
    "name",
    [
        *("a\nb.py", "a\x1b[31m.py", "\u202eyp.evil", "é.py", "a\u200b.py", "a?.py", "a:b.py", "a|b", "$(touch pwned)"),
        *("-rf", "a ", "a.", " a", "a" * 101),
    ],
)
def test_refuses_unportable_names(pack, plugin_files, name):
    result = inspect_archive(pack(with_plugin([(f"{HERE}/{name}", "x")], plugin_files)))
    text = text_of(result)
    assert "does not work on every system" in text
    assert text.isascii()
    assert text.count("\n") == 0  # one line for any name
    assert "\x1b" not in text
    assert "\u202e" not in result.problems[0].to_markdown()


REFUSED = {
    "Windows reserves": ("con", "NUL.py", "sub/Aux.tar.py", "com1.txt", "LPT9"),
    "is hidden": (".git/config", ".gitattributes", "sub/.github/workflows/x.yml", ".env"),
    "is a program or a compiled file": (
        *("fast.pyc", "fast.PYO", "fast.pyd", "libfast.so.1", "x.egg-link", "__PYCACHE__/x.txt"),
    ),
    "too long": ("/".join(["a" * 50] * 3) + "/a.py",),
    "archive inside": ("inner.zip", "inner.tar.gz", "arrays.npz"),
    "weights": ("weights.PTH",),
    "pickle": ("a.pkl",),
    "compiled": ("lib.so",),
}


@pytest.mark.parametrize(("problem", "name"), [(problem, name) for problem in REFUSED for name in REFUSED[problem]])
def test_refuses_files_by_name(refusal, problem, name):
    assert problem in refusal((name, "x"))


def test_refuses_a_name_with_nul(pack, plugin_files):
    content = pack(with_plugin([(f"{HERE}/aXb.py", "x")], plugin_files)).replace(b"aXb.py", b"a\0b.py")
    assert "two different names" in text_of(inspect_archive(content))


def test_refuses_names_that_are_not_utf8(pack, plugin_files):
    content = pack(with_plugin([(f"{HERE}/éé.py", "x")], plugin_files)).replace("éé".encode(), b"\xff\xfe\xfd\xfc")
    assert "damaged" in text_of(inspect_archive(content))
    unmarked = pack(with_plugin([(f"{HERE}/abcd.py", "x")], plugin_files)).replace(b"abcd", b"\xff\xfe\xfd\xfc")
    assert "does not work on every system" in text_of(inspect_archive(unmarked))


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["a.py", "A.py"], "capital letters"),
        (["sub/a.py", "Sub/b.py"], "capital letters"),
        (["a.py", "a.py"], "occurs twice"),
        (["sub", "sub/a.py"], "both a file and a folder"),
        (["sub", "sub/"], "both a file and a folder"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_refuses_names_of_the_same_place(refusal, names, problem):
    assert problem in refusal(*((name, "") for name in names))


# -- kinds


@pytest.mark.parametrize(
    ("name", "mode"),
    [("sub/", 0o120777), *(("link.py", mode) for mode in (0o120777, 0o010644, 0o020644, 0o060644, 0o140755, 0o040755))],
)
def test_refuses_links_and_devices(refusal, name, mode):
    assert "link or a device" in refusal((name, "/etc/passwd" * (name != "sub/")), modes={f"{HERE}/{name}": mode})


def test_refuses_encrypted_files_and_unusual_compression(pack, refusal):
    assert "unusual way" in refusal(compression=zipfile.ZIP_LZMA)
    content = bytearray(pack.plugin())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    assert "is encrypted" in text_of(inspect_archive(bytes(content)))


# -- sizes


def test_refuses_files_by_unpacked_size(pack, plugin_files, refusal):
    assert f"{HERE}/large.csv: has more than 1 MiB" in refusal(("large.csv", b"1" * (2**20 + 1)))
    assert isinstance(inspect_archive(pack(with_plugin([(f"{HERE}/l.csv", b"1" * 2**20)], plugin_files))), Archive)


def test_refuses_files_larger_than_declared(pack, plugin_files):
    name = f"{HERE}/bomb.csv"
    content = bytearray(pack(with_plugin([(name, b"0" * 5_000_000)], plugin_files)))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = [i for i in range(len(content)) if content.startswith(signature, i)][-1]
        assert struct.unpack_from("<I", content, at + offset) == (5_000_000,)
        struct.pack_into("<I", content, at + offset, 10)
    assert f"{name}: is damaged" in text_of(inspect_archive(bytes(content)))


def test_refuses_a_large_total_size(pack, plugin_files):
    files = [(f"{HERE}/{number}.csv", b"1" * 2**20) for number in range(4)]
    content = pack(with_plugin(files, plugin_files))
    assert "unpacks to more than 100 times its size" in text_of(inspect_archive(content))
    policy = ArchivePolicy(libraries=LIBRARIES, most_total_bytes=3 * 2**20, most_ratio=1e9)
    assert "unpacks to more than 3 MiB" in text_of(inspect_archive(content, policy=policy))


def test_refuses_a_large_archive_without_reading_it(pack, tmp_path):
    file = tmp_path / "a.zip"
    with file.open("wb") as stream:
        stream.write(pack.plugin())
        stream.truncate(2**34)  # sparse: takes no disk space
    assert "the zip file has more than 25 MiB" in text_of(inspect_archive(file))


def test_refuses_many_files_without_parsing_them(pack, monkeypatch):
    content = pack(((f"{HERE}/{number}", b"") for number in range(100_000)), compression=zipfile.ZIP_STORED)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    assert "more than 500 files" in text_of(inspect_archive(content))


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("inner.csv", b"PK\x03\x04rest", "archive inside"),
        ("inner.txt", b"\x1f\x8brest", "archive inside"),
        ("lib.so.1", b"\x7fELF", "compiled"),
    ],
)
def test_refuses_files_by_content(refusal, pack, name, content, problem):
    assert problem in refusal((name, content))
    assert "archive inside" in refusal(("a.png", b"\x89PNG\r\n\x1a\n" + pack.plugin()))


@pytest.mark.parametrize(
    ("name", "content"), [("a.png", b"\x89PNG\r\n\x1a\n"), ("a.nc", b"\x89HDF\r\n\x1a\n"), ("a.npy", b"\x93NUMPY")]
)
def test_accepts_small_test_resources(pack, plugin_files, name, content):
    files = with_plugin([(f"{HERE}/test_resources/{name}", content)], plugin_files)
    assert isinstance(inspect_archive(pack(files)), Archive)


# -- which plugin


@pytest.mark.parametrize(
    "other",
    ["benchmarks/other", f"vision/brainscore_vision/{HERE}", f"zip/{HERE}", "Benchmarks/x", HERE.replace("my", "My")],
)
def test_refuses_a_second_plugin(pack, plugin_files, other):
    text = text_of(inspect_archive(pack(with_plugin([(f"{other}/__init__.py", "")], plugin_files))))
    assert "several plugins" in text or "outside of the folder of a plugin" in text


@pytest.mark.parametrize(
    "name",
    ["README.md", "benchmarks/README.md", "noxfile.py", "vision/setup.py", "a/b/benchmarks/x/__init__.py", "core/x.py"],
)
def test_refuses_files_outside_the_plugin(pack, plugin_files, name):
    result = inspect_archive(pack(with_plugin([(name, "")], plugin_files)))
    assert f"{name}: is outside of the folder" in text_of(result)


@pytest.mark.parametrize(
    ("folder", "problem"),
    [
        ("myexperiment2024", "one of data, metrics, benchmarks, models"),
        *((f"benchmarks/{name}", "not a valid name for the folder of a plugin") for name in ("my x", "a+b", "__x")),
    ],
)
def test_refuses_malformed_plugin_folders(pack, folder, problem):
    assert problem in text_of(inspect_archive(pack.plugin(folder)))
    assert "has no __init__.py" in text_of(inspect_archive(pack({f"{HERE}/test.py": ""})))


def test_reports_all_problems_at_once(pack, plugin_files):
    names = ["../a.py", "README.md", f"{HERE}/w.pt", f"{HERE}/.env", "benchmarks/x/__init__.py"]
    names += [f"{HERE}/{number}.pkl" for number in range(20)]
    result = inspect_archive(pack(with_plugin([(name, "") for name in names], plugin_files)))
    assert len(result.problems) == 6
    assert "and 15 more: is a pickle" in str(result)


# -- damage


def test_refuses_damaged_and_empty_archives(pack):
    start = b"PK\x03\x04"
    for content in (b"", b"hello", pack({}), b"#!/bin/sh\n" + pack.plugin(), start, start + b"\0" * 100):
        assert "is damaged or is not a zip file" in text_of(inspect_archive(content))
    assert "is empty" in text_of(inspect_archive(pack({f"{HERE}/": ""})))


@settings(max_examples=150)
@given(data=st.data())
def test_never_fails_on_damaged_archives(pack, data):
    content = bytearray(pack.plugin())
    kind = data.draw(st.sampled_from(["cut", "change", "both"]))
    if kind != "cut":
        for _ in range(data.draw(st.integers(1, 8))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    if kind != "change":
        del content[data.draw(st.integers(0, len(content))) :]
    result = inspect_archive(bytes(content))
    if isinstance(result, Rejection):
        assert result.problems


_PARTS = st.text(max_size=6) | st.sampled_from(
    [
        "..",
        ".",
        "",
        "benchmarks",
        "data",
        "models",
        "mine",
        "__init__.py",
        "vision",
        "brainscore_vision",
        "C:",
        "~",
        "..\\..",
    ]
)
_NAMES = st.lists(_PARTS, min_size=1, max_size=6).map("/".join)


@settings(max_examples=150)
@given(
    names=st.lists(_NAMES | _NAMES.map(lambda name: f"{HERE}/{name}"), max_size=4, unique=True),
    is_complete=st.booleans(),
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_never_writes_outside_the_folder(pack, plugin_files, tmp_path_factory, names, is_complete):
    files = [(name, "x") for name in names]
    try:
        content = pack(with_plugin(files, plugin_files) if is_complete else files)
    except (UnicodeEncodeError, ValueError):
        return  # lone surrogates cannot be packed
    result = inspect_archive(content)
    if isinstance(result, Rejection):
        assert result.problems
        return
    around = tmp_path_factory.mktemp("around")
    repository = around / "repository"
    (repository / result.path).parent.mkdir(parents=True)
    target = extract(result, repository)
    written = {file.relative_to(target).as_posix() for file in around.rglob("*") if file.is_file()}
    assert written == set(result.files)


@pytest.mark.parametrize(
    ("before", "data", "benchmark"),
    [
        ("", "data/mybenchmark2024/", "benchmarks/mybenchmark2024/"),
        ("MyBenchmark2024_stimuli_and_data/", "data/", "benchmarks/"),  # as in the tutorial on benchmarks
        ("", "data/", "benchmarks/"),
    ],
)
def test_data_and_benchmark_are_two_plugins(pack, plugin_files, tmp_path, before, data, benchmark):
    files = {f"{before}{benchmark}{name}": text for name, text in plugin_files.items()}
    files |= {f"{before}{data}__init__.py": "", f"{before}{data}data_packaging/data_packaging.py": "x = 1\n"}
    (tmp_path / "MyBenchmark2024.zip").write_bytes(pack(files))
    archive = inspect_archive(tmp_path / "MyBenchmark2024.zip")
    assert isinstance(archive, Archive), archive
    (second,) = archive.rest
    assert [str(one.plugin) for one in (archive, second)] == ["data/mybenchmark2024", "benchmarks/mybenchmark2024"]
    assert set(archive.files) == {"__init__.py", "data_packaging/data_packaging.py"}
    assert second.files == {name: text.encode() for name, text in plugin_files.items()}


def test_refuses_a_plugin_without_a_name(pack, plugin_files):
    text = text_of(inspect_archive(pack({f"benchmarks/{name}": text for name, text in plugin_files.items()})))
    assert "benchmarks/benchmark.py" in text
    assert "Put the files into benchmarks/<name>" in text
