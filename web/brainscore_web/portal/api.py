"""Define the JSON interface of the portal, below ``/api/v1``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Response, UploadFile
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from brainscore_web.portal import contributing, sign_in
from brainscore_web.portal.sign_in import ServiceOf, signed_in
from brainscore_web.portal.states import count_parts
from brainscore_web.portal.tables import Person, Upload
from brainscore_web.portal.tables import UploadFile as StoredFile

router = APIRouter(prefix="/api/v1")

PersonOf = Annotated[Person, Depends(signed_in)]
Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
Number = Annotated[int, Path(ge=1, le=100_000)]


class Body(BaseModel):
    """Base of the bodies of requests, which have no other fields than their own."""

    model_config = ConfigDict(extra="forbid", str_max_length=10_000)


class DeviceBody(Body):
    """The secret code of a terminal."""

    device_code: str = Field(max_length=100)


class FileBody(Body):
    """A file that will be sent."""

    name: str = Field(min_length=1, max_length=200)
    size: int = Field(ge=0, lt=2**53)
    sha256: str | None = Field(default=None, max_length=64)


class UploadBody(Body):
    """An upload that will be sent."""

    identifier: str = Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")  # PostgreSQL has no NUL
    visibility: Literal["public", "private"] = "public"
    files: list[FileBody] = Field(max_length=10_000)


class PartBody(Body):
    """A part of a file, and the SHA-256 of its bytes in base64."""

    number: int = Field(ge=1, le=10_000)
    sha256: str = Field(max_length=44)


class PartsBody(Body):
    """Parts to get URLs for."""

    parts: list[PartBody] = Field(min_length=1, max_length=200)


class ReviewBody(Body):
    """Verdict of a maintainer on an upload."""

    verdict: Literal["approve", "changes"]
    message: str = Field(default="", max_length=4000)


@router.post("/device")
def device(service: ServiceOf) -> dict[str, Any]:
    """Start the sign-in of a terminal."""
    return sign_in.start_device(service)


@router.post("/device/token")
def device_token(service: ServiceOf, body: DeviceBody) -> dict[str, Any]:
    """Return the token of a terminal; 428 until somebody has entered its code."""
    return sign_in.take_token(service, body.device_code)


@router.get("/me")
def me(service: ServiceOf, person: PersonOf) -> dict[str, Any]:
    """Return who is signed in, and their quota."""
    quota_bytes, used_bytes = service.quota_of(person), service.used_of(person)
    return {"login": person.login, "role": person.role, "quota_bytes": quota_bytes, "used_bytes": used_bytes}


@router.post("/uploads", status_code=201)
def create(service: ServiceOf, person: PersonOf, body: UploadBody, response: Response) -> dict[str, Any]:
    """Start an upload; the same one again returns it with status 200."""
    files = [(file.name, file.size, file.sha256) for file in body.files]
    upload, is_new = service.create(person, body.identifier, body.visibility, files)
    response.status_code = 201 if is_new else 200
    part_bytes = service.settings.part_bytes
    listed = [
        {"number": file.number, "name": file.name, "size": file.size, "parts": count_parts(file.size, part_bytes)}
        for file in upload.files
    ]
    return {"id": upload.id, "part_bytes": part_bytes, "files": listed, "state": upload.state}


@router.get("/uploads")
def uploads(
    service: ServiceOf, person: PersonOf, everybody: Annotated[bool, Query(alias="all")] = False
) -> dict[str, Any]:
    """Return one's own uploads, or for maintainers everybody's, newest first."""
    return {"uploads": [summary_of(upload) for upload in service.uploads(person, everybody=everybody)]}


@router.get("/uploads/{upload_id}")
def upload(service: ServiceOf, person: PersonOf, upload_id: Id) -> dict[str, Any]:
    """Return an upload's state, and which parts the storage has."""
    found = service.upload(person, upload_id)

    def described(file: StoredFile) -> dict[str, Any]:
        facts = {"number": file.number, "name": file.name, "size": file.size, "sha256": file.sha256}
        return {**facts, "is_complete": file.version is not None, "received": service.received(found, file)}

    return {
        **summary_of(found),
        "problems": found.problems,
        "part_bytes": service.settings.part_bytes,
        "files": [described(file) for file in found.files],
        "result": found.result,
        "preview": found.preview,
    }


