"""Every check finds what it is for, says where it is, and is silent about sound data."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from brainscore_core.supported_data_standards.brainio._validation import (
    check_alignment,
    check_assembly,
    check_identifier,
    check_stimulus_columns,
    check_stimulus_files,
    check_stimulus_ids,
    check_stimulus_set,
    check_store_paths,
)
from brainscore_core.supported_data_standards.brainio.assemblies import (
    BehavioralAssembly,
    NeuroidAssembly,
    PropertyAssembly,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet


@pytest.fixture
def stimuli(tmp_path):
    stimulus_set = StimulusSet({"stimulus_id": ["a", "b", "c"], "object_name": ["face", "car", "dog"]})
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    Image.new("L", (4, 4)).save(tmp_path / "b.JPG", format="JPEG")
    (tmp_path / "c.mp4").write_bytes(b"not looked into")
    stimulus_set.stimulus_paths = {"a": tmp_path / "a.png", "b": str(tmp_path / "b.JPG"), "c": tmp_path / "c.mp4"}
    return stimulus_set


def test_sound_stimulus_set(stimuli):
    assert check_stimulus_set(stimuli) == []


@pytest.mark.parametrize("identifier", ["MajajHong2015", "MajajHong2015.IT", "Malania2007.vernier_only", "A-b2"])
def test_sound_identifiers(identifier):
    assert check_identifier(identifier) == []


@pytest.mark.parametrize("identifier", ["", None, 3, "a b", "a/b", "a\\b", "a:b", "a\nb", "<AuthorYear>", "what?"])
def test_unusable_identifiers(identifier):
    (problem,) = check_identifier(identifier)
    assert "identifier" in problem


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([1, 2], ["holds texts, but holds int", "astype(str)"]),
        ([1.0, np.nan], ["float"]),
        (["a", None], ["NoneType"]),
        (["a", ""], ["empty text"]),
        (["a", "b", "a", "a"], ["'a' is there 3 times"]),
        ([], ["no stimuli"]),
    ],
)
def test_wrong_stimulus_ids(ids, expected):
    problems = "; ".join(check_stimulus_ids(pd.DataFrame({"stimulus_id": pd.Series(ids, dtype=object)})))
    for part in expected:
        assert part.replace("holds texts", "has to hold texts") in problems


def test_absent_stimulus_ids():
    assert check_stimulus_set(StimulusSet({"x": [1]})) == ["there is no column 'stimulus_id'; the columns are ['x']"]


def test_wrong_columns(stimuli):
    (problem,) = check_stimulus_columns(stimuli.assign(filename="x"))
    assert "'filename'" in problem
    assert "'stimulus_filename'" in problem
    (problem,) = check_stimulus_columns(stimuli.rename(columns={"object_name": "stimulus_id"}))
    assert "2 columns called 'stimulus_id'" in problem
    (problem,) = check_stimulus_columns(stimuli.assign(x=1).rename(columns={"x": 5}))
    assert "column 5" in problem


@pytest.mark.parametrize("name", ["../a", "/a", "a/../b", "a//b", "./a", "a\\b", "C:a", "a\tb", "a/"])
def test_wrong_store_paths(stimuli, name):
    stimuli["stimulus_path_within_store"] = [name, "fine", "sub/fine"]
    (problem,) = check_store_paths(stimuli)
    assert repr(name) in problem


def test_slash_in_a_stimulus_id(stimuli):
    stimuli["stimulus_id"] = ["a/1", "b", "c"]
    (problem,) = check_store_paths(stimuli)
    assert "stimulus_path_within_store" in problem


def test_broken_files(stimuli, tmp_path):
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.png").write_bytes(b"no image")
    noise = np.random.default_rng(0).integers(0, 255, (32, 32), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "whole.png")
    content = (tmp_path / "whole.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(content[: len(content) // 2])
    names = ["absent.png", "empty.png", "text.png", "cut.png", "folder"]
    (tmp_path / "folder").mkdir()
    stimulus_set = StimulusSet({"stimulus_id": [*names, "unlisted"]})
    stimulus_set.stimulus_paths = {name: tmp_path / name for name in names}
    unlisted, broken = check_stimulus_files(stimulus_set)
    assert unlisted == "1 of 6 stimuli have no entry in stimulus_paths: unlisted"
    assert broken.startswith("5 of 6 stimulus files are not usable: ")
    for part in (
        "absent.png does not exist",
        "empty.png is empty",
        "text.png cannot be",
        "cut.png cannot be",
        "folder does",
    ):
        assert part in broken


def test_long_lists_are_cut(tmp_path):
    stimulus_set = StimulusSet({"stimulus_id": [f"s{number}" for number in range(100)]})
    stimulus_set.stimulus_paths = {}
    (problem,) = check_stimulus_files(stimulus_set)
    assert problem == "100 of 100 stimuli have no entry in stimulus_paths: s0, s1, s2, s3, s4 and 95 more"


def make_assembly(values=None, ids=("a", "b")):
    coords = {"stimulus_id": ("presentation", list(ids)), "neuroid_id": ("neuroid", ["n1", "n2", "n3"])}
    values = np.arange(6.0).reshape(2, 3) if values is None else values
    return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])


def test_sound_assemblies():
    assert check_assembly(make_assembly()) == []
    assert check_assembly(PropertyAssembly(np.ones((2, 2)), dims=["neuroid", "neuronal_property"])) == []
    texts = BehavioralAssembly(["x", "y"], coords={"stimulus_id": ("presentation", ["a", "b"])}, dims=["presentation"])
    assert check_assembly(texts) == []


def test_nans_are_counted_where_they_are():
    values = np.arange(6.0).reshape(2, 3)
    values[1, :2] = np.nan
    (problem,) = check_assembly(make_assembly(values))
    assert problem.startswith("2 of 6 values are NaN (in 1 of 2 presentation, 2 of 3 neuroid)")
    assert check_assembly(make_assembly(values), nans_expected=True) == []


def test_missing_texts_are_nans():
    coords = {"stimulus_id": ("presentation", ["a", "b"])}
    assembly = BehavioralAssembly(np.array(["x", None], dtype=object), coords=coords, dims=["presentation"])
    (problem,) = check_assembly(assembly)
    assert problem.startswith("1 of 2 values are NaN")


def test_standard_of_the_class_is_checked():
    problems = check_assembly(NeuroidAssembly(np.ones((2, 3)), dims=["presentation", "measurement"]))
    assert any("neuroid" in problem for problem in problems)
    assert any("measurement" in problem for problem in problems)
    assert any("stimulus_id" in problem for problem in problems)


@pytest.mark.parametrize("ids", [(1, 2), (1.5, 2.5)])
def test_stimulus_ids_of_assemblies_are_texts(ids):
    assert any("stimulus_id" in problem for problem in check_assembly(make_assembly(ids=ids)))
    other = PropertyAssembly([1.0, 2.0], coords={"stimulus_id": ("presentation", list(ids))}, dims=["presentation"])
    (problem,) = check_assembly(other)
    assert "str(id)" in problem


def test_empty_assembly():
    (problem,) = check_assembly(make_assembly()[:0])
    assert problem == "there are no values; the sizes are {'presentation': 0, 'neuroid': 3}"


def test_alignment(stimuli):
    assert check_alignment(make_assembly(), stimuli) == []
    (problem,) = check_alignment(make_assembly(ids=("a", "x")), stimuli)
    assert problem == "1 of 2 stimulus_ids of the assembly are not in the stimulus set: x"
    (problem,) = check_alignment(PropertyAssembly([1.0], dims=["neuroid"]), stimuli)
    assert "no coordinate 'stimulus_id'" in problem


def test_alignment_says_that_types_differ():
    _, hint = check_alignment(make_assembly(ids=("1", "2")), StimulusSet({"stimulus_id": [1, 2]}))
    assert "as texts they would agree" in hint
