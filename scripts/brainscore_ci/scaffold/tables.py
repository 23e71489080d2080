"""Package tables of stimuli and of responses, spike times or choices."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from brainscore_ci.scaffold.columns import NAMES, TextTable, check_chosen, examples, read_table
from brainscore_core.errors import count
from brainscore_core.supported_data_standards.brainio.assemblies import (
    BehavioralAssembly,
    DataAssembly,
    NeuroidAssembly,
)
from brainscore_core.supported_data_standards.brainio.packaging import (
    package_data_assembly_locally,
    package_stimulus_set_locally,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet

_KEPT_OUT = ("stimulus_id", "filename", "identifier", "name")  # columns of the stimuli that packaging writes itself
_BIN_COLUMNS = ["start", "end"]
_BINS, _WHO = ("time_start", "time_end"), ("region", "subject")
_SHOWS = ("session", "run", "repetition")  # which showing of a stimulus it is, from the slowest to the fastest
_LAYOUTS = {
    "match to sample": (
        "a row for each trial, where a person chooses between two objects",
        {"stimulus", "subject", "choice", "sample", "distractor", "truth"},
    ),
    "choices": ("a row for each person and stimulus", {"stimulus", "subject", "choice", "truth"}),
    "spike times": ("a row for each spike", {"stimulus", "neuron", "spike_time", *_SHOWS, *_WHO}),
    "long": (
        "a row for each stimulus and neuron, and each repetition and time bin if there are several",
        {"stimulus", "neuron", "value", *_SHOWS, *_BINS, *_WHO},
    ),
    "wide": (
        "a column for each neuron, a row for each stimulus, and each repetition and time bin if there are several",
        {"stimulus", "subject", *_SHOWS, *_BINS},
    ),
}
"""Layout -> its rows and columns in words, and the roles it has."""


@dataclass(frozen=True)
class TablesRequest:
    """Tables of an experiment."""

    stimuli: Path
    responses: Path | None  # None: stimuli only
    columns: tuple[str, ...] = ()  # see `read_table`
    window: tuple[float, float] | None = None  # start and end in ms after onset within which spike times are counted
    bins: int = 1
    region: str | None = None  # if no column says it
    units: str | None = None  # of the values


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Stimuli, measurements if any, and notes on how tables were read: (name, description)."""

    stimuli: StimulusSet
    assembly: DataAssembly | None
    notes: tuple[tuple[str, str], ...]

    @property
    def task(self) -> str | None:
        """Task of the people, see `designs.FOR_TASK`; None for recordings."""
        if not isinstance(self.assembly, BehavioralAssembly):
            return None
        return "probabilities" if "dist_obj" in self.assembly.coords else "label"

    def as_text(self) -> str:
        """Return the notes, for people."""
        return "\n".join(["Read from the tables:", *(f"  {name:<13}{text}" for name, text in self.notes)])


@dataclass
class _Reading:
    """Tables while they are read, and notes for people."""

    request: TablesRequest
    stimuli: TextTable
    responses: TextTable
    notes: list[tuple[str, str]] = field(default_factory=list, init=False)
    of_neurons: dict[str, pd.Series[str]] = field(default_factory=dict, init=False)  # region and subject, by neuron

    def note(self, name: str, text: str) -> None:
        self.notes.append((name, text))


def read_experiment(request: TablesRequest) -> Experiment:
    """Read tables of stimuli and measurements.

    Raises `ConfigurationError` if columns are unclear, tables contradict each other, or a file of a stimulus is
    absent.
    """
    files = request.stimuli.expanduser(), (request.responses or request.stimuli).expanduser()
    reading = _Reading(request, *(read_table(file, request.columns) for file in files))
    check_chosen([reading.stimuli, reading.responses])
    stimuli, names = _stimuli(reading)
    if request.responses is None:
        return Experiment(stimuli=stimuli, assembly=None, notes=(("stimuli", str(len(stimuli))), *reading.notes))
    layout = layout_of(reading.responses)
    if layout != "spike times" and (request.window is not None or request.bins > 1):
        raise reading.responses.error(f"--window and --bins count spike times; the layout is {layout}. Leave them out.")
    words, roles = _LAYOUTS[layout]
    reading.note("layout", f"{layout}: {words}")
    for role, column in reading.responses.columns.items():
        if role in roles:
            reading.note(role, f"column {column!r}")
    table = reading.responses
    left_out = [name for name in table.names if name in table.ignored]
    left_out += [column for role, column in table.columns.items() if role not in roles]
    left_out += table.others if layout != "wide" else []
    reading.note("left out", ", ".join(map(repr, left_out)) or "no named column")
    shown = _known_stimuli(reading.responses, names, reading.stimuli.file.name)
    if layout == "match to sample":
        assembly: DataAssembly = _trials(reading, shown, stimuli)
    elif layout == "choices":
        assembly = _choices(reading, shown, stimuli)
    else:
        cells = {"long": _long, "wide": _wide, "spike times": _spikes}[layout](reading, shown)
        assembly = _recordings(reading, cells)
    units = "spikes" if layout == "spike times" else request.units  # spikes within the window or a bin
    if units is not None and not isinstance(assembly, BehavioralAssembly):
        assembly.attrs["units"] = units
    n_shown = len(set(assembly["stimulus_id"].values))
    without = f", {len(stimuli) - n_shown} without responses" if n_shown < len(stimuli) else ""
    reading.notes.insert(0, ("stimuli", f"{len(stimuli)}{without}"))
    return Experiment(stimuli=stimuli, assembly=assembly, notes=tuple(reading.notes))


