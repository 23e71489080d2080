import errno
import logging
import os
import resource
import shutil
import signal
import tempfile
import threading
from collections import OrderedDict
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from PIL import Image

from brainscore_core.config import settings
from brainscore_core.errors import AssemblyError, MissingStimulusError
from brainscore_core.identity.store import cache_limit_bytes
from brainscore_vision.model_helpers.activations import extraction
from brainscore_vision.model_helpers.activations.cache import entry as store
from brainscore_vision.model_helpers.activations.cache import layout, stored_entries
from brainscore_vision.model_helpers.activations.cache.entry import ActivationEntry
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper

LAYERS = ("double", "both")
N, BATCH = 10, 3
BATCHES = [(0, 3), (3, 6), (6, 9), (9, 10)]


def brightness(paths):
    return np.asarray([np.asarray(Image.open(path), dtype=np.float32).mean() for path in paths])


class Model:
    """A model with known answers; it logs its computations to a file, which survives a killed process."""

    def __init__(self, log, weight=2.0):
        self.log = log
        self.weight = weight
        self.before = lambda: None

    def __call__(self, inputs, layer_names):
        self.before()
        with self.log.open("a") as stream:
            stream.write(f"{len(inputs)} {inputs[0]:g} {','.join(layer_names)}\n")
        known = {"double": inputs[:, None] * self.weight, "both": np.stack([inputs, -inputs], axis=1)}
        return OrderedDict((name, known[name]) for name in layer_names)

    def train(self):
        self.weight += 1

    def computed(self):
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def model(tmp_path):
    return Model(tmp_path / "computed.txt")


@pytest.fixture
def stimuli(write_stimuli):
    return write_stimuli({f"s{index}": np.full((4, 4, 3), 10 * index) for index in range(N)})


def extractor(model, digest=None):
    digest = digest or (lambda: str(model.weight))
    # Each stimulus is shown once, so that tests can count the computations.
    return ActivationsExtractorHelper(
        model, brightness, "net", batch_size=BATCH, model_digest=digest, check_steady=False
    )


def truth(layers=LAYERS, weight=2.0):
    values = 10.0 * np.arange(N)
    known = {"double": [values * weight], "both": [values, -values]}
    return np.stack([column for layer in layers for column in known[layer]], axis=1)


def in_child(work):
    """Run a function in a child process; return its exit code, or minus the signal that stopped it."""
    process = os.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background may ignore SIGINT
        try:
            work()
            os._exit(0)
        except KeyboardInterrupt:
            os._exit(130)
        except BaseException:  # noqa: BLE001 - a child must not go on with the tests of its parent
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


class Moments:
    """Count the moments just before and after each write; stop the process at one of them."""

    WRITES = ("_note", "_write_entry", "_make_file")

    def __init__(self, monkeypatch, signal_number, moment):
        self.left, self.signal = moment, signal_number
        monkeypatch.setattr(store, "_BUFFER_BYTES", 8)  # so that parts of a batch reach the file, too
        monkeypatch.setattr(store, "pieces", partial(self._between, store.pieces))
        for name in self.WRITES:
            monkeypatch.setattr(ActivationEntry, name, self._around(getattr(ActivationEntry, name)))

    def _between(self, pieces, arrays):
        for piece in pieces(arrays):
            self.tick()
            yield piece
        self.tick()

    def _around(self, function):
        def ticked(*args, **kwargs):
            self.tick()
            result = function(*args, **kwargs)
            self.tick()
            return result

        return ticked

    def tick(self):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.signal)


def batches_of(model):
    """Return the computations, without the two-stimulus batch that finds the stimulus axis if one batch remains."""
    return [line for line in model.computed() if not line.startswith("2 ")]


