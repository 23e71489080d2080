import inspect
import json
import math
import re
import socket
import struct
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from brainscore_core import errors
from brainscore_core.benchmarks import score_benchmark
from brainscore_core.scoring.isolation.wire import Connection, Message
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_benchmark, load_model
from brainscore_vision.benchmark_helpers.stand_ins import SharedCandidate
from brainscore_vision.isolation import protocol
from brainscore_vision.isolation.protocol import content_of_answer
from brainscore_vision.isolation.proxy import RemoteModel
from brainscore_vision.model_helpers.brain_transformation.behavior import NoReadoutError
from brainscore_vision.model_helpers.brain_transformation.mapping import NoLayerForRegionError
from brainscore_vision.model_interface import BrainModel, layer_origin, region_layers, weights_digest
from brainscore_vision.testing.random_model import RandomModel


def _assert_identical(here, there, depth=0):
    assert type(here) is type(there)
    assert (here.dims, here.dtype, here.name) == (there.dims, there.dtype, there.name)
    assert _same(here.values, there.values)
    assert list(here.coords) == list(there.coords)
    for name in here.coords:
        assert here[name].dtype == there[name].dtype, name
        assert _same(here[name].values, there[name].values), name
    assert list(here.attrs) == list(there.attrs)
    if depth == 3:  # some scores contain themselves
        return
    for name, value in here.attrs.items():
        other = there.attrs[name]
        if isinstance(value, xr.DataArray):
            _assert_identical(value, other, depth + 1)
        elif isinstance(value, (str, int, float, dict, list, tuple)) or value is None:
            assert repr(value) == repr(other), name


def _same(here, there):
    if here.dtype.kind == "O":  # NaN differs from itself
        return here.shape == there.shape and list(map(repr, here.ravel())) == list(map(repr, there.ravel()))
    return here.shape == there.shape and here.tobytes() == there.tobytes()


@pytest.fixture
def stimuli(write_stimuli):
    """Return six pictures selected from a larger set, with columns of all types."""
    noise = np.random.default_rng(0)
    table = write_stimuli(
        {f"s.{number}": noise.integers(0, 256, (64, 64, 3)) for number in range(7)},
        "Pictures",
        image_label=["dog", "cat", "dog", "cat", "dog", "cat", "cat"],
        degrees=[8.0] * 7,
        number=range(7),
        is_face=[True, False] * 3 + [True],
        missing=["x", None, "y", "z", "x", "y", "x"],
        mixed=np.array([1, "x", None, 2.5, "y", 3, 4], dtype=object),
    )
    return table[table["number"] != 3]


_QUESTIONS = {
    "neural": lambda model, stimuli: model.start_recording("IT", time_bins=[(70, 170)]),
    "temporal": lambda model, stimuli: model.start_recording("IT", [(70, 90), (90, 110)]),
    "probabilities": lambda model, stimuli: model.start_task("probabilities", stimuli),
    "odd one out": lambda model, stimuli: model.start_task("odd_one_out"),
}


@pytest.mark.parametrize(
    ("question", "trials"), [("neural", 1), ("temporal", 3), ("probabilities", 3), ("odd one out", 1)]
)
def test_remote_answers_equal_local_ones(remote, stimuli, question, trials):
    answers = []
    for model in (load_model("pixels"), remote(load_model("pixels"))):
        _QUESTIONS[question](model, stimuli)
        answers.append(model.look_at(stimuli, number_of_trials=trials))
    _assert_identical(*answers)


class _Labels(BrainModel):
    """A model that names categories, answers each trial separately and has an option for that."""

    identifier = "labels"

    def visual_degrees(self):
        return 8

    def start_task(self, task, labels, require_variance=False):
        self.labels = np.asarray(labels)

    def look_at(self, stimuli, number_of_trials=1, require_variance=False):
        shown = type(stimuli)(stimuli.loc[stimuli.index.repeat(number_of_trials)])
        columns = {name: shown[name].to_numpy() for name in shown}
        columns["repetition"] = np.tile(np.arange(number_of_trials), len(stimuli))
        chosen = self.labels[np.arange(len(shown)) % len(self.labels)]
        even = np.full((len(shown), len(self.labels)), 1 / len(self.labels))
        probabilities = answers_of(even, **columns, choice=("choice", self.labels))
        return answers_of([chosen], **columns, label=chosen).assign_attrs(probabilities=probabilities)