def write_package(experiment: Experiment, identifier: str, folder: Path) -> None:
    """Package stimuli and measurements under one identifier."""
    package_stimulus_set_locally(experiment.stimuli, identifier, folder)
    if experiment.assembly is None:
        return
    package_data_assembly_locally(
        experiment.assembly,
        identifier,
        identifier,
        type(experiment.assembly).__name__,
        folder,
        stimulus_set=experiment.stimuli,
        nans_expected=experiment.task is None and bool(np.isnan(experiment.assembly.values).any()),
    )


# Stimuli -------------------------------------------------------------------------------------------------------------


def _stimuli(reading: _Reading) -> tuple[StimulusSet, dict[str, str]]:
    """Return the stimuli, and name in a table of responses -> ``stimulus_id``."""
    table = reading.stimuli
    named, file = table.column("stimulus"), table.column("file")
    files = table.texts("file" if file else "stimulus")
    ids = table.texts("stimulus") if named and file else files.map(lambda name: Path(name).stem)
    if not (named and file):
        reading.note("stimulus_id", f"names of the files in {file or named!r}, without their endings")
    repeated = ids[ids.duplicated()].unique()
    if len(repeated):
        raise table.error(f"{_n_stimuli(repeated)} listed more than once ({examples(repeated)}). List each only once.")
    folder = _folder(table, files)
    kept = [name for name in table.names if name not in {named, file, *table.ignored, *_KEPT_OUT}]
    stimuli = StimulusSet({"stimulus_id": ids.to_numpy(), **{name: _typed(table.rows[name]) for name in kept}})
    stimuli.stimulus_paths = {key: folder / name for key, name in zip(ids, files, strict=True)}
    reading.note("pictures", f"column {file or named!r} of {table.file.name}, in {folder}")
    names = {Path(name).name: key for key, name in zip(ids, files, strict=True)}
    return stimuli, {**names, **dict(zip(files, ids, strict=True)), **{key: key for key in ids}}


def _folder(table: TextTable, files: pd.Series[str]) -> Path:
    """Return the folder that file names are relative to: the table's, or one in it."""
    beside = table.file.resolve().parent
    folders = [beside, *sorted(path for path in beside.iterdir() if path.is_dir())]
    missing = {folder: [name for name in files if not (folder / name).is_file()] for folder in folders}
    whole = [folder for folder in folders if not missing[folder]]
    if whole[1:] and whole[0] != beside:
        raise table.error(
            f"the files are in {whole[0].name} and in {whole[1].name}. Choose one: write "
            f"{whole[0].name}/{files.iloc[0]}"
        )
    if not whole:
        best = min(folders, key=lambda folder: len(missing[folder]))
        raise table.error(
            f"{len(missing[best])} of {len(files)} files of stimuli are not in {best} ({examples(missing[best])}). "
            "Name them in a column filename, relative to the table or to one folder next to it."
        )
    return whole[0]


def _typed(texts: pd.Series[str]) -> npt.NDArray[np.generic]:
    """Return a column as numbers if all values are, otherwise as texts."""
    numbers = pd.to_numeric(texts, errors="coerce")
    is_padded = texts.str.fullmatch(r"-?0\d+.*").any()
    return (texts if numbers.isna().any() or is_padded else numbers).to_numpy()


def _n_stimuli(names: npt.NDArray[np.object_] | pd.Index[str]) -> str:
    return count(len(names), "stimulus", "stimuli")