@pytest.mark.slow
@pytest.mark.parametrize(("signal_number", "step"), [(signal.SIGKILL, 1), (signal.SIGINT, 9)])
def test_stopped_extraction_resumes_after_the_last_batch(model, stimuli, monkeypatch, signal_number, step):
    for moment in range(1, 1000, step):
        shutil.rmtree(settings().cache_home, ignore_errors=True)
        model.log.unlink(missing_ok=True)

        def work(moment=moment):
            model.before = Moments(monkeypatch, signal_number, moment).tick
            extractor(model)(stimuli, layers=LAYERS)

        ended = in_child(work)
        if ended == 0:
            break
        assert ended == (-signal.SIGKILL if signal_number == signal.SIGKILL else 130)
        before = len(batches_of(model))
        np.testing.assert_array_equal(extractor(model)(stimuli, layers=LAYERS).values, truth())
        # Only the batch in progress was lost.
        again = len(batches_of(model)) - len(BATCHES)
        assert again <= 1, (moment, model.computed())
        assert before <= len(BATCHES)
        assert [stored.state for stored in stored_entries()] == ["whole"]
        computed = model.computed()
        extractor(model)(stimuli, layers=LAYERS)
        assert model.computed() == computed
    assert moment > 30


def fail(model, stimuli, error, after):
    """Record activations, and let the model fail in the batch after the first `after` ones."""
    calls = iter(range(100))

    def stop():
        if next(calls) == after:
            raise error

    model.before = stop
    with pytest.raises(type(error), match=str(error)):
        extractor(model)(stimuli, layers=LAYERS)
    model.before = lambda: None


def test_error_in_a_batch_keeps_earlier_batches(model, stimuli):
    fail(model, stimuli, RuntimeError("the network broke"), after=2)
    assert [(stored.state, stored.finished) for stored in stored_entries()] == [("partial", 6)]
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=LAYERS).values, truth())
    assert [line.split()[1] for line in model.computed()] == ["0", "30", "60", "90"]


def interrupted(model, stimuli, after):
    fail(model, stimuli, KeyboardInterrupt(), after)
    model.log.unlink()


@pytest.mark.parametrize("damage", ["values bit", "values cut", "values gone", "line bit", "line cut", "head bit"])
def test_damaged_parts_of_an_interrupted_extraction_are_recomputed(model, stimuli, damage):
    interrupted(model, stimuli, after=3)
    for stored in stored_entries():
        what, how = damage.split()
        path = stored.folder / ("values.npy" if what == "values" else "progress.jsonl")
        content = bytearray(path.read_bytes())
        place = {"values": len(content) - 1, "line": content.rfind(b'"crc32": ') + 9, "head": 30}[what]
        if how == "gone":
            path.unlink()
        elif how == "cut":
            path.write_bytes(content[: -10 if what == "line" else -5])
        else:
            content[place] ^= 1
            path.write_bytes(content)
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=LAYERS).values, truth())
    # The damaged batch and the last one, or every batch if the finished ones cannot be identified.
    assert len(model.computed()) == (4 if damage in ("values gone", "head bit") else 2)


def test_other_layers_after_an_interruption_get_their_own_entry(model, stimuli):
    interrupted(model, stimuli, after=2)
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=["double"]).values, truth(["double"]))
    assert [(stored.state, tuple(stored.layers)) for stored in stored_entries()] == [
        ("partial", LAYERS),
        ("whole", ("double",)),
    ]
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=LAYERS).values, truth())
    assert [line.split()[2] for line in model.computed()] == ["double"] * 4 + ["both"] * 4


def test_weights_that_change_during_recording_are_noticed(model, stimuli, caplog):
    model.before = model.train
    extractor(model)(stimuli, layers=["double"])
    assert stored_entries() == []
    assert "changed while" in caplog.text


