"""Check packaged files (stimulus tables, archives, assemblies, folders of these) and registered data."""

from __future__ import annotations

import csv
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from brainscore_core.errors import (
    BrainScoreError,
    ConfigurationError,
    DownloadError,
    UnknownIdentifierError,
    count,
    did_you_mean,
)
from brainscore_core.plugin_management.import_plugin import import_plugin, known_identifiers_of
from brainscore_core.plugin_management.index import PluginIndex, PluginRoot, library_roots
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.supported_data_standards.brainio.assemblies import AssemblyLoader, DataAssembly
from brainscore_core.supported_data_standards.brainio.fetch import resolve_assembly_class
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet, StimulusSetLoader, read_table
from brainscore_core.validation.assemblies import check_alignment, check_assembly
from brainscore_core.validation.problem import Problem, errors_of
from brainscore_core.validation.standards import EVENT, FILENAME, NEUROID, PRESENTATION, STIMULUS_ID
from brainscore_core.validation.stimuli import (
    check_identifier,
    check_stimulus_columns,
    check_stimulus_ids,
    check_stimulus_set,
    is_safe_name,
    stream_problem,
)

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from brainscore_core.plugin_management.index import Plugin

__all__ = ["DATA_SUFFIXES", "FILE_COLUMNS", "check_path", "check_target", "guess_class"]


# -- files and folders -------------------------------------------------------------------------------------------------


DATA_SUFFIXES = (".csv", ".nc", ".zip")

FILE_COLUMNS = ("stimulus_filename", "image_filename", "filename")
_FORMULA_STARTS = ("=", "+", "@", "\t", "\r")
_PACKAGE_AGAIN = "package the stimulus set again"


def check_path(path: Path, *, nans_expected: bool = False, class_name: str | None = None) -> list[Problem]:
    """Check a file or a folder of packaged files.

    Parameters
    ----------
    path
        A table ``.csv`` (next to an archive of the same name, or to a folder that its file names are relative to), an
        archive ``.zip`` (next to its table), an assembly ``.nc``, or a folder with such files.
    nans_expected
        Whether missing values of assemblies are part of the data.
    class_name
        Class of the assemblies; None is guessed from their dims.
    """
    if path.is_dir():
        files = [*sorted(path.glob("*.csv")), *sorted(path.glob("*.nc"))]
        if not files:
            raise ConfigurationError(f"{path} holds no .csv or .nc file and no plugin (no __init__.py).")
        problems = []
        for file in files:
            file_problems = check_path(file, nans_expected=nans_expected, class_name=class_name)
            problems += [problem.within(file.name) for problem in file_problems]
        return problems
    if not path.exists():
        raise ConfigurationError(f"{path} does not exist.")
    if path.suffix == ".zip":
        table = path.with_suffix(".csv")
        if not table.is_file():
            return [
                Problem(path.name, f"the table {table.name} next to the archive is missing", "put both into one folder")
            ]
        return check_path(table)
    if path.suffix == ".csv":
        return _check_table(path)
    if path.suffix == ".nc":
        return _check_assembly_file(path, class_name, nans_expected=nans_expected)
    raise ConfigurationError(
        f"{path} is not a file ending in {', '.join(DATA_SUFFIXES)}, a folder with such files, or a plugin folder."
    )


# Tables --------------------------------------------------------------------------------------------------------------


def _check_table(path: Path) -> list[Problem]:
    problems = _check_text(path)
    if errors_of(problems):
        return problems
    try:
        stimulus_set = _read_stimuli(path)
    except (ValueError, OSError) as error:
        return [*problems, Problem("table", f"cannot be read: {error}", "save it as comma-separated text in UTF-8")]
    archive = path.with_suffix(".zip")
    is_packaged = archive.is_file() or path.stem.startswith("stimulus_")
    if archive.is_file():
        problems += check_stimulus_ids(stimulus_set)
        problems += check_stimulus_columns(stimulus_set, is_packaged=True)
        return problems + _check_archive(archive, stimulus_set)
    column = next((name for name in FILE_COLUMNS if name in stimulus_set.columns), None)
    if column is None or STIMULUS_ID not in stimulus_set.columns:
        fix = (
            f"add a column '{FILE_COLUMNS[0]}', or put the archive {archive.name} next to the table; to package a "
            f"table of raw responses, name the table of its stimuli too: brainscore package STIMULI.csv {path.name}"
        )
        missing = [] if column else [Problem("table", "no column maps stimuli to their files", fix)]
        return problems + missing + check_stimulus_ids(stimulus_set)
    folder = path.with_suffix("") if path.with_suffix("").is_dir() else path.parent
    stimulus_set.stimulus_paths = {
        identifier: folder / str(name)
        for identifier, name in zip(stimulus_set[STIMULUS_ID], stimulus_set[column], strict=True)
    }
    return problems + check_stimulus_set(stimulus_set, is_packaged=is_packaged)


