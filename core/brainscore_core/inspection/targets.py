"""Find the named data (files, a folder, a plugin, an identifier) and check them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from brainscore_core.errors import (
    BrainScoreError,
    ConfigurationError,
    DownloadError,
    UnknownIdentifierError,
    did_you_mean,
)
from brainscore_core.inspection.files import DATA_SUFFIXES, check_path
from brainscore_core.plugin_management.import_plugin import import_plugin, known_identifiers_of
from brainscore_core.plugin_management.index import PluginIndex, PluginRoot, library_roots
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.supported_data_standards.brainio.assemblies import DataAssembly
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.validation.assemblies import check_alignment, check_assembly
from brainscore_core.validation.problem import Problem
from brainscore_core.validation.stimuli import check_identifier, check_stimulus_set

if TYPE_CHECKING:
    from brainscore_core.plugin_management.index import Plugin

__all__ = ["check_target"]

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
            f"{target!r} is no file or folder of packaged data. If it is a plugin or an identifier, say of which "
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
        f"{target!r} is no file, no folder, and no data plugin or identifier of {library} ({len(plugins)} plugins "
        f"known).{did_you_mean(target, names, most=3)} Data plugins live in {library.replace('.', '/')}/data."
    )


def _check_plugin(plugin: Plugin, library: str, *, nans_expected: bool) -> list[Problem]:
    problems = []
    if plugin.problem is not None:
        problems.append(Problem("__init__.py", f"cannot be read: {plugin.problem}", "correct that line"))
    if not (plugin.directory / "test.py").is_file():
        what = "there is no test.py"
        fix = "add tests of what the data are expected to be, such as the number of stimuli"
        problems.append(Problem("plugin", what, fix, is_hint=True))
    registered = [(kind.name, identifier) for kind in _KINDS for identifier in plugin.identifiers(kind)]
    if plugin.computed:
        what = f"{len(plugin.computed)} registrations compute their identifiers and were not checked"
        fix = "write the identifiers out, or validate each by its name"
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
        what = f"is a {type(loaded).__name__}, which there are no checks for"
        return [Problem("type", what, "fine if the benchmark expects it", is_hint=True)]
    problems = check_assembly(loaded, nans_expected=nans_expected)
    stimulus_set = loaded.attrs.get("stimulus_set")
    return problems if stimulus_set is None else problems + check_alignment(loaded, stimulus_set)
