"""Write the Python code that registers packaged data with a library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from brainscore_core.errors import ConfigurationError

_BRAINIO = "brainscore_core.supported_data_standards.brainio"
_MISSING = '"..."'


def registration_code(
    stimulus_set_package: Mapping[str, Any] | None = None,
    assembly_package: Mapping[str, Any] | None = None,
    *,
    bucket: str | None = None,
    csv_version_id: str | None = None,
    zip_version_id: str | None = None,
    version_id: str | None = None,
    stimulus_set_identifier: str | None = None,
    bibtex: str | None = None,
    library: str,
) -> str:
    """Return the code to paste into the ``__init__.py`` of a data plugin.

    Parameters
    ----------
    stimulus_set_package, assembly_package
        Results of packaging, with or without upload.
    bucket, csv_version_id, zip_version_id, version_id
        Place and versions of the files; default: as in the packages, otherwise ``"..."`` to fill in, and the newest.
    stimulus_set_identifier
        Stimulus set of the assembly, by default that of ``stimulus_set_package``, if any.
    bibtex, library
        Citation of the data; package of the domain, which has the registries.

    Examples
    --------
    >>> package = {'identifier': 'A2024', 'path': 'assy_A2024.nc', 'sha1': '3c45', 'cls': 'PropertyAssembly'}
    >>> print(registration_code(assembly_package=package, bucket='storage', version_id='v1', library='brainscore_mine'))
    from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly
    from brainscore_core.supported_data_standards.brainio.s3 import load_assembly_from_s3
    from brainscore_mine import data_registry
    <BLANKLINE>
    data_registry["A2024"] = lambda: load_assembly_from_s3(
        identifier="A2024",
        version_id="v1",
        sha1="3c45",
        bucket="storage",
        cls=PropertyAssembly,
    )
    <BLANKLINE>
    """
    if stimulus_set_package is None and assembly_package is None:
        raise ConfigurationError("There is nothing to register; pass the dictionary that packaging returned.")
    blocks = []
    if bibtex is not None:
        escaped = bibtex.replace("\\", "\\\\").replace('"', '\\"')
        blocks.append(f'BIBTEX = """{escaped}"""')
    if stimulus_set_package is not None:
        stimulus_set_identifier = stimulus_set_identifier or stimulus_set_package["identifier"]
        versions = {"csv_version_id": csv_version_id, "zip_version_id": zip_version_id}
        blocks.append(_stimulus_set_block(stimulus_set_package, bucket, versions))
    if assembly_package is not None:
        blocks.append(_assembly_block(assembly_package, bucket, version_id, stimulus_set_identifier))
    imports = _imports(stimulus_set_package is not None, assembly_package, stimulus_set_identifier is not None, library)
    return "\n\n".join([imports, *blocks]) + "\n"


def _check_entries(package: Mapping[str, Any], required: tuple[str, ...], what: str) -> None:
    missing = [name for name in required if not package.get(name)]
    if missing:
        raise ConfigurationError(
            f"The package of the {what} lacks {', '.join(missing)}; it has {', '.join(package)}. Pass the dictionary "
            "that packaging returned."
        )


def _imports(has_stimuli: bool, assembly: Mapping[str, Any] | None, is_linked: bool, library: str) -> str:
    names, loaders, lines = [], [], []
    if assembly is not None:
        names.append("data_registry")
        loaders.append("load_assembly_from_s3")
        lines.append(f"from {_BRAINIO}.assemblies import {assembly['cls']}")
        if is_linked:
            names.append("load_stimulus_set")
    if has_stimuli:
        names.append("stimulus_set_registry")
        loaders.append("load_stimulus_set_from_s3")
    lines.append(f"from {_BRAINIO}.s3 import {', '.join(loaders)}")
    lines.append(f"from {library} import {', '.join(sorted(names))}")
    return "\n".join(lines)


def _stimulus_set_block(package: Mapping[str, Any], bucket: str | None, versions: Mapping[str, str | None]) -> str:
    _check_entries(package, ("identifier", "csv_sha1", "zip_sha1"), "stimulus set")
    key = _literal(package["identifier"])
    arguments = {
        "identifier": key,
        "bucket": _bucket(package, bucket),
        "csv_sha1": _literal(package["csv_sha1"]),
        "zip_sha1": _literal(package["zip_sha1"]),
        **{name: _literal(package[name]) for name in ("csv_sha256", "zip_sha256") if package.get(name)},
        **{name: _literal(package.get(name) if version is None else version) for name, version in versions.items()},
        "filename_prefix": '"stimulus_"',
    }
    return _registration("stimulus_set_registry", key, "load_stimulus_set_from_s3", arguments)


def _assembly_block(
    package: Mapping[str, Any], bucket: str | None, version_id: str | None, stimulus_set_identifier: str | None
) -> str:
    _check_entries(package, ("identifier", "sha1", "cls"), "assembly")
    key = _literal(package["identifier"])
    arguments = {
        "identifier": key,
        "version_id": _literal(package.get("version_id") if version_id is None else version_id),
        "sha1": _literal(package["sha1"]),
        **({"sha256": _literal(package["sha256"])} if package.get("sha256") else {}),
        "bucket": _bucket(package, bucket),
        "cls": str(package["cls"]),
    }
    if stimulus_set_identifier is not None:
        arguments["stimulus_set_loader"] = f"lambda: load_stimulus_set({_literal(stimulus_set_identifier)})"
    return _registration("data_registry", key, "load_assembly_from_s3", arguments)


def _registration(registry: str, key: str, loader: str, arguments: Mapping[str, str]) -> str:
    lines = [
        f"    {name}={value},{'  # where the upload put it' if value == _MISSING else ''}"
        for name, value in arguments.items()
    ]
    return "\n".join([f"{registry}[{key}] = lambda: {loader}(", *lines, ")"])


def _bucket(package: Mapping[str, Any], bucket: str | None) -> str:
    address = bucket or package.get("bucket")
    return _literal(address) if address else _MISSING


def _literal(value: object) -> str:
    return "None" if value is None else json.dumps(str(value))
