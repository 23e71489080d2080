"""Hand plugins to the submission path of the repository: inspect zip files, and open pull requests."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import update

from brainscore_core.credentials import environment_of
from brainscore_core.processes import run_captured
from brainscore_web.portal import audit
from brainscore_web.portal.states import RefusedError, problem_of, refuse
from brainscore_web.portal.tables import Upload, ZipFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brainscore_web.portal.service import Service
    from brainscore_web.portal.tables import Person

__all__ = ["MOST_ZIP_BYTES", "described", "folder_of", "inspect", "open_plugin", "open_zip", "zip_of"]

MOST_ZIP_BYTES = 25 * 2**20
_LONGEST_S = 300.0
_MOST_TEXT = 1_000


def folder_of(identifier: str) -> str:
    """Return the folder of the data plugin of an identifier."""
    return re.sub(r"[^a-z0-9_]", "_", identifier.casefold())


def zip_of(identifier: str, files: Mapping[str, str]) -> bytes:
    """Return a data plugin as a zip file, in its place in the repository."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"data/{folder_of(identifier)}/{name}", text)
    return buffer.getvalue()


def inspect(service: Service, person: Person, name: str, content: bytes) -> dict[str, Any]:
    """Have the submission path inspect a zip file, store both, and return the findings and plugins."""
    if len(content) > MOST_ZIP_BYTES:
        raise refuse(413, "the zip file is too large", where=name[:200], expected=f"at most {MOST_ZIP_BYTES:,} bytes")
    if len(service.zip_files(person)) >= service.settings.most_zip_files:
        days = service.settings.abandoned_s / 86400
        remedy = f"wait: zip files are removed after {days:g} days"
        raise refuse(429, f"you have sent {service.settings.most_zip_files} zip files", remedy=remedy, retry_s=86400)
    report = _submission(service, content)
    with service.session() as session:
        zip_file = ZipFile(owner_id=person.id, name=name[:200], content=content, report=report)
        session.add(zip_file)
        session.flush()
        audit.append(session, time.time(), person.id, "submit", zip_file.id)
    return described(zip_file)


def described(zip_file: ZipFile) -> dict[str, Any]:
    """Return a submitted zip file as the API describes it."""
    facts = {"id": zip_file.id, "name": zip_file.name, "created": zip_file.created}
    return {**facts, **zip_file.report, "pull_requests": zip_file.pull_requests}


def open_zip(service: Service, person: Person, submission_id: str) -> list[str]:
    """Open a pull request for each plugin of an inspected zip file of this person; again, return the same ones."""
    with service.session(only_reads=True) as session:
        zip_file = session.get(ZipFile, submission_id)
    if zip_file is None or zip_file.owner_id != person.id:
        raise refuse(404, "there is no such submission, or it is not yours", where=submission_id)
    if zip_file.pull_requests is None:
        urls = _open(service, person, zip_file.content)
        with service.session() as session:
            session.execute(update(ZipFile).where(ZipFile.id == submission_id).values(pull_requests={"urls": urls}))
            audit.append(session, time.time(), person.id, "open pull requests", submission_id, urls=urls)
        return urls
    return list(zip_file.pull_requests["urls"])


def open_plugin(service: Service, person: Person, upload_id: str) -> str:
    """Open a pull request with the data plugin of a published upload; again, return the same one."""
    upload = service.upload(person, upload_id)
    if upload.pull_request is not None:
        return upload.pull_request
    url = _open(service, person, zip_of(upload.identifier, service.plugin(person, upload_id)[0]))[0]
    with service.session() as session:
        session.execute(update(Upload).where(Upload.id == upload_id).values(pull_request=url))
        audit.append(session, time.time(), person.id, "open a pull request", upload_id, url=url)
    return url


def _open(service: Service, person: Person, content: bytes) -> list[str]:
    settings = service.settings
    if not settings.repository or not settings.submission_issue:
        remedy = "download the plugin as a zip file and submit it there"
        raise refuse(409, "this portal is not connected to a repository", remedy=remedy)
    report = _submission(service, content, person)
    server = "https://github.com" if settings.github_api == "https://api.github.com" else settings.github_api
    return [f"{server}/{settings.repository}/pull/{number}" for number in report["pulls"]]


def _submission(service: Service, content: bytes, person: Person | None = None) -> dict[str, Any]:
    """Run the submission path in a process of its own: it inspects, or for a person opens pull requests."""
    settings = service.settings
    environment = environment_of(os.environ)
    with tempfile.TemporaryDirectory(prefix="zip-") as folder:
        file = Path(folder, "plugin.zip")
        file.write_bytes(content)
        command = [sys.executable, "-P", "-m", "brainscore_ci", "portal-submission", str(file)]
        command += ["--library-folder", settings.library_folder]
        if person is not None:
            command += ["--issue", str(settings.submission_issue), "--login", person.login, "--number", person.subject]
            command += ["--base", settings.base, *(["--remote", settings.remote] if settings.remote else [])]
            environment |= {
                "GITHUB_REPOSITORY": settings.repository,
                "GITHUB_TOKEN": settings.github_token,
                "GITHUB_API_URL": settings.github_api,
            }
        try:
            done = run_captured(command, environment=environment, timeout_s=_LONGEST_S)
            report: dict[str, Any] = json.loads(done.stdout)
        except (TimeoutError, ValueError, OSError) as error:
            what = f"the submission path did not answer ({type(error).__name__})"
            raise refuse(503, what, remedy="try again later", retry_s=30) from error
    if person is not None and report["findings"]:
        raise RefusedError(422, [problem_of(text[:_MOST_TEXT]) for text in report["findings"]])
    return report
