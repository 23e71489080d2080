"""Keys follow content, entries are complete or absent, and one process computes while others wait."""

import contextlib
import hashlib
import os
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.config import settings as current_settings
from brainscore_core.files import atomic_directory, atomic_path, locked
from brainscore_core.identity import store
from brainscore_core.identity.digest import content_digest, file_digest
from brainscore_core.identity.store import Store, cached_file


def test_file_digest_matches_published_values(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    assert file_digest(tmp_path / "abc") == "a9993e364706816aba3e25717850c26c9cd0d89d"  # FIPS 180-4, appendix
    assert file_digest(str(tmp_path / "abc"), "sha256").startswith("ba7816bf8f01cfea414140de5dae2223")


# --- keys -------------------------------------------------------------------------------------------------------------

PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary())
PARTS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=6,
)


def same(first, second):
    """Whether both are equal in value and type at every level; -0.0 is not 0.0."""
    return repr(canonical(first)) == repr(canonical(second))


def canonical(value):
    if isinstance(value, dict):
        return "dict", sorted(((key, canonical(inner)) for key, inner in value.items()), key=repr)
    return [canonical(inner) for inner in value] if isinstance(value, list) else (type(value).__name__, value)


@given(PARTS, PARTS)
def test_keys_are_equal_only_for_equal_content(first, second):
    assert (content_digest(first) == content_digest(second)) == same(first, second)


@given(st.lists(PLAIN, min_size=2, max_size=4))
def test_keys_depend_on_where_parts_end(parts):
    assert content_digest(*parts) != content_digest(parts)
    assert content_digest(*parts) != content_digest(*parts[:-1])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, True), (1, 1.0), (0, None), ("1", 1), ("a", b"a"), ([], {}), ({"a": 1}, {"a": 2}), ({"a": 1}, {"b": 1}),
        (["a", "b"], ["ab"]), (["a", "b"], ["b", "a"]), ([["a"], "b"], [["a", "b"]]),
        (np.zeros(2), np.zeros(3)), (np.zeros(2, "float32"), np.zeros(2, "float64")),
        (np.zeros((2, 3)), np.zeros((3, 2))), (np.array([1, 2]), np.array([2, 1])),
        (np.array(["a", None], dtype=object), np.array(["a", "None"], dtype=object)),
        (np.zeros(2), [0.0, 0.0]), (np.array("a"), "a"),
        (np.datetime64(5, "ns"), 5), (np.datetime64(5, "ns"), np.datetime64(5, "us")),
        (np.zeros(2, [("a", "i4"), ("b", "f4")]), np.zeros(2, [("a", "f4"), ("b", "i4")])),
        (np.longdouble(1) / 3, float(np.longdouble(1) / 3)),
    ],
)  # fmt: skip
def test_different_content_has_different_keys(first, second):
    assert content_digest(first) != content_digest(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({"x", "y", "z"}, {"z", "y", "x"}),
        (np.float64(0.1), 0.1), (np.str_("a"), "a"), (np.bool_(True), True), (np.int8(3), 3),
        ({np.str_("a"): np.float64(1)}, {"a": 1.0}),
        (np.arange(6).reshape(2, 3).T, np.ascontiguousarray(np.arange(6).reshape(2, 3).T)),
        (np.arange(10)[::2], np.array([0, 2, 4, 6, 8])),
    ],
)  # fmt: skip
def test_same_content_has_the_same_key(first, second):
    assert content_digest(first) == content_digest(second)


def test_key_of_a_path_follows_its_content(tmp_path):
    for name, content in {"a": b"x", "b": b"x", "c": b"y"}.items():
        (tmp_path / name).write_bytes(content)
    assert content_digest(tmp_path / "a") == content_digest(tmp_path / "b")
    assert content_digest(tmp_path / "a") != content_digest(tmp_path / "c")
    assert content_digest(tmp_path / "a") != content_digest(str(tmp_path / "a"))


