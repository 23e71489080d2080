"""Write the folder of a new plugin, with all that can be inferred."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from brainscore_ci.checks.runner import workplace
from brainscore_ci.scaffold.names import folder_name, kind_names
from brainscore_ci.scaffold.packages import read_package
from brainscore_ci.scaffold.plan import PluginRequest, Scaffold
from brainscore_ci.scaffold.tables import TablesRequest, read_experiment, write_package
from brainscore_ci.scaffold.templates import fill
from brainscore_core.errors import ConfigurationError
from brainscore_core.files import atomic_directory, atomic_path
from brainscore_core.plugin_management.registry import FOLDERS
from brainscore_core.supported_data_standards.brainio.fetch import place_in_data_home

__all__ = ["PluginRequest", "TablesRequest", "WrittenPlugin", "new_plugin", "new_repository"]

_PLACES = {"plugins.yml": ".github/workflows/plugins.yml"}  # of templates in a repository


@dataclass(frozen=True)
class WrittenPlugin:
    """Written files of a new plugin."""

    files: tuple[Path, ...]
    name: str
    identifiers: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    test_with: str = "nox -s test_plugin --"
    tables: str = ""  # how they were read, for people

    def as_text(self) -> str:
        """Return the files and the next steps, for people."""
        return "\n".join(
            [
                *filter(None, [self.tables]),
                f"Registered as {', '.join(self.identifiers)}. Written:",
                *(f"  {file}" for file in self.files),
                *self.remarks,
                "Its tests pass as they are. Next:",
                f"  {self.test_with} {self.name}",
            ]
        )


def new_plugin(request: PluginRequest, start: Path, library: str | None = None) -> WrittenPlugin:
    """Write the folders of a new plugin.

    `library`: package of the plugin; None: the checkout's first.

    Raises
    ------
    ConfigurationError
        If the name is forbidden or taken; suggests the nearest free one. Then nothing is written.
    UnknownIdentifierError
        If a metric or data are not registered.
    """
    place = workplace(start, library)
    if request.repository is None and place.repository is None:  # not in the installed library
        outside = [root.path.parent for root in place.index.roots if root.rank > 0]
        here = next((folder for folder in outside if start.resolve().is_relative_to(folder)), None)
        request = replace(request, repository=here)
    kinds = kind_names(request.kinds)
    name = folder_name(request.name)
    sources = {"--from-package": request.package, "--from-csv": request.tables}
    given = [option for option, source in sources.items() if source is not None]
    if len(given) == 2:
        raise ConfigurationError(
            "--from-package and --from-csv cannot be combined: data are either packaged or in tables."
        )
    if given and "data" not in kinds:
        raise ConfigurationError(f"{given[0]} registers data: add the kind data.")
    with ExitStack() as stack:
        tables = ""
        if request.tables is not None:
            experiment = read_experiment(request.tables)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            write_package(experiment, request.identifier or request.name, folder)
            task = request.task or (experiment.task if request.metric is None else None)
            request = replace(request, package=folder, task=task)
            tables = f"{experiment.as_text()}\nPackaged into {_packages(name)}"
        package = read_package(request.package) if request.package is not None else None
        plan = Scaffold(request, place, kinds, name, package, library or place.library)
        files = _write(plan)
        for file, sha1 in package.files.items() if package is not None else ():  # they may come from elsewhere
            place_in_data_home(file, sha1)
        if request.tables is not None:
            shutil.copytree(folder, _packages(name), dirs_exist_ok=True)
    top = place.repository
    paths = [file.relative_to(top) if top is not None and file.is_relative_to(top) else file for file in files]
    written = WrittenPlugin(tuple(paths), name, plan.identifiers(), plan.remarks(), tables=tables)
    return written if request.repository is None else replace(written, test_with="brainscore test-plugin")


def new_repository(folder: Path, start: Path, library: str | None = None) -> list[Path]:
    """Write the missing files of a repository of plugins; return them."""
    place = workplace(start, library)
    templates = fill(place.index.roots[0].path.parent, ["repository"], {})
    contents = {folder / _PLACES.get(name, name): text for name, text in templates.items()}
    contents |= {folder / kind / ".gitkeep": "" for kind in FOLDERS if not (folder / kind).is_dir()}
    files = [file for file in contents if not file.exists()]
    for file in files:
        with atomic_path(file) as temporary:
            temporary.write_text(contents[file], encoding="utf-8", newline="\n")
    return files


def _packages(name: str) -> Path:
    """Return the folder for the files to upload."""
    return Path.home() / "Downloads" / "brainscore_packages" / name


def _write(plan: Scaffold) -> list[Path]:
    """Write all folders of a plugin or none; return the files."""
    for kind in plan.kinds:
        plan.refuse_taken(kind)
        for path in (plan.folder(kind) / name for name in plan.content(kind)):
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise ConfigurationError(f"{path} is not a plain file, so it is not overwritten. Remove it first.")
    folders = {kind: plan.folder(kind) for kind in plan.kinds}
    contents = {kind: plan.content(kind) for kind in plan.kinds}
    files = []
    with ExitStack() as stack:
        for kind in plan.kinds:
            exists = folders[kind].is_dir()  # --overwrite: files of the person's own stay
            folder = folders[kind] if exists else stack.enter_context(atomic_directory(folders[kind]))
            for file, text in contents[kind].items():
                (folder / file).write_text(text, encoding="utf-8", newline="\n")
                files.append(folders[kind] / file)
    return files
