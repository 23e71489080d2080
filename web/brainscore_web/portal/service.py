"""Carry out requests; API and pages call the same functions."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Engine, and_, delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session, defer, selectinload

from brainscore_core.names import folded
from brainscore_web.portal import audit
from brainscore_web.portal.objects import Objects, composite_of
from brainscore_web.portal.states import (
    FINAL,
    FREED,
    RefusedError,
    UploadLimits,
    check_files,
    count_parts,
    is_sha256,
    may_see,
    problem_of,
    refuse,
    size_of_part,
    source_of,
)
from brainscore_web.portal.tables import Person, SignedPart, SignIn, Upload, UploadFile, ZipFile

if TYPE_CHECKING:
    from brainscore_web.portal.settings import PortalSettings

_MOST_URLS = 200
_RETRY_S = 2
_MOST_ASKED = 8
"""Number of files of an upload to look up in the storage for a first byte: clients send files in order."""


class Service:
    """The uploads of a portal, with its database and its objects."""

    def __init__(self, settings: PortalSettings, engine: Engine, objects: Objects) -> None:
        self.settings, self.engine, self.objects = settings, engine, objects
        self.seen: dict[str, tuple[float, Any]] = {}  # address -> when GitHub was asked about it, and the answer

    @contextmanager
    def session(self, *, only_reads: bool = False) -> Iterator[Session]:
        """Open a transaction, committed at the end of the block; refuse with 503 if the database is busy."""
        engine = self.engine.execution_options(only_reads=True) if only_reads else self.engine
        try:
            with Session(engine, expire_on_commit=False) as session, session.begin():
                yield session
        except (IntegrityError, OperationalError, PoolTimeoutError) as error:  # the first: two did the same at once
            what = "the database is busy or its disk is full"
            raise refuse(503, what, where="database", remedy="try again", retry_s=_RETRY_S) from error

    # -- receiving -----------------------------------------------------------------------------------------------------

    def create(
        self, person: Person, identifier: str, visibility: str, files: Sequence[tuple[str, int, str | None]]
    ) -> tuple[Upload, bool]:
        """Start an upload, or return the person's of the same files; the flag: whether it is new."""
        fed = self._fed(Upload.owner_id == person.id)  # asks the storage, so before others wait for this one
        with self.session() as session:
            audit.lock(session)  # one at a time: of the quota, and of names that people take for each other
            if same := _same(session, person, identifier, visibility, files):
                return same, False
            settings = self.settings
            left_bytes = self.quota_of(person) - used_bytes(session, person.id)
            limits = UploadLimits(settings.most_files, settings.most_file_bytes, settings.part_bytes, left_bytes)
            if problems := check_files(identifier, files, limits):
                raise RefusedError(422, problems)
            is_empty = and_(Upload.state == "receiving", Upload.id.not_in(fed))
            for most, what, which in (
                (settings.most_live_uploads, "are unfinished", Upload.state.not_in(FINAL)),
                (settings.most_empty_uploads, "have received no data yet", is_empty),
            ):
                query = select(func.count()).select_from(Upload).where(Upload.owner_id == person.id, which)
                if (session.scalar(query) or 0) >= most:
                    raise refuse(429, f"{most} of your uploads {what}", remedy="finish or delete some", retry_s=60)
            upload = Upload(identifier=identifier, owner_id=person.id, visibility=visibility)
            upload.files = [
                UploadFile(number=number, name=name, size=size, sha256=sha256)
                for number, (name, size, sha256) in enumerate(files, 1)
            ]
            session.add(upload)
            session.flush()
            audit.append(session, time.time(), person.id, "create", upload.id, identifier=identifier)
        return self.upload(person, upload.id), True

    def _fed(self, *which: ColumnElement[bool]) -> set[str]:
        """Return which uploads in progress have received a byte; an address for sending is none."""
        started = selectinload(Upload.files.and_(UploadFile.multipart != ""))
        with self.session(only_reads=True) as session:
            uploads = session.scalars(select(Upload).where(Upload.state == "receiving", *which).options(started)).all()
        return {
            upload.id
            for upload in uploads
            if any(file.version for file in upload.files)
            or any(self.objects.parts(file.key, file.multipart) for file in upload.files[:_MOST_ASKED])
        }

    def quota_of(self, person: Person) -> int:
        """Return a person's quota in bytes."""
        return self.settings.quota_bytes if person.quota_bytes is None else person.quota_bytes

    def used_of(self, person: Person) -> int:
        """Return the bytes of a person's uploads."""
        with self.session(only_reads=True) as session:
            return used_bytes(session, person.id)

    def uploads(self, person: Person, *, everybody: bool = False) -> list[Upload]:
        """Return a person's uploads, newest first; for a maintainer, those of everybody."""
        if everybody and person.role != "maintainer":
            raise refuse(403, "only maintainers see all uploads")
        query = select(Upload).order_by(Upload.created.desc()).limit(500)
        if not everybody:
            query = query.where(Upload.owner_id == person.id)
        with self.session(only_reads=True) as session:
            return list(session.scalars(query))

    def upload(self, person: Person, upload_id: str) -> Upload:
        """Return an upload with its files; others' uploads do not exist for anybody but maintainers."""
        with self.session(only_reads=True) as session:
            upload = session.get(Upload, upload_id)
            if upload is None or not may_see(upload.owner_id, person.id, person.role):
                raise refuse(404, "this upload does not exist or is not yours", where=upload_id[:40])
            _ = upload.files  # loaded while there is a session
            return upload

    def received(self, upload: Upload, file: UploadFile) -> list[dict[str, Any]]:
        """Return the parts of a file that S3 has."""
        part_bytes = self.settings.part_bytes
        numbers = range(1, count_parts(file.size, part_bytes) + 1)
        with self.session(only_reads=True) as session:
            signed = {part.number: part.sha256 for part in _parts_of(session, upload.id, file.number)}
        if file.version:  # S3 forgets the parts of an object
            return [
                {"number": n, "size": size_of_part(n, file.size, part_bytes), "checksum": signed.get(n)}
                for n in numbers
            ]
        if not file.multipart or upload.state != "receiving":
            return []
        return [
            {"number": number, "size": part["Size"], "checksum": part.get("ChecksumSHA256", signed.get(number))}
            for number, part in sorted(self.objects.parts(file.key, file.multipart).items())
            if part["Size"] == size_of_part(number, file.size, part_bytes)
        ]

    def sign(
        self, person: Person, upload_id: str, number: int, parts: Sequence[tuple[int, str]]
    ) -> list[dict[str, Any]]:
        """Return presigned URLs for parts (number, SHA-256 in base64) of a file."""
        upload, file = self._receiving(person, upload_id, number)
        if file.version:
            raise refuse(409, "the file is already complete", where=file.name)
        problems = []
        if not 0 < len(parts) <= _MOST_URLS:
            raise refuse(422, f"{len(parts)} parts are listed", where="parts", expected=f"1 to {_MOST_URLS} parts")
        for part, sha256 in parts:
            if not size_of_part(part, file.size, self.settings.part_bytes):
                count = count_parts(file.size, self.settings.part_bytes)
                problems.append(problem_of(f"part {part} does not exist", file.name, f"1 to {count}"))
            elif not is_sha256(sha256):
                problems.append(problem_of("invalid digest", f"part {part}", "a SHA-256 in base64"))
        if problems:
            raise RefusedError(422, problems)
        multipart = file.multipart or self._start(upload, file)
        with self.session() as session:
            session.execute(update(Upload).where(Upload.id == upload.id).values(heartbeat=time.time()))  # and locks it
            for part, sha256 in parts:
                session.merge(SignedPart(upload_id=upload.id, file=number, number=part, sha256=sha256))
        signed = []
        for part, sha256 in parts:
            size = size_of_part(part, file.size, self.settings.part_bytes)
            url, headers = self.objects.sign_part(file.key, multipart, part, sha256, size)
            signed.append({"number": part, "url": url, "headers": headers})
        return signed

    def _start(self, upload: Upload, file: UploadFile) -> str:
        """Start a file in S3 once, whatever number of requests ask for it."""
        multipart = self.objects.start(file.key)
        with self.session() as session:
            row = UploadFile.upload_id == upload.id, UploadFile.number == file.number
            session.execute(update(UploadFile).where(*row, UploadFile.multipart == "").values(multipart=multipart))
            return session.scalars(select(UploadFile.multipart).where(*row)).one()

    def _receiving(self, person: Person, upload_id: str, number: int) -> tuple[Upload, UploadFile]:
        upload = self.upload(person, upload_id)
        if upload.owner_id != person.id:
            raise refuse(403, "only its owner may send files", where=upload_id)
        file = next((file for file in upload.files if file.number == number), None)
        if file is None:
            raise refuse(404, f"the upload has no file {number}", where=upload_id, expected=f"1 to {len(upload.files)}")
        if upload.state != "receiving" and not file.version:
            raise refuse(409, f"the upload is {upload.state} and no longer accepts files", where=upload_id)
        return upload, file

    def complete(self, person: Person, upload_id: str, number: int) -> str:
        """Make a file of its parts, once; return S3's digest of their digests."""
        _, file = self._receiving(person, upload_id, number)
        if file.version and file.composite:
            return file.composite
        part_bytes = self.settings.part_bytes
        received = self.objects.parts(file.key, file.multipart) if file.multipart else {}
        numbers = range(1, count_parts(file.size, part_bytes) + 1)
        wrong = [
            n for n in numbers if n not in received or received[n]["Size"] != size_of_part(n, file.size, part_bytes)
        ]
        if wrong:
            version = self.objects.newest(file.key)  # completed before the server could write that down
            if version is None or received:
                named = ", ".join(map(str, wrong[:20]))
                what, expected = f"parts are missing or have a wrong size: {named}", f"{len(numbers)} parts"
                raise refuse(409, what, where=file.name, expected=expected, remedy="send these parts")
        else:
            version = self.objects.complete(file.key, file.multipart, [received[n] for n in numbers])
        with self.session() as session:
            signed = {part.number: part.sha256 for part in _parts_of(session, upload_id, number)}
            composite = composite_of([base64.b64decode(signed[n]) for n in numbers])
            row = UploadFile.upload_id == upload_id, UploadFile.number == number
            session.execute(update(UploadFile).where(*row).values(version=version, composite=composite))
            session.execute(update(Upload).where(Upload.id == upload_id).values(heartbeat=time.time()))
        return composite

    def finalize(self, person: Person, upload_id: str) -> str:
        """Queue an upload whose files are complete, once; return its state."""
        upload = self.upload(person, upload_id)
        if upload.owner_id != person.id:
            raise refuse(403, "only its owner may finish an upload", where=upload_id)
        missing = [file.name for file in upload.files if not file.version]
        if upload.state == "receiving" and missing:
            what = f"files are not complete: {', '.join(missing[:20])}"
            raise refuse(409, what, where=upload_id, remedy="send them first")
        if upload.state == "deleted":
            raise refuse(409, "the upload is deleted", where=upload_id, remedy="start another one")
        with self.session() as session:
            if move(session, upload_id, "finalize"):
                audit.append(session, time.time(), person.id, "finalize", upload_id)
        return self.upload(person, upload_id).state

    # -- afterwards ----------------------------------------------------------------------------------------------------

    def delete(self, person: Person, upload_id: str, confirm: str = "") -> str:
        """Delete an upload, or note the wish if a plugin may name its data; return 'deleted' or 'asked'."""
        upload = self.upload(person, upload_id)
        is_named = self.is_named(upload)
        if upload.state == "deleted":
            return "deleted"
        if is_named and confirm != upload.identifier:
            if person.role == "maintainer":
                plugin = upload.pull_request or "a plugin made from the copied code"
                what = f"{plugin} may refer to these data and could no longer load them"
                remedy = f"to delete them anyway, repeat the request with confirm={upload.identifier}"
                raise refuse(409, what, where=upload.identifier, remedy=remedy)
            with self.session() as session:
                session.execute(update(Upload).where(Upload.id == upload_id).values(deletion_wish=time.time()))
                audit.append(session, time.time(), person.id, "ask for deletion", upload_id)
            return "asked"
        if is_named and person.role != "maintainer":
            what = "a plugin may refer to these data, so only a maintainer may delete them"
            raise refuse(403, what, where=upload.identifier)
        with self.session() as session:
            if not move(session, upload_id, "delete"):
                remedy = "wait for the result"
                raise refuse(409, "the upload is being checked", where=upload_id, remedy=remedy, retry_s=10)
            audit.append(session, time.time(), person.id, "delete", upload_id, identifier=upload.identifier)
        self.remove_objects(upload)
        return "deleted"

    def is_named(self, upload: Upload) -> bool:
        """Return whether a plugin may name published data."""
        is_old = upload.heartbeat < time.time() - self.settings.deletable_s  # nothing beats after the publication
        return upload.state == "published" and (upload.pull_request is not None or is_old)

    def remove_objects(self, upload: Upload) -> None:
        """Remove all objects of an upload, in quarantine and where it may have been published."""
        self.objects.remove(self.objects.quarantine, f"{upload.id}/")
        self.objects.remove(self.objects.bucket_of(upload.visibility), f"{upload.id}/")

    def review(self, person: Person, upload_id: str, verdict: str, message: str) -> str:
        """Approve an upload in review, or reject it with the changes asked for; return its state."""
        if person.role != "maintainer":
            raise refuse(403, "only maintainers review uploads")
        upload = self.upload(person, upload_id)
        with self.session() as session:
            if verdict == "approve":
                done = move(session, upload_id, "approve", is_approved=True, attempts=0)
            else:
                remedy = "make this change and upload the data again"
                problem = problem_of(message, "review", remedy=remedy)
                done = move(session, upload_id, "reject", problems=[problem])
            if not done:
                raise refuse(409, f"the upload is {upload.state}, not in review", where=upload_id)
            audit.append(session, time.time(), person.id, verdict, upload_id, message=message)
        return self.upload(person, upload_id).state

    def plugin(self, person: Person, upload_id: str) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the files of the finished data plugin, and where its data are."""
        upload = self.upload(person, upload_id)
        if upload.state != "published" or upload.plugin is None or upload.result is None:
            raise refuse(409, f"the upload is {upload.state}", where=upload_id, expected="a published upload")
        return upload.plugin["files"], upload.result

    def download(self, person: Person, upload_id: str, name: str) -> str:
        """Return an URL to download a published file for a minute."""
        _, result = self.plugin(person, upload_id)
        if name not in result["files"]:
            raise refuse(404, "this file does not exist", where=name[:200])
        version = result["files"][name]["version_id"]
        bucket, _, folder = result["bucket"].partition("/")
        return self.objects.sign_download(bucket, f"{folder}/{name}", version, name)

    def forget(self, now: float) -> None:
        """Remove everything that has expired: sessions, tokens, zip files, and uploads without files or abandoned."""
        is_old = Upload.created < now - self.settings.empty_s
        fed = self._fed(is_old)
        with self.session() as session:
            session.execute(delete(SignIn).where(SignIn.expires < now))
            old = ZipFile.created < now - self.settings.abandoned_s
            session.execute(delete(ZipFile).where(old, ZipFile.pull_requests.is_(None)))
            is_full = func.length(ZipFile.content) > 0
            session.execute(update(ZipFile).where(old, is_full).values(content=b""))  # pull requests stay on my page
            is_abandoned = Upload.heartbeat < now - self.settings.abandoned_s
            useless = or_(is_abandoned, and_(is_old, Upload.id.not_in(fed)))
            uploads = list(session.scalars(select(Upload).where(Upload.state == "receiving", useless)))
            uploads = [upload for upload in uploads if move(session, upload.id, "delete")]
            for upload in uploads:
                audit.append(session, now, 0, "forget", upload.id)
        for upload in uploads:
            self.remove_objects(upload)

    def zip_files(self, person: Person) -> list[ZipFile]:
        """Return a person's submitted zip files, newest first, without their content."""
        with self.session(only_reads=True) as session:
            query = select(ZipFile).where(ZipFile.owner_id == person.id).order_by(ZipFile.created.desc())
            return list(session.scalars(query.options(defer(ZipFile.content)).limit(100)))