def test_keys_are_the_same_in_another_process():
    script = "from brainscore_core.identity.digest import content_digest as d; print(d({'a': {*'xyz'}, 'b': 0.1}))"
    options = {"capture_output": True, "text": True, "check": True}
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": "1"}, **options)
    assert done.stdout.strip() == content_digest({"b": 0.1, "a": {"z", "y", "x"}})
    assert len(content_digest("x")) == len(hashlib.sha256().hexdigest())


@pytest.mark.parametrize("part", [object(), len, 1j, {"a": object()}, [len], np.ma.zeros(2)])
def test_rejects_values_without_stable_content(part):
    with pytest.raises(TypeError, match="A cache key cannot hold a"):
        content_digest(part)
    recursive: list = []
    recursive.append(recursive)
    with pytest.raises(RecursionError):
        content_digest(recursive)


# --- files and folders ------------------------------------------------------------------------------------------------


def test_atomic_path_appears_only_when_complete(tmp_path):
    target = tmp_path / "new" / "file.nc"
    with atomic_path(target) as temporary:
        assert (temporary.suffix, temporary.parent) == (".nc", target.parent)
        temporary.write_bytes(b"content")
        assert not target.exists()
    assert target.read_bytes() == b"content"
    assert [path.name for path in target.parent.iterdir()] == ["file.nc"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_atomic_path_keeps_the_old_file_on_errors(tmp_path, error):
    target = tmp_path / "file.nc"
    target.write_bytes(b"old")
    with pytest.raises(error), atomic_path(target) as temporary:  # noqa: PT012 - it has to write before it fails
        temporary.write_bytes(b"half")
        raise error
    assert [path.name for path in tmp_path.iterdir()] == ["file.nc"]
    assert target.read_bytes() == b"old"


def test_many_threads_write_one_complete_file(tmp_path):
    def write(number):
        with atomic_path(tmp_path / "file") as temporary:
            temporary.write_bytes(bytes([number]) * 1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(64)))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert len(set((tmp_path / "file").read_bytes())) == 1


def test_atomic_directory_appears_only_when_complete(tmp_path):
    target = tmp_path / "new" / "folder"
    with atomic_directory(target) as temporary:
        (temporary / "file").write_bytes(b"content")
        assert not target.exists()
    assert (target / "file").read_bytes() == b"content"
    assert [path.name for path in target.parent.iterdir()] == ["folder"]
    with contextlib.suppress(ZeroDivisionError), atomic_directory(target.with_name("failed")) as temporary:
        (temporary / "file").write_bytes(b"half")
        raise ZeroDivisionError
    assert [path.name for path in target.parent.iterdir()] == ["folder"]


def test_killed_writer_leaves_no_target(tmp_path):
    script = textwrap.dedent("""
        import os, sys
        from brainscore_core.files import atomic_path
        with atomic_path(sys.argv[1]) as temporary:
            temporary.write_bytes(b"half")
            os._exit(9)
    """)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "file.nc")], check=False)
    assert done.returncode == 9
    assert not (tmp_path / "file.nc").exists()


COUNT = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from brainscore_core.files import locked
    counter = Path(sys.argv[1])
    for _ in range(20):
        with locked(counter):
            number = int(counter.read_text())
            time.sleep(0.001)
            counter.write_text(str(number + 1))
