import dataclasses
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from brainscore_core.errors import StateChangedError
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.scoring.isolation.box import why_no_box
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.__main__ import main
from brainscore_vision.isolation import kept as kept_answers
from brainscore_vision.isolation.judge import started
from brainscore_vision.isolation.kept import KeptAnswers, answers_folder, remove_answers, stored_answers
from brainscore_vision.isolation.prepared import Prepared
from brainscore_vision.isolation.proxy import RemoteModel
from brainscore_vision.model_helpers.activations.cache import NotStoredError
from brainscore_vision.model_interface import BrainModel

boxed = pytest.mark.skipif(bool(why_no_box()), reason=str(why_no_box()))


class Drawing(BrainModel):
    """Answers differently each time, which makes stored answers recognisable."""

    def __init__(self, weights="some weights"):
        self.weights, self.n_looks, self.region = weights, 0, None

    identifier = "drawing"

    def visual_degrees(self):
        return 8.0

    def weights_digest(self):
        return self.weights

    def start_recording(self, recording_target, time_bins=None):
        self.region = recording_target

    def start_task(self, task, fitting_stimuli=None):
        self.region = task

    def look_at(self, stimuli, number_of_trials=1):
        self.n_looks += 1
        names = ("neuroid", [f"{self.region}{number}" for number in range(4)])
        values = np.random.default_rng().random((len(stimuli), 4))
        return assembly_of(values, stimulus_id=stimuli["stimulus_id"].tolist(), neuroid_id=names)


def _pictures(folder, seed=0, names="abc", **columns):
    folder.mkdir(exist_ok=True)
    table = StimulusSet({"stimulus_id": list(names), **columns})
    table.identifier = "Pictures"
    table.stimulus_paths = {name: folder / f"{seed}-{name}.png" for name in names}
    for number, path in enumerate(table.stimulus_paths.values()):
        pixels = np.random.default_rng([seed, number]).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
    return table


@pytest.fixture
def stimuli(tmp_path):
    return _pictures(tmp_path / "pictures")


@pytest.fixture
def library(tree, surroundings, tmp_path):
    """Let models be found in a library whose plugins the test may change."""
    with surroundings(tree, tmp_path / "home"):
        yield tree


@pytest.fixture
def prepared(library, tmp_path):
    home = tmp_path / "candidate"
    home.mkdir()
    (home / "weights").write_text("first")
    return Prepared(model="hostile", python=Path(sys.executable), home=home)


def _refuse():
    raise NotStoredError("asked")


def _look(model, stimuli, region="IT", **more):
    model.start_recording(region, [(70, 170)])
    return model.look_at(stimuli, **more)


@pytest.fixture
def earlier_answer(remote, prepared, stimuli):
    """Return an answer of a model that has been stored."""
    return _look(remote(Drawing(), kept=KeptAnswers(prepared)), stimuli)


@pytest.fixture
def again(prepared, tmp_path):
    """Return a function that makes a proxy of the model without a candidate: only stored answers are available."""
    return lambda changed=None: RemoteModel(_refuse, tmp_path / "shown", kept=KeptAnswers(changed or prepared))


def test_repeated_question_needs_no_candidate(earlier_answer, again, stimuli):
    model = again()
    model.load()
    found = _look(model, stimuli)
    assert type(found) is type(earlier_answer)
    assert found.identical(earlier_answer)
    assert found.values.tobytes() == earlier_answer.values.tobytes()
    assert model.n_found == 3  # replies to load, start_recording and look_at


def test_pictures_copied_elsewhere_have_the_same_answer(earlier_answer, again, tmp_path):
    assert _look(again(), _pictures(tmp_path / "elsewhere")).identical(earlier_answer)