def summary_of(upload: Upload) -> dict[str, Any]:
    """Return the facts about an upload that lists show."""
    names = ("id", "identifier", "state", "heartbeat", "attempts", "created", "visibility", "pull_request")
    return {
        **{name: getattr(upload, name) for name in names},
        "owner": upload.owner.login,
        "deletion_asked": upload.deletion_wish is not None,
    }


@router.post("/uploads/{upload_id}/files/{number}/parts")
def sign(service: ServiceOf, person: PersonOf, upload_id: Id, number: Number, body: PartsBody) -> dict[str, Any]:
    """Return URLs that take the named parts, each only with the digest that is named."""
    urls = service.sign(person, upload_id, number, [(part.number, part.sha256) for part in body.parts])
    return {"urls": urls, "expires": service.settings.url_s}


@router.post("/uploads/{upload_id}/files/{number}/complete")
def complete(service: ServiceOf, person: PersonOf, upload_id: Id, number: Number) -> dict[str, str]:
    """Make a file of its parts; returns S3's digest of their digests."""
    return {"sha256": service.complete(person, upload_id, number)}


@router.post("/uploads/{upload_id}/finalize", status_code=202)
def finalize(service: ServiceOf, person: PersonOf, upload_id: Id) -> dict[str, str]:
    """Queue an upload for its check."""
    return {"state": service.finalize(person, upload_id)}


@router.delete("/uploads/{upload_id}", status_code=202)
def delete(
    service: ServiceOf, person: PersonOf, upload_id: Id, confirm: Annotated[str, Query(max_length=200)] = ""
) -> dict[str, str]:
    """Delete an upload, or ask the maintainers to if a pull request names its data."""
    return {"state": service.delete(person, upload_id, confirm)}


@router.get("/uploads/{upload_id}/plugin")
def plugin(service: ServiceOf, person: PersonOf, upload_id: Id) -> dict[str, Any]:
    """Return the files of the finished data plugin, and where its data are."""
    files, result = service.plugin(person, upload_id)
    return {"files": files, "result": result}


@router.get("/uploads/{upload_id}/plugin.zip")
def plugin_zip(service: ServiceOf, person: PersonOf, upload_id: Id) -> Response:
    """Return the finished data plugin as a zip file, as `submission` takes it."""
    upload = service.upload(person, upload_id)
    content = contributing.zip_of(upload.identifier, service.plugin(person, upload_id)[0])
    headers = {"Content-Disposition": 'attachment; filename="plugin.zip"'}
    return Response(content, media_type="application/zip", headers=headers)


@router.get("/uploads/{upload_id}/data/{name}")
def data(service: ServiceOf, person: PersonOf, upload_id: Id, name: str) -> RedirectResponse:
    """Redirect to a published file, for a minute."""
    return RedirectResponse(service.download(person, upload_id, name), status_code=303)


@router.post("/uploads/{upload_id}/pull-request")
def pull_request(service: ServiceOf, person: PersonOf, upload_id: Id) -> dict[str, str]:
    """Open a pull request with the finished data plugin."""
    return {"url": contributing.open_plugin(service, person, upload_id)}


@router.post("/uploads/{upload_id}/review")
def review(service: ServiceOf, person: PersonOf, upload_id: Id, body: ReviewBody) -> dict[str, str]:
    """Approve an upload, or ask for changes."""
    return {"state": service.review(person, upload_id, body.verdict, body.message)}


@router.post("/submissions")
def submit(service: ServiceOf, person: PersonOf, file: UploadFile) -> dict[str, Any]:
    """Inspect a zip file with plugins; nothing of it is run, and nothing is opened yet."""
    content = file.file.read(contributing.MOST_ZIP_BYTES + 1)
    return contributing.inspect(service, person, file.filename or "plugin.zip", content)


@router.get("/submissions")
def submissions(service: ServiceOf, person: PersonOf) -> dict[str, Any]:
    """Return one's own submitted zip files."""
    return {"submissions": [contributing.described(zip_file) for zip_file in service.zip_files(person)]}


@router.post("/submissions/{submission_id}/open")
def open_submission(
    service: ServiceOf, person: PersonOf, submission_id: Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
) -> dict[str, Any]:
    """Open a pull request for each plugin of an inspected zip file, data first."""
    return {"urls": contributing.open_zip(service, person, submission_id)}