def test_changed_model_killed_unnoticed_leaves_no_whole_entry(model, stimuli, monkeypatch):
    def work():
        model.before = model.train
        monkeypatch.setattr(extraction, "_why_not_as_before", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        extractor(model)(stimuli, layers=["double"])

    assert in_child(work) == -signal.SIGKILL
    assert [stored.state for stored in stored_entries()] == ["partial"]
    model.before = model.train
    extractor(model)(stimuli, layers=["double"])  # the last batch runs again, which reveals the change
    assert stored_entries() == []


def test_changed_model_in_an_interrupted_recording_leaves_nothing(model, stimuli):
    def train_and_stop():
        model.train()
        if model.weight > 4:
            raise KeyboardInterrupt

    model.before = train_and_stop
    with pytest.raises(KeyboardInterrupt):
        extractor(model)(stimuli, layers=["double"])
    assert stored_entries() == []


def test_counter_in_a_model_does_not_prevent_caching(model, stimuli):
    counted = []

    def digest():
        return {"weights": str(model.weight), "code and settings": str(len(counted))}

    model.before = lambda: counted.append(1)
    extractor(model, digest)(stimuli, layers=["double"])
    counted.clear()
    extractor(model, digest)(stimuli, layers=["double"])
    assert len(model.computed()) == len(BATCHES)
    # A recording made in two runs, however, cannot be identified by the state of the model before the first.
    counted.clear()
    shutil.rmtree(settings().cache_home)
    assert in_child(partial(_killed_in_third_batch, model, digest, stimuli)) == -signal.SIGKILL
    extractor(model, digest)(stimuli, layers=["double"])
    assert stored_entries() == []


def _killed_in_third_batch(model, digest, stimuli):
    calls = iter(range(100))
    model.before = lambda: os.kill(os.getpid(), signal.SIGKILL) if next(calls) == 2 else None
    extractor(model, digest)(stimuli, layers=["double"])


@pytest.mark.parametrize("clock_set_back", [False, True])
def test_stimulus_changed_while_shown_leaves_no_entry(model, stimuli, clock_set_back):
    path = stimuli.get_stimulus("s9")
    original, status = path.read_bytes(), path.stat()

    def repaint():
        other = path.with_suffix(".new.png")
        Image.fromarray(np.full((4, 4, 3), 200, dtype=np.uint8)).save(other)
        if clock_set_back:
            os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
        other.replace(path)  # atomic, because another thread reads ahead

    model.before = repaint
    extractor(model)(stimuli, layers=["double"])
    model.before = lambda: None
    path.write_bytes(original)
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=["double"]).values, truth(["double"]))


def test_error_names_a_stimulus_deleted_after_listing(model, stimuli):
    model.before = lambda: stimuli.get_stimulus("s9").unlink(missing_ok=True)
    shown = extractor(model)
    shown.preprocess = lambda paths: (model.before(), brightness(paths))[1]
    with pytest.raises(MissingStimulusError, match=r"^Stimulus 's9': .*s9\.png' does not exist"):
        shown(stimuli, layers=["double"])


def test_error_names_a_stimulus_deleted_during_key_creation(model, stimuli, monkeypatch):
    def digest():
        stimuli.get_stimulus("s9").unlink(missing_ok=True)
        return "net"

    with pytest.raises(MissingStimulusError, match=r"^Stimulus 's9': .*s9\.png' does not exist"):
        extractor(model, digest)(stimuli, layers=["double"])


def in_children(model, stimuli, *asked):
    """Request layers from several processes at the same time; return whether each got the right values."""
    children = []
    for layers in asked:
        process = os.fork()
        if process == 0:
            try:
                os._exit(0 if np.array_equal(extractor(model)(stimuli, layers=layers).values, truth(layers)) else 1)
            except BaseException:  # noqa: BLE001 - a child must not go on with the tests of its parent
                os._exit(2)
        children.append(process)
    return [os.waitpid(child, 0)[1] == 0 for child in children]


def test_concurrent_processes_compute_shared_layers_once(model, stimuli):
    assert all(in_children(model, stimuli, LAYERS, LAYERS, LAYERS))
    assert len(model.computed()) == len(BATCHES)


