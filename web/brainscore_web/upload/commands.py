"""Define the command ``brainscore upload``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError, UploadError
from brainscore_core.files import atomic_directory

if TYPE_CHECKING:
    from brainscore_web.upload.portal import Portal

_IN_PROGRESS = ("waiting", "validating")
_POLL_S = 1.0
_PLUGIN_FILES = ("__init__.py", "metadata.yml", "test.py")


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
        Path | None, typer.Option(metavar="FOLDER", help="new folder for the finished plugin, such as data/mine2026")
    ] = None,
) -> int:
    """Upload packaged data and get the finished data plugin; run again to resume.

    The first time it shows a code to enter in a browser.
    """
    from brainscore_web.upload.sending import files_of, identifier_of, send  # heavy: httpx, slow start-up otherwise

    if to is not None and to.exists():
        raise ConfigurationError(f"{to} exists already. Name a new folder for the plugin: --to FOLDER")
    files = files_of(folder)
    name = identifier or identifier_of(files)
    connection = _signed_in(portal)
    state = _wait(connection, send(connection, files, name, is_private=private))
    page = f"{connection.address}/uploads/{state['id']}"
    if state["state"] == "rejected":
        for problem in state["problems"]:
            command_line.show(f"{problem['where']}: {problem['what']}. {problem['remedy']}")
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
    with atomic_directory(folder) as temporary:
        for name in _PLUGIN_FILES:
            (temporary / name).write_text(texts[name], encoding="utf-8", newline="\n")
