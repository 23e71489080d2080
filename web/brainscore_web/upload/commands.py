"""Define the command ``brainscore upload``."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError, StimulusError, UploadError
from brainscore_core.files import atomic_directory, atomic_path

if TYPE_CHECKING:
    from brainscore_web.upload.portal import Portal

_IN_PROGRESS = ("waiting", "validating")
_POLL_S = 1.0
_INIT = "__init__.py"
_METADATA = "metadata.yml"
_PLUGIN_FILES = (_INIT, _METADATA, "test.py")
_BIBTEX = re.compile(r'^BIBTEX = """.*?"""$', re.DOTALL | re.MULTILINE)
_KNOWN = re.compile(r"^(access|contact): .+$", re.MULTILINE)
_ASKED = re.compile(r'^(access|contact): "<.*>"$', re.MULTILINE)
_PLACE = re.compile(r"^ *(?:bucket|\w*version_id)=.*\n", re.MULTILINE)


def upload(
    folder: Annotated[
        Path, typer.Argument(help="folder with packaged .csv, .zip and .nc files", exists=True, file_okay=False)
    ],
    portal: Annotated[
        str | None, typer.Option(metavar="URL", help="address of the portal (default: the one you signed in to)")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="only you and maintainers may download the data")] = False,
    identifier: Annotated[
        str | None, typer.Option(metavar="NAME", help="identifier of the data (default: from the file names)")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="folder for the finished plugin, such as data/mine2026; may hold a scaffold of these data",
        ),
    ] = None,
) -> int:
    """Upload packaged data and get the finished data plugin; run again to resume.

    The first time it shows a code to enter in a browser.
    """
    from brainscore_web.upload.sending import files_of, identifier_of, send  # heavy: httpx, slow start-up otherwise

    if to is not None and to.exists() and not (to / _INIT).is_file():
        raise ConfigurationError(f"{to} exists already, without a plugin. Name a new folder for it: --to FOLDER")
    files = files_of(folder)
    name = identifier or identifier_of(files)
    _check(files)
    connection = _signed_in(portal)
    state = _wait(connection, send(connection, files, name, is_private=private))
    page = f"{connection.address}/uploads/{state['id']}"
    if state["state"] == "rejected":
        for problem in sorted(state["problems"], key=_is_hint):
            mark = "hint: " if _is_hint(problem) else ""
            command_line.show(f"{mark}{problem['where']}: {problem['what']}. {problem['remedy']}")
        raise UploadError(f"{name} was rejected. Correct the problems, package it again and upload it; see {page}")
    if state["state"] != "published":
        command_line.show(f"{name} waits for a maintainer: {page}")
        return 0
    result = state["result"]
    command_line.show(f"{name} is published: s3://{result['bucket']}\n{page} shows its plugin.")
    if to is None:
        command_line.say(
            f"Next: write the plugin with brainscore upload {folder} --to vision/brainscore_vision/data/NAME"
        )
    else:
        _write_plugin(connection, state["id"], to)
        command_line.say(f"The plugin is in {to}. Next: brainscore test-plugin {to}")
    return 0


def _is_hint(problem: Mapping[str, Any]) -> bool:
    return problem.get("kind") == "hint"


def _check(files: Sequence[Path]) -> None:
    """Raise a `StimulusError` with the errors that the portal would find, before anything is sent; show hints."""
    from brainscore_core.inspection import check_path  # imports pandas and xarray
    from brainscore_core.validation.problem import raise_errors

    problems = [
        problem.within(file.name) for file in files if file.suffix in (".csv", ".nc") for problem in check_path(file)
    ]
    for problem in problems:
        if problem.kind == "hint":
            command_line.say(f"hint: {problem.where}: {problem.what}. {problem.fix}")
    raise_errors(problems, StimulusError, "Nothing was sent: the files have problems, as brainscore validate says")


def _signed_in(address: str | None) -> Portal:
    from brainscore_web.upload.portal import Portal
    from brainscore_web.upload.tokens import read_tokens

    tokens = read_tokens()
    if address is None and len(tokens) != 1:
        known = f" You have signed in to {', '.join(tokens)}." if tokens else ""
        raise ConfigurationError(f"Name the portal: --portal https://...{known}")
    connection = Portal(address or next(iter(tokens)), None)
    if connection.address in tokens:
        return Portal(connection.address, tokens[connection.address])
    connection.sign_in(command_line.say)
    return connection


def _wait(connection: Portal, upload: Mapping[str, Any]) -> Mapping[str, Any]:
    told = None
    while upload["state"] in _IN_PROGRESS:
        if upload["state"] != told:
            told = upload["state"]
            command_line.say("Checking the data ..." if told == "validating" else "Waiting for the check ...")
        time.sleep(_POLL_S)
        upload = connection.call("GET", f"uploads/{upload['id']}")
    return upload


def _write_plugin(connection: Portal, upload_id: str, folder: Path) -> None:
    texts = connection.call("GET", f"uploads/{upload_id}/plugin")["files"]
    if folder.exists():  # the person's facts stay; only the places of the files are new
        own = (folder / _INIT).read_text(encoding="utf-8")
        with atomic_path(folder / _INIT) as temporary:
            temporary.write_text(_published_init(own, texts[_INIT], folder), encoding="utf-8", newline="\n")
        _answer(texts[_METADATA], [folder, folder.resolve().parents[1] / "benchmarks" / folder.name])
        return
    with atomic_directory(folder) as temporary:
        for name in _PLUGIN_FILES:
            (temporary / name).write_text(texts[name], encoding="utf-8", newline="\n")


def _answer(published: str, folders: Sequence[Path]) -> None:
    """Write access and contact, which the portal knows, where the ``metadata.yml`` of a scaffold asks for them."""
    known = {line[1]: line[0] for line in _KNOWN.finditer(published)}
    for file in (folder / _METADATA for folder in folders if (folder / _METADATA).is_file()):
        text = _ASKED.sub(lambda line: known.get(line[1], line[0]), file.read_text(encoding="utf-8"))
        with atomic_path(file) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")


def _published_init(own: str, published: str, folder: Path) -> str:
    """Return the published registration with the citation of the person's own file.

    Raises `ConfigurationError` if these differ in more than the citation and the places of the files, for instance in a
    digest: then the person decides.
    """
    plain_own, plain = (_PLACE.sub("", _BIBTEX.sub("", text)) for text in (own, published))
    if plain_own != plain:
        raise ConfigurationError(
            f"{folder / _INIT} registers other files, or was changed. The data are published; copy their registration "
            "from the page of the upload, or name a new folder: --to FOLDER"
        )
    citation = _BIBTEX.search(own)
    return published if citation is None else _BIBTEX.sub(lambda _: citation[0], published)