def _known_stimuli(table: TextTable, names: dict[str, str], of: str) -> pd.Series[str]:
    shown = table.texts("stimulus")
    unknown = shown[~shown.isin(list(names))].unique()
    if len(unknown):
        raise table.error(
            f"{len(unknown)} of {shown.nunique()} stimuli are not in {of} ({examples(unknown)}); there they are called "
            f"{examples(list(dict.fromkeys(names.values()))[:3])}, ... Use the same names in both."
        )
    return shown.map(names)


# Responses -----------------------------------------------------------------------------------------------------------


def layout_of(table: TextTable) -> str:
    """Return the layout of a table of measurements.

    Raises `ConfigurationError` if its columns belong to different layouts.
    """
    columns = table.columns
    if "choice" in columns and "distractor" in columns:
        return "match to sample"
    if "choice" in columns:
        return "choices"
    if "spike_time" in columns:
        if "value" in columns:
            raise table.error(
                f"{columns['spike_time']!r} and {columns['value']!r} are two kinds of measurements. Leave one out: "
                f"--column ignore={columns['value']}"
            )
        return "spike times"
    if ("neuron" in columns) != ("value" in columns):
        there, absent = ("neuron", "value") if "neuron" in columns else ("value", "neuron")
        choices = f"; for choices of people, --column choice={columns['value']}" if there == "value" else ""
        raise table.error(
            f"{columns[there]!r} is the {there}, but no column is recognised as the {absent} "
            f"({', '.join(NAMES[absent])}). Choose from {', '.join(map(repr, table.others))}: --column "
            f"{absent}=NAME{choices}"
        )
    return "long" if "neuron" in columns else "wide"


def _long(reading: _Reading, shown: pd.Series[str]) -> pd.DataFrame:
    table = reading.responses
    cells = _neurons(reading, pd.DataFrame({"stimulus": shown, "neuron": table.texts("neuron")}))
    cells["value"] = table.numbers([table.columns["value"]])[:, 0]
    cells[_BIN_COLUMNS] = _edges(table)
    return _with_repetitions(reading, cells, ["stimulus", "neuron"])


def _wide(reading: _Reading, shown: pd.Series[str]) -> pd.DataFrame:
    table = reading.responses
    misplaced = table.columns.keys() - _LAYOUTS["wide"][1]
    if misplaced:
        role = min(misplaced)
        column = table.columns[role]
        raise table.error(
            f"{column!r} is the {role}, which does not fit a table with a column for each neuron. Leave it out: "
            f"--column ignore={column}; or write a row for each stimulus and neuron, with the columns neuron and value."
        )
    if not table.others:
        raise table.error("no column is left for the responses of a neuron.")
    values = table.numbers(table.others)
    rows = pd.DataFrame({"stimulus": shown})
    rows[_BIN_COLUMNS] = _edges(table)
    who = ["subject"] if "subject" in table.columns else []
    if who:
        rows["subject"] = table.texts("subject")
    rows = _with_repetitions(reading, rows, ["stimulus", *who]).reset_index(drop=True)
    wide = pd.concat([rows, pd.DataFrame(values, columns=table.others)], axis=1)
    return _neurons(reading, wide.melt(id_vars=list(rows), value_vars=table.others, var_name="neuron"))


def _neurons(reading: _Reading, cells: pd.DataFrame) -> pd.DataFrame:
    """Name neurons apart that only share their name in several subjects, and note the region and subject of each.

    Raises `ConfigurationError` if a neuron has several regions.
    """
    table = reading.responses
    for role in _WHO:
        if role in table.columns and role not in cells:
            cells[role] = table.texts(role)
    if "subject" in cells and cells[["neuron", "subject"]].drop_duplicates()["neuron"].duplicated().any():
        cells["neuron"] = cells["subject"] + "." + cells["neuron"]
        reading.note("names", "of neurons with the subject, such as " + str(cells["neuron"].iloc[0]))
    for role in _WHO:
        if role in cells:
            pairs = cells[["neuron", role]].drop_duplicates()
            several = pairs["neuron"][pairs["neuron"].duplicated()].unique()
            if len(several):
                raise table.error(
                    f"{count(len(several), 'neuron')} of more than one {role} ({examples(several)}). Give each neuron "
                    "a unique name."
                )
            reading.of_neurons[role] = pairs.set_index("neuron")[role]
    return cells


