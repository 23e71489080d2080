import os
import socket
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from brainscore_core.errors import CandidateDiedError, CandidateError, CandidateTimeoutError, InvalidAnswerError
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_vision.isolation.judge import started

pytestmark = pytest.mark.skipif(bool(why_no_box()), reason=str(why_no_box()))


@pytest.fixture(scope="module")
def hostile(tree, surroundings, tmp_path_factory):
    """Return the hostile model in its box; the tests that share it use attacks that leave it running."""
    with ExitStack() as held:
        held.enter_context(surroundings(tree, tmp_path_factory.mktemp("home")))
        model = held.enter_context(started("hostile", answer_s=120))
        model.load()
        yield model


@pytest.fixture
def stimuli(tmp_path, write_stimuli):
    folder = tmp_path / "pictures"
    folder.mkdir()
    pictures = {name: np.zeros((8 + number, 8, 3)) for number, name in enumerate("abc")}
    return write_stimuli(pictures, "Three", folder, object_name=["dog", "cat", "dog"])


def _attack(model, stimuli, attack):
    model.start_recording(attack, time_bins=[(70, 170)])
    answer = model.look_at(stimuli)
    assert len(set(answer.values.ravel())) == 1
    return answer, answer.values.item(0)


def test_honest_model_reads_the_pictures_and_its_answer_arrives(hostile, stimuli):
    answer, size = _attack(hostile, stimuli, "honest")
    assert size == sum(path.stat().st_size for path in stimuli.stimulus_paths.values())
    assert answer["object_name"].values.tolist() == ["dog", "cat", "dog"]


@pytest.mark.parametrize("attack", ["others", "permuted", "fewer", "twice", "labels", "nothing"])
def test_mismatched_answer_is_an_error(hostile, stimuli, attack):
    hostile.start_recording(attack, time_bins=[(70, 170)])
    expected = CandidateError if attack == "nothing" else InvalidAnswerError
    with pytest.raises(expected):
        _keep_alive(hostile).look_at(stimuli)


def _keep_alive(model):
    """Keep a model usable after a wrong answer, which normally ends the conversation."""
    model._end = lambda error: error
    return model


def test_stimulus_columns_come_from_the_judge(hostile, stimuli):
    assert _attack(hostile, stimuli, "another_truth")[0]["object_name"].values.tolist() == ["dog", "cat", "dog"]


def test_error_is_short_and_of_a_known_class(hostile, stimuli):
    hostile.start_recording("raises", time_bins=[(70, 170)])
    with pytest.raises(CandidateError) as raised:
        hostile.look_at(stimuli)
    assert type(raised.value) is CandidateError  # none of the error's own classes is known
    assert len(str(raised.value)) < 4_100


def test_candidate_sees_only_the_current_pictures(hostile, stimuli):
    for shown in (stimuli, stimuli[:2]):
        assert _attack(hostile, shown, "counts_files")[1] == len(shown)


def test_candidate_cannot_change_pictures(hostile, stimuli):
    before = {path: path.read_bytes() for path in stimuli.stimulus_paths.values()}
    assert _attack(hostile, stimuli, "changes_stimuli")[1] == 0
    assert {path: path.read_bytes() for path in before} == before


def test_candidate_cannot_write_records_plugins_or_hooks(hostile, stimuli, tmp_path, tree):
    folders = os.pathsep.join(map(str, [tmp_path, tree, tree / "models", Path.home()]))
    assert _attack(hostile, stimuli, f"writes:{folders}")[1] == 0
    assert not list(tmp_path.glob("harm*")) and not list(tree.rglob("harm*"))  # noqa: PT018 - one thing


@pytest.mark.parametrize(("kinds", "number"), [("data,metrics,benchmarks", 0), ("models", 1)])
def test_candidate_finds_only_its_own_plugin(hostile, stimuli, kinds, number):
    """With other plugins it could recreate the measurements of a benchmark."""
    assert _attack(hostile, stimuli, f"finds_plugins:{kinds}")[1] == number


def test_candidate_cannot_reach_a_server(hostile, stimuli):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()  # the server is up
        server.accept()[0].close()
        server.settimeout(0.2)
        assert _attack(hostile, stimuli, f"connects:127.0.0.1:{port}")[1] == 0
        with pytest.raises(TimeoutError):
            server.accept()


def test_candidate_finds_no_secret_in_process_environments(hostile, stimuli, secret):
    assert any(secret in value for value in os.environ.values())
    assert _attack(hostile, stimuli, f"reads_environments:{secret}")[1] == 0


def test_changed_libraries_affect_only_the_candidate(hostile, stimuli):
    assert _attack(hostile, stimuli, "changes_libraries")[1] == 3
    assert np.mean([1.0, 3.0]) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "expected", "why"),
    [
        ("exits", CandidateDiedError, "ended with"),
        ("takes_memory", CandidateDiedError, "used more memory than its limit"),
        ("closes", CandidateDiedError, "is still running"),
        ("is_silent", CandidateTimeoutError, None),
        ("writes_garbage", InvalidAnswerError, None),
    ],
)
def test_broken_conversation_loses_the_candidate_with_a_reason(
    tree, surroundings, tmp_path, stimuli, monkeypatch, attack, expected, why
):
    monkeypatch.setattr("brainscore_core.scoring.isolation.box.available_memory", lambda: 2**31)
    with surroundings(tree, tmp_path / "home"), started("hostile") as model:
        model.load()
        model.start_recording(attack, time_bins=[(70, 170)])
        model._answer_s = 3.0 if attack == "is_silent" else 30.0
        with pytest.raises(expected, match=why):
            model.look_at(stimuli)
        assert model.is_lost
        with pytest.raises(expected):
            model.visual_degrees()
