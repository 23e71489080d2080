"""Hand plugins to the repository: inspect zip files, open pull requests."""

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

from sqlalchemy import delete, select, update

from brainscore_core.credentials import environment_of
from brainscore_core.errors import BrainScoreError
from brainscore_core.processes import run_captured
from brainscore_core.records.record import ScoreRecord
from brainscore_web.leaderboard.sources import FolderSource, pair_of
from brainscore_web.portal import audit
from brainscore_web.portal.states import RefusedError, problem_of, refuse
from brainscore_web.portal.tables import Person, Upload, ZipFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from brainscore_web.portal.service import Service

MOST_ZIP_BYTES = 25 * 2**20
_LONGEST_S = 300.0
_MOST_TEXT = 1_000
_FRESH_S, _LONGEST_LOOK_S = 60.0, 15.0
_MOST_PULLS, _MOST_SCORES, _MOST_KEPT = 20, 100, 10_000
_PASSED = ("success", "neutral", "skipped")
_UNFINISHED = {
    "findings": ["its inspection has not finished; if this takes more than a few minutes, submit it again"],
    "plugins": [],
}
_RUNNING = ("queued", "in_progress", "waiting", "requested", "pending")


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
    """Have a zip file inspected, store both, and return findings and plugins."""
    if len(content) > MOST_ZIP_BYTES:
        raise refuse(413, "the zip file is too large", where=name[:200], expected=f"at most {MOST_ZIP_BYTES:,} bytes")
    zip_file = _reserve(service, person, name, content)
    row = ZipFile.id == zip_file.id
    try:
        zip_file.report = _submission(service, name, content)
    except BaseException:
        with service.session() as session:
            session.execute(delete(ZipFile).where(row))
        raise
    with service.session() as session:
        session.execute(update(ZipFile).where(row).values(report=zip_file.report))
        audit.append(session, time.time(), person.id, "submit", zip_file.id)
    return described(zip_file)


def _reserve(service: Service, person: Person, name: str, content: bytes) -> ZipFile:
    """Store a zip file before its inspection, which takes seconds: so that many sent at once are counted."""
    most, lasts_s = service.settings.most_zip_files, service.settings.abandoned_s
    with service.session() as session:
        session.scalar(select(Person.id).where(Person.id == person.id).with_for_update())  # one at a time
        query = select(ZipFile.created, ZipFile.report).where(ZipFile.owner_id == person.id)
        sent = session.execute(query.where(ZipFile.created > time.time() - lasts_s)).all()
        if any(report == _UNFINISHED and created > time.time() - _LONGEST_S for created, report in sent):
            what = "another of your zip files is being inspected"
            raise refuse(429, what, remedy="wait for its result", retry_s=30)
        if len(sent) >= most:
            remedy = f"wait: zip files are removed after {lasts_s / 86400:g} days"
            raise refuse(429, f"you have sent {most} zip files", remedy=remedy, retry_s=86400)
        zip_file = ZipFile(owner_id=person.id, name=name[:200], content=content, report=_UNFINISHED)
        session.add(zip_file)
    return zip_file


def described(zip_file: ZipFile) -> dict[str, Any]:
    """Return a submitted zip file as the API describes it."""
    facts = {"id": zip_file.id, "name": zip_file.name, "created": zip_file.created}
    return {**facts, **zip_file.report, "pull_requests": zip_file.pull_requests}


def open_zip(service: Service, person: Person, submission_id: str) -> list[str]:
    """Open a pull request for each plugin of an inspected zip file, once."""
    with service.session(only_reads=True) as session:
        zip_file = session.get(ZipFile, submission_id)
    if zip_file is None or zip_file.owner_id != person.id:
        raise refuse(404, "this submission does not exist or is not yours", where=submission_id)
    if zip_file.pull_requests is None:
        urls, findings = _open(service, person, zip_file.name, zip_file.content)
        if urls or not findings:
            with service.session() as session:
                session.execute(update(ZipFile).where(ZipFile.id == submission_id).values(pull_requests={"urls": urls}))
                audit.append(session, time.time(), person.id, "open pull requests", submission_id, urls=urls)
        _refuse(findings)
        return urls
    return list(zip_file.pull_requests["urls"])


def open_plugin(service: Service, person: Person, upload_id: str) -> str:
    """Open a pull request with the data plugin of a published upload, once."""
    upload = service.upload(person, upload_id)
    if upload.pull_request is not None:
        return upload.pull_request
    content = zip_of(upload.identifier, service.plugin(person, upload_id)[0])
    urls, findings = _open(service, person, "plugin.zip", content)
    _refuse(findings)
    if not urls:
        raise refuse(409, "the repository already has exactly this plugin", where=upload.identifier)
    url = urls[0]
    with service.session() as session:
        session.execute(update(Upload).where(Upload.id == upload_id).values(pull_request=url))
        audit.append(session, time.time(), person.id, "open a pull request", upload_id, url=url)
    return url