def test_memory_setting_does_not_invalidate_answers(earlier_answer, again, stimuli, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_MEMORY_GB", "3")
    assert _look(again(), stimuli).identical(earlier_answer)


OTHER_QUESTIONS = {
    "region": lambda model, folder: _look(model, _pictures(folder), region="V4"),
    "trials": lambda model, folder: _look(model, _pictures(folder), number_of_trials=2),
    "contents": lambda model, folder: _look(model, _pictures(folder, seed=1)),
    "order": lambda model, folder: _look(model, _pictures(folder)[::-1]),
    "part": lambda model, folder: _look(model, _pictures(folder)[:2]),
    "unprepared": lambda model, folder: model.look_at(_pictures(folder)),
    "time bins": lambda model, folder: (model.start_recording("IT", [(0, 10)]), model.look_at(_pictures(folder))),
    "task": lambda model, folder: (model.start_task("IT"), model.look_at(_pictures(folder))),
    "weights": lambda model, folder: model.weights_digest(),
}


def test_different_question_has_no_stored_answer(earlier_answer, again, tmp_path):
    for name, ask in OTHER_QUESTIONS.items():
        with pytest.raises(NotStoredError, match="asked"):
            ask(again(), tmp_path / name)


def _write(path, text):
    path.write_text(text)


@pytest.mark.parametrize(
    "change",
    [
        lambda tree, prepared, patch: _write(tree / "models" / "hostile" / "more.py", "x = 1"),
        lambda tree, prepared, patch: _write(prepared.home / "weights", "other"),
        lambda tree, prepared, patch: _write(prepared.home / "more", "weights"),
        lambda tree, prepared, patch: patch.setenv("OMP_NUM_THREADS", "7"),
        lambda tree, prepared, patch: patch.setenv("RESULTCACHING_DISABLE", "1"),
        lambda tree, prepared, patch: _write(tree.parent / "loose.py", "x = 1"),
        lambda tree, prepared, patch: patch.setattr(sys, "version", "4.0"),
    ],
    ids=["plugin", "weights", "more weights", "variable", "no cache", "module", "python"],
)
def test_changed_model_or_environment_has_no_stored_answer(
    earlier_answer, again, stimuli, library, prepared, monkeypatch, change
):
    made = [library / "models" / "hostile" / "more.py", library.parent / "loose.py"]
    try:
        change(library, prepared, monkeypatch)
        with pytest.raises(NotStoredError, match="asked"):
            _look(again(), stimuli)
    finally:
        for file in made:
            file.unlink(missing_ok=True)


def test_answers_are_not_stored_while_the_model_changes(remote, prepared, stimuli, again):
    model = remote(Drawing(), kept=KeptAnswers(prepared))
    (prepared.home / "weights").write_text("changed since its key was made")
    kept = model._kept
    kept._looked = -1e9  # as if the last check were long ago
    _look(model, stimuli)
    for state in ("changed since its key was made", "first"):
        (prepared.home / "weights").write_text(state)
        with pytest.raises(NotStoredError):
            _look(again(), stimuli)


def test_installed_packages_are_part_of_the_key(prepared, tmp_path):
    packages = tmp_path / "own" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    own = dataclasses.replace(prepared, python=tmp_path / "own" / "bin" / "python")
    keys = set()
    for name in ("first-1.0", "first-1.1", "second-1.1"):
        for each in packages.iterdir():
            each.rmdir()
        (packages / f"{name}.dist-info").mkdir()
        assert f"{name.replace('-', '==')}\n" in own.lock
        keys.add(kept_answers._key_of(own))
    assert len(keys) == 3
    assert None not in keys


def test_change_of_a_plugin_that_the_model_used_drops_answers(remote, prepared, stimuli, again, tmp_path, monkeypatch):
    """Such as the metric by which its layers were chosen."""
    kept = KeptAnswers(prepared)
    used = tmp_path / "metrics" / "used"
    used.mkdir(parents=True)
    (used / "__init__.py").write_text("x = 1")
    root = dataclasses.replace(kept_answers.library_roots("brainscore_vision")[0], folder="metrics", path=used.parent)
    monkeypatch.setattr(kept_answers, "library_roots", lambda name: [root])
    kept.begin("weights")
    kept.keep("q", 1.0, ["metrics/used"])
    assert KeptAnswers(prepared).find("q") == (1.0,)
    (used / "__init__.py").write_text("x = 2")
    assert KeptAnswers(prepared).find("q") is None


def test_answers_with_unknown_dependencies_are_not_stored(prepared):
    kept = KeptAnswers(prepared)
    kept.begin("weights")
    for used in (["metrics/.."], ["metrics/../models/hostile"], ["metrics/nowhere"], ["/etc"], [1], "metrics", None):
        kept.keep("q", 1.0, used)
        assert kept.find("q") is None
    kept.keep("q", 1.0, [])
    assert kept.find("q") == (1.0,)


# -- answers of two models are never mixed -----------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(None, None), ("first", "second")])
def test_changed_model_is_asked_every_question_again(remote, prepared, stimuli, weights):
    first, second = map(Drawing, weights)
    before = _look(remote(first, kept=KeptAnswers(prepared)), stimuli)
    model = remote(second, kept=KeptAnswers(prepared))
    assert _look(model, stimuli).identical(before)
    assert second.n_looks == 0
    with pytest.raises(StateChangedError):
        _look(model, stimuli, "V4")
    assert model.has_changed
    now, other = _look(model, stimuli), _look(model, stimuli, "V4")
    assert not now.identical(before)
    assert second.n_looks == 2
    third = remote(Drawing("third"), kept=KeptAnswers(prepared))
    assert _look(third, stimuli).identical(now)
    assert _look(third, stimuli, "V4").identical(other)


def test_equal_weights_are_the_same_model(remote, prepared, stimuli, earlier_answer):
    second = Drawing()
    model = remote(second, kept=KeptAnswers(prepared))
    assert _look(model, stimuli).identical(earlier_answer)
    other = _look(model, stimuli, "V4")
    assert (second.n_looks, second.region) == (1, "V4")
    assert other["neuroid_id"].values[0] == "V40"
    assert _look(model, stimuli).identical(earlier_answer)


def test_late_candidate_is_prepared_before_it_answers(remote, prepared, stimuli, tmp_path):
    earlier_answer = _look(remote(Drawing(), kept=KeptAnswers(prepared)), stimuli)
    model = remote(Drawing(), kept=KeptAnswers(prepared))
    model.start_recording("IT", [(70, 170)])
    fresh = model.look_at(_pictures(tmp_path / "more", seed=3))
    assert list(fresh["neuroid_id"].values) == list(earlier_answer["neuroid_id"].values)


# -- stored answers are trusted no more than a candidate ---------------------------------------------------------------


def _answer_files():
    return sorted(answers_folder().glob("*/*/*.answer"), key=lambda file: file.stat().st_size)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-40], lambda data: data[:60] + b"\1" + data[61:], lambda data: b""]
)
def test_damaged_file_is_ignored(earlier_answer, again, stimuli, damage):
    for file in _answer_files():
        file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(NotStoredError):
        _look(again(), stimuli)


