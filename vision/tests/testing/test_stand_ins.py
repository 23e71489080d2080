import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from PIL import Image

from brainscore_core.errors import AssemblyError, UnknownIdentifierError
from brainscore_core.supported_data_standards.brainio import s3
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import data_registry, load_dataset, load_stimulus_set, stimulus_set_registry
from brainscore_vision.testing.stand_ins import draw_stimuli, of_stimuli, recordings, shuffled, standing_in


def choices_for(stimuli):
    choices = answers_of(["cat"] * 8, stimulus_id=stimuli["stimulus_id"], subject=["a", "b"] * 4)
    return choices.assign_attrs(stimulus_set=stimuli)


def test_equal_arguments_draw_equal_pictures(tmp_path):
    first, second = (
        draw_stimuli("Made2026.a", 3, size_px=16, folder=tmp_path / name, columns={"degrees": [8, 8, 4]})
        for name in "ab"
    )
    other = draw_stimuli("Made2026.a", 3, size_px=16, seed=1)
    read = [[path.read_bytes() for path in each.stimulus_paths.values()] for each in (first, second, other)]
    assert read[0] == read[1] != read[2]
    assert first.identifier == "Made2026.a"
    assert first["degrees"].tolist() == [8, 8, 4]
    assert not set(first["stimulus_id"]) & set(draw_stimuli("Made2026.b", 3, size_px=16)["stimulus_id"])


def test_pictures_are_deleted_with_their_process(tmp_path, tmp_path_factory):
    assert draw_stimuli("Made2026", 1).stimulus_paths["Made2026_0000"].is_relative_to(tmp_path_factory.getbasetemp())
    program = "from brainscore_vision.testing.stand_ins import draw_stimuli; draw_stimuli('Made2026', 1, size_px=4)"
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)}, check=True)
    assert list(tmp_path.iterdir()) == []


def test_recordings_have_the_requested_dimensions():
    stimuli = draw_stimuli("Made2026", 8, size_px=16, columns={"object_name": list("abcdabcd")})
    made, truth = recordings(
        stimuli,
        n_neuroids=3,
        n_repetitions=4,
        time_bins=[(70, 80), (80, 90)],
        neuroid_coords={"region": "IT", "subject": ["a", "a", "b"]},
        presentation_coords=["object_name"],
        dims=["neuroid", "time_bin", "presentation"],
    )
    assert made.dims == truth.dims == ("neuroid", "time_bin", "presentation")
    assert dict(made.sizes) == {"neuroid": 3, "time_bin": 2, "presentation": 32}
    assert truth.sizes["presentation"] == 8
    assert made["repetition"].values.tolist() == [number for number in range(4) for _ in range(8)]
    assert made["object_name"].values.tolist() == list("abcdabcd") * 4
    assert set(made["region"].values) == {"IT"}
    assert made["subject"].values.tolist() == ["a", "a", "b"]
    assert made["time_bin_end"].values.tolist() == [80, 90]


def test_recordings_are_the_truth_plus_the_requested_noise():
    stimuli = draw_stimuli("Made2026", 20, size_px=16)
    made, truth = recordings(stimuli, n_neuroids=30, n_repetitions=20, noise=0.7)
    rest = made.values.reshape(20, 20, 30) - truth.values
    assert rest.std() == pytest.approx(0.7, rel=0.02)
    np.testing.assert_allclose(truth.values.std(axis=0), 1)
    again, _ = recordings(stimuli, n_neuroids=30, n_repetitions=20, noise=0.7)
    xr.testing.assert_identical(xr.DataArray(made), xr.DataArray(again))


@pytest.mark.parametrize(("visible", "explained"), [(0.0, 0.1), (0.5, 0.5), (1.0, 1.0)])
def test_pixels_explain_the_visible_share(visible, explained):
    stimuli = draw_stimuli("Made2026", 300, size_px=16)
    _, truth = recordings(stimuli, n_neuroids=20, visible=visible)
    pixels = []
    for path in stimuli.stimulus_paths.values():
        with Image.open(path) as image:
            pixels.append(np.asarray(image.convert("L").resize((8, 8), Image.Resampling.BOX), float).ravel())
    patterns = np.linalg.svd(np.stack(pixels) - np.mean(pixels, axis=0), full_matrices=False)[0][:, :6]
    predicted = patterns @ (patterns.T @ truth.values)
    assert predicted.var() / truth.values.var() == pytest.approx(explained, abs=0.12)


def test_of_stimuli_selects_responses_to_a_subset():
    train, test = draw_stimuli("stand-in-train", 5), draw_stimuli("stand-in-test", 3)
    both = pd.concat([train, test], ignore_index=True)
    both.identifier = "both"
    assembly, truth = recordings(both, n_neuroids=4, n_repetitions=3)
    part = of_stimuli(assembly, test, n_repetitions=2)
    assert part["stimulus_id"].values.tolist() == test["stimulus_id"].tolist() * 2
    assert part.attrs["stimulus_set_identifier"] == "stand-in-test"
    assert part.attrs["stimulus_set"] is test
    np.testing.assert_array_equal(of_stimuli(truth, test).values, truth.values[5:])
    assert truth.attrs["stimulus_set"] is both


def test_shuffled_permutes_responses_between_stimuli():
    _, truth = recordings(draw_stimuli("Made2026", 50, size_px=16), n_neuroids=2)
    other = shuffled(truth)
    assert sorted(other.values[:, 0]) == sorted(truth.values[:, 0])
    assert abs(np.corrcoef(other.values[:, 0], truth.values[:, 0])[0, 1]) < 0.4
    assert other["stimulus_id"].values.tolist() == truth["stimulus_id"].values.tolist()