def _edges(table: TextTable) -> npt.NDArray[np.float64]:
    """Return start and end of each row's time bin in ms, shape (rows, 2); NaN without times."""
    columns = [table.columns[role] for role in _BINS if role in table.columns]
    if not columns:
        return np.full((len(table.rows), 2), np.nan)
    edges = table.numbers(columns, missing=False)
    if "time_start" not in table.columns:
        raise table.error(f"{columns[0]!r} is the end of a time bin; its start is missing: --column time_start=NAME")
    if len(columns) == 2:
        return edges
    starts = np.unique(edges)
    widths = np.unique(np.round(np.diff(starts), 9))
    if len(widths) != 1:
        raise table.error(
            f"{columns[0]!r} is the start of a time bin; {count(len(starts), 'start')} ({examples(starts)}) cannot "
            "give the width of the bins. Add a column time_end."
        )
    return np.column_stack([edges[:, 0], edges[:, 0] + widths[0]])


def _with_repetitions(reading: _Reading, cells: pd.DataFrame, what: list[str]) -> pd.DataFrame:
    """Add the column ``repetition``, numbered from 0 for each stimulus unless the table numbers it once for all.

    `what` are the columns that name the thing repeated: stimulus, or stimulus and neuron.
    """
    table = reading.responses
    key = [*what, *_BIN_COLUMNS]
    named = [role for role in _SHOWS if role in table.columns]
    absent = [role for role in ("subject", "session", "run", "repetition") if role not in table.columns]
    if named:
        cells["repetition"] = _repetition_of(table)
        repeated = cells[cells.duplicated([*key, "repetition"])]
        if len(repeated):
            of = [" x ".join(map(str, row)) for row in repeated[[*what, "repetition"]].itertuples(index=False)]
            columns = f" If they differ in it, add a column {' or '.join(absent)}." if absent else ""
            raise table.error(
                f"{count(len(repeated), 'row')} with the {', '.join(what)} and repetition of another (line "
                f"{examples(repeated.index)}: {examples(of)}). Remove them, or number the repetitions.{columns}"
            )
        n_repetitions = int(cells.groupby("stimulus")["repetition"].nunique().max())
        note = str(n_repetitions)
        if cells["repetition"].nunique() > n_repetitions:  # numbered through the experiment, not for each stimulus
            cells["repetition"] = cells.groupby("stimulus")["repetition"].rank("dense").astype(int) - 1
            note += f", in the order of {' and '.join(repr(table.columns[role]) for role in named)}"
    else:
        cells["repetition"] = cells.groupby(key, dropna=False).cumcount()
        counts = cells.groupby(what)["repetition"].max().groupby("stimulus").agg(["min", "max"])
        uneven = counts.index[counts["min"] < counts["max"]]
        if len(uneven):
            raise table.error(
                f"neurons have different numbers of rows for {_n_stimuli(uneven)} ({examples(uneven)}), so the order "
                "of rows does not identify the repetitions. Add a column repetition."
            )
        n_repetitions = int(counts["max"].max()) + 1
        note = "1: the responses are averages"
        if n_repetitions > 1:
            apart = f"; if they are of several, add a column {' or '.join(absent[:-1])}" if absent[:-1] else ""
            note = f"{n_repetitions}, in the order of rows{apart}"
    reading.note("repetitions", note)
    return cells


def _repetition_of(table: TextTable) -> npt.NDArray[np.generic]:
    """Return which showing of its stimulus each row is, by the columns of `_SHOWS` that it has."""
    named = [role for role in _SHOWS if role in table.columns]
    if len(named) < 2:
        return _typed(table.texts(named[0] if named else "repetition"))
    shows = pd.DataFrame({role: _typed(table.texts(role)) for role in named})
    return shows.groupby(named).ngroup().to_numpy()


