"""Every check finds its kind of problem, says where it is, and reports nothing for valid data."""

import struct
import wave

import numpy as np
import pandas as pd
import pytest
from PIL import ExifTags, Image

from brainscore_core.supported_data_standards.brainio.assemblies import (
    BehavioralAssembly,
    DataAssembly,
    NeuroidAssembly,
    PropertyAssembly,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.validation import stimuli as stimuli_checks
from brainscore_core.validation.assemblies import (
    check_alignment,
    check_assembly,
    check_repetitions,
    check_standard,
    check_time_bins,
    check_units,
    check_values,
)
from brainscore_core.validation.stimuli import (
    check_duplicate_files,
    check_identifier,
    check_stimulus_columns,
    check_stimulus_files,
    check_stimulus_ids,
    check_stimulus_set,
    check_store_paths,
)


def box(kind, content=b""):
    return struct.pack(">I", len(content) + 8) + kind + content


MP4 = box(b"ftyp", b"isom\0\0\0\0") + box(b"moov", b"\0" * 16) + box(b"mdat", b"\1" * 100)


def errors(problems):
    return [str(problem) for problem in problems if not problem.is_hint]


def hints(problems):
    return [str(problem) for problem in problems if problem.is_hint]


@pytest.fixture
def stimuli(tmp_path):
    stimulus_set = StimulusSet({"stimulus_id": ["a", "b", "c"], "object_name": ["face", "car", "dog"]})
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    Image.new("L", (4, 4)).save(tmp_path / "b.JPG", format="JPEG")
    (tmp_path / "c.mp4").write_bytes(MP4)
    stimulus_set.stimulus_paths = {"a": tmp_path / "a.png", "b": str(tmp_path / "b.JPG"), "c": tmp_path / "c.mp4"}
    return stimulus_set


def test_stimulus_set_needs_a_column_of_identifiers(stimuli):
    assert check_stimulus_set(stimuli) == []
    (problem,) = check_stimulus_set(StimulusSet({"stimulusid": [1]}))
    assert problem.what == "there is no column 'stimulus_id' (is it 'stimulusid'?); the columns are ['stimulusid']"


@pytest.mark.parametrize("identifier", ["MajajHong2015", "MajajHong2015.IT", "Malania2007.vernier_only", "A-b2"])
def test_valid_identifiers_pass(identifier):
    assert check_identifier(identifier) == []


@pytest.mark.parametrize(
    "identifier",
    [
        "",
        None,
        3,
        "a b",
        "a/b",
        "a\\b",
        "a:b",
        "a\nb",
        "<AuthorYear>",
        "what?",
        "M\u00fcller2015",
        "\u0410dams2015",
        "A\u200bdams2015",
    ],
)
def test_unusable_identifiers_are_errors(identifier):
    (problem,) = check_identifier(identifier)
    assert "identifier" in problem.what
    assert not problem.is_hint


@pytest.mark.parametrize("identifier", ["majajHong2015", "Majaj..IT", "Majaj.", "2015Majaj", "_A"])
def test_unconventional_identifiers_give_a_hint(identifier):
    (problem,) = check_identifier(identifier, "data 'x'")
    assert problem.is_hint
    assert problem.where == "data 'x'"
    assert "AuthorYear" in problem.what


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([1, 2], ["contain text, but contains int", "astype(str)"]),
        ([1.0, np.nan], ["float"]),
        (["a", None], ["NoneType"]),
        (["a", ""], ["empty text"]),
        (["a", "b", "a", "a"], ["'a' occurs 3 times"]),
        ([], ["no stimuli"]),
    ],
)
def test_wrong_stimulus_ids_are_errors(ids, expected):
    problems = "; ".join(errors(check_stimulus_ids(pd.DataFrame({"stimulus_id": pd.Series(ids, dtype=object)}))))
    for part in expected:
        assert part.replace("holds texts", "must contain text") in problems