@pytest.mark.parametrize("labels", [["dog", "cat"], np.array(["dog", "cat", "tree"])], ids=["list", "array"])
def test_remote_labels_and_probabilities_equal_local_ones(remote, stimuli, labels):
    answers = []
    for model in (_Labels(), remote(_Labels())):
        model.start_task("label", labels)
        answers.append(model.look_at(stimuli, number_of_trials=2))
    _assert_identical(*answers)


def test_proxy_shows_the_options_of_the_model(remote):
    here = _Labels()
    for there in (remote(here), SharedCandidate(remote(here)), SharedCandidate(here)):
        for method in ("start_task", "look_at"):
            expected = list(inspect.signature(getattr(here, method)).parameters)
            assert list(inspect.signature(getattr(there, method)).parameters) == expected
    there.start_task("label", ["dog"], require_variance=True)


def test_proxy_has_what_records_need_of_a_model(remote):
    here = load_model("pixels")
    there = remote(load_model("pixels"))
    assert there.identifier == here.identifier
    assert there.visual_degrees() == here.visual_degrees()
    assert weights_digest(there) == weights_digest(here)
    for model in (here, there):
        model.start_recording("IT", time_bins=[(70, 170)])
    assert region_layers(there) == region_layers(here)
    assert layer_origin(there, "IT") == layer_origin(here, "IT")


@pytest.mark.slow
@pytest.mark.usefixtures("shared_caches")
@pytest.mark.parametrize(
    ("model", "benchmark"),
    [
        ("pixels", "SimulatedCortex2026.V4-rdm"),
        ("pixels", "SimulatedCortex2026-i2n"),
        ("gabor_bank", "SimulatedCortex2026.V1-pref_or"),
    ],
)
def test_remote_scores_equal_local_ones(remote, monkeypatch, model, benchmark):
    monkeypatch.setattr("brainscore_vision.models.gabor_bank.model.STRIDE_PX", 32)  # a sixteenth of its cells
    candidates = (load_model(model), remote(load_model(model)))
    here, there = (score_benchmark(load_benchmark(benchmark), candidate) for candidate in candidates)
    reason, told = (score.attrs.pop("not_applicable", "") for score in (here, there))
    assert told in (reason, f"In the process of the candidate: {reason}")
    _assert_identical(here, there)


# -- stimuli as shown --------------------------------------------------------------------------------------------------


def test_pictures_have_neutral_names_and_are_removed_after_use(remote, stimuli, tmp_path):
    seen = {}

    class Curious(_Labels):
        def look_at(self, stimuli, number_of_trials=1):
            seen.update(stimuli.stimulus_paths)
            seen["read"] = [Image.open(path).size for path in stimuli.stimulus_paths.values()]
            return super().look_at(stimuli)

    model = remote(Curious())
    model.start_task("label", ["dog"])
    model.look_at(stimuli[:2])
    assert seen.pop("read") == [(64, 64)] * 2
    assert {path.rpartition("/")[2] for path in seen.values()} == {"0000000.png", "0000001.png"}
    assert not list(tmp_path.rglob("0000*.png"))
    assert all(path.is_file() for path in stimuli.stimulus_paths.values())


def test_copies_have_other_inodes_and_times_and_no_links(stimuli, tmp_path):
    """Sets are unpacked label by label, so the rank of an inode or a time would reveal the label."""
    description, _ = protocol.hand_out(stimuli, tmp_path / "shown")
    copies = [(tmp_path / "shown" / name).stat() for name in description["stimuli"]["files"]]
    originals = {stimuli.get_stimulus(name).stat().st_ino for name in stimuli["stimulus_id"]}
    assert {(copy.st_mtime_ns, copy.st_atime_ns, copy.st_nlink) for copy in copies} == {(0, 0, 1)}
    assert not originals & {copy.st_ino for copy in copies}
    changes = [copy.st_ctime_ns for copy in copies]
    assert changes == sorted(changes)  # created in the order of rows, which is all that they reveal
    for name, path in zip(stimuli["stimulus_id"], description["stimuli"]["files"], strict=True):
        assert (tmp_path / "shown" / path).read_bytes() == stimuli.get_stimulus(name).read_bytes()