def _spikes(reading: _Reading, shown: pd.Series[str]) -> pd.DataFrame:
    """Count spikes within the window, 0 for a neuron without one in a presentation."""
    table, window, n_bins = reading.responses, reading.request.window, reading.request.bins
    column = table.columns["spike_time"]
    if window is None or not window[0] < window[1]:
        raise table.error(f"{column!r} holds spike times. Set the time window to count them in, in ms: --window 70 170")
    cells = _neurons(reading, pd.DataFrame({"stimulus": shown, "neuron": table.texts("neuron")}))
    cells["repetition"] = _repetition_of(table)
    times = table.numbers([column])[:, 0]  # an empty one: shown, without a spike
    edges = np.linspace(*window, n_bins + 1)
    place = np.searchsorted(edges, times, side="right") - 1
    inside = (times >= window[0]) & (times < window[1])
    if not inside.any():
        raise table.error(
            f"none of {len(times)} spikes is from {window[0]:g} to {window[1]:g} ms; they are from "
            f"{np.nanmin(times):g} to {np.nanmax(times):g}. Times are in ms after the onset of the stimulus."
        )
    shows, neurons = (cells.groupby(names, sort=False).ngroup() for names in (["stimulus", "repetition"], ["neuron"]))
    counts = np.zeros((shows.max() + 1, neurons.max() + 1, n_bins))
    np.add.at(counts, (shows[inside], neurons[inside], place[inside]), 1)
    reading.note("spikes", f"{inside.sum()} of {np.isfinite(times).sum()} from {window[0]:g} to {window[1]:g} ms")
    n_all = cells["stimulus"].nunique() * cells["repetition"].nunique()
    if len(counts) < n_all:
        reading.note(
            "not shown",
            f"{n_all - len(counts)} of {n_all} stimuli x repetitions have no row; if they were shown, give each a row "
            "with an empty spike time",
        )
    presentations = cells.drop_duplicates(["stimulus", "repetition"])[["stimulus", "repetition"]]
    names = cells["neuron"].unique()
    index = pd.MultiIndex.from_product([range(len(counts)), names, range(n_bins)], names=["show", "neuron", "bin"])
    counted = pd.DataFrame({"value": counts.ravel()}, index=index).reset_index()
    counted[["stimulus", "repetition"]] = presentations.to_numpy()[counted["show"]]
    counted["start"], counted["end"] = edges[counted["bin"]], edges[counted["bin"] + 1]
    reading.note("repetitions", str(cells.groupby("stimulus")["repetition"].nunique().max()))
    return counted


def _recordings(reading: _Reading, cells: pd.DataFrame) -> NeuroidAssembly:
    """Return cells (stimulus, repetition, neuron, start, end, value) as an assembly; absent ones are NaN."""
    keys = (["stimulus", "repetition"], ["neuron"], _BIN_COLUMNS)
    places = [cells.groupby(names, sort=False, dropna=False).ngroup().to_numpy() for names in keys]
    shows, neurons, bins = (cells[names].drop_duplicates().reset_index(drop=True) for names in keys)
    values = np.full((len(shows), len(neurons), len(bins)), np.nan)
    values[*places] = cells["value"]
    missing = np.isnan(values)
    unseen = pd.DataFrame(missing.all(axis=2)).groupby(shows["stimulus"].to_numpy()).all()
    if unseen.to_numpy().any():
        stimulus, neuron = np.argwhere(unseen.to_numpy())[0]
        raise reading.responses.error(
            f"{int(unseen.to_numpy().sum())} pairs of a neuron and a stimulus have no response at all, such as "
            f"{neurons['neuron'].iloc[neuron]} to {unseen.index[stimulus]}. Leave out those neurons or those stimuli."
        )
    coords = {
        "stimulus_id": ("presentation", shows["stimulus"].to_numpy(dtype=str)),
        "repetition": ("presentation", shows["repetition"].to_numpy()),
        "neuroid_id": ("neuroid", neurons["neuron"].to_numpy(dtype=str)),
        **_of_neurons(reading, neurons["neuron"]),
    }
    reading.note("neurons", f"{len(neurons)}: {examples(neurons['neuron'])}")
    reading.note("missing", f"{int(missing.sum())} of {missing.size} cells")
    if bins["start"].isna().all():
        return NeuroidAssembly(values[:, :, 0], coords=coords, dims=["presentation", "neuroid"])
    order = np.argsort(bins["start"].to_numpy())
    bins = bins.iloc[order]
    reading.note("time bins", ", ".join(f"{row.start:g} to {row.end:g} ms" for row in bins.itertuples()))
    times = {f"time_bin_{edge}": ("time_bin", bins[edge].to_numpy()) for edge in _BIN_COLUMNS}
    return NeuroidAssembly(
        values[:, :, order], coords={**coords, **times}, dims=["presentation", "neuroid", "time_bin"]
    )