def test_concurrent_threads_compute_shared_layers_once(model, stimuli):
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(extractor(model)(stimuli, layers=LAYERS))) for _ in range(3)
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for result in results:
        np.testing.assert_array_equal(result.values, truth())
    assert len(model.computed()) == len(BATCHES)


# --- several layers in one file --------------------------------------------------------------------------------------


def file_of(values):
    """Return the whole content of the file that an array maps without a copy."""
    mapped = mapped_file(values)
    assert np.shares_memory(mapped, values)
    return np.load(mapped.filename)


@pytest.mark.parametrize("again", [False, True])
def test_layers_recorded_together_are_mapped_without_a_copy(model, stimuli, again):
    activations = extractor(model)(stimuli, layers=LAYERS)
    if again:
        activations = extractor(model)(stimuli, layers=LAYERS)
    assert activations.values.flags.c_contiguous
    np.testing.assert_array_equal(file_of(activations.values), truth())
    activations.values[:] = -1  # changes the memory of this array only
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=LAYERS).values, truth())
    assert len(model.computed()) == len(BATCHES)


@pytest.mark.parametrize(
    ("layers", "copied"),
    [("abc", False), ("ab", False), ("bc", False), ("b", False), ("ac", True), ("ba", True), ("acb", True)],
)
def test_only_adjacent_layers_of_a_file_are_not_copied(stimuli, layers, copied):
    factors = {"a": [1, 2], "b": [3], "c": [4, 5, 6]}
    helper = ActivationsExtractorHelper(
        lambda inputs, names: {name: np.outer(inputs, factors[name]) for name in names},
        brightness,
        "net",
        batch_size=BATCH,
        model_digest=lambda: "net",
    )
    helper(stimuli, layers=["a", "b", "c"])
    activations = helper(stimuli, layers=list(layers))
    columns = [factor for layer in layers for factor in factors[layer]]
    np.testing.assert_array_equal(activations.values, np.outer(10.0 * np.arange(N), columns))
    assert (mapped_file(activations.values) is None) is copied
    assert len(stored_entries()) == 1


def test_values_within_budget_are_writable_despite_larger_file(model, stimuli, monkeypatch):
    extractor(model)(stimuli, layers=LAYERS)
    monkeypatch.setenv("BRAINSCORE_MEMORY_GB", str((8 * N + 1) / 1e9))
    both = extractor(model)(stimuli, layers=["both"])
    np.testing.assert_array_equal(both.values, truth(["both"]))
    both.values[0, 0] = 5  # 2 units of 4 bytes for each stimulus
    monkeypatch.setenv("BRAINSCORE_MEMORY_GB", str((8 * N - 1) / 1e9))
    both = extractor(model)(stimuli, layers=["both"])
    np.testing.assert_array_equal(file_of(both.values), truth())
    with pytest.raises(ValueError, match="read-only"):
        both.values[0, 0] = 5


def test_entry_of_another_key_is_not_used_wherever_it_is_copied(model, stimuli):
    extractor(model)(stimuli, layers=LAYERS)
    (other,) = stored_entries()
    model.weight = 3.0
    extractor(model)(stimuli, layers=["double"])
    (mine,) = [stored for stored in stored_entries() if stored.parts != other.parts]
    shutil.copytree(other.folder, mine.folder.with_name(other.folder.name))
    shutil.copytree(other.folder, mine.folder.with_name("0" * 64))
    shutil.rmtree(mine.folder)
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=["double"]).values, truth(["double"], weight=3.0))


def test_entry_with_a_wrong_order_of_layers_is_not_used(model, stimuli):
    extractor(model)(stimuli, layers=LAYERS)
    (stored,) = stored_entries()
    path = stored.folder / "entry.json"
    record = {**layout.unsealed(path.read_text()), "layers": list(LAYERS[::-1])}
    path.write_text(layout.sealed(record))
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=["double"]).values, truth(["double"]))
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=LAYERS).values, truth())