def test_set_identifier_depends_only_on_content(stimuli, tmp_path):
    renamed = stimuli.copy()
    renamed.identifier = "Dogs"
    names = [
        protocol.hand_out(table, tmp_path / str(number))[0]["stimuli"]["identifier"]
        for number, table in enumerate([stimuli, renamed, stimuli[:2]])
    ]
    assert names[0] == names[1] != names[2]
    assert re.fullmatch("[0-9a-f]{24}", names[0])


def test_names_and_columns_reveal_nothing_but_training_labels(remote, stimuli):
    """The only column that a model gets is the label, and only for pictures to learn from."""
    seen = []

    class Curious(_Labels):
        def start_task(self, task, fitting):
            super().start_task(task, ["dog", "cat"])
            seen.append(fitting)

        def look_at(self, stimuli, number_of_trials=1):
            seen.append(stimuli)
            return super().look_at(stimuli)

    model = remote(Curious())
    model.start_task("probabilities", stimuli)
    answer = model.look_at(stimuli[::-1])
    _, learned, shown = seen  # the first call is without stimuli: the model may decline
    assert (list(learned.columns), list(shown.columns)) == (["stimulus_id", "image_label"], ["stimulus_id"])
    assert learned["stimulus_id"].tolist() == shown["stimulus_id"].tolist()[::-1]
    assert all(re.fullmatch("[0-9a-f]{24}-0", name) for name in shown["stimulus_id"])
    assert answer["stimulus_id"].values.tolist() == stimuli["stimulus_id"].tolist()[::-1]
    assert set(stimuli.columns) <= set(answer.coords)


def test_training_pictures_stay_until_the_next_task(remote, stimuli, tmp_path):
    model = remote(load_model("pixels"))
    model.start_task("probabilities", stimuli)
    assert len(list(tmp_path.rglob("0000*.png"))) == len(stimuli)
    model.start_recording("IT", [(70, 170)])
    assert not list(tmp_path.rglob("0000*.png"))


# -- harmful candidates ------------------------------------------------------------------------------------------------


@contextmanager
def _peer(answer, tmp_path, **options):
    """Yield the judge's side of a conversation; the function `answer` is the other side."""
    ours, theirs = socket.socketpair()

    def talk():
        with suppress(OSError, errors.ProtocolError):
            answer(Connection(theirs), theirs)

    thread = threading.Thread(target=talk, daemon=True)
    thread.start()
    try:
        yield RemoteModel(Connection(ours), tmp_path / "stimuli", **{"answer_s": 5.0, **options})
    finally:
        ours.close()
        theirs.close()
        thread.join(10)


def _replying(content, kind="answer", shift=0):
    def reply(connection, sock):
        while True:
            connection.send(Message(kind, connection.receive().number + shift, content))

    return reply