def test_wrong_columns_are_errors(stimuli):
    (problem,) = check_stimulus_columns(stimuli.assign(filename="x"))
    assert "'filename'" in problem.what
    assert "'stimulus_filename'" in problem.fix
    assert check_stimulus_columns(stimuli.assign(filename="x"), is_packaged=True) == []
    (problem,) = check_stimulus_columns(stimuli.rename(columns={"object_name": "stimulus_id"}))
    assert "2 columns called 'stimulus_id'" in problem.what
    assert len(check_stimulus_set(stimuli.rename(columns={"object_name": "stimulus_id"}))) == 1
    (problem,) = check_stimulus_columns(stimuli.assign(x=1).rename(columns={"x": 5}))
    assert "column 5" in problem.what


@pytest.mark.parametrize("name", ["../a", "/a", "a/../b", "a//b", "./a", "a\\b", "C:a", "a\tb", "a/"])
def test_wrong_store_paths_are_errors(stimuli, name):
    stimuli["stimulus_path_within_store"] = [name, "fine", "sub/fine"]
    (problem,) = check_store_paths(stimuli)
    assert repr(name) in problem.what


def test_slashes_and_names_that_differ_in_case_only_are_errors(stimuli):
    (problem,) = check_store_paths(stimuli.assign(stimulus_id=["a/1", "b", "c"]))
    assert "stimulus_path_within_store" in problem.fix
    (problem,) = check_store_paths(stimuli.assign(stimulus_path_within_store=["A", "a", "b"]))
    assert "'A', 'a' differ only in case" in problem.what


def test_one_picture_under_several_identifiers_gives_one_hint(tmp_path, monkeypatch):
    noise = np.random.default_rng(0).integers(0, 255, (9, 8, 8), dtype=np.uint8)
    for index, picture in enumerate(noise):
        Image.fromarray(picture).save(tmp_path / f"{index}.bmp")  # all of one size
    Image.fromarray(np.zeros((9, 9), dtype=np.uint8)).save(tmp_path / "other.bmp")  # the only one of its size: not read
    (tmp_path / "copy.bmp").write_bytes((tmp_path / "3.bmp").read_bytes())
    files = {"a": "3", "b": "1", "c": "copy", "d": "3", "e": "5", "f": "other", "g": "absent", "h": "5"}
    stimulus_set = StimulusSet({"stimulus_id": [*files, "unlisted"]})
    stimulus_set.stimulus_paths = {name: tmp_path / f"{file}.bmp" for name, file in files.items()}
    read = []
    digest = stimuli_checks.file_digest
    monkeypatch.setattr(stimuli_checks, "file_digest", lambda path, *how: read.append(path.stem) or digest(path, *how))
    (hint,) = check_duplicate_files(stimulus_set)
    assert hint.is_hint
    assert hint.what == "5 stimuli share 2 files: 'a' = 'c' = 'd'; 'e' = 'h'"
    assert "training and in testing" in hint.fix
    assert sorted(read) == ["1", "3", "3", "5", "5", "copy"]
    assert hint in check_stimulus_set(stimulus_set)
    kept = stimulus_set[stimulus_set["stimulus_id"].isin(["a", "b", "e", "f"])]
    kept.stimulus_paths = stimulus_set.stimulus_paths
    assert check_duplicate_files(kept) == []


def test_hint_names_the_first_of_many_equal_files(tmp_path):
    (tmp_path / "one.bin").write_bytes(b"1")
    stimulus_set = StimulusSet({"stimulus_id": [f"s{index:02d}" for index in range(50)]})
    stimulus_set.stimulus_paths = dict.fromkeys(stimulus_set["stimulus_id"], tmp_path / "one.bin")
    (hint,) = check_duplicate_files(stimulus_set)
    assert hint.what == "50 stimuli share 1 file: 's00' = 's01' = 's02' = 's03' = 's04', ..."


def test_hint_names_pictures_that_viewers_rotate(tmp_path):
    """Models see the pixels as they are stored, as in the published system."""
    turned = Image.Exif()
    turned[ExifTags.Base.Orientation] = 6
    for name, exif in (("as it is.jpg", Image.Exif()), ("turned.jpg", turned)):
        Image.new("RGB", (4, 2)).save(tmp_path / name, exif=exif)
    stimulus_set = StimulusSet({"stimulus_id": ["a", "b"]})
    stimulus_set.stimulus_paths = {"a": tmp_path / "as it is.jpg", "b": tmp_path / "turned.jpg"}
    (hint,) = [problem for problem in check_stimulus_set(stimulus_set) if problem.is_hint]
    assert hint.what == "viewers rotate 1 picture according to EXIF orientation, such as 'b', but models do not"
    assert "exif_transpose" in hint.fix


