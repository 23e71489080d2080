"""Upload packaged data to a portal from the terminal, and resume where it stopped.

Importing this takes long (httpx, pandas, xarray): the command imports it when it is called.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from brainscore_core import command_line
from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError, StimulusError, UploadError
from brainscore_core.files import atomic_directory, atomic_path, locked
from brainscore_core.inspection import check_path
from brainscore_core.transfer.fetch import progress_bar
from brainscore_core.validation.problem import raise_errors

# -- Decide which parts of a file to send, and which refusals to try again ---------------------------------------------

ATTEMPTS = 5
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 120.0
# S3 answers these with a 4xx though the next attempt may succeed: it gets a new address and sends the bytes again.
_PASSING = frozenset({"BadDigest", "RequestTimeout", "RequestTimeTooSkewed", "XAmzContentSHA256Mismatch"})
_EXPIRED = re.compile(r"\bexpired\b", re.IGNORECASE)
_TOO_MANY, _SERVER_ERROR = 429, 500


@dataclass(frozen=True)
class Part:
    """A range of bytes of a file; `number` counts from 1."""

    number: int
    begin: int
    size_bytes: int


def parts_of(size_bytes: int, part_bytes: int) -> list[Part]:
    """Return the parts of a file; an empty file is one empty part."""
    begins = range(0, max(size_bytes, 1), part_bytes)
    return [Part(number, begin, min(part_bytes, size_bytes - begin)) for number, begin in enumerate(begins, start=1)]


def is_received(part: Part, sha256: str, received: Sequence[Mapping[str, object]]) -> bool:
    """Return whether the server lists a part with these bytes; `sha256` is in base64, as S3 states it."""
    return any(
        (entry["number"], entry["size"], entry["checksum"]) == (part.number, part.size_bytes, sha256)
        for entry in received
    )


def pause_before_retry(
    attempt: int, status: int | None, body: str = "", retry_after: str | None = None
) -> float | None:
    """Return the seconds to wait before a request is tried again; None if it has failed for good.

    Parameters
    ----------
    attempt
        Number of attempts already made, from 1.
    status
        HTTP status; None if the connection failed.
    body
        Start of the answer: S3 names its error there.
    retry_after
        The header of that name, in seconds; other forms are ignored. More than two minutes are not waited for.
    """
    code = re.search(r"<Code>(\w+)</Code>", body)
    is_passing = (
        status is None
        or status == _TOO_MANY
        or status >= _SERVER_ERROR
        or (code is not None and (code[1] in _PASSING or _EXPIRED.search(body) is not None))
    )
    if not is_passing or attempt >= ATTEMPTS:
        return None
    pause_s = _FIRST_PAUSE_S * 2 ** (attempt - 1)
    if retry_after is not None and retry_after.strip().isdecimal():
        pause_s = max(pause_s, float(retry_after))
    return pause_s if pause_s <= _LONGEST_PAUSE_S else None


# -- Keep the tokens of portals in a file that only its owner can read -------------------------------------------------


def _tokens_path() -> Path:
    return settings().home / "portal_tokens.json"


def read_tokens() -> dict[str, str]:
    """Return address of a portal -> token, from ``BRAINSCORE_HOME/portal_tokens.json``.

    Raises `ConfigurationError` if others may read the file, or it is damaged.
    """
    path = _tokens_path()
    if not path.exists():
        return {}
    if path.stat().st_mode & 0o077:
        raise ConfigurationError(f"{path} contains tokens and is readable by other users. Run: chmod 600 {path}")
    try:
        tokens = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        tokens = None
    if not isinstance(tokens, dict) or not all(isinstance(token, str) for token in tokens.values()):
        raise ConfigurationError(f"{path} is not a valid list of tokens. Remove it and sign in again.")
    return tokens


def write_token(address: str, token: str | None) -> None:
    """Store the token of a portal; None removes it."""
    path = _tokens_path()
    with locked(path):
        tokens = {name: stored for name, stored in read_tokens().items() if name != address}
        with atomic_path(path) as temporary:
            temporary.chmod(0o600)  # before anything is in it
            temporary.write_text(json.dumps(tokens if token is None else {**tokens, address: token}), encoding="utf-8")


# -- talk to a portal: sign in, call its API, and try failed requests again --------------------------------------------

_PENDING, _UNAUTHORIZED = 428, 401
_SILENT_S = 60.0
_SHOWN = 2_000  # characters of an answer
_LOCAL = ("localhost", "127.0.0.1", "::1")


def make_client(**options: Any) -> httpx.Client:
    """Return a client for a few threads; one for S3 must not hold the token of a portal."""
    return httpx.Client(timeout=httpx.Timeout(_SILENT_S, connect=20), headers={"User-Agent": "brainscore"}, **options)


def attempts(send: Callable[[], httpx.Response], what: str) -> httpx.Response:
    """Return the first answer that is final, trying again as `pause_before_retry` says.

    Raises `UploadError` if the portal cannot be reached; `what` names the request.
    """
    attempt = 0
    while True:
        attempt += 1
        try:
            answer = send()
        except httpx.TransportError as error:
            pause_s = pause_before_retry(attempt, None)
            if pause_s is None:
                raise UploadError(
                    f"{what} failed after {attempt} attempts: {error or type(error).__name__}. The data sent so far "
                    "are kept: run the same command again to continue."
                ) from error
        else:
            if answer.is_success:
                return answer
            pause_s = pause_before_retry(
                attempt, answer.status_code, answer.text[:_SHOWN], answer.headers.get("Retry-After")
            )
            if pause_s is None:
                return answer
        time.sleep(pause_s)


class Portal:
    """A portal by its address, with a token from signing in; None before that."""

    def __init__(self, address: str, token: str | None) -> None:
        parts = urlsplit(address)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
            raise ConfigurationError(f"{address!r} is not the address of a portal; expected https://...")
        self.address = f"{parts.scheme}://{parts.netloc}"
        self._client = make_client(base_url=f"{self.address}/api/v1/")
        self._set_token(token)

    def _set_token(self, token: str | None) -> None:
        self._client.headers.pop("Authorization", None)
        if token is not None:
            self._client.headers["Authorization"] = f"Bearer {token}"

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        """Return the JSON that the portal answers; `UploadError` lists the problems if it refuses."""
        answer = attempts(lambda: self._client.request(method, path, json=body), f"{method} {self.address}")
        if answer.status_code == _UNAUTHORIZED:
            write_token(self.address, None)
        if not answer.is_success:
            raise UploadError(f"{self.address} refuses ({answer.status_code}): {_problems(answer)}")
        return answer.json()

    def sign_in(self, tell: Callable[[str], None]) -> None:
        """Sign in by a code that people enter in a browser, and store the token."""
        device = self.call("POST", "device")
        tell(f"Open {device['verification_uri']} in a browser and enter {device['user_code']}")
        deadline = time.monotonic() + device["expires_in"]
        while time.monotonic() < deadline:
            time.sleep(device["interval"])
            answer = attempts(
                lambda: self._client.post("device/token", json={"device_code": device["device_code"]}), "Signing in"
            )
            if answer.is_success:
                token = answer.json()["token"]
                write_token(self.address, token)
                self._set_token(token)
                return
            if answer.status_code != _PENDING:
                raise UploadError(f"{self.address} refuses to sign in: {_problems(answer)}")
        raise UploadError(f"The code {device['user_code']} was not entered in time. Run the command again.")


def _problems(answer: httpx.Response) -> str:
    try:
        problems = answer.json()["problems"]
        return "; ".join(
            " ".join(f"{problem[part]}" for part in ("where", "what", "expected", "remedy") if problem.get(part))
            for problem in problems
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return answer.text[:_SHOWN] or answer.reason_phrase


# -- Send the files of a folder to a portal in parts; the server's list of parts says where to continue ----------------

_CHUNK_BYTES = 2**18
_WORKERS = 4
_PREFIXES = {".csv": "stimulus_", ".zip": "stimulus_", ".nc": "assy_"}


def files_of(folder: Path) -> list[Path]:
    """Return the packaged files of a folder, or all its visible files if it holds a table and the pictures themselves.

    Raises `ConfigurationError` if both table and assembly are missing.
    """
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and not file.name.startswith(".")]
    packaged = [file for file in files if file.name.startswith(_PREFIXES.get(file.suffix, "/"))]
    if packaged or any(file.suffix == ".csv" for file in files):
        return packaged or files
    raise ConfigurationError(
        f"{folder} has no stimulus_<identifier>.csv, no assy_<identifier>.nc and no table of pictures. Package your "
        "data first with package_stimulus_set_locally and package_data_assembly_locally."
    )


def identifier_of(files: Sequence[Path]) -> str:
    """Return the identifier that the names of packaged files agree on.

    Raises `ConfigurationError` if there is more than one.
    """
    names = {file.stem.removeprefix(_PREFIXES.get(file.suffix, "")) for file in files if file.suffix in _PREFIXES}
    if len(names) != 1:
        raise ConfigurationError(
            f"The files have different identifiers: {', '.join(sorted(names))}. Choose one for the upload: "
            "--identifier NAME"
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
                    raise UploadError(f"{self._file} became shorter during the upload. Package it again.")
                left -= len(chunk)
                yield chunk


# -- the command: check, send, wait for the verdict and write the plugin -----------------------------------------------

_IN_PROGRESS = ("waiting", "validating")
_POLL_S = 1.0
_INIT = "__init__.py"
_METADATA = "metadata.yml"
_PLUGIN_FILES = (_INIT, _METADATA, "test.py")
_BIBTEX = re.compile(r'^BIBTEX = """.*?"""$', re.DOTALL | re.MULTILINE)
_KNOWN = re.compile(r"^(access|contact): .+$", re.MULTILINE)
_ASKED = re.compile(r'^(access|contact): "<.*>"$', re.MULTILINE)
_PLACE = re.compile(r"^ *(?:bucket|\w*version_id)=.*\n", re.MULTILINE)


def run(folder: Path, portal: str | None, *, private: bool, identifier: str | None, to: Path | None) -> int:
    """Run the command `upload`."""
    if to is not None and to.exists() and not (to / _INIT).is_file():
        raise ConfigurationError(f"{to} already exists but is not a plugin. Name a new folder: --to FOLDER")
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
        raise UploadError(f"{name} was rejected. Correct the problems, then package and upload it again; see {page}")
    if state["state"] != "published":
        command_line.show(f"{name} is waiting for a maintainer's review: {page}")
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
    problems = [
        problem.within(file.name) for file in files if file.suffix in (".csv", ".nc") for problem in check_path(file)
    ]
    for problem in problems:
        if problem.kind == "hint":
            command_line.say(f"hint: {problem.where}: {problem.what}. {problem.fix}")
    raise_errors(
        problems, StimulusError, "Nothing was sent, because the files have problems; brainscore validate lists them too"
    )


def _signed_in(address: str | None) -> Portal:

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
            f"{folder / _INIT} registers other files or was edited. The data are published; copy their registration "
            "from the page of the upload, or name a new folder: --to FOLDER"
        )
    citation = _BIBTEX.search(own)
    return published if citation is None else _BIBTEX.sub(lambda _: citation[0], published)