KINDS = {
    "float": lambda x: x[:, None] * np.float32([1, 2, 3]),
    "images": lambda x: np.multiply.outer(x, np.arange(12.0, dtype=np.float32).reshape(2, 3, 2)),
    "double": lambda x: x[:, None].astype(np.float64) / 3,
    "half": lambda x: (x[:, None] * [1, 2, 3]).astype(np.float16),
    "byte": lambda x: x.astype(np.uint8),
    "none": lambda x: np.zeros((len(x), 0, 2), np.float32),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_requests_damage_and_limits_give_right_values(stimuli, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    stop = [None]

    def network(inputs, names):
        if stop[0] == inputs[0]:
            raise KeyboardInterrupt
        return {name: KINDS[name](inputs) for name in names}

    helper = ActivationsExtractorHelper(
        network, brightness, "net", batch_size=BATCH, model_digest=lambda: "net", check_steady=False
    )
    shown = 10 * np.arange(N, dtype=np.float32)
    for _ in range(25):
        layers = rng.permutation(list(KINDS))[: rng.integers(1, len(KINDS) + 1)].tolist()
        monkeypatch.setenv("BRAINSCORE_MEMORY_GB", str(rng.choice([1e-9, 1e-6, 1])))
        monkeypatch.setenv("BRAINSCORE_CACHE_GB", str(rng.choice([1e-5, 1])))
        stop[0] = rng.choice([0, 30, 90, 1000, 1000])
        if rng.random() < 0.3 and (entries := stored_entries()):
            path = rng.choice(sorted(entries[rng.integers(len(entries))].folder.iterdir()))
            content = bytearray(path.read_bytes())
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
            path.write_bytes(content)
        order = rng.integers(N, size=N) if rng.random() < 0.2 else np.arange(N)
        try:
            activations = helper(stimuli.iloc[order], layers=layers)
        except KeyboardInterrupt:
            continue
        parts = [KINDS[layer](shown[order]) for layer in layers]
        dtype = np.result_type(*(part.dtype for part in parts))
        assert activations.dtype == dtype
        np.testing.assert_array_equal(
            activations.values, np.concatenate([part.reshape(N, -1).astype(dtype) for part in parts], axis=1)
        )
        if activations.nbytes <= settings().memory_gb * 1e9:
            activations.values[:] = 77


def test_concurrent_processes_with_common_layers_get_right_values(model, stimuli):
    assert all(in_children(model, stimuli, ["double"], list(LAYERS), ["both", "double"], ["both"]))
    assert sorted(layer for stored in stored_entries() for layer in stored.layers) == sorted(LAYERS)


# --- trouble with the disk -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["begin", "write", "finish"])
def test_failing_disk_costs_time_but_no_result(model, stimuli, monkeypatch, caplog, where):
    def fail(*_args, **_kwargs):
        raise OSError("No space left on device")

    owner, name = {"begin": (store.shutil, "disk_usage"), "write": (store, "pieces"), "finish": (store, "atomic_path")}[
        where
    ]
    monkeypatch.setattr(owner, name, fail)
    with caplog.at_level(logging.WARNING):
        activations = extractor(model)(stimuli, layers=LAYERS)
    np.testing.assert_array_equal(activations.values, truth())
    assert "No space left on device" in caplog.text
    assert stored_entries() == []


def test_cache_that_cannot_be_created_costs_no_result(model, stimuli, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "file"))
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=LAYERS).values, truth())


@pytest.mark.parametrize("limit_bytes", range(100, 2000, 300))
def test_full_disk_causes_no_repeated_computation(model, stimuli, limit_bytes):
    # A system limit on file sizes simulates a disk that fills up sooner or later.
    def work():
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
        values = extractor(model)(stimuli, layers=LAYERS).values
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        np.testing.assert_array_equal(values, truth())

    assert in_child(work) == 0
    assert len(model.computed()) == len(BATCHES)
    assert all(stored.state == "whole" for stored in stored_entries())


