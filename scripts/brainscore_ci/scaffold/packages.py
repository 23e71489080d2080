"""Read a folder of packaged files: registrations, and facts for tests."""

from __future__ import annotations

import ast
import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brainscore_core.errors import ConfigurationError, CorruptFileError, StimulusError
from brainscore_core.identity.digest import file_digest
from brainscore_core.inspection import check_path, guess_class
from brainscore_core.supported_data_standards.brainio.assemblies import AssemblyLoader, DataAssembly
from brainscore_core.supported_data_standards.brainio.packaging import registration_code
from brainscore_core.untrusted import Line, Untrusted, adapter_of, read, read_start
from brainscore_core.validation.problem import raise_errors


@dataclass(frozen=True)
class Stimuli:
    """A packaged stimulus set."""

    identifier: str
    csv: Path
    zip: Path
    csv_sha1: str
    zip_sha1: str
    count: int


@dataclass(frozen=True)
class Assembly:
    """A packaged assembly."""

    identifier: str
    file: Path
    sha1: str
    class_name: str  # such as ``'NeuroidAssembly'``
    sizes: tuple[tuple[str, int], ...]
    stimuli: str | None
    regions: tuple[str, ...] = ()
    repetitions: int = 1  # 1 if unknown
    n_stimuli: int = 0
    n_subjects: int = 0  # 0 if unknown


@dataclass(frozen=True)
class Place(Untrusted):
    """Where a file was published."""

    bucket: Line
    version_id: Line | None


@dataclass(frozen=True)
class Package:
    """Packaged files, sorted by identifier, and the places of published ones."""

    stimuli: tuple[Stimuli, ...]
    assemblies: tuple[Assembly, ...]
    places: Mapping[str, Place] = field(default_factory=dict)

    @property
    def files(self) -> dict[Path, str]:
        """Path -> SHA-1 of all files."""
        tables = {one.csv: one.csv_sha1 for one in self.stimuli}
        archives = {one.zip: one.zip_sha1 for one in self.stimuli}
        return {**tables, **archives, **{one.file: one.sha1 for one in self.assemblies}}


def read_package(folder: Path) -> Package:
    """Read the output of `package_stimulus_set_locally` and `package_data_assembly_locally`.

    Raises
    ------
    ConfigurationError
        If the folder is missing or holds no package.
    CorruptFileError
        If ``published.json`` next to the files, file name -> ``bucket`` and ``version_id``, cannot be read.
    StimulusError
        If the files break the data standard; lists every problem.
    """
    folder = folder.expanduser()
    if not folder.is_dir():
        raise ConfigurationError(
            f"There is no folder {folder}; --from-package expects the folder that packaging wrote."
        )
    tables = sorted(folder.glob("stimulus_*.csv"))
    files = sorted(folder.glob("*.nc"))
    if not tables and not files:
        raise ConfigurationError(
            f"{folder} holds neither stimulus_<identifier>.csv nor assy_<identifier>.nc; package your data first with "
            "package_stimulus_set_locally and package_data_assembly_locally."
        )
    raise_errors(check_path(folder), StimulusError, f"The packaged files in {folder} have problems")
    assemblies = [_assembly(file) for file in files]
    # File names have _ for a dot in the identifier; assemblies store the exact identifier.
    written = {one.stimuli.replace(".", "_"): one.stimuli for one in assemblies if one.stimuli}
    stimuli = [_stimuli(table, written) for table in tables]
    published = folder / "published.json"
    places = read(adapter_of(dict[str, Place]), read_start(published), published.name) if published.is_file() else {}
    return Package(tuple(stimuli), tuple(assemblies), places)


def _stimuli(table: Path, written: dict[str, str]) -> Stimuli:
    name = table.stem.removeprefix("stimulus_")
    archive = table.with_suffix(".zip")
    with table.open(encoding="utf-8", newline="") as stream:
        count = sum(1 for _ in csv.reader(stream)) - 1
    return Stimuli(
        identifier=written.get(name, name),
        csv=table,
        zip=archive,
        csv_sha1=file_digest(table),
        zip_sha1=file_digest(archive),
        count=count,
    )


def _assembly(file: Path) -> Assembly:
    try:
        loaded: Any = AssemblyLoader(DataAssembly, file).load()
    except (OSError, ValueError) as error:
        raise CorruptFileError(f"{file} cannot be read: {error}") from error
    stimuli = loaded.attrs.get("stimulus_set_identifier")
    name = file.stem.removeprefix("assy_")
    identifier = loaded.attrs.get("identifier", name)
    regions = sorted({str(region) for region in loaded["region"].values}) if hasattr(loaded, "region") else []

    def count(name: str, unknown: int) -> int:
        return len(set(loaded[name].values.tolist())) if hasattr(loaded, name) else unknown

    return Assembly(
        identifier=str(identifier) if str(identifier).replace(".", "_") == name else name,
        file=file,
        sha1=file_digest(file),
        class_name=guess_class(loaded),
        sizes=tuple((str(dim), int(size)) for dim, size in loaded.sizes.items()),
        stimuli=str(stimuli) if stimuli else None,
        regions=tuple(regions),
        repetitions=count("repetition", 1),
        n_stimuli=count("stimulus_id", 0),
        n_subjects=count("subject", 0),
    )


def registrations(package: Package, library: str) -> str:
    """Return the code that registers a package."""
    imports: dict[str, set[str]] = {}
    blocks: list[str] = []
    described: dict[str, str | None]
    for one in package.stimuli:
        described = {"identifier": one.identifier, "csv_sha1": one.csv_sha1, "zip_sha1": one.zip_sha1}
        table, archive = package.places.get(one.csv.name), package.places.get(one.zip.name)
        if table and archive and table.bucket == archive.bucket:
            described |= {"bucket": table.bucket}
            described |= {"csv_version_id": table.version_id, "zip_version_id": archive.version_id}
        _add(registration_code(described, library=library), imports, blocks)
    for assembly in package.assemblies:
        described = {"identifier": assembly.identifier, "sha1": assembly.sha1, "cls": assembly.class_name}
        if place := package.places.get(assembly.file.name):
            described |= {"bucket": place.bucket, "version_id": place.version_id}
        code = registration_code(assembly_package=described, stimulus_set_identifier=assembly.stimuli, library=library)
        _add(code, imports, blocks)
    lines = [f"from {module} import {', '.join(sorted(imports[module]))}" for module in sorted(imports)]
    return "\n".join([*lines, "", *blocks]) + "\n"


def _add(code: str, imports: dict[str, set[str]], blocks: list[str]) -> None:
    last = 0
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            imports.setdefault(statement.module, set()).update(alias.name for alias in statement.names)
            last = statement.end_lineno or last
    blocks.append("\n".join(code.splitlines()[last:]).strip("\n"))
