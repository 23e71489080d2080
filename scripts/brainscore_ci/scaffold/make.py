"""Write the folder of a new plugin completely, with everything that can be inferred."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from brainscore_ci.checks.runner import workplace
from brainscore_ci.scaffold.names import folder_name, kind_names
from brainscore_ci.scaffold.packages import place_in_data_home, read_package
from brainscore_ci.scaffold.plan import PluginRequest, Scaffold
from brainscore_core.errors import ConfigurationError
from brainscore_core.files import atomic_directory

__all__ = ["PluginRequest", "WrittenPlugin", "new_plugin"]


@dataclass(frozen=True)
class WrittenPlugin:
    """Written files of a new plugin."""

    files: tuple[Path, ...]
    name: str
    identifiers: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Return the files and the next steps, for people."""
        return "\n".join(
            [
                f"Registered as {', '.join(self.identifiers)}. Written:",
                *(f"  {file}" for file in self.files),
                *self.remarks,
                "Its tests pass as they are. Next:",
                f"  nox -s test_plugin -- {self.name}",
            ]
        )


def new_plugin(request: PluginRequest, start: Path, library: str | None = None) -> WrittenPlugin:
    """Write the folders of a new plugin.

    Parameters
    ----------
    library : str, optional
        Package of the plugin; None: the checkout's first.

    Raises
    ------
    ConfigurationError
        If the name is forbidden or taken; suggests the nearest free one. Then nothing is written.
    UnknownIdentifierError
        If a metric or data are not registered.
    """
    place = workplace(start, library)
    kinds = kind_names(request.kinds)
    name = folder_name(request.name)
    if request.package is not None and "data" not in kinds:
        raise ConfigurationError("--from-package registers packaged data: name the kind data too.")
    package = read_package(request.package) if request.package is not None else None
    plan = Scaffold(request, place, kinds, name, package, library or place.library)
    for kind in kinds:
        plan.refuse_taken(kind)
    folders = {kind: plan.folder(kind) for kind in kinds}
    contents = {kind: plan.content(kind) for kind in kinds}
    files = []
    with ExitStack() as stack:
        for kind in kinds:
            folder = stack.enter_context(atomic_directory(folders[kind]))
            for file, text in contents[kind].items():
                (folder / file).write_text(text, encoding="utf-8", newline="\n")
                files.append(folders[kind] / file)
    remarks = plan.remarks()
    if package is not None:
        place_in_data_home(package)
    top = place.repository
    paths = [file.relative_to(top) if top is not None and file.is_relative_to(top) else file for file in files]
    return WrittenPlugin(tuple(paths), name, plan.identifiers(), remarks)