def _answer(values, ids, **coords):
    coords = {"stimulus_id": ("presentation", ids), "neuroid_id": ("neuroid", [0, 1]), **coords}
    return content_of_answer(NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"]), [])


_IDS = ["s.0", "s.1", "s.2", "s.4", "s.5", "s.6"]


def _wrong(**parts):
    return {**_answer(np.zeros((6, 2)), _IDS), **parts}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "not an assembly"),
        ({"kind": "NeuroidAssembly"}, "not an assembly"),
        (_answer(np.zeros((6, 2)), _IDS[::-1]), "a different order"),
        (_answer(np.zeros((6, 2)), [*_IDS[:-1], "s.3"]), "other stimuli"),
        (_answer(np.zeros((5, 2)), _IDS[:-1]), "5 answers to 6"),
        (_answer(np.zeros((12, 2)), _IDS * 2), "12 answers to 6"),
        (_answer(np.full((6, 2), "x"), _IDS), "real numbers"),
        (_wrong(dims=["presentation"]), "dims do not fit"),
        (_wrong(dims=["a", "neuroid"]), "without presentations"),
        (_wrong(dims=["presentation", "presentation"]), "dims do not fit"),
        (_wrong(coords=[{"name": "unit", "dims": ["neuroid", "neuroid"], "values": np.zeros((2, 2))}]), "does not fit"),
        (_wrong(kind="Path"), "not an assembly"),
        (_wrong(extra=1), "extra"),
        (_wrong(coords=[{"name": "neuroid_id", "dims": ["neuroid"], "values": np.zeros(3)}]), "does not fit"),
        (_wrong(coords=[{"name": "stimulus_id", "dims": ["presentation"], "values": 3}]), "do not name their stimuli"),
    ],
)
def test_malformed_answer_ends_the_conversation(stimuli, tmp_path, content, said):
    with _peer(_replying(content), tmp_path) as model:
        with pytest.raises(errors.InvalidAnswerError, match=said):
            model.look_at(stimuli)
        assert model.is_lost
        with pytest.raises(errors.InvalidAnswerError, match=said):
            model.start_recording("IT", [(70, 170)])


@pytest.mark.parametrize("degrees", ["wide", math.nan, math.inf, -1.0, 0.0, None])
def test_visual_degrees_must_be_a_positive_number(tmp_path, degrees):
    with _peer(_replying(degrees), tmp_path) as model, pytest.raises(errors.InvalidAnswerError):
        model.visual_degrees()


def test_answer_to_another_question_is_refused(tmp_path):
    with _peer(_replying(8.0, shift=1), tmp_path) as model, pytest.raises(errors.InvalidAnswerError):
        model.visual_degrees()


def test_answer_sent_before_its_question_is_refused(tmp_path):
    """The model cannot have seen the stimuli that it answers to."""

    def answers_at_once(connection, sock):
        connection.send(Message("answer", 1, 8.0))  # would be right if questions were counted from 1
        connection.receive()

    with _peer(answers_at_once, tmp_path) as model:
        with pytest.raises(errors.InvalidAnswerError, match="something other than 'visual_degrees'"):
            model.visual_degrees()
        assert model.is_lost


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ({"classes": ["NoReadoutError", "LayerNotFoundError"], "message": "m"}, "NoReadoutError"),
        ({"classes": ["NoLayerForRegionError", "NotApplicableError"], "message": "m"}, "NoLayerForRegionError"),
        ({"classes": ["Mine", "OfflineError", "OSError"], "message": "m"}, "OfflineError"),
        ({"classes": ["AKIASECRET", "Exception"], "message": "m"}, "CandidateError"),
        ({"classes": [], "message": ""}, "CandidateError"),
        ({"classes": "x", "message": 3}, "InvalidAnswerError"),
        (None, "InvalidAnswerError"),
    ],
)
def test_error_has_its_nearest_known_class(tmp_path, content, name):
    with _peer(_replying(content, kind="error"), tmp_path) as model:
        with pytest.raises(errors.CandidateError) as raised:
            model.visual_degrees()
        assert type(raised.value).__name__ == name


@pytest.mark.parametrize(
    "kind", [errors.NotApplicableError, NoLayerForRegionError, NoReadoutError, NotImplementedError]
)
def test_unsupported_requests_keep_their_kind_of_error(tmp_path, kind):
    content = protocol.content_of_error(kind("no such region"))
    with _peer(_replying(content, kind="error"), tmp_path) as model:
        with pytest.raises(NotImplementedError if kind is NotImplementedError else errors.NotApplicableError) as raised:
            model.start_recording("IT", [(70, 170)])
        assert isinstance(raised.value, errors.CandidateError)


class _Declining(BrainModel):
    identifier = "declining"

    def visual_degrees(self):
        return 8

    def start_recording(self, recording_target, time_bins):
        if recording_target == "V1":
            raise errors.NotApplicableError("not for me")

    def look_at(self, stimuli, number_of_trials=1):
        raise NoReadoutError("not for me")


