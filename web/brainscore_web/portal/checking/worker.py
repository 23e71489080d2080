"""Check uploads one by one and publish them; queue those of silent workers again."""

from __future__ import annotations

import errno
import json
import logging
import os
import secrets
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter
from sqlalchemy import select, update

from brainscore_core.credentials import environment_of
from brainscore_core.errors import BrainScoreError, CorruptFileError
from brainscore_core.identity.digest import file_digest
from brainscore_core.scoring.isolation.box import Box, interpreter_paths, run_boxed
from brainscore_core.scoring.isolation.handover import take_over
from brainscore_core.untrusted import Untrusted, read, read_start
from brainscore_web.portal import audit
from brainscore_web.portal.checking import PLACES
from brainscore_web.portal.service import move
from brainscore_web.portal.states import FREED, problem_of
from brainscore_web.portal.tables import Upload

if TYPE_CHECKING:
    from brainscore_core.processes import Ended
    from brainscore_web.portal.service import Service

_IDLE_S, _FORGET_S = 0.5, 60.0
_FULL = (errno.ENOSPC, errno.EDQUOT)
_logger = logging.getLogger("brainscore.portal")

Text = Annotated[str, Field(max_length=2000)]
FileName = Annotated[str, Field(max_length=100)]
FileText = Annotated[str, Field(max_length=10**6)]
Plugin = Annotated[dict[FileName, FileText], Field(max_length=10)]


@dataclass(frozen=True)
class ReportedProblem(Untrusted):
    """A problem that the program in the box reports."""

    what: Text
    where: Text
    remedy: Text
    kind: Annotated[str, Field(pattern="^(error|hint)$")]


@dataclass(frozen=True)
class Report(Untrusted):
    """Report of the program in the box, which has read a stranger's files."""

    problems: Annotated[list[ReportedProblem], Field(max_length=501)]
    plugin: Plugin = field(default_factory=dict)
    preview: dict[str, Any] | None = None