def _read_stimuli(table: Path) -> StimulusSet:
    """Read a table; numbers that identify stimuli become texts."""
    stimulus_set = StimulusSet(read_table(table))
    StimulusSetLoader.correct_stimulus_id_name(stimulus_set)
    if STIMULUS_ID in stimulus_set.columns:
        identifiers = stimulus_set[STIMULUS_ID].tolist()
        stimulus_set[STIMULUS_ID] = ["" if value != value else str(value) for value in identifiers]
    return stimulus_set


def _check_text(path: Path) -> list[Problem]:
    content = path.read_bytes()
    if not content.strip():
        return [Problem("table", "is empty", "write a header and one row per stimulus")]
    if content.startswith(b"\xef\xbb\xbf"):
        fix = "save it as UTF-8 without a byte order mark"
        return [Problem("table", "starts with a byte order mark, which becomes part of the first column's name", fix)]
    if b"\0" in content:
        return [Problem("table", "contains a NUL byte", "remove it; the file may be damaged")]
    try:
        lines = content.decode("utf-8").splitlines(keepends=True)
        return _check_records(csv.reader(lines, strict=True))
    except UnicodeDecodeError as error:
        return [Problem("table", f"is not UTF-8 (byte {error.start})", "save it as UTF-8")]
    except csv.Error as error:
        return [Problem("table", f"is not comma-separated text: {error}", "save it as comma-separated text")]