@pytest.mark.parametrize("asked", [["double"], ["double", "both"]], ids=["hit", "hit and miss"])
def test_read_only_cache_is_used_without_a_lock(model, stimuli, tmp_path_factory, monkeypatch, asked):
    extractor(model)(stimuli, layers=["double"])
    before = len(model.computed())

    @contextmanager
    def no_lock(*_args, **_kwargs):
        raise OSError(errno.EROFS, "Read-only file system")
        yield

    monkeypatch.setattr(extraction, "locked", no_lock)
    monkeypatch.setattr(store, "atomic_path", no_lock)
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=asked).values, truth(asked))
    computed = model.computed()[before:]
    assert [line.split()[-1] for line in computed] == (["both"] * len(BATCHES) if "both" in asked else [])


def test_file_system_without_locks_costs_no_result(model, stimuli, monkeypatch, caplog):
    @contextmanager
    def no_lock(*_args, **_kwargs):
        raise NotImplementedError("FileSystem does not appear to support flock")
        yield

    monkeypatch.setattr(extraction, "locked", no_lock)
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=LAYERS).values, truth())
    assert "does not appear to support flock" in caplog.text


def test_no_room_for_a_probe_image_disables_caching_only(model, stimuli, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    np.testing.assert_array_equal(extractor(model)(stimuli, layers=LAYERS).values, truth())
    assert stored_entries() == []


# --- memory ----------------------------------------------------------------------------------------------------------


def mapped_file(values):
    base = values
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    return base


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("layers", [["double"], list(LAYERS)])
def test_values_beyond_the_budget_are_mapped_from_a_file(model, stimuli, monkeypatch, cached, layers):
    monkeypatch.setenv("BRAINSCORE_MEMORY_GB", "0.00000001")
    activations = extractor(model)(stimuli, layers=layers, stimuli_identifier=None if cached else False)
    np.testing.assert_array_equal(activations.values, truth(layers))
    assert mapped_file(activations.values).mode == "r"
    with pytest.raises(ValueError, match="read-only"):
        activations.values[0] = 0
    # Files outside the cache have no name and vanish when the last reference goes.
    names = {path.name for path in (settings().cache_home / "activations").rglob("*") if path.is_file()}
    assert names <= {"values.npy", "entry.json", "calls.jsonl"} | {name for name in names if name.endswith(".lock")}


def test_error_says_if_disk_and_memory_are_both_too_small(model, stimuli, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_MEMORY_GB", "0.00000001")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 0))
    with pytest.raises(OSError, match=r"BRAINSCORE_MEMORY_GB allows.*0\.0 GB free"):
        extractor(model)(stimuli, layers=LAYERS, stimuli_identifier=False)


def test_rejects_layers_whose_shape_depends_on_the_stimulus(stimuli):
    def ragged(inputs, _names):
        return {"ragged": np.zeros((len(inputs), int(inputs[0]) + 1))}

    for digest in (None, lambda: "net"):
        helper = ActivationsExtractorHelper(ragged, brightness, "net", batch_size=1, model_digest=digest)
        with pytest.raises(AssemblyError, match=r"'ragged' gave float64 of shape \(11,\).*\(1,\) before"):
            helper(stimuli, layers=["ragged"])


def test_cache_size_is_limited(model, stimuli, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_CACHE_GB", "0.000004")
    sizes = []
    for weight in (2.0, 3.0, 4.0, 5.0):
        model.weight = weight
        extractor(model)(stimuli, layers=["double"])
        sizes.append(sum(stored.size_bytes for stored in stored_entries()))
    assert max(sizes) <= 4000 + max(stored.size_bytes for stored in stored_entries())
    assert len(stored_entries()) < 4
    assert cache_limit_bytes() == 4000