def _of_neurons(reading: _Reading, neurons: pd.Series[str]) -> dict[str, tuple[str, npt.NDArray[np.str_]]]:
    """Return region and, if known, subject of each neuron, as coordinates."""
    table, coords = reading.responses, {}
    for role, of_neuron in reading.of_neurons.items():
        values = of_neuron.loc[neurons].to_numpy(dtype=str)
        reading.note(f"{role}s", examples(np.unique(values)))
        coords[role] = ("neuroid", values)
    if "region" not in coords:
        if reading.request.region is None:
            raise table.error(
                "the region of the neurons is unknown. Pass --region IT, or add a column region to a table with a row "
                "for each neuron."
            )
        reading.note("regions", f"{reading.request.region}, from --region")
        coords["region"] = ("neuroid", np.repeat(reading.request.region, len(neurons)))
    return coords


# Choices -------------------------------------------------------------------------------------------------------------


def _choices(reading: _Reading, shown: pd.Series[str], stimuli: StimulusSet) -> BehavioralAssembly:
    """Return each person's label for each stimulus; add right labels to the stimuli as ``truth``."""
    table = reading.responses
    choices = pd.DataFrame({"stimulus": shown, "subject": table.texts("subject")})
    choices["choice"] = table.rows[table.columns["choice"]].str.strip()
    repeated = choices[choices.duplicated(["stimulus", "subject"])]
    if len(repeated):
        pairs = [f"{row.subject} x {row.stimulus}" for row in repeated.itertuples()]
        raise table.error(
            f"{count(len(repeated), 'row')} with the person and stimulus of another (line {examples(repeated.index)}: "
            f"{examples(pairs)}). Keep one answer of each person to each stimulus."
        )
    of = table if "truth" in table.columns else reading.stimuli
    if of is not table and (column := of.column("truth")):
        reading.note("truth", f"column {column!r} of {of.file.name}")
    labels = _labels(of, shown if of is table else stimuli["stimulus_id"], "truth")
    stimuli["truth"] = labels.reindex(stimuli["stimulus_id"]).fillna("").to_numpy()
    reading.note("people", str(choices["subject"].nunique()))
    reading.note("answers", f"{len(choices)}, of {labels.nunique()} right labels")
    coords = {
        "stimulus_id": ("presentation", choices["stimulus"].to_numpy(dtype=str)),
        "subject": ("presentation", choices["subject"].to_numpy(dtype=str)),
        "truth": ("presentation", labels.loc[choices["stimulus"]].to_numpy(dtype=str)),
    }
    return BehavioralAssembly(choices["choice"].to_numpy(dtype=str), coords=coords, dims=["presentation"])


def _labels(table: TextTable, stimuli: pd.Series[str], role: str) -> pd.Series[str]:
    """Return the right label of each stimulus; `ConfigurationError` if one has two."""
    truth = pd.DataFrame({"stimulus": stimuli.to_numpy(), "truth": table.texts(role).to_numpy()}).drop_duplicates()
    several = truth["stimulus"][truth["stimulus"].duplicated()].unique()
    if len(several):
        raise table.error(f"{_n_stimuli(several)} with two right labels ({examples(several)}). Give each one.")
    return truth.set_index("stimulus")["truth"]


def _trials(reading: _Reading, shown: pd.Series[str], stimuli: StimulusSet) -> BehavioralAssembly:
    """Return single trials of people who chose between the object shown and another one.

    The object is added to the stimuli as ``image_label``, for models to learn from.
    """
    table = reading.responses
    sample = "sample" if "sample" in table.columns else "truth"
    roles = {"stimulus_id": "stimulus", "sample_obj": sample, "dist_obj": "distractor"}
    roles |= {"subject": "subject"} if "subject" in table.columns else {}
    columns = {name: table.texts(role) for name, role in roles.items()} | {"stimulus_id": shown}
    choices = table.texts("choice")
    wrong = ~(choices.eq(columns["sample_obj"]) | choices.eq(columns["dist_obj"]))
    if wrong.any():
        raise table.error(
            f"{count(int(wrong.sum()), 'choice')} of neither object (line {examples(choices.index[wrong])}: "
            f"{examples(choices[wrong].unique())}). Write the name of the object that was chosen, as in the columns "
            f"{table.columns[sample]!r} and {table.columns['distractor']!r}."
        )
    labels = _labels(table, shown, sample)
    stimuli["image_label"] = labels.reindex(stimuli["stimulus_id"]).fillna("").to_numpy()
    if "subject" in columns:
        reading.note("people", str(columns["subject"].nunique()))
    reading.note("trials", f"{len(choices)}, of {labels.nunique()} objects")
    coords = {name: ("presentation", values.to_numpy(dtype=str)) for name, values in columns.items()}
    coords["truth"] = coords["sample_obj"]
    return BehavioralAssembly(choices.to_numpy(dtype=str), coords=coords, dims=["presentation"])
