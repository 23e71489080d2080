"""Tables become the same assembly in every layout; ambiguous tables are refused with a remedy."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from brainscore_ci.scaffold.columns import NAMES
from brainscore_ci.scaffold.tables import TablesRequest, read_experiment
from brainscore_core.errors import ConfigurationError


@pytest.fixture
def read(experiment):
    """Write tables and read them: ``read(responses, stimuli=None, **request)``."""

    def write_and_read(responses, stimuli=None, how=None, **request):
        files = experiment(responses, stimuli, **(how or {}))
        request = {"region": "IT", **request}
        return read_experiment(TablesRequest(stimuli=files[0], responses=files[1], **request))

    return write_and_read


def sorted_values(assembly):
    keys = [f"{s}/{r}" for s, r in zip(assembly["stimulus_id"].values, assembly["repetition"].values, strict=True)]
    return assembly.values[np.argsort(keys, kind="stable")]


def test_every_layout_gives_the_same_recordings(shared_experiment, read):
    wide, long = shared_experiment.layouts["wide"], shared_experiment.layouts["long"]
    expected = sorted_values(shared_experiment.truth).round(3)
    mixed = long.sample(frac=1, random_state=0)
    endless = wide.assign(rep=np.arange(len(wide)))  # numbered through the experiment
    for table, how in (
        (wide, {}),
        (wide, {"how": {"sep": ";", "encoding": "utf-8-sig"}}),
        (wide.drop(columns="rep"), {}),
        (wide.assign(**{"": range(len(wide)), " ": ""})[["", *wide, " "]], {}),  # pandas' index and an empty column
        (endless, {}),
        (long, {}),
        (mixed, {"how": {"sep": "\t"}}),
        (long.assign(Picture=long["Picture"] + ".png"), {}),
        (long.rename(columns={"unit": "x", "rate": "y"}), {"columns": ("neuron=x", "value=y")}),
    ):
        experiment = read(table, **how)
        assembly = experiment.assembly
        assembly = assembly.isel(neuroid=np.argsort(assembly["neuroid_id"].values))
        assert (sorted_values(assembly) == expected).all()
        assert dict(experiment.notes)["neurons"].startswith("6: n0, n1, ")
        assert dict(experiment.notes)["repetitions"].startswith("4")
        assert set(assembly["region"].values) == {"IT"}
        assert list(experiment.stimuli.columns) == ["stimulus_id", "truth"]
        assert all(path.is_file() for path in experiment.stimuli.stimulus_paths.values())


def test_spikes_are_counted_in_bins(shared_experiment, read):
    spikes = shared_experiment.layouts["spikes"]
    experiment = read(spikes, window=(70, 170), bins=2)
    assembly = experiment.assembly
    assert assembly["time_bin_start"].values.tolist() == [70, 120]
    first, unit = assembly[7], assembly["neuroid_id"].values[3]
    mine = spikes[
        (spikes["Picture"] == str(first["stimulus_id"].values))
        & (spikes["rep"] == int(first["repetition"].values))
        & (spikes["unit"] == unit)
    ]
    counts = [mine["spike_time"].between(start, start + 50, inclusive="left").sum() for start in (70, 120)]
    assert first.values[3].tolist() == counts
    silent = spikes[(spikes["Picture"] != "pic_0000") | (spikes["rep"] != 0)]
    assert "1 of 80 stimuli x repetitions" in dict(read(silent, window=(70, 170)).notes)["not shown"]
    shown = pd.concat([silent, pd.DataFrame([{"Picture": "pic_0000", "rep": 0, "unit": "n0"}])])
    counted = read(shown, window=(70, 170)).assembly
    assert counted.sizes["presentation"] == 80
    assert (counted.values[-1] == 0).all()


def test_times_regions_and_subjects_come_from_the_table(shared_experiment, read):
    long = shared_experiment.layouts["long"]
    where = long.assign(area=np.where(long["unit"] < "n3", "V4", "IT"), monkey="M" + long["unit"].str[-1])
    late = where.assign(rate=where["rate"] + 1)
    both = pd.concat([late.assign(time=120), where.assign(time=70)])
    assembly = read(both, region=None).assembly
    assert assembly["time_bin_start"].values.tolist() == [70, 120]
    assert assembly["time_bin_end"].values.tolist() == [120, 170]
    assert np.allclose(np.diff(assembly.values, axis=2), 1)
    assert assembly["region"].values.tolist() == ["V4"] * 3 + ["IT"] * 3
    assert assembly["subject"].values.tolist() == [f"M{number}" for number in range(6)]


def test_subjects_are_not_repetitions(shared_experiment, read):
    """The table is repeated for three subjects, whose neurons have the same names."""
    for layout in ("long", "wide"):
        table = shared_experiment.layouts[layout]
        names = [name for name in table if name not in ("Picture", "rep", "unit")]
        of_all = pd.concat(
            [table.assign(subject=who, **{n: table[n] + k for n in names}) for k, who in enumerate("ABC")]
        )
        experiment = read(of_all)
        assembly = experiment.assembly
        assert dict(assembly.sizes) == {"presentation": 80, "neuroid": 18}
        by_name = dict(zip(assembly["neuroid_id"].values, assembly.values.T, strict=True))
        assert np.allclose(by_name["B.n3"] - by_name["A.n3"], 1)
        assert sorted(set(assembly["subject"].values)) == ["A", "B", "C"]
        assert dict(experiment.notes)["repetitions"] == "4"
        with pytest.raises(ConfigurationError, match="add a column subject or session or run"):
            read(of_all.drop(columns="subject"))
        unnamed = read(of_all.drop(columns=["subject", "rep"]))
        expected = "12, in the order of rows; if they are of several, add a column subject or session or run"
        assert dict(unnamed.notes)["repetitions"] == expected
    assert read(table.assign(subject="A")).assembly["neuroid_id"].values.tolist() == names


def test_sessions_and_runs_distinguish_repetitions(shared_experiment, read):
    expected = sorted_values(shared_experiment.truth).round(3)
    for layout in ("long", "wide"):
        table = shared_experiment.layouts[layout]
        divided = table.assign(session=table["rep"] // 2, run=table["rep"] % 2)
        for parts in (divided.drop(columns="rep"), divided.assign(rep=0)):
            experiment = read(parts)
            assert (sorted_values(experiment.assembly) == expected).all()
            assert dict(experiment.notes)["repetitions"].startswith("4")


def test_absent_cells_are_missing_and_reported(shared_experiment, read):
    long = shared_experiment.layouts["long"]
    for table in (long.drop(index=[3, 5]), long.assign(rate=long["rate"].astype(object).mask(long.index < 2, "NA"))):
        experiment = read(table)
        assert np.isnan(experiment.assembly.values).sum() == 2
        assert dict(experiment.notes)["missing"] == "2 of 480 cells"


def test_reads_choices(shared_experiment, read):
    choices = shared_experiment.layouts["choices"]
    experiment = read(choices.assign(trial=1), region=None)
    said = dict(experiment.notes)
    assert (said["people"], said["answers"], said["left out"]) == ("5", "100, of 4 right labels", "'trial', 'rt'")
    truth = dict(zip(shared_experiment.stimuli["picture"], shared_experiment.stimuli["truth"], strict=True))
    assert experiment.assembly["truth"].values.tolist() == [truth[name] for name in choices["stimulus"]]
    assert experiment.stimuli["truth"].tolist() == list(truth.values())
    with pytest.raises(ConfigurationError, match=r"1 row with the person and stimulus .*line 102: 1 x pic_0000"):
        read(pd.concat([choices, choices[:1]]))


@pytest.mark.parametrize("distractor", ["distractor_object", "distractor"])
def test_reads_match_to_sample_trials(shared_experiment, read, distractor):
    table = shared_experiment.layouts["trials"].rename(columns={"distractor_object": distractor})
    experiment = read(table, region=None)
    assembly, said = experiment.assembly, dict(experiment.notes)
    assert experiment.task == "probabilities"
    assert (said["people"], said["trials"], said["left out"]) == ("20", "1200, of 4 objects", "no named column")
    columns = (assembly.values, assembly["sample_obj"].values, assembly["dist_obj"].values, assembly["subject"].values)
    for values, name in zip(columns, ("choice", "sample_object", distractor, "subject"), strict=True):
        assert values.tolist() == table[name].tolist()
    assert experiment.stimuli["image_label"].tolist() == experiment.stimuli["truth"].tolist()
    wrong = table.assign(choice=table["choice"].mask(table.index == 1, "sheep"))
    with pytest.raises(ConfigurationError, match=r"1 choice of neither object \(line 3: sheep\)"):
        read(wrong, region=None)


@pytest.mark.parametrize(("name", "accuracy"), [("edge", 0.871), ("silhouette", 0.753)])
def test_reads_a_real_experiment(name, accuracy):
    """Geirhos et al. (2019): human accuracy is stated with the data, which are not part of the repository."""
    shared = Path(os.environ.get("BRAINSCORE_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
    folder = shared / f"geirhos_{name}"
    if not folder.is_dir():
        pytest.skip(f"the images are not in {shared}; set BRAINSCORE_SHARED_DATA to the folder with geirhos_{name}")
    files = {"stimuli": folder / "stimulus_set.csv", "responses": folder / "behavior.csv"}
    experiment = read_experiment(TablesRequest(**files))
    page = (Path(__file__).parents[3] / "docs/tutorials/from_a_table.md").read_text()
    for said in ("layout", "people", "answers", "left out"):
        assert f"  {said:<13}{dict(experiment.notes)[said]}\n" in page
    right = experiment.assembly.values == experiment.assembly["truth"].values
    assert right.mean() == pytest.approx(accuracy, abs=5e-4)


def without_reps(long):
    return long[(long.index != 5)].drop(columns="rep")


REFUSED = {
    "another stimulus": (lambda t: t.replace("pic_0003", "cat"), r"1 of 20 stimuli are not in stimuli.csv \(cat\)"),
    "foreign stimuli": (
        lambda t: t.assign(Picture="x" + t["Picture"]),
        r"20 of 20 stimuli are not in stimuli.csv \(xpic_0000, .*, xpic_0004, and 15 more\)",
    ),
    "twice": (
        lambda t: pd.concat([t, t[:7]]),
        r"7 rows with the stimulus, neuron and repetition .*\(line 482, .* and 2 more: pic_0000 x n0 x 0",
    ),
    "no number": (
        lambda t: t.assign(rate=t["rate"].astype(str).mask(t.index == 4, "high")),
        r"not every cell is a number \(line 6, column 'rate': 'high'\)\. Correct them",
    ),
    "infinite": (lambda t: t.assign(rate="inf"), r"not every cell is a number .*and 475 more"),
    "commas": (lambda t: t.assign(rate="1,5"), r"Write decimal points, not commas"),
    "uneven": (without_reps, r"different numbers of rows for 1 stimulus \(pic_0005\).*Add a column repetition"),
    "two neurons": (lambda t: t.assign(cell=1), r"'unit', 'cell' may each be the neuron.*--column neuron=unit"),
    "no neuron": (lambda t: t.drop(columns="unit"), r"'rate' is the value, but no column .* as the neuron"),
    "no value": (lambda t: t.rename(columns={"rate": "z"}), r"Choose from 'z': --column value=NAME"),
    "no stimulus": (lambda t: t.rename(columns={"Picture": "p"}), r"recognised as the stimulus.*--column stimulus="),
    "no name": (lambda t: t.assign(unit=t["unit"].mask(t.index == 0)), r"1 empty cell in 'unit' \(line 2\)"),
    "two kinds": (lambda t: t.assign(spike_time=1), r"'spike_time' and 'rate' are two kinds"),
    "one bin": (lambda t: t.assign(time=70), r"1 start \(70.0\) cannot give the width"),
    "two regions": (lambda t: t.assign(area=np.where(t.index % 2, "V4", "IT")), r"6 neurons of more than one reg"),
    "never seen": (
        lambda t: t[(t["unit"] != "n2") | (t["Picture"] != "pic_0001")],
        r"1 pairs of a neuron and a stimulus have no response at all, such as n2 to pic_0001",
    ),
    "no rows": (lambda t: t[:0], r"responses.csv has no rows"),
    "nothing": (lambda _: "", r"responses.csv is not a table: it is empty"),
    "columns twice": (lambda _: "stimulus,n0,n0\npic_0000,1,2\n", r"has duplicate columns \(n0\)"),
    "ragged": (lambda _: "stimulus,unit,rate\npic_0000,n0,1,2\n", r"responses.csv is not a table"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_ambiguous_long_table_is_refused_with_a_remedy(case, shared_experiment, read):
    change, message = REFUSED[case]
    with pytest.raises(ConfigurationError, match=message):
        read(change(shared_experiment.layouts["long"]))


def test_ambiguous_wide_and_spike_tables_are_refused(shared_experiment, read):
    wide, spikes = shared_experiment.layouts["wide"], shared_experiment.layouts["spikes"]
    for table, request, message in (
        (wide.assign(area="IT"), {}, r"'area' is the region, which does not fit a table with a column for each neuron"),
        (wide.assign(mood="bad"), {}, r"not every cell is a number .*'mood': 'bad'.*--column ignore=NAME"),
        (pd.concat([wide, wide[:1]]), {}, r"1 row with the stimulus and repetition of another \(line 82: pic_0000"),
        (wide[["Picture", "rep"]], {}, r"no column is left for the responses"),
        (wide, {"region": None}, r"the region of the neurons is unknown.*--region IT"),
        (wide, {"columns": ("stimulus=Pictur",)}, r"names 'Pictur', but stimuli.csv has .*Did you mean 'picture'"),
        (wide, {"columns": ("stimuli=Picture",)}, r"expected ROLE=NAME.*Did you mean 'stimulus'"),
        (wide, {"window": (70, 170)}, r"--window and --bins count spike times; the layout is wide"),
        (spikes, {}, r"Set the time window to count them in, in ms: --window 70 170"),
        (spikes, {"window": (170, 70)}, r"Set the time window to count them in"),
        (spikes.assign(spike_time=spikes["spike_time"] / 1e3), {"window": (70, 170)}, r"Times are in ms after"),
        (spikes.drop(columns="rep"), {"window": (70, 170)}, r"recognised as the repetition"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            read(table, **request)
    experiment = read(wide.assign(mood="bad"), columns=("ignore=mood",))
    assert dict(experiment.notes)["left out"] == "'mood'"
    assert experiment.assembly.sizes["neuroid"] == 6


def test_ambiguous_stimuli_are_refused(shared_experiment, read):
    wide, stimuli = shared_experiment.layouts["wide"], shared_experiment.stimuli
    for table, message in (
        (stimuli.assign(filename="no/" + stimuli["filename"]), r"20 of 20 files .*\(no/pic_0000.png, .* and 15 more\)"),
        (stimuli.drop(columns="filename"), r"20 of 20 files of stimuli are not in .*column filename"),
        (pd.concat([stimuli, stimuli[:1]]), r"1 stimulus listed more than once \(pic_0000\)"),
        (stimuli.rename(columns={"picture": "a", "filename": "b"}), r"no column is recognised as the stimulus"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            read(wide, table)
    assert len(read(wide, stimuli[["filename"]]).stimuli) == 20
    assert len(read(wide, stimuli[["filename"]].rename(columns={"filename": "image"})).stimuli) == 20


def test_absent_file_is_an_error(tmp_path):
    with pytest.raises(ConfigurationError, match=r"absent\.csv cannot be read: No such file"):
        read_experiment(TablesRequest(stimuli=tmp_path / "absent.csv", responses=tmp_path / "b.csv"))


def test_each_column_name_has_one_role():
    names = [name for group in NAMES.values() for name in group]
    assert len(names) == len(set(names))