def _check_records(records: Iterator[list[str]]) -> list[Problem]:
    header = next(records, [])
    problems = [
        Problem(f"column {name!r}", f"the header has {name!r} {count} times", "rename or drop all but one")
        for name, count in Counter(header).items()
        if count > 1
    ]
    ragged, formulas = 0, dict.fromkeys(header, 0)
    for record in records:
        ragged += bool(record) and len(record) != len(header)
        for name, text in zip(header, record, strict=False):
            formulas[name] += text.startswith(_FORMULA_STARTS) and not _is_number(text)
    if ragged:
        what = f"{count(ragged, 'row')} with a different number of fields from the header ({len(header)})"
        problems.append(Problem("table", what, "put quotes around text that contains commas"))
    return problems + [
        Problem(
            f"column {name!r}",
            f"{count} cells start like a formula, which spreadsheet programs would run",
            "harmless in Python; for use in a spreadsheet, start them with another character",
            is_hint=True,
        )
        for name, count in formulas.items()
        if count
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Archives ------------------------------------------------------------------------------------------------------------


def _check_archive(path: Path, table: pd.DataFrame) -> list[Problem]:
    """Check an archive without unpacking it, and that it holds the files that the table lists."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            problems = _check_members(path.name, members)
            if not problems:
                member_problems = ((info, _member_problem(archive, info)) for info in members)
                fix = f"replace the file with an intact one and {_PACKAGE_AGAIN}"
                problems = [Problem(f"file {info.filename!r}", what, fix) for info, what in member_problems if what]
            return problems + _check_listing(path.name, {info.filename for info in members}, table)
    except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
        return [Problem(path.name, f"is not an archive or is damaged: {error}", f"copy it again, or {_PACKAGE_AGAIN}")]


def _check_members(archive: str, members: Sequence[zipfile.ZipInfo]) -> list[Problem]:
    names = Counter(info.filename for info in members)
    folded = Counter(name.casefold() for name in names)
    problems = [
        Problem(archive, f"{name!r} occurs {count} times", _PACKAGE_AGAIN) for name, count in names.items() if count > 1
    ]
    problems += [
        Problem(archive, f"{name!r} is not a plain path inside the archive", _PACKAGE_AGAIN)
        for name in names
        if not is_safe_name(name)
    ]
    problems += [
        Problem(archive, f"{name!r} and another name differ only in case", "rename the stimuli and package them again")
        for name in names
        if folded[name.casefold()] > 1
    ]
    problems += [
        Problem(archive, f"{info.filename!r} is encrypted or a link", _PACKAGE_AGAIN)
        for info in members
        if info.flag_bits & 1 or (info.external_attr >> 28) not in (0, 8)
    ]
    return problems


def _member_problem(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str | None:
    try:
        with archive.open(info) as member:
            problem = stream_problem(info.filename, cast("BinaryIO", member), info.file_size)
            if problem is None:
                member.seek(0)
                while member.read(2**20):  # to the end, where the checksum is compared
                    pass
            return problem
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError, zlib.error) as error:
        return f"is damaged: {error}"


def _check_listing(archive: str, names: set[str], table: pd.DataFrame) -> list[Problem]:
    if FILENAME not in table.columns:
        what = f"the table has no column '{FILENAME}' that names the members of {archive}"
        return [Problem(f"column '{FILENAME}'", what, _PACKAGE_AGAIN)]
    listed = dict.fromkeys(map(str, table[FILENAME].tolist()))
    problems = [
        Problem(f"file {name!r}", f"is listed in the table but not in {archive}", _PACKAGE_AGAIN)
        for name in listed
        if name not in names
    ]
    return problems + [
        Problem(f"file {name!r}", f"is in {archive} but not listed in the table", _PACKAGE_AGAIN)
        for name in sorted(names - set(listed))
    ]


# Assemblies ----------------------------------------------------------------------------------------------------------


def _check_assembly_file(path: Path, class_name: str | None, *, nans_expected: bool) -> list[Problem]:
    if class_name is not None:
        resolve_assembly_class(class_name)  # a wrong name is the caller's, not the file's
    try:
        assembly = AssemblyLoader(DataAssembly, path).load()
    except Exception as error:  # noqa: BLE001 - the readers of netCDF raise anything about a damaged file
        return [Problem("file", f"cannot be read: {error}", "package the assembly again")]
    assembly = resolve_assembly_class(class_name or guess_class(assembly))(assembly)
    problems = check_assembly(assembly, nans_expected=nans_expected)
    identifier = assembly.attrs.get("stimulus_set_identifier")
    if identifier is None:
        return problems
    problems += check_identifier(identifier, "stimulus_set_identifier")
    table = path.with_name(f"stimulus_{str(identifier).replace('.', '_')}.csv")
    if not table.is_file():
        what = f"the stimuli were not compared: there is no {table.name} next to the file"
        return [*problems, Problem("stimulus set", what, "put the files into one folder", is_hint=True)]
    if errors_of(_check_text(table)):
        return problems  # the table has its own check
    return problems + check_alignment(assembly, _read_stimuli(table))


def guess_class(assembly: xr.DataArray) -> str:
    """Return the most demanding class that the dims allow, as files do not state their class."""
    if {PRESENTATION, NEUROID} <= set(assembly.dims):
        return "NeuroidAssembly"
    if assembly.dims == (EVENT,):
        return "SpikeTimesAssembly"
    return "BehavioralAssembly" if PRESENTATION in assembly.dims else "DataAssembly"


# -- named data --------------------------------------------------------------------------------------------------------
#
# Find the named data (files, a folder, a plugin, an identifier) and check them.


_KINDS = (KINDS["stimulus_set"], KINDS["data"])
_LOAD_FIX = "correct the registration in __init__.py, or the files it points to"
_FETCH_FIX = "check connection, credentials, bucket and version_id in __init__.py"


def check_target(
    target: str, library: str | None = None, *, nans_expected: bool = False, class_name: str | None = None
) -> list[Problem]:
    """Check the named files, folders or plugins and return all problems.

    Parameters
    ----------
    target
        A file, a folder with packaged files, a plugin folder (by path or name), or an identifier of a data plugin.
    library
        Package of the data plugins; files need none.
    nans_expected, class_name
        See `check_path`; ``class_name`` is for files only.
    """
    path = Path(target).expanduser()
    is_plugin = path.is_dir() and (path / "__init__.py").is_file()
    if not is_plugin and (path.exists() or path.suffix in DATA_SUFFIXES):
        return check_path(path, nans_expected=nans_expected, class_name=class_name)
    if library is None:
        raise ConfigurationError(
            f"{target!r} is not a file or folder of packaged data. If it is a plugin or an identifier, name its "
            "library: --library PACKAGE."
        )
    if is_plugin:  # also outside of the library
        folder = path.resolve()
        root = PluginRoot(folder="data", path=folder.parent, package=f"{library}.data")
        plugin = next(plugin for plugin in PluginIndex([root]).plugins("data") if plugin.name == folder.name)
        return _check_plugin(plugin, library, nans_expected=nans_expected)
    index = PluginIndex(library_roots(library))
    named = [plugin for plugin in index.plugins("data") if plugin.name == target]
    if named:
        return _check_plugin(named[0], library, nans_expected=nans_expected)
    identifiers = {kind.name: known_identifiers_of(library, kind.name, index=index) for kind in _KINDS}
    kinds = [kind.name for kind in _KINDS if target in identifiers[kind.name]]
    if not kinds:
        raise _unknown(target, library, [plugin.name for plugin in index.plugins("data")], identifiers)
    return _check_identifiers([(kind, target) for kind in kinds], library, index, nans_expected=nans_expected)


def _unknown(target: str, library: str, plugins: list[str], known: dict[str, list[str]]) -> UnknownIdentifierError:
    names = [*plugins, *(identifier for identifiers in known.values() for identifier in identifiers)]
    return UnknownIdentifierError(
        f"{target!r} is not a file, a folder, or a data plugin or identifier of {library} ({len(plugins)} plugins "
        f"known).{did_you_mean(target, names, most=3)} Data plugins live in {library.replace('.', '/')}/data."
    )


def _check_plugin(plugin: Plugin, library: str, *, nans_expected: bool) -> list[Problem]:
    problems = []
    if plugin.problem is not None:
        problems.append(Problem("__init__.py", f"cannot be read: {plugin.problem}", "correct that line"))
    if not (plugin.directory / "test.py").is_file():
        what = "test.py is missing"
        fix = "add tests of the expected data, such as the number of stimuli"
        problems.append(Problem("plugin", what, fix, is_hint=True))
    registered = [(kind.name, identifier) for kind in _KINDS for identifier in plugin.identifiers(kind)]
    if plugin.computed:
        what = f"{len(plugin.computed)} registrations compute their identifiers and were not checked"
        fix = "write the identifiers as literals, or validate each by name"
        problems.append(Problem("__init__.py", what, fix, is_hint=True))
    elif not registered and plugin.problem is None:
        what = "registers neither a stimulus set nor data"
        fix = "assign stimulus_set_registry['<AuthorYear>'] = ... and data_registry['<AuthorYear>'] = ..."
        problems.append(Problem("__init__.py", what, fix))
    index = PluginIndex([plugin.root])
    return problems + _check_identifiers(registered, library, index, nans_expected=nans_expected)


def _check_identifiers(
    wanted: list[tuple[str, str]], library: str, index: PluginIndex, *, nans_expected: bool
) -> list[Problem]:
    problems = []
    for kind, identifier in wanted:
        where = f"{KINDS[kind].label} {identifier!r}"
        problems += check_identifier(identifier, where)
        try:
            loaded = import_plugin(library, kind, identifier, index=index)()
        except (KeyboardInterrupt, SystemExit):
            raise
        except Exception as error:  # noqa: BLE001 - the plugin's own code: any error is its problem
            said = str(error) if isinstance(error, BrainScoreError) else f"{type(error).__name__}: {error}"
            fix = _FETCH_FIX if isinstance(error, DownloadError) else _LOAD_FIX
            problems.append(Problem(where, f"cannot be loaded: {said}", fix))
            continue
        problems += [problem.within(where) for problem in _check_loaded(loaded, nans_expected=nans_expected)]
    return problems


def _check_loaded(loaded: object, *, nans_expected: bool) -> list[Problem]:
    if isinstance(loaded, StimulusSet):
        return check_stimulus_set(loaded, is_packaged=True)
    if not isinstance(loaded, DataAssembly):
        what = f"is a {type(loaded).__name__} and has no checks"
        return [Problem("type", what, "fine if the benchmark expects it", is_hint=True)]
    problems = check_assembly(loaded, nans_expected=nans_expected)
    stimulus_set = loaded.attrs.get("stimulus_set")
    return problems if stimulus_set is None else problems + check_alignment(loaded, stimulus_set)