def test_file_with_the_name_of_another_is_ignored(remote, prepared, stimuli, again):
    model = remote(Drawing(), kept=KeptAnswers(prepared))
    _look(model, stimuli)
    _look(model, stimuli, "V4")
    one, other = _answer_files()[-2:]
    one.write_bytes(other.read_bytes())
    found = 0
    for region in ("IT", "V4"):
        try:
            answer = _look(again(), stimuli, region)
        except NotStoredError:
            continue
        found += 1
        assert answer["neuroid_id"].values[0] == f"{region}0"
    assert found == 1


def test_intact_file_with_a_wrong_answer_is_ignored(prepared, remote, stimuli, earlier_answer, monkeypatch):
    """As an attacker would write it: the file is intact, but its content is wrong."""
    kept = KeptAnswers(prepared)
    monkeypatch.setattr(kept, "find", lambda key: ({"kind": "NeuroidAssembly", "dims": []},))
    second = Drawing()
    assert len(_look(remote(second, kept=kept), stimuli)) == 3
    assert second.n_looks == 1


# -- poisoning ---------------------------------------------------------------------------------------------------------


class Liar(Drawing):
    """Claims to be another model, and to have its weights."""

    identifier = "victim"


def test_candidate_cannot_store_answers_for_another_model(remote, library, tmp_path, stimuli, again):
    victim = library / "models" / "victim"
    victim.mkdir()
    try:
        text = (library / "models" / "hostile" / "__init__.py").read_text()
        (victim / "__init__.py").write_text(text.replace('["hostile"]', '["victim"]'))
        whose = {
            name: Prepared(model=name, python=Path(sys.executable), home=tmp_path / name)
            for name in ("hostile", "victim")
        }
        _look(remote(Liar("weights of the victim"), kept=KeptAnswers(whose["hostile"])), stimuli)
        model = again(whose["victim"])
        with pytest.raises(NotStoredError, match="asked"):
            _look(model, stimuli)
        # Nor for an older or a newer revision of the hostile model itself.
        (library / "models" / "hostile" / "newer.py").write_text("")
        with pytest.raises(NotStoredError, match="asked"):
            _look(again(whose["hostile"]), stimuli)
        (library / "models" / "hostile" / "newer.py").unlink()
        assert len(_look(again(whose["hostile"]), stimuli)) == 3
    finally:
        for file in victim.iterdir():
            file.unlink()
        victim.rmdir()
        (library / "models" / "hostile" / "newer.py").unlink(missing_ok=True)