def test_broken_files_are_errors(stimuli, tmp_path):
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
    unlisted, *broken = check_stimulus_files(stimulus_set)
    assert (unlisted.where, unlisted.what) == ("stimulus 'unlisted'", "has no entry in stimulus_paths")
    assert [problem.where for problem in broken] == [f"stimulus {name!r}" for name in names]
    for problem, part in zip(
        broken,
        ("png does not exist", "png is empty", "text.png cannot be", "cut.png cannot be", "folder is not a file"),
        strict=True,
    ):
        assert part in problem.what


def write_wave(path):
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"\0\1" * 100)
    return path.read_bytes()


def test_valid_videos_and_sounds_pass(tmp_path):
    contents = {
        "a.mp4": MP4,
        "large.mov": box(b"ftyp") + struct.pack(">I4sQ", 1, b"mdat", 26) + b"\1" * 10 + box(b"moov"),
        "fragmented.m4v": box(b"ftyp") + box(b"moof", b"x"),
        "a.webm": b"\x1a\x45\xdf\xa3" + b"x" * 10,
        "a.avi": b"RIFF" + struct.pack("<I", 12) + b"AVI LIST1234",
        "a.mp3": b"ID3" + b"\0" * 20,
        "b.mp3": b"\xff\xfb\x90" + b"\0" * 20,
        "a.ogg": b"OggS" + b"\0" * 20,
        "a.flac": b"fLaC" + b"\0" * 20,
        "notes.txt": b"anything",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    write_wave(tmp_path / "a.wav")
    stimulus_set = StimulusSet({"stimulus_id": [*contents, "a.wav"]})
    stimulus_set.stimulus_paths = {name: tmp_path / name for name in stimulus_set["stimulus_id"]}
    assert check_stimulus_files(stimulus_set) == []


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.mp4", MP4[:-1], "is truncated or damaged: its part 'mdat'"),
        ("a.mp4", b"not a video at all", "does not start like an MP4"),
        ("a.mp4", box(b"ftyp", b"isom"), "contains no track"),
        ("a.mp4", MP4 + b"abc", "is damaged after its start"),
        ("a.mp4", box(b"ftyp") + b"\0\0\0\1mdat", "is truncated or damaged"),
        ("a.webm", b"\x1a\x45\xdf\xa3", "contains only the start"),
        ("a.avi", b"RIFF" + struct.pack("<I", 12) + b"WAVE12345678", "does not start like an AVI"),
        ("a.avi", b"RIFF" + struct.pack("<I", 5000) + b"AVI LIST1234", "is truncated: it has 20 of 5008 bytes"),
        ("a.mp3", b"<html>not found</html>", "does not start like MPEG audio"),
        ("a.ogg", b"", "is empty"),
    ],
)
def test_broken_videos_and_sounds_are_errors(tmp_path, name, content, problem):
    (tmp_path / name).write_bytes(content)
    assert problem in problem_of(tmp_path / name)


def problem_of(path):
    stimulus_set = StimulusSet({"stimulus_id": ["s"]})
    stimulus_set.stimulus_paths = {"s": path}
    (found,) = check_stimulus_files(stimulus_set)
    return found.what