def move(session: Session, upload_id: str, name: str, *, held: str | None = None, **values: Any) -> bool:
    """Move an upload to another state if it is in one that allows it, and say whether that happened.

    With `held`, only if that is still the claim of its worker.
    """
    before, after = source_of(name)
    row = [Upload.id == upload_id, Upload.state.in_(before)]
    row += [] if held is None else [Upload.claim == held]
    done: Any = session.execute(update(Upload).where(*row).values(state=after, heartbeat=time.time(), **values))
    return bool(done.rowcount)


def _same(
    session: Session, person: Person, identifier: str, visibility: str, files: Sequence[tuple[str, int, str | None]]
) -> Upload | None:
    """Return the person's upload of the same files; refuse a name that people take for that of another upload."""
    letters = reduce(lambda text, mark: func.replace(text, mark, ""), "._-", func.lower(Upload.identifier))
    query = select(Upload).where(letters == folded(identifier), Upload.state.not_in(FREED))
    upload = session.scalars(query).first()
    if upload is None:
        return None
    announced = [(file.name, file.size) for file in upload.files]
    is_same = announced == [file[:2] for file in files] and all(
        file.sha256 in (None, sha256) or sha256 is None
        for file, (_, _, sha256) in zip(upload.files, files, strict=True)
    )
    named = upload.owner_id, upload.visibility, upload.identifier
    if named == (person.id, visibility, identifier) and is_same:
        return upload
    # The owner and the date stay secret: by trying names, anyone could learn which data others are about to publish.
    remedy = "choose another identifier, or delete that upload first if it is yours"
    raise refuse(409, f"{identifier!r} is already taken", where="identifier", remedy=remedy)


def used_bytes(session: Session, owner: int) -> int:
    """Return the bytes of somebody's uploads that are neither rejected nor deleted."""
    query = select(func.coalesce(func.sum(UploadFile.size), 0)).join(Upload, Upload.id == UploadFile.upload_id)
    return int(session.scalar(query.where(Upload.owner_id == owner, Upload.state.not_in(FREED))) or 0)


def _parts_of(session: Session, upload_id: str, file: int) -> list[SignedPart]:
    return list(session.scalars(select(SignedPart).where(SignedPart.upload_id == upload_id, SignedPart.file == file)))