@pytest.mark.slow
@boxed
def test_candidate_cannot_reach_stored_answers(library, tmp_path, stimuli):
    answers_folder().mkdir(parents=True)
    (answers_folder() / "there").touch()
    with started("hostile") as model:
        model.load()
        found = _look(model, stimuli, f"writes:{answers_folder()}{os.pathsep}{answers_folder().parent}")
    assert not found.values.any()
    assert not (answers_folder() / "harm.pth").exists()


# -- space -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_least_recently_used_answers_are_removed_first(earlier_answer, again, stimuli, prepared, remote, monkeypatch):
    for age, file in enumerate(_answer_files()):
        os.utime(file, (age, age))
    before = stored_answers().size_bytes()
    newest = _answer_files()[-1]
    stored_answers(newest.stat().st_size).make_room()
    assert _answer_files() == [newest]
    assert stored_answers().size_bytes() < before
    monkeypatch.setenv("BRAINSCORE_CACHE_GB", "0.00002")
    model = remote(Drawing(), kept=KeptAnswers(prepared))
    for number in range(12):
        _look(model, stimuli, f"region{number}")
    assert 0 < stored_answers().size_bytes() <= 20_000
    assert remove_answers() > 0
    assert stored_answers().size_bytes() == 0


def test_cache_commands_list_and_remove_answers(earlier_answer, capsys):
    assert main(["cache", "list"]) == 0
    assert f"in {answers_folder()}" in capsys.readouterr().out
    assert main(["cache", "clean", "--all"]) == 0
    assert "stored answers of isolated models" in capsys.readouterr().out
    assert stored_answers().size_bytes() == 0
    assert main(["cache", "list"]) == 0
    assert str(answers_folder()) not in capsys.readouterr().out


def test_folder_is_accessible_only_to_its_owner(earlier_answer):
    assert answers_folder().stat().st_mode & 0o077 == 0


def test_unwritable_folder_does_not_lose_the_result(remote, prepared, stimuli):
    answers_folder().parent.mkdir(parents=True, exist_ok=True)
    answers_folder().write_text("a file")
    assert len(_look(remote(Drawing(), kept=KeptAnswers(prepared)), stimuli)) == 3


# -- end to end --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@boxed
def test_score_never_mixes_answers_of_two_unseeded_processes(run_judge):
    """The second benchmark finds only one of its two answers stored, so it asks for both again."""

    def judged(number, *benchmarks):
        records, _ = run_judge("hostile", benchmarks, "--isolation", "box", folder=f"records{number}")
        assert {record.status for record in records} == {"scored"}
        return [record.score for record in records]

    (first,) = judged(1, "attacked-draws")
    both, again = judged(2, "attacked-both", "attacked-draws")
    assert again != first
    assert 1000 * both % 1 == pytest.approx(1000 * again)  # the other answer is a size in bytes
    assert judged(3, "attacked-draws", "attacked-both") == [again, both]


@pytest.mark.slow
@boxed
def test_second_campaign_and_another_metric_need_no_candidate(run_there, run_judge, tree, tmp_path):
    def judged(number, **variables):
        run_judge("hostile", ["attacked-draws"], "--isolation", "box", folder=f"records{number}", **variables)
        record = json.loads(record_path(tmp_path / f"records{number}", "hostile", "attacked-draws").read_text())
        del record["made"]
        return record

    first = judged(1)
    assert first["status"] == "scored", first
    assert judged(2) == first
    assert judged(3, RESULTCACHING_DISABLE="1")["score"] != first["score"]

    records = tmp_path / "records1"
    # On a machine without boxes.
    ended = run_there("rescore", "--metric", "largest", "--records", records, PATH=str(tmp_path))
    assert ended.status == 0, ended.output
    assert ScoreRecord.read(record_path(records, "hostile", "attacked-largest")).score > first["score"]

    more = tree / "models" / "hostile" / "revision.py"
    try:
        more.write_text("")
        ended = run_there(
            "rescore", "--benchmark", "attacked-largest", "--model", "hostile", "--records", tmp_path / "none"
        )
    finally:
        more.unlink()
    assert ended.status == 1
    assert "Not stored: hostile on attacked-largest" in ended.output