""")


def test_lock_excludes_other_processes(tmp_path):
    counter = tmp_path / "counter"
    counter.write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", COUNT, str(counter)]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert counter.read_text() == "80"


def test_lock_makes_its_folder_and_is_released_on_errors(tmp_path):
    with contextlib.suppress(ZeroDivisionError), locked(tmp_path / "new" / "thing"):
        raise ZeroDivisionError
    with locked(tmp_path / "new" / "thing"):
        assert (tmp_path / "new" / "thing.lock").exists()


# --- results ----------------------------------------------------------------------------------------------------------


def cached(key, compute, write=Path.write_text, read=Path.read_text):
    return cached_file("results", key, ".txt", write=lambda text, path: write(path, text), read=read, compute=compute)


@pytest.fixture
def computed():
    """Return the list that collects every computed key, in order."""
    return []


@pytest.fixture
def get(computed):
    return lambda key, result="result": cached(key, lambda: computed.append(key) or result)


def test_result_is_computed_once_unless_caching_is_off(get, computed, own_homes, monkeypatch):
    assert [get("k1", "first"), get("k1", "second"), get("k2", "other")] == ["first", "first", "other"]
    assert computed == ["k1", "k2"]
    assert (own_homes / "brain-score" / "cache" / "results" / "k1" / "k1.txt").read_text() == "first"
    monkeypatch.setenv("RESULTCACHING_DISABLE", "1")
    monkeypatch.setenv("BRAINSCORE_HOME", str(own_homes / "other"))
    assert [get("k", "first"), get("k", "second")] == ["first", "second"]
    assert not current_settings().cache_home.exists()


def test_store_lists_its_folder_only_after_a_share_of_the_limit(tmp_path, monkeypatch):
    store, looks = Store(tmp_path, 10_000, pattern="*.bin"), []
    monkeypatch.setattr(store, "entries", lambda: looks.append(1) or Store.entries(store))
    for number in range(40):
        store.reserve(50)
        (tmp_path / f"{number}.bin").write_bytes(bytes(50))
    assert len(looks) == 20  # a hundredth of the limit holds two of them


def test_store_never_exceeds_its_limit(tmp_path):
    store = Store(tmp_path, 1_000, pattern="*.bin")
    for number in range(60):
        store.reserve(30)
        path = tmp_path / f"{number}.bin"
        path.write_bytes(bytes(30))
        os.utime(path, (number, number))
        assert store.size_bytes() <= 1_000
    assert [path.stem for path in sorted(tmp_path.iterdir(), key=lambda path: int(path.stem))][-1] == "59"
    assert not (tmp_path / "0.bin").exists()


def test_errors_are_not_cached():
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cached("k", fail)
    assert cached("k", lambda: "fine") == "fine"


@pytest.mark.parametrize("content", [b"\xff\xfe\xff", b""])
def test_unreadable_entry_is_recomputed(get, computed, own_homes, content):
    get("k")
    (path,) = (own_homes / "brain-score" / "cache" / "results").rglob("*.txt")
    path.write_bytes(content)

    def read(entry):
        text = entry.read_text()
        if not text:
            raise ValueError("empty")
        return text

    assert cached("k", lambda: "again", read=read) == path.read_text() == "again"


@pytest.mark.parametrize("error", [OSError("Read-only file system"), NotImplementedError("no locks here")], ids=str)
def test_without_locks_hits_are_read_and_misses_computed(get, computed, monkeypatch, caplog, error):
    there = get("k")

    @contextmanager
    def no_lock(_path):
        raise error
        yield

    monkeypatch.setattr(store, "locked", no_lock)
    before = len(computed)
    assert get("k") == there
    assert len(computed) == before
    get("another")
    assert len(computed) == before + 1
    assert str(error) in caplog.text


def test_unwritable_result_is_still_returned(caplog):
    def full(_path, _result):
        raise OSError("No space left on device")

    assert cached("k", lambda: "result", write=full) == "result"
    assert "No space left on device" in caplog.text


def test_several_processes_compute_a_result_once(tmp_path):
    script = textwrap.dedent("""
        import os, sys, time
        from pathlib import Path
        from brainscore_core.identity.store import cached_file
        def compute():
            Path(sys.argv[1], str(os.getpid())).touch()
            time.sleep(0.3)
            return "result"
        def write(text, path):
            path.write_text(text)
        print(cached_file("results", "k", ".txt", write=write, read=Path.read_text, compute=compute))
    """)
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [process.communicate()[0].strip() for process in processes] == ["result"] * 4
    assert len(list(tmp_path.iterdir())) == 1