@pytest.mark.slow
def test_registered_code_loads_the_stand_in(stand_ins):
    factory = data_registry.get("Geirhos2021_edge")
    stimuli = draw_stimuli("Geirhos2021_edge", 8, size_px=16, columns={"truth": ["cat", "dog"] * 4})
    stand_ins.data("Geirhos2021_edge", choices_for(stimuli))
    assert factory in (None, data_registry["Geirhos2021_edge"])
    loaded = load_dataset("Geirhos2021_edge")
    assert isinstance(loaded, BehavioralAssembly)
    assert loaded.attrs["identifier"] == "brendel.Geirhos2021_edge"  # the registered identifier
    assert loaded["truth"].values.tolist() == ["cat", "dog"] * 4
    assert loaded.stimulus_set.identifier == "Geirhos2021_edge"


def test_unregistered_names_are_registered_temporarily(stand_in_s3, tmp_path):
    stimuli = draw_stimuli("Made2026", 8, size_px=16)
    with standing_in(stand_in_s3, tmp_path) as made:
        made.data("Made2026.choices", choices_for(stimuli))
        assert load_dataset("Made2026.choices").stimulus_set.identifier == "Made2026"
        assert len(load_stimulus_set("Made2026")) == 8
    assert not {"Made2026", "Made2026.choices"} & {*data_registry, *stimulus_set_registry}
    with pytest.raises(UnknownIdentifierError):
        load_dataset("Made2026.choices")


def test_registrations_are_restored_afterwards(stand_in_s3, tmp_path, monkeypatch):
    locate = s3.locate
    stimuli = draw_stimuli("Geirhos2021_edge", 8, size_px=16)
    with standing_in(stand_in_s3, tmp_path) as made:
        made.stimuli("Geirhos2021_edge", stimuli)
        assert len(load_stimulus_set("Geirhos2021_edge")) == 8
    assert s3.locate is locate
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    with pytest.raises(OSError, match="Geirhos2021_edge"):
        load_stimulus_set("Geirhos2021_edge")


@pytest.mark.parametrize("loaded_once", [False, True])
def test_suspended_stand_ins_give_way_to_the_real_data(stand_in_s3, tmp_path, own_homes, loaded_once):
    stimuli = draw_stimuli("Geirhos2021_edge", 8, size_px=16)
    with standing_in(stand_in_s3, tmp_path) as made:
        made.data("Geirhos2021_edge", choices_for(stimuli))
        made.data("Made2026.choices", choices_for(draw_stimuli("Made2026", 8, size_px=16)))
        if loaded_once:
            made.load_once(data_registry, ["Geirhos2021_edge", "Made2026.choices"])
            assert load_dataset("Geirhos2021_edge") is load_dataset("Geirhos2021_edge")
        with made.suspended(), pytest.MonkeyPatch.context() as patch:
            patch.setenv("BRAINSCORE_OFFLINE", "1")
            assert os.environ.get("AWS_ACCESS_KEY_ID") != "stand-in"
            with pytest.raises(OSError, match=rf"Geirhos2021_edge.* is not at {own_homes}/brainio/"):
                load_dataset("Geirhos2021_edge")
            with pytest.raises(UnknownIdentifierError):
                load_dataset("Made2026.choices")
        assert len(load_dataset("Geirhos2021_edge").stimulus_set) == len(load_dataset("Made2026.choices").stimulus_set)


@pytest.mark.network
def test_module_stand_ins_are_suspended_for_network_tests(module_stand_ins, kept_homes):
    assert os.environ.get("AWS_ACCESS_KEY_ID") != "stand-in"
    assert os.environ.get("BRAINIO_HOME") != module_stand_ins.homes["BRAINIO_HOME"]


@pytest.fixture(scope="module")
def shared(module_stand_ins):
    module_stand_ins.data("Made2026.shared", choices_for(draw_stimuli("Made2026.shared", 8, size_px=16)))


@pytest.mark.parametrize("turn", [1, 2])
def test_module_stand_ins_are_available_in_each_test(shared, turn):
    assert load_dataset("Made2026.shared").sizes["presentation"] == 8


def test_unchecked_stand_ins_may_violate_the_data_standard(stand_ins):
    stimuli = draw_stimuli("Rajalingham2020", 4)
    assembly, _ = recordings(stimuli, n_neuroids=2, n_repetitions=1, time_bins=[(70, 170)])
    assembly = assembly.rename(time_bin_end="time_bin_stop")
    with pytest.raises(AssemblyError, match="time_bin_end"):
        stand_ins.data("Rajalingham2020", assembly)
    stand_ins.data("Rajalingham2020", assembly, checked=False)
    loaded = load_dataset("Rajalingham2020")
    assert loaded["time_bin_stop"].values.tolist() == [170]
    assert loaded.stimulus_set["stimulus_id"].tolist() == stimuli["stimulus_id"].tolist()


EARLIER_TURNS: list[int] = []  # of this process, as the tests of a file may run in several


@pytest.mark.usefixtures("kept_homes")
@pytest.mark.parametrize("turn", [1, 2])
def test_kept_homes_keep_downloads_for_all_tests_of_a_file(module_stand_ins, turn):
    homes = [os.environ[name] for name in ("BRAINSCORE_HOME", "BRAINIO_HOME")]
    assert homes == list(module_stand_ins.homes.values())
    kept = Path(homes[1]) / "kept"
    assert kept.is_file() == bool(EARLIER_TURNS)
    EARLIER_TURNS.append(turn)
    kept.parent.mkdir(exist_ok=True)
    kept.touch()