def test_model_cannot_decline_after_seeing_stimuli(remote, stimuli):
    """Averages skip inapplicable scores: a model could otherwise choose the benchmarks that it is good at."""
    model = remote(_Declining())
    with pytest.raises(errors.NotApplicableError):
        model.start_recording("V1", [(70, 170)])
    model.start_recording("IT", [(70, 170)])
    for ask in (lambda: model.look_at(stimuli), lambda: model.start_recording("V1", [(70, 170)])):
        with pytest.raises(errors.CandidateError, match="not for me") as raised:
            ask()
        assert not isinstance(raised.value, errors.NotApplicableError)


@pytest.mark.parametrize("declines", [lambda stimuli: True, lambda stimuli: len(stimuli) > 0, lambda stimuli: False])
def test_model_cannot_decline_after_seeing_training_stimuli(remote, stimuli, declines):
    class Learning(RandomModel):
        asked = []  # noqa: RUF012 - numbers of stimuli

        def start_task(self, task, fitting_stimuli):
            self.asked.append(len(fitting_stimuli))
            if declines(fitting_stimuli):
                raise errors.NotApplicableError("not for me")
            if fitting_stimuli.empty:
                raise ValueError("nothing to learn from")

    learning, n = Learning(), len(stimuli)
    model = remote(learning)

    def start():
        model.start_task(BrainModel.Task.probabilities, stimuli.assign(image_label="a"))

    if not declines(stimuli):
        start()
        start()
        assert learning.asked == [0, n, n]
        return
    with pytest.raises(errors.CandidateError, match="not for me") as raised:
        start()
    assert isinstance(raised.value, errors.NotApplicableError) == (learning.asked == [0])


def test_candidate_that_ends_stalls_or_sends_garbage_is_lost(tmp_path):
    with _peer(lambda connection, sock: sock.close(), tmp_path, why=lambda: " It fell.") as model:
        with pytest.raises(errors.CandidateDiedError, match=r"'load'\. It fell\."):
            model.load()
        assert model.is_lost
    stop = threading.Event()
    with _peer(lambda connection, sock: stop.wait(10), tmp_path, answer_s=0.1) as model:
        with pytest.raises(errors.CandidateTimeoutError, match=r"0\.1 s"):
            model.load()
        stop.set()
    babbles = _peer(lambda connection, sock: sock.sendall(b"\0" * 100), tmp_path)
    with babbles as model, pytest.raises(errors.InvalidAnswerError):
        model.load()


@pytest.mark.parametrize(
    ("shape", "bins"), [([10**9, 1000], 1), ([6, 2**25], 1), ([6, 2**25, 3], 3), ([0, 2**40, 2**40], 1)]
)
def test_oversized_answer_is_refused_before_it_arrives(stimuli, tmp_path, shape, bins):
    header = {"kind": "answer", "number": 2, "content": {"array": 0}, "arrays": [{"dtype": "<f8", "shape": shape}]}
    encoded = json.dumps(header).encode()
    frame = struct.pack("<4sI", b"BSw1", len(encoded)) + encoded

    def announces(connection, sock):
        connection.send(Message("answer", connection.receive().number, None))
        connection.receive()
        sock.sendall(frame)

    with _peer(announces, tmp_path) as model:
        model.start_recording("IT", [(70, 170)] * bins)
        with pytest.raises(errors.InvalidAnswerError, match="MiB, the limit for this answer"):
            model.look_at(stimuli)


def test_answer_about_the_model_has_a_small_limit(tmp_path):
    with _peer(_replying(np.zeros(2**18)), tmp_path) as model, pytest.raises(errors.InvalidAnswerError, match="1 MiB"):
        model.visual_degrees()


def test_get_ready_imports_all_that_assemblies_need():
    program = (
        "import sys, numpy as np\n"
        "from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly\n"
        "from brainscore_vision.isolation.protocol import get_ready\n"
        "{before}before = set(sys.modules)\n"
        "coords = {{'neuroid_id': ('neuroid', ['a', 'b'])}}\n"
        "NeuroidAssembly(np.zeros((1, 2)), coords=coords, dims=['presentation', 'neuroid'])\n"
        "print(len(set(sys.modules) - before))\n"
    )
    assert int(subprocess.check_output([sys.executable, "-c", program.format(before="get_ready(); ")])) == 0
