"""Tests of placing stimuli on a screen, with pixels counted by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from brainscore_core.config import settings as brainscore_settings
from brainscore_core.errors import MissingStimulusError, StimulusError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision.benchmark_helpers.screen import (
    can_write_png,
    digest_order,
    fit_to_ratio,
    place_on_screen,
    presented,
    write_png,
)
from brainscore_vision.benchmark_helpers.stand_ins import SharedCandidate, once
from brainscore_vision.metric_helpers.arrays.column_blocks import is_mapped
from brainscore_vision.model_interface import BrainModel


def picture(height=6, width=8, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture
def stimuli(write_stimuli):
    pictures = {name: picture(seed=index) for index, name in enumerate("ab")}
    return write_stimuli(pictures, "Author2024", object_name=["x", "y"])


def pixels_of(stimulus_set, stimulus_id):
    return np.asarray(Image.open(stimulus_set.get_stimulus(stimulus_id)))


def test_a_larger_screen_is_grey_around_the_stimulus(stimuli):
    placed = place_on_screen(stimuli, target_visual_degrees=16, source_visual_degrees=8)
    canvas = pixels_of(placed, "b")
    assert canvas.shape == (12, 16, 3)
    np.testing.assert_array_equal(canvas[3:9, 4:12], picture(seed=1))
    canvas = canvas.copy()
    canvas[3:9, 4:12] = 128
    assert (canvas == 128).all()


def test_a_smaller_screen_shows_only_the_centre(stimuli):
    placed = place_on_screen(stimuli, target_visual_degrees=4, source_visual_degrees=8)
    np.testing.assert_array_equal(pixels_of(placed, "a"), picture()[2:5, 2:6])  # offset 1.5 rounds to 2


def test_placing_returns_a_labelled_stimulus_set(stimuli):
    placed = place_on_screen(stimuli, target_visual_degrees=8, source_visual_degrees=4)
    assert placed.identifier == "Author2024--target8.00--source4.00"
    assert placed["degrees"].tolist() == [8, 8]
    assert placed["object_name"].tolist() == ["x", "y"]
    assert placed.original_paths == stimuli.stimulus_paths
    assert all(isinstance(path, str) for path in placed.stimulus_paths.values())
    assert "degrees" not in stimuli.columns
    home = brainscore_settings().home / "stimuli_on_screen"
    assert all(path.startswith(str(home)) for path in placed.stimulus_paths.values())


def test_equal_degrees_return_the_same_set(stimuli):
    assert place_on_screen(stimuli, target_visual_degrees=8, source_visual_degrees=8) is stimuli
    stimuli["degrees"] = 8
    assert place_on_screen(stimuli, target_visual_degrees=8) is stimuli


def test_degrees_can_differ_between_stimuli(stimuli):
    stimuli["degrees"] = [4, 8]
    placed = place_on_screen(stimuli, target_visual_degrees=8)
    assert placed.identifier == "Author2024--target8.00--sourceNone"
    assert pixels_of(placed, "a").shape == (12, 16, 3)
    assert placed.get_stimulus("b") is stimuli.get_stimulus("b")  # unchanged stimuli keep their path
    assert placed["degrees"].tolist() == [8, 8]


def test_files_with_equal_names_are_not_mixed_up(stimuli, tmp_path):
    for index, name in enumerate("ab"):
        folder = tmp_path / name
        folder.mkdir()
        stimuli.stimulus_paths[name] = folder / "stimulus.png"
        Image.fromarray(picture(seed=index)).save(folder / "stimulus.png")
    placed = place_on_screen(stimuli, 16, 8)
    for index, name in enumerate("ab"):
        np.testing.assert_array_equal(pixels_of(placed, name)[3:9, 4:12], picture(seed=index))


def test_files_are_rewritten_only_if_deleted_or_changed(stimuli):
    from pathlib import Path

    first = place_on_screen(stimuli, 16, 8)
    path = Path(first.get_stimulus("a"))
    made = path.stat().st_mtime_ns
    assert place_on_screen(stimuli, 16, 8).stimulus_paths == first.stimulus_paths
    assert path.stat().st_mtime_ns == made
    path.unlink()
    assert pixels_of(place_on_screen(stimuli, 16, 8), "a").shape == (12, 16, 3)
    Image.fromarray(picture(seed=7)).save(stimuli.get_stimulus("a"))
    changed = place_on_screen(stimuli, 16, 8)
    np.testing.assert_array_equal(pixels_of(changed, "a")[3:9, 4:12], picture(seed=7))
    np.testing.assert_array_equal(pixels_of(first, "a")[3:9, 4:12], picture())  # earlier results stay valid


def test_many_stimuli_are_placed_in_parallel_in_order(write_stimuli):
    stimuli = write_stimuli({f"s{i}": picture(seed=i % 30) for i in range(60)}, "Author2024")
    placed = place_on_screen(stimuli, 16, 8)
    assert list(placed.stimulus_paths) == stimuli["stimulus_id"].tolist()
    for i in range(60):
        np.testing.assert_array_equal(pixels_of(placed, f"s{i}")[3:9, 4:12], picture(seed=i % 30))
    stimuli.get_stimulus("s20").write_bytes(b"no picture")
    stimuli.get_stimulus("s40").unlink()
    with pytest.raises(StimulusError, match="'s20'"):  # the first one in order, whichever fails first
        place_on_screen(stimuli, 4, 8)


def test_formats_and_colour_profiles_are_preserved(stimuli, tmp_path):
    Image.fromarray(picture(16, 16)).save(tmp_path / "a.jpg", quality=95)
    Image.fromarray(picture(16, 16)).save(tmp_path / "b.png", icc_profile=b"a profile")
    stimuli.stimulus_paths = {name: tmp_path / file for name, file in (("a", "a.jpg"), ("b", "b.png"))}
    placed = place_on_screen(stimuli, 4, 8)
    with Image.open(placed.get_stimulus("a")) as jpeg, Image.open(placed.get_stimulus("b")) as png:
        assert (jpeg.format, jpeg.size) == ("JPEG", (8, 8))
        assert png.info["icc_profile"] == b"a profile"


def test_sets_with_equal_identifiers_are_not_mixed_up(stimuli):
    other = stimuli.copy()
    other.stimulus_paths = dict(zip("ab", reversed(stimuli.stimulus_paths.values()), strict=True))
    first, second = place_on_screen(stimuli, 16, 8), place_on_screen(other, 16, 8)
    np.testing.assert_array_equal(pixels_of(first, "a"), pixels_of(second, "b"))
    np.testing.assert_array_equal(pixels_of(first, "a")[3:9, 4:12], picture())


def test_identifiers_cannot_leave_the_folder(stimuli):
    stimuli.identifier = "../../elsewhere/x"
    placed = place_on_screen(stimuli, 16, 8)
    home = brainscore_settings().home / "stimuli_on_screen"
    assert placed.identifier == "../../elsewhere/x--target16.00--source8.00"
    assert {path.split("/")[0] for path in (p.removeprefix(f"{home}/") for p in placed.stimulus_paths.values())} == {
        ".._.._elsewhere_x--target16.00--source8.00"
    }


def test_a_stimulus_may_be_listed_twice_with_equal_degrees(stimuli):
    twice = stimuli.iloc[[0, 0, 1]]
    assert len(place_on_screen(twice, 16, 8)) == 3
    twice = twice.assign(degrees=[4, 8, 8])
    with pytest.raises(StimulusError, match=r"'a' is listed with 4\.0 and with 8\.0 degrees"):
        place_on_screen(twice, 16)


@pytest.mark.parametrize("mode", ["L", "P", "RGBA"])
def test_cropping_keeps_the_mode(mode):
    image = Image.fromarray(picture(20, 20)).convert(mode)
    assert fit_to_ratio(image, 0.5).mode == mode
    assert fit_to_ratio(image, 1.5).mode == "RGB"


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.01, 2.0])
@pytest.mark.parametrize(
    ("ending", "levels"),
    [
        ("png", np.linspace(65 * 257, 190 * 257, 400).reshape(20, 20).astype(np.uint16)),
        ("tif", np.linspace(65 * 257, 190 * 257, 400).reshape(20, 20).astype(np.uint16)),
        ("tif", np.linspace(65, 190, 400).reshape(20, 20).astype(np.int32)),
        ("tif", np.linspace(65, 190, 400).reshape(20, 20).astype(np.float32)),
    ],
)
def test_deep_grey_is_converted_to_8_bits(stimuli, tmp_path, ending, levels, ratio):
    """For PNG and TIFF, enlarged, cropped or of unchanged size; both in the stored file and as models load it."""
    Image.fromarray(levels).save(tmp_path / f"deep.{ending}")
    stimuli.stimulus_paths["a"] = tmp_path / f"deep.{ending}"
    # 16 bits are rounded half up, in integers; no level lies halfway because 257 is odd.
    grey = (2 * levels.astype(np.int64) + 257) // 514 if levels.dtype == np.uint16 else np.floor(levels)
    expected = np.full((round(20 * ratio),) * 2, 128)
    if ratio < 1:
        expected = grey[5:15, 5:15]
    else:
        margin = (len(expected) - 20) // 2
        expected[margin : margin + 20, margin : margin + 20] = grey
    with Image.open(place_on_screen(stimuli, 8 * ratio, 8).get_stimulus("a")) as placed:
        if ratio != 1:
            assert placed.mode in ("L", "RGB")
            np.testing.assert_array_equal(np.asarray(placed.convert("L")), expected)
    np.testing.assert_array_equal(np.asarray(fit_to_ratio(Image.fromarray(levels), ratio).convert("L")), expected)


@pytest.mark.parametrize("mode", ["LA", "RGBA", "P", "1", "CMYK"])
def test_canvas_converts_other_modes_as_models_do(mode):
    image = Image.fromarray(picture(20, 20)).convert(mode)
    canvas = np.asarray(fit_to_ratio(image, 1.5))
    np.testing.assert_array_equal(canvas[5:25, 5:25], np.asarray(image.convert("RGB")))


def test_rejects_grey_levels_of_unknown_scale(stimuli, tmp_path):
    Image.fromarray(np.ones((4, 4), dtype=np.float32)).save(tmp_path / "a.tif")
    stimuli.stimulus_paths["a"] = tmp_path / "a.tif"
    for target in (4, 16):
        with pytest.raises(StimulusError, match=r"'a'.*levels from 1 to 1"):
            place_on_screen(stimuli, target, 8)


@settings(max_examples=50)
@given(st.integers(1, 30), st.integers(1, 30), st.floats(1, 4))
def test_nothing_is_scaled_or_lost_on_a_larger_screen(height, width, ratio):
    pixels = picture(height, width)
    canvas = np.asarray(fit_to_ratio(Image.fromarray(pixels), ratio))
    assert canvas.shape[:2] == (round(ratio * height), round(ratio * width))
    top, left = round((canvas.shape[0] - height) / 2), round((canvas.shape[1] - width) / 2)
    np.testing.assert_array_equal(canvas[top : top + height, left : left + width], pixels)


def test_degrees_must_be_specified_exactly_once(stimuli):
    with pytest.raises(StimulusError, match="not known how large"):
        place_on_screen(stimuli, 8)
    stimuli["degrees"] = 4
    with pytest.raises(AssertionError, match="one of the two"):
        place_on_screen(stimuli, 8, source_visual_degrees=4)


@pytest.mark.parametrize(("target", "source"), [(8, 0), (8, -1), (0, 8), (8, float("nan")), (float("inf"), 8)])
def test_rejects_degrees_that_are_not_positive(stimuli, target, source):
    with pytest.raises(StimulusError, match="positive"):
        place_on_screen(stimuli, target, source)


def test_errors_name_broken_missing_and_vanishing_stimuli(stimuli, monkeypatch):
    with pytest.raises(StimulusError, match=r"'a'.*nothing is left"):
        place_on_screen(stimuli, 0.01, 8)
    with monkeypatch.context() as patch:
        patch.setattr(Image, "MAX_IMAGE_PIXELS", 1)
        with pytest.raises(StimulusError, match=r"decompression bomb DOS attack\. Expected"):
            place_on_screen(stimuli, 16, 8)
    stimuli.get_stimulus("b").write_bytes(b"no picture")
    with pytest.raises(StimulusError, match=r"'b'.*b\.png"):
        place_on_screen(stimuli, 16, 8)
    stimuli.get_stimulus("b").unlink()
    with pytest.raises(MissingStimulusError, match=r"b\.png.*'b'"):
        place_on_screen(stimuli, 16, 8)


def test_files_without_an_extension_keep_their_format(stimuli, tmp_path):
    bare = tmp_path / "bare"
    stimuli.get_stimulus("a").rename(bare)
    stimuli.stimulus_paths["a"] = bare
    assert Image.open(place_on_screen(stimuli, 16, 8).get_stimulus("a")).format == "PNG"


# -- PNG ---------------------------------------------------------------------------------------------------------------

CHANNELS = {"L": (), "RGB": (3,), "RGBA": (4,)}


@given(st.sampled_from(list(CHANNELS)), st.integers(1, 20), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_pixels_survive_a_round_trip(tmp_path_factory, mode, height, width, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, *CHANNELS[mode]), dtype=np.uint8)
    image = Image.fromarray(pixels)
    assert image.mode == mode
    assert can_write_png(image)
    path = tmp_path_factory.mktemp("png") / "image.png"
    write_png(image, path)
    with Image.open(path) as found:
        found.verify()  # checks the checksums
    with Image.open(path) as found:
        assert (found.format, found.mode, found.info) == ("PNG", mode, {})
        np.testing.assert_array_equal(np.asarray(found), pixels)


@pytest.mark.parametrize("mode", ["1", "P", "LA", "I;16", "F", "CMYK"])
def test_other_modes_are_left_to_pillow(mode):
    assert not can_write_png(Image.new(mode, (2, 2)))


@pytest.mark.parametrize("name", ["icc_profile", "exif", "transparency"])
def test_images_with_metadata_are_left_to_pillow(name):
    image = Image.new("RGB", (2, 2))
    image.info["comment"] = "does not matter"
    assert can_write_png(image)
    image.info[name] = b"something"
    assert not can_write_png(image)


# -- order of presentation ---------------------------------------------------------------------------------------------

IDS = st.lists(st.text("abcdefgh0123", min_size=1, max_size=3), min_size=1, max_size=30)


class Watched(BrainModel):
    """A model that records the stimuli it is shown and answers with the position of each."""

    identifier = "watched"

    def __init__(self, layout="adjacent"):
        self.layout = layout

    def visual_degrees(self):
        return 8

    def start_recording(self, recording_target, time_bins):
        """Accept any region."""

    def start_task(self, task, fitting_stimuli=None):
        """Accept any task."""

    def look_at(self, stimuli, number_of_trials=1, require_variance=False):
        self.seen = stimuli
        repeats = np.repeat if self.layout == "adjacent" else np.tile
        places = repeats(np.arange(len(stimuli)), number_of_trials)
        ids = stimuli["stimulus_id"].to_numpy()[places]
        values = np.array([[sum(map(ord, str(name)))] for name in ids], dtype=float)
        labels = {"stimulus_id": ("presentation", ids), "place": ("presentation", places)}
        if self.layout == "without names":
            labels.pop("stimulus_id")
        units = {"neuroid_id": ("neuroid", [0]), "layer": ("neuroid", ["a"])}
        return NeuroidAssembly(values, coords={**labels, **units}, dims=["presentation", "neuroid"])


def stimuli_of(ids, **columns):
    return StimulusSet({"stimulus_id": ids, **columns})


@given(ids=IDS, seed=st.integers(0, 99))
def test_order_depends_only_on_the_stimuli(ids, seed):
    table = np.array(ids, dtype=object)
    order = digest_order(stimuli_of(table))
    assert sorted(order) == list(range(len(ids)))
    moved = np.random.default_rng(seed).permutation(table)
    assert moved[digest_order(stimuli_of(moved, object_name=sorted(moved)))].tolist() == table[order].tolist()


def test_order_depends_on_pixels_but_not_names(write_stimuli):
    pixels = [np.full((2, 2, 3), value) for value in range(20)]
    first = write_stimuli({f"a{number:02}": image for number, image in enumerate(pixels)})
    second = write_stimuli({f"z{19 - number:02}": image for number, image in enumerate(pixels)})
    np.testing.assert_array_equal(digest_order(first), digest_order(second))
    changed = write_stimuli({f"c{number:02}": image + 100 for number, image in enumerate(pixels)})
    assert (digest_order(changed) != digest_order(first)).any()


def test_blocks_of_equal_labels_are_shuffled():
    """In stored order the label changes 3 times in 400 rows; in a random order it would change about 300 times."""
    labels = np.repeat(["bear", "car", "dog", "table"], 100)
    order = digest_order(stimuli_of([f"{number:03}" for number in range(400)]))
    assert 250 < (labels[order][1:] != labels[order][:-1]).sum() < 350


def test_repetitions_of_a_stimulus_are_shuffled():
    order = digest_order(stimuli_of(["a"] * 50 + ["b"] * 50))
    is_a = order < 50
    assert 20 < (is_a[1:] != is_a[:-1]).sum() < 80


def test_rows_of_a_trial_stay_together_but_are_shuffled():
    rng = np.random.default_rng(0)
    trios = np.array([rng.permutation(40)[:3] for _ in range(300)])
    shown = trios.ravel()[digest_order(stimuli_of(trios.ravel().astype(str)), rows_per_trial=3)].reshape(-1, 3)
    assert sorted(map(sorted, shown.tolist())) == sorted(map(sorted, trios.tolist()))
    stored = {frozenset(trio): trio[2] for trio in trios.tolist()}
    third = [stored[frozenset(trio)] for trio in shown.tolist()]
    chosen_first = np.mean([trio[0] == last for trio, last in zip(shown.tolist(), third, strict=True)])
    assert 0.25 < chosen_first < 0.42


@pytest.mark.parametrize("layout", ["adjacent", "one after the other"])
@given(ids=IDS, trials=st.integers(1, 3))
def test_answers_are_returned_in_the_order_of_the_table(layout, ids, trials):
    model, stimuli = Watched(layout), stimuli_of(ids)
    answer = presented(model).look_at(stimuli, number_of_trials=trials)
    repeats = np.repeat if layout == "adjacent" else np.tile
    if trials == 1 or len(set(ids)) == len(ids):
        assert answer["stimulus_id"].values.tolist() == repeats(np.array(ids, dtype=object), trials).tolist()
    np.testing.assert_array_equal(model.seen["stimulus_id"].to_numpy()[answer["place"]], answer["stimulus_id"])
    np.testing.assert_array_equal(answer.values[:, 0], [sum(map(ord, name)) for name in answer["stimulus_id"].values])


def test_answers_without_names_are_reordered_by_position():
    ids = list("dbacfe")
    model = Watched("without names")
    answer = presented(model).look_at(stimuli_of(ids))
    assert model.seen["stimulus_id"].tolist() != ids
    assert answer.values[:, 0].tolist() == list(map(ord, ids))


def test_assemblies_in_attributes_are_reordered_too():
    class Probable(Watched):
        def look_at(self, stimuli, number_of_trials=1):
            answer = super().look_at(stimuli, number_of_trials)
            return answer.assign_attrs(probabilities=answer * 2)

    ids = list("dbacfe")
    answer = presented(Probable()).look_at(stimuli_of(ids))
    assert answer.attrs["probabilities"]["stimulus_id"].values.tolist() == ids


def test_answers_in_another_order_are_unchanged():
    class Sorted(Watched):
        def look_at(self, stimuli, number_of_trials=1):
            return super().look_at(stimuli.sort_values("stimulus_id"), number_of_trials)

    answer = presented(Sorted()).look_at(stimuli_of(list("dbacfe")))
    assert answer["stimulus_id"].values.tolist() == list("abcdef")


def test_a_wrong_number_of_answers_is_passed_on():
    class Short(Watched):
        def look_at(self, stimuli, number_of_trials=1):
            return super().look_at(stimuli, number_of_trials)[:-1]

    assert presented(Short()).look_at(stimuli_of(list("dbacfe"))).sizes["presentation"] == 5


def test_answers_to_trios_are_reordered_by_trial():
    class Odd(Watched):
        def look_at(self, stimuli, number_of_trials=1):
            self.seen = stimuli
            trios = stimuli["stimulus_id"].to_numpy().reshape(-1, 3)
            return answers_of([trios.max(axis=1)], stimulus_id=["|".join(trio) for trio in trios])

    trios = [["a", "b", "c"], ["d", "a", "f"], ["b", "a", "e"], ["h", "g", "a"]]
    model = presented(Odd())
    model.start_task(BrainModel.Task.odd_one_out)
    answer = model.look_at(stimuli_of([name for trio in trios for name in trio]))
    assert answer.values[0].tolist() == [max(trio) for trio in trios]
    assert model.seen["stimulus_id"].tolist() != [name for trio in trios for name in trio]


def test_keep_order_presents_the_stored_order():
    model = Watched()
    presented(presented(model, keep_order=True)).look_at(stimuli_of(list("dbacfe")))
    assert model.seen["stimulus_id"].tolist() == list("dbacfe")


def test_answers_beyond_the_memory_budget_are_reordered_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("BRAINSCORE_MEMORY_GB", "0.00001")
    ids = [f"{number:03}" for number in range(200)]

    class Large(Watched):
        def look_at(self, stimuli, number_of_trials=1):
            answer = super().look_at(stimuli, number_of_trials)
            np.save(tmp_path / "values.npy", answer.values * np.ones((1, 50)))
            values = np.load(tmp_path / "values.npy", mmap_mode="r")
            names = {"stimulus_id": ("presentation", answer["stimulus_id"].values)}
            names["neuroid_id"] = "neuroid", range(50)
            return NeuroidAssembly(values, coords=names, dims=["presentation", "neuroid"], attrs={"a": 1})

    answer = presented(Large()).look_at(stimuli_of(ids))
    assert is_mapped(answer.values)
    assert answer["stimulus_id"].values.tolist() == ids
    assert answer.attrs == {"a": 1}
    np.testing.assert_array_equal(answer.values[:, 49], [sum(map(ord, name)) for name in ids])


def test_passes_on_stimuli_without_names_and_missing_methods():
    class Bare:
        def look_at(self, stimuli, number_of_trials=1):
            return stimuli

    model = presented(Bare())
    assert model.look_at("no table") == "no table"
    with pytest.raises(AttributeError, match="start_task"):
        model.start_task("label", ["a"])


def test_shared_steps_work_through_the_presentation_wrapper():
    calls = []
    shared = presented(SharedCandidate(Watched()))
    shared.start_recording("IT", [(70, 170)])
    assert [once(shared, "step", lambda: calls.append(1) or 5) for _ in range(2)] == [5, 5]
    assert calls == [1]
