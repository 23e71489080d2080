"""Send the files of a folder to a portal in parts; the server's list of parts says where to continue."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brainscore_core.errors import ConfigurationError, UploadError
from brainscore_core.transfer.fetch import progress_bar
from brainscore_web.upload.decisions import Part, is_received, parts_of
from brainscore_web.upload.portal import Portal, attempts, make_client

if TYPE_CHECKING:
    import httpx

_CHUNK_BYTES = 2**18
_WORKERS = 4
_PREFIXES = {".csv": "stimulus_", ".zip": "stimulus_", ".nc": "assy_"}


def files_of(folder: Path) -> list[Path]:
    """Return the packaged files of a folder, or all its visible files if it holds a table and the pictures themselves.

    Raises `ConfigurationError` if there is no table and no assembly.
    """
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and not file.name.startswith(".")]
    packaged = [file for file in files if file.name.startswith(_PREFIXES.get(file.suffix, "/"))]
    if packaged or any(file.suffix == ".csv" for file in files):
        return packaged or files
    raise ConfigurationError(
        f"{folder} holds neither stimulus_<identifier>.csv nor assy_<identifier>.nc, nor a table of pictures. Package "
        "your data first with package_stimulus_set_locally and package_data_assembly_locally."
    )


def identifier_of(files: Sequence[Path]) -> str:
    """Return the identifier that the names of packaged files agree on.

    Raises `ConfigurationError` if there is more than one.
    """
    names = {file.stem.removeprefix(_PREFIXES.get(file.suffix, "")) for file in files if file.suffix in _PREFIXES}
    if len(names) != 1:
        raise ConfigurationError(
            f"The files name {', '.join(sorted(names))}: say which data they are, --identifier NAME."
        )
    return names.pop()


def send(portal: Portal, files: Sequence[Path], identifier: str, *, is_private: bool) -> Mapping[str, Any]:
    """Send the bytes that the portal lacks, complete all files, and return the upload, whose check then starts.

    Raises
    ------
    UploadError
        The portal refuses, or the connection is lost; parts that have arrived are kept for the next call.
    """
    listed = [{"name": file.name, "size": file.stat().st_size} for file in files]
    visibility = "private" if is_private else "public"
    created = portal.call("POST", "uploads", {"identifier": identifier, "visibility": visibility, "files": listed})
    upload: dict[str, Any] = portal.call("GET", f"uploads/{created['id']}")
    if upload["state"] != "receiving":
        return upload
    by_name = {file.name: file for file in files}
    total = sum(entry["size"] for entry in upload["files"])
    with (
        make_client() as s3,
        ThreadPoolExecutor(_WORKERS, thread_name_prefix="upload") as pool,
        progress_bar(f"upload {identifier}", total) as advance,
    ):
        for entry in upload["files"]:
            sender = _Sender(
                portal, s3, f"uploads/{upload['id']}/files/{entry['number']}", by_name[entry["name"]], advance
            )
            parts = parts_of(entry["size"], created["part_bytes"])
            futures = [pool.submit(sender.bring, part, entry["received"]) for part in parts]
            try:
                for future in futures:
                    future.result()
            except BaseException:  # Ctrl-C too: leaving the pool waits for running parts only
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            portal.call("POST", f"{sender.path}/complete")
    portal.call("POST", f"uploads/{upload['id']}/finalize")
    checked: dict[str, Any] = portal.call("GET", f"uploads/{upload['id']}")
    return checked


class _Sender:
    def __init__(self, portal: Portal, s3: httpx.Client, path: str, file: Path, advance: Callable[[int], None]) -> None:
        self.path = path
        self._portal, self._s3, self._file, self._advance = portal, s3, file, advance

    def bring(self, part: Part, received: Sequence[Mapping[str, object]]) -> None:
        """Send a part unless the portal lists one with the same bytes."""
        digest = hashlib.sha256()
        for chunk in self._chunks(part):
            digest.update(chunk)
        sha256 = base64.b64encode(digest.digest()).decode()
        if is_received(part, sha256, received):
            self._advance(part.size_bytes)
            return
        answer = attempts(lambda: self._put(part, sha256), f"Sending part {part.number} of {self._file.name}")
        if not answer.is_success:
            raise UploadError(
                f"Part {part.number} of {self._file.name} is refused ({answer.status_code}): {answer.text[:500]}. If "
                "the file changed meanwhile, package it again."
            )

    def _put(self, part: Part, sha256: str) -> httpx.Response:
        # A new address for each attempt: the last one may have expired.
        signed = self._portal.call("POST", f"{self.path}/parts", {"parts": [{"number": part.number, "sha256": sha256}]})
        sent = 0

        def body() -> Iterator[bytes]:
            nonlocal sent
            for chunk in self._chunks(part):
                yield chunk
                sent += len(chunk)
                self._advance(len(chunk))

        target = signed["urls"][0]
        headers = {**target["headers"], "Content-Length": str(part.size_bytes)}
        is_stored = False
        try:
            answer = self._s3.put(target["url"], content=body(), headers=headers)
            is_stored = answer.is_success
            return answer
        finally:
            if not is_stored:
                self._advance(-sent)

    def _chunks(self, part: Part) -> Iterator[bytes]:
        with self._file.open("rb") as stream:
            stream.seek(part.begin)
            left = part.size_bytes
            while left:
                chunk = stream.read(min(left, _CHUNK_BYTES))
                if not chunk:
                    raise UploadError(f"{self._file} became shorter while it was sent. Package it again.")
                left -= len(chunk)
                yield chunk