class Worker:
    """Takes one upload after another until `stop` is set."""

    def __init__(self, service: Service, stop: threading.Event) -> None:
        self.service, self.settings, self._stop = service, service.settings, stop

    def run(self) -> None:
        """Work until stopped; failed tasks are tried again later."""
        forgotten = 0.0
        while not self._stop.is_set():
            try:
                self.watch(time.time())
                if time.time() > forgotten + _FORGET_S:
                    forgotten = time.time()
                    self.service.forget(forgotten)
                is_idle = not self.step()
            except Exception:
                _logger.exception("the worker failed and continues")
                is_idle = True
            self._stop.wait(_IDLE_S if is_idle else 0)

    def watch(self, now: float) -> None:
        """Queue silent uploads again; after too many attempts reject them."""
        with self.service.session(only_reads=True) as session:
            silent = Upload.state == "validating", Upload.heartbeat < now - self.settings.silent_s
            uploads = list(session.scalars(select(Upload).where(*silent)))
        for upload in uploads:
            self._again(upload, upload.claim, f"its worker has not responded for {self.settings.silent_s:g} s")

    def step(self) -> bool:
        """Check the next upload of the queue; say whether there was one."""
        claim = secrets.token_hex(16)
        with self.service.session() as session:
            query = select(Upload).where(Upload.state == "waiting").order_by(Upload.heartbeat).limit(1)
            upload = session.scalars(query.with_for_update(of=Upload, skip_locked=True)).first()
            if upload is None or not move(session, upload.id, "claim", claim=claim, attempts=upload.attempts + 1):
                return False
            session.refresh(upload)
            _ = upload.files  # loaded while there is a session
        try:
            with self._beating(upload.id, claim), self._folder(upload.id, claim) as folder:
                self._check(upload, claim, folder)
        except Exception as error:
            _logger.warning("upload %s failed", upload.id, exc_info=error)
            if isinstance(error, OSError) and error.errno in _FULL:
                self._put_off(upload, claim)
                return False
            self._again(upload, claim, f"the check failed ({str(error)[:500]})")
        return True

    def _put_off(self, upload: Upload, claim: str) -> None:
        remedy = "wait; the check starts once the maintainers have freed space"
        problems = [problem_of("the disk of the portal is full", "check", remedy=remedy)]
        with self.service.session() as session:
            move(session, upload.id, "requeue", held=claim, attempts=upload.attempts - 1, problems=problems)

    def _again(self, upload: Upload, claim: str | None, why: str) -> None:
        if upload.attempts <= self.settings.most_requeues:
            with self.service.session() as session:
                if move(session, upload.id, "requeue", held=claim):
                    audit.append(session, time.time(), 0, "requeue", upload.id, attempt=upload.attempts)
            return
        what = f"the check was tried {upload.attempts} times: {why}"
        self._reject(upload, claim, [problem_of(what, "check", remedy="upload smaller files, or ask the maintainers")])

    @contextmanager
    def _beating(self, upload_id: str, claim: str) -> Iterator[None]:
        done = threading.Event()

        def beat() -> None:
            while not done.wait(self.settings.heartbeat_s):
                with suppress(BrainScoreError), self.service.session() as session:
                    row = Upload.id == upload_id, Upload.claim == claim
                    session.execute(update(Upload).where(*row).values(heartbeat=time.time()))

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    @contextmanager
    def _folder(self, upload_id: str, claim: str) -> Iterator[Path]:
        place = self.settings.folder.absolute() / upload_id
        folder = place / claim
        folder.mkdir(mode=0o700, parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(place, ignore_errors=True)

    # -- one upload ----------------------------------------------------------------------------------------------------

    def _check(self, upload: Upload, claim: str, folder: Path) -> None:
        if shutil.disk_usage(folder).free < 2 * sum(file.size for file in upload.files):
            raise OSError(errno.ENOSPC, "not enough room for two copies of the upload")
        digests, problems = self._fetch(upload, folder / "in")
        if problems:
            self._reject(upload, claim, problems)
            return
        tokens = {file.name: f"version-{secrets.token_hex(16)}" for file in upload.files}
        bucket = f"{self.service.objects.bucket_of(upload.visibility)}/{upload.id}"
        stem = f"stimulus_{upload.identifier.replace('.', '_')}"
        tokens |= {f"{stem}.{kind}": f"version-{secrets.token_hex(16)}" for kind in ("csv", "zip")}
        places = {name: {"bucket": bucket, "version_id": token} for name, token in tokens.items()}
        (folder / "in" / PLACES).write_text(json.dumps(places), encoding="utf-8")
        report = self._boxed(upload, folder)
        listed = [{"expected": "", **asdict(found)} for found in report.problems]
        if any(found.kind == "error" for found in report.problems):
            self._reject(upload, claim, listed)
            return
        preview = {"problems": listed, "preview": report.preview}
        if self.settings.review and not upload.is_approved:
            with self.service.session() as session:
                if move(session, upload.id, "hold", held=claim, **preview):
                    audit.append(session, time.time(), 0, "hold for review", upload.id)
            return
        sources = self._sources(folder / "report" / "packaged", digests)
        self._publish(upload, claim, sources, report.plugin, tokens, preview)

    def _fetch(self, upload: Upload, folder: Path) -> tuple[dict[str, dict[str, Any]], list[dict[str, str]]]:
        """Download all files; return their digests and problems."""
        folder.mkdir(mode=0o700)
        digests, problems = {}, []
        part_bytes = self.settings.part_bytes
        for file in upload.files:
            target = folder / file.name
            if file.name == PLACES:
                problems.append(problem_of("this name cannot be used", file.name, remedy="rename the file"))
                continue
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            sha1, sha256, composite = self.service.objects.download(file.key, file.version or "", target, part_bytes)
            remedy = "send the file again"
            if composite != file.composite or target.stat().st_size != file.size:
                problems.append(
                    problem_of("the file changed during the transfer", file.name, "the announced bytes", remedy)
                )
            elif file.sha256 is not None and sha256 != file.sha256:
                problems.append(problem_of("the file has a different SHA-256", file.name, file.sha256, remedy))
            digests[file.name] = {"sha1": sha1, "sha256": sha256, "size": file.size, "source": (file.key, file.version)}
        return digests, problems

    def _boxed(self, upload: Upload, folder: Path) -> Report:
        """Run the program in a box without network and return its report."""
        out = folder / "out"
        out.mkdir(mode=0o700)
        surroundings = environment_of(os.environ)
        kept = ("PYTHONPATH", "LD_LIBRARY_PATH")
        own = {name: value for name, value in surroundings.items() if name in kept}
        program = "brainscore_web.portal.checking.program"
        ended = run_boxed(
            [sys.executable, "-P", "-m", program, folder / "in", out, self.settings.library, upload.identifier],
            Box(
                readable=(*interpreter_paths(), folder / "in"),
                writable=(out,),
                environment={
                    **own,
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "BS_INSTALL_DEPENDENCIES": "no",
                    "OMP_NUM_THREADS": "1",
                },
                private_bytes=2**28,
                most_file_bytes=self.settings.most_file_bytes,
            ),
            timeout_s=self.settings.longest_check_s,
            memory_bytes=self.settings.most_memory_bytes,
        )
        take_over(out, folder / "report")
        if ended.problem is None:
            try:
                content = read_start(folder / "report" / "report.json")
                return read(TypeAdapter(Report), content, "report of the check")
            except (OSError, CorruptFileError) as error:
                return _failed(str(error), ended)
        limits = {
            "Timeout": f"it took more than {self.settings.longest_check_s:g} s",
            "MemoryLimit": f"it needed more than {self.settings.most_memory_bytes:,} bytes of memory",
        }
        return _failed(limits.get(ended.problem, ended.problem), ended)

    def _sources(self, packaged: Path, digests: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the files to publish, as sent or packaged."""
        if not packaged.is_dir():
            return digests
        return {
            file.name: {
                "sha1": file_digest(file),
                "sha256": file_digest(file, "sha256"),
                "size": file.stat().st_size,
                "source": file,
            }
            for file in sorted(packaged.iterdir())
            if file.name != PLACES
        }

    def _publish(
        self,
        upload: Upload,
        claim: str,
        sources: Mapping[str, dict[str, Any]],
        plugin: Mapping[str, str],
        tokens: Mapping[str, str],
        preview: Mapping[str, Any],
    ) -> None:
        """Copy the files, then make the upload visible in one transaction."""
        objects, bucket = self.service.objects, self.service.objects.bucket_of(upload.visibility)
        if upload.attempts > 1:  # leftovers of an attempt that ended in between
            objects.remove(bucket, f"{upload.id}/")
        files, texts = {}, dict(plugin)
        for name, facts in sources.items():
            version = objects.publish(facts["source"], bucket, f"{upload.id}/{name}")
            files[name] = {"version_id": version, **{key: facts[key] for key in ("sha1", "sha256", "size")}}
            texts = {file: text.replace(f'"{tokens[name]}"', json.dumps(version)) for file, text in texts.items()}
        known = {
            "<public or private>": upload.visibility,
            "<e-mail address, or GitHub name with @>": f"@{upload.owner.login}",
        }
        for placeholder, value in known.items():
            texts = {file: text.replace(f'"{placeholder}"', json.dumps(value)) for file, text in texts.items()}
        result = {"bucket": f"{bucket}/{upload.id}", "path": upload.id, "files": files}
        values = {"result": result, "plugin": {"files": texts}, **preview}
        with self.service.session() as session:
            is_done = move(session, upload.id, "publish", held=claim, **values)
            if is_done:
                audit.append(session, time.time(), 0, "publish", upload.id, files=files)
            else:
                state = session.get_one(Upload, upload.id).state
        if is_done:
            objects.remove(objects.quarantine, f"{upload.id}/")
        elif state in FREED:
            objects.remove(bucket, f"{upload.id}/")

    def _reject(self, upload: Upload, claim: str | None, problems: list[dict[str, str]]) -> None:
        with self.service.session() as session:
            is_done = move(session, upload.id, "reject", held=claim, problems=problems)
            if is_done:
                audit.append(session, time.time(), 0, "reject", upload.id, problems=len(problems))
        if is_done:
            self.service.remove_objects(upload)


def _failed(why: str, ended: Ended) -> Report:
    _logger.warning("the check ended early: %s", ended.tail)
    remedy = "package the data again; if they are large, split them"
    return Report([ReportedProblem(f"the check ended early: {why}"[:2000], "files", remedy, "error")])