def test_truncated_sound_is_an_error(tmp_path):
    content = write_wave(tmp_path / "a.wav")
    (tmp_path / "a.wav").write_bytes(content[: len(content) // 2])
    assert f"it has {len(content) // 2} of {len(content)} bytes" in problem_of(tmp_path / "a.wav")


def make_assembly(values=None, ids=("a", "b")):
    coords = {"stimulus_id": ("presentation", list(ids)), "neuroid_id": ("neuroid", ["n1", "n2", "n3"])}
    values = np.arange(6.0).reshape(2, 3) if values is None else values
    return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid"])


def test_valid_assemblies_pass():
    assert errors(check_assembly(make_assembly())) == []
    properties = PropertyAssembly(np.ones((2, 2)), dims=["neuroid", "neuronal_property"], attrs={"units": "deg"})
    assert check_assembly(properties) == []
    texts = BehavioralAssembly(["x", "y"], coords={"stimulus_id": ("presentation", ["a", "b"])}, dims=["presentation"])
    assert check_assembly(texts) == []


def test_error_counts_nan_values_along_each_dimension():
    values = np.arange(6.0).reshape(2, 3)
    values[1, :2] = np.nan
    (problem,) = errors(check_assembly(make_assembly(values)))
    assert problem.startswith("values: 2 of 6 values are NaN (in 1 of 2 presentation, 2 of 3 neuroid)")
    assert "nans_expected=True" in problem
    assert errors(check_assembly(make_assembly(values), nans_expected=True)) == []
    declared = make_assembly(values)
    declared.attrs["nans_expected"] = 1  # as stored in a file
    assert check_values(declared) == []


def test_infinite_responses_are_errors_and_other_infinities_hints():
    values = np.array([[np.inf, 1, 2], [3, 4, -np.inf]])
    (problem,) = check_values(make_assembly(values))
    assert not problem.is_hint
    assert "2 of 6 values are infinite" in problem.what
    (hint,) = check_values(DataAssembly(values, dims=["one", "other"]))
    assert hint.is_hint
    assert hint.what == problem.what


@pytest.mark.parametrize("value", ["a", 1j])
def test_responses_must_be_real_numbers(value):
    assembly = make_assembly(np.full((2, 3), value))
    for problems in (check_standard(assembly), check_values(assembly, nans_expected=True)):
        (problem,) = problems
        assert problem.what == f"the values are of type {assembly.dtype}; expected real numbers"
        assert not problem.is_hint


def test_missing_text_counts_as_nan():
    coords = {"stimulus_id": ("presentation", ["a", "b"])}
    assembly = BehavioralAssembly(np.array(["x", None], dtype=object), coords=coords, dims=["presentation"])
    (problem,) = check_assembly(assembly)
    assert problem.what.startswith("1 of 2 values are NaN")


def test_standard_of_the_class_is_checked():
    problems = check_assembly(NeuroidAssembly(np.ones((2, 3)), dims=["presentation", "measurement"]))
    found = {problem.where: problem for problem in problems if not problem.is_hint}
    assert set(found) == {"dimension 'neuroid'", "dimension 'measurement'", "coordinate 'stimulus_id'"}
    assert "dims=[...]" in found["dimension 'neuroid'"].fix
    assert "coords={'stimulus_id': ('presentation', [...])" in found["coordinate 'stimulus_id'"].fix


@pytest.mark.parametrize("ids", [(1, 2), (1.5, 2.5)])
def test_stimulus_ids_of_assemblies_must_be_text(ids):
    assert any("stimulus_id" in problem for problem in errors(check_assembly(make_assembly(ids=ids))))
    other = PropertyAssembly([1.0, 2.0], coords={"stimulus_id": ("presentation", list(ids))}, dims=["presentation"])
    (problem,) = errors(check_assembly(other))
    assert "str(id)" in problem


def test_empty_assembly_is_an_error():
    (problem,) = check_assembly(make_assembly()[:0])
    assert problem.what == "the assembly has no values; its sizes are {'presentation': 0, 'neuroid': 3}"


def test_alignment_finds_stimuli_on_one_side_only(stimuli):
    (hint,) = check_alignment(make_assembly(), stimuli)
    assert hint.is_hint
    assert hint.what == "1 of 3 stimuli are not in the assembly: c"
    assert check_alignment(make_assembly(), stimuli[:2]) == []
    (problem,) = check_alignment(make_assembly(ids=("a", "x")), stimuli)
    assert problem.what == "1 of 2 stimulus_ids of the assembly are not in the stimulus set: x"
    (problem,) = check_alignment(PropertyAssembly([1.0], dims=["neuroid"]), stimuli)
    assert "no coordinate 'stimulus_id'" in problem.what
    assert check_alignment(PropertyAssembly([[1.0]], dims=["neuroid", "neuronal_property"]), stimuli) == []


def test_alignment_names_a_difference_in_type():
    (problem,) = check_alignment(make_assembly(ids=("1", "2")), StimulusSet({"stimulus_id": [1, 2]}))
    assert "as texts they would agree" in problem.fix


def make_timed(*bins, cls=NeuroidAssembly):
    start, end = zip(*bins, strict=True)
    return cls(
        np.ones((1, 1, len(bins))),
        coords={
            "stimulus_id": ("presentation", ["a"]),
            "neuroid_id": ("neuroid", ["n"]),
            "time_bin_start": ("time_bin", list(start)),
            "time_bin_end": ("time_bin", list(end)),
        },
        dims=["presentation", "neuroid", "time_bin"],
        attrs={"units": "Hz"},
    )


@pytest.mark.parametrize("cls", [NeuroidAssembly, DataAssembly])
@pytest.mark.parametrize(
    ("bins", "error", "hint"),
    [
        ([(0, 10), (10, 20)], None, None),
        ([(0.5, 10.5)], None, None),
        ([(10, 0), (10, 20)], "10 to 0 ms does not end after it starts", None),
        ([(0, 0)], "0 to 0 ms does not", None),
        ([(0, np.nan)], "0 to nan ms does not", None),
        ([(0, 10), (0, 10), (10, 20)], "0 to 10 ms occurs 2 times", None),
        ([(10, 20), (0, 10)], None, "do not ascend"),
        ([(0, 10), (5, 15)], None, "overlap, such as 0 to 10 and 5 to 15"),
        ([("0", "10")], "are of type <U", None),
    ],
)
def test_time_bins_must_be_ordered_and_distinct(cls, bins, error, hint):
    problems = check_time_bins(make_timed(*bins, cls=cls))
    assert [error in problem for problem in errors(problems)] == ([True] if error else [])
    assert [hint in problem for problem in hints(problems)] == ([True] if hint else [])
    if bins[0] != (0, np.nan) and bins != [("0", "10")]:
        assert len(errors(check_assembly(make_timed(*bins, cls=cls)))) == len(errors(problems))  # no duplicates


def repeats(ids, repetitions=None, cls=NeuroidAssembly, **coords):
    along = {"stimulus_id": ids, **coords} | ({} if repetitions is None else {"repetition": repetitions})
    dims = ["presentation", "neuroid"] if cls is NeuroidAssembly else ["presentation"]
    labels = {name: ("presentation", list(values)) for name, values in along.items()}
    if cls is NeuroidAssembly:
        labels["neuroid_id"] = ("neuroid", ["n"])
    return cls(np.ones([len(ids), 1][: len(dims)]), coords=labels, dims=dims)


@pytest.mark.parametrize(
    ("assembly", "error", "hint"),
    [
        (repeats("aabb", [0, 1, 0, 1]), None, None),
        (repeats("aab", [0, 1, 0]), None, "not complete: there are 2, but between 1 and 2 for each stimulus_id"),
        (repeats("abc", [0, 1, 2]), None, "not complete: there are 3, but between 1 and 1"),  # as in the tutorial
        (repeats("aab", [0, 0, 0]), "2 presentations agree in all", None),
        (repeats("aab", [0, 0, 0], condition="xyx"), None, "agree in stimulus_id, repetition with another, though"),
        (repeats("aabb", [0, 0, 0, 0], subject="stst"), None, None),
        (repeats("aab"), None, "the repetitions are not numbered"),
        (repeats("aab", cls=BehavioralAssembly), None, None),
        (repeats("abc"), None, None),
        (PropertyAssembly([1.0], dims=["neuroid"]), None, None),
    ],
)
def test_repetitions_must_be_complete_and_distinct(assembly, error, hint):
    problems = check_repetitions(assembly)
    assert [error in problem for problem in errors(problems)] == ([True] if error else [])
    assert [hint in problem for problem in hints(problems)] == ([True] if hint else [])


def test_missing_units_give_a_hint():
    (hint,) = check_units(make_assembly())
    assert hint.is_hint
    assert "attrs['units']" in hint.fix
    with_units = make_assembly()
    with_units.attrs["units"] = "spikes/s"
    assert check_units(with_units) == []
    assert check_units(BehavioralAssembly([0.5], dims=["presentation"])) == []
    assert check_units(DataAssembly(["x"], dims=["presentation"])) == []