def _open(service: Service, person: Person, name: str, content: bytes) -> tuple[list[str], list[str]]:
    if not service.settings.is_connected:
        remedy = "download the plugin as a zip file and submit it there"
        raise refuse(409, "this portal is not connected to a repository", remedy=remedy)
    report = _submission(service, name, content, person)
    return [f"{_pulls_at(service)}{number}" for number in report["pulls"]], report["findings"]


def _refuse(findings: Sequence[str]) -> None:
    if findings:
        raise RefusedError(422, [problem_of(text[:_MOST_TEXT]) for text in findings])


def _pulls_at(service: Service) -> str:
    settings = service.settings
    server = "https://github.com" if settings.github_api == "https://api.github.com" else settings.github_api
    return f"{server}/{settings.repository}/pull/"


def _submission(service: Service, name: str, content: bytes, person: Person | None = None) -> dict[str, Any]:
    """Inspect a zip file, or for a person open its pull requests."""
    settings = service.settings
    with tempfile.TemporaryDirectory(prefix="zip-") as folder:
        file = Path(folder, f"{re.sub('[^A-Za-z0-9_-]', '_', Path(name).stem)[:60]}.zip")  # may name the plugin
        file.write_bytes(content)
        arguments = ["portal-submission", str(file), "--library-folder", settings.library_folder]
        if person is not None:
            arguments += ["--issue", str(settings.submission_issue)]
            arguments += ["--login", person.login, "--number", person.subject]
            arguments += ["--base", settings.base, *(["--remote", settings.remote] if settings.remote else [])]
        return _ask(service, arguments, _LONGEST_S, with_token=person is not None)


def _ask(service: Service, arguments: Sequence[str], longest_s: float, *, with_token: bool) -> dict[str, Any]:
    settings, environment = service.settings, environment_of(os.environ)
    if with_token:
        environment |= {
            "GITHUB_REPOSITORY": settings.repository,
            "GITHUB_TOKEN": settings.github_token,
            "GITHUB_API_URL": settings.github_api,
        }
    command = [sys.executable, "-P", "-m", "brainscore_ci", *arguments]
    try:
        done = run_captured(command, environment=environment, timeout_s=longest_s)
        answer: dict[str, Any] = json.loads(done.stdout)
    except (TimeoutError, ValueError, OSError) as error:
        what = f"the submission path did not answer ({type(error).__name__})"
        raise refuse(503, what, remedy="try again later", retry_s=30) from error
    return answer


# -- what became of it -------------------------------------------------------------------------------------------------


def progress(service: Service, urls: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return state, checks and the next step of the first pull requests, at most a minute old.

    Those that GitHub does not tell about now are absent.
    """
    start, now = _pulls_at(service), time.monotonic()
    wanted = [url for url in urls if url.startswith(start)][:_MOST_PULLS]
    old = [url for url in wanted if service.seen.get(url, (-_FRESH_S, None))[0] <= now - _FRESH_S]
    if old:
        try:
            numbers = [url.removeprefix(start) for url in old]
            answer = _ask(service, ["portal-pulls", *numbers], _LONGEST_LOOK_S, with_token=True)
        except RefusedError:
            answer = {}
        if len(service.seen) > _MOST_KEPT:
            service.seen.clear()
        service.seen.update({url: (now, answer.get(url.removeprefix(start))) for url in old})
    found = {url: service.seen.get(url, (now, None))[1] for url in wanted}
    return {url: _summary(told) for url, told in found.items() if told is not None}


def _summary(told: Mapping[str, Any]) -> dict[str, Any]:
    failed = [check for check in told["checks"] if check["state"] not in (*_PASSED, *_RUNNING)]
    n_running = sum(check["state"] in _RUNNING for check in told["checks"])
    if told["state"] != "open":
        step = "Scores follow." if told["state"] == "merged" else "Ask the maintainers there for the reason."
    elif failed:
        step = "Open the failed check, correct the problems it lists, and submit again."
    else:
        step = "Wait for the checks." if n_running else "Wait for a maintainer."
    n_passed = len(told["checks"]) - len(failed) - n_running
    return {"state": told["state"], "failed": failed, "running": n_running, "passed": n_passed, "step": step}


def scores(service: Service, zip_files: Sequence[ZipFile]) -> list[dict[str, Any]] | None:
    """Return the scores of the plugins in submitted zip files; None if they cannot be read."""
    names = {name for file in zip_files for plugin in file.report["plugins"] for name in plugin.get("identifiers", ())}
    if not service.settings.records or not names:
        return []
    source = FolderSource(Path(service.settings.records))
    try:
        paths = [path for path in source.paths() if not names.isdisjoint(pair_of(path) or ())][:_MOST_SCORES]
        records = [ScoreRecord.from_json(content) for content in source.read(paths)]
    except (BrainScoreError, OSError):
        return None
    shown = ("model", "benchmark", "score", "status", "message")
    return [{name: getattr(record, name) for name in shown} for record in records]
