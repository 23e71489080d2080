"""Show the portal in a browser; only sending files needs a script."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI, Form, Request, UploadFile
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from sqlalchemy import func, select
from starlette.exceptions import HTTPException

from brainscore_web.portal import contributing, sign_in
from brainscore_web.portal.sign_in import ServiceOf, Visitor, VisitorOf, csrf_of, with_csrf
from brainscore_web.portal.states import RefusedError, refuse
from brainscore_web.portal.tables import AuditEntry, Person
from brainscore_web.portal.tables import UploadFile as StoredFile

if TYPE_CHECKING:
    from brainscore_web.portal.service import Service

router = APIRouter(include_in_schema=False)

_FOLDER = Path(__file__).parent
_SHARED = ("board.css", "pages.css", "core.js", "copying.js", "icon.svg")  # with the leaderboard
_ASSETS = {
    **{name: _FOLDER.parent / "leaderboard" / "static" / name for name in _SHARED},
    **{name: _FOLDER / "assets" / name for name in ("portal.css", "upload.js")},
}
_MOST_LINES = 500  # of the audit log
_HEADINGS = {
    400: "The portal cannot read this request",
    401: "Sign in first",
    403: "You do not have permission",
    404: "Page not found",
    409: "This conflicts with existing data",
    413: "This is too large",
    422: "Please correct the following",
    429: "Too many requests",
    503: "The portal is temporarily unavailable",
}
"""HTTP status -> heading above the problems."""


_PLACEHOLDER = re.compile(r"&lt;(?! )(?:(?!&[lg]t;)[^\n])+&gt;")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["iso"] = lambda seconds: datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    environment.filters |= {"of_kind": _of_kind, "marked": _marked}
    environment.globals |= {"folder_of": contributing.folder_of, "sums_of": _sums_of}
    return environment


def _of_kind(problems: Sequence[dict[str, str]] | None, kind: str) -> list[dict[str, str]]:
    """Return the hints (``'hint'``) of some problems, or the others (``'problem'``)."""
    return [problem for problem in problems or () if (problem.get("kind") == "hint") == (kind == "hint")]


def _sums_of(files: Mapping[str, Mapping[str, str]]) -> str:
    """Return the digests of published files as ``sha256sum --check`` reads them."""
    return "".join(f"{facts['sha256']}  {name}\n" for name, facts in files.items())


def _marked(text: str) -> Markup:
    """Return a text with its placeholders (between ``<`` and ``>`` in one line) marked."""
    return Markup(_PLACEHOLDER.sub(r"<mark>\g<0></mark>", str(escape(text))))  # noqa: S704 - escaped before


def _show(page: str, service: Service, visitor: Visitor, *, status: int = 200, **variables: Any) -> HTMLResponse:
    text = (
        _environment()
        .get_template(f"{page}.html")
        .render(
            page=page,
            person=visitor.person,
            csrf=csrf_of(service, visitor),
            demo=service.settings.demo,
            is_connected=service.settings.is_connected,
            public_url=service.settings.public_url,
            **variables,
        )
    )
    return HTMLResponse(text, status_code=status)


def mount(app: FastAPI) -> None:
    """Add the assets, by a closed list of names."""

    @app.get("/assets/{name}", include_in_schema=False)
    def asset(name: str) -> FileResponse:
        if name not in _ASSETS:
            raise HTTPException(404)
        return FileResponse(_ASSETS[name], headers={"Cache-Control": "no-cache"})


def error_page(request: Request, status: int, problems: Sequence[dict[str, str]]) -> Response:
    """Return a page with problems, each with its remedy."""
    service = sign_in.service_of(request)
    try:
        visitor = sign_in.visitor(request, service)
    except RefusedError:  # the database may be what fails
        visitor = Visitor(None, None)
    heading = _HEADINGS.get(status, "The portal refused this request" if status < 500 else "The portal failed")
    return _show("error", service, visitor, status=status, heading=heading, problems=problems)


def reader(request: Request, visitor: VisitorOf) -> Person:
    """Return who looks at a page; others are sent to sign in."""
    if visitor.person is None:
        raise HTTPException(303, headers={"Location": f"/?to={quote(str(request.url.path))}"})
    return visitor.person


def maintainer(person: Annotated[Person, Depends(reader)]) -> Person:
    """Return the maintainer who looks at a page, or refuse it."""
    if person.role != "maintainer":
        raise refuse(403, "this page is for maintainers")
    return person


Reader = Annotated[Person, Depends(reader)]
Maintainer = Annotated[Person, Depends(maintainer)]
Sender = Annotated[Person, Depends(with_csrf)]


# -- looking -----------------------------------------------------------------------------------------------------------


@router.get("/")
def home(service: ServiceOf, visitor: VisitorOf, to: str = "/") -> HTMLResponse:
    """Show one's uploads and zip files, or where to sign in."""
    if visitor.person is None:
        return _show("sign_in", service, visitor, after=to)
    me = {"used_bytes": service.used_of(visitor.person), "quota_bytes": service.quota_of(visitor.person)}
    uploads, zip_files = service.uploads(visitor.person), service.zip_files(visitor.person)
    submissions = [contributing.described(zip_file) for zip_file in zip_files]
    urls = [upload.pull_request for upload in uploads if upload.pull_request]
    urls += [url for submission in submissions for url in (submission["pull_requests"] or {}).get("urls", ())]
    return _show(
        "home",
        service,
        visitor,
        me=me,
        uploads=uploads,
        submissions=submissions,
        pulls=contributing.progress(service, urls),
        scores=contributing.scores(service, zip_files),
        terminals=sign_in.terminals_of(service, visitor.person),
        token_s=service.settings.token_s,
    )


@router.get("/new")
def new(service: ServiceOf, visitor: VisitorOf, _person: Reader) -> HTMLResponse:
    """Show the form that starts an upload."""
    return _show("new", service, visitor)


@router.get("/uploads/{upload_id}")
def upload(service: ServiceOf, visitor: VisitorOf, person: Reader, upload_id: str) -> HTMLResponse:
    """Show one upload, with its problems or its code."""
    found = service.upload(person, upload_id)
    return _show(
        "upload",
        service,
        visitor,
        upload=found,
        files=(found.result or {}).get("files", {}),
        code=service.plugin(person, upload_id)[0] if found.state == "published" else None,
        is_owner=found.owner_id == person.id,
        is_deletable=found.state not in ("validating", "deleted"),
        is_named=service.is_named(found),
    )


@router.get("/uploads/{upload_id}/files/{name}")
def download(service: ServiceOf, person: Reader, upload_id: str, name: str) -> RedirectResponse:
    """Redirect to a published file, for a minute."""
    return RedirectResponse(service.download(person, upload_id, name), status_code=303)


@router.get("/queue")
def queue(service: ServiceOf, visitor: VisitorOf, person: Maintainer) -> HTMLResponse:
    """Show what waits for a maintainer: reviews first, then requests for deletion."""
    found = [upload for upload in service.uploads(person, everybody=True) if upload.state != "deleted"]
    found.sort(key=lambda upload: (upload.state != "review", upload.deletion_wish is None))
    with service.session(only_reads=True) as session:
        query = select(StoredFile.upload_id, func.sum(StoredFile.size)).group_by(StoredFile.upload_id)
        sizes = {upload_id: int(size) for upload_id, size in session.execute(query)}
    return _show("queue", service, visitor, uploads=found, sizes=sizes)


@router.get("/audit")
def audit_log(service: ServiceOf, visitor: VisitorOf, _person: Maintainer) -> HTMLResponse:
    """Show the last lines of the audit log."""
    with service.session(only_reads=True) as session:
        entries = list(session.scalars(select(AuditEntry).order_by(AuditEntry.number.desc()).limit(_MOST_LINES)))
    return _show("audit", service, visitor, entries=entries)


@router.get("/device")
def device(service: ServiceOf, visitor: VisitorOf, request: Request) -> HTMLResponse:
    """Show the form that lets a terminal act for a person."""
    if visitor.person is None:
        return _show("sign_in", service, visitor, after=request.url.path)
    return _show("device", service, visitor, done=False)


@router.get("/submissions")
def submissions(service: ServiceOf, visitor: VisitorOf, _person: Reader) -> HTMLResponse:
    """Show the form that takes a zip file."""
    return _show("submissions", service, visitor)


@router.get("/submissions/{submission_id}")
def submission(service: ServiceOf, visitor: VisitorOf, person: Reader, submission_id: str) -> HTMLResponse:
    """Show the findings about a zip file."""
    found = next((zip_file for zip_file in service.zip_files(person) if zip_file.id == submission_id), None)
    if found is None:
        raise refuse(404, "this submission does not exist or is not yours", where=submission_id[:40])
    return _show("submission", service, visitor, zip=contributing.described(found))


# -- changing: forms, each with the token of the session ---------------------------------------------------------------


def _back(path: str) -> RedirectResponse:
    return RedirectResponse(path, status_code=303)


@router.post("/uploads/{upload_id}/delete")
def delete(
    service: ServiceOf, person: Sender, upload_id: str, confirm: Annotated[str, Form(max_length=200)] = ""
) -> RedirectResponse:
    """Delete an upload, or ask for its deletion."""
    identifier = service.upload(person, upload_id).identifier
    if confirm != identifier:
        raise refuse(
            422, "the repeated identifier does not match", where=confirm, expected=identifier, remedy="go back"
        )
    service.delete(person, upload_id, confirm if person.role == "maintainer" else "")
    return _back(f"/uploads/{upload_id}")


@router.post("/uploads/{upload_id}/pull-request")
def pull_request(service: ServiceOf, person: Sender, upload_id: str) -> RedirectResponse:
    """Open a pull request with the finished plugin."""
    contributing.open_plugin(service, person, upload_id)
    return _back(f"/uploads/{upload_id}#code")


@router.post("/uploads/{upload_id}/review")
def review(
    service: ServiceOf,
    person: Sender,
    upload_id: str,
    verdict: Annotated[str, Form(pattern="^(approve|changes)$")],
    message: Annotated[str, Form(max_length=2000)] = "",
) -> RedirectResponse:
    """Approve an upload, or ask for changes."""
    service.review(person, upload_id, verdict, message)
    return _back("/queue")


@router.post("/device")
def allow(
    service: ServiceOf, visitor: VisitorOf, person: Sender, user_code: Annotated[str, Form(max_length=20)]
) -> HTMLResponse:
    """Let the terminal that shows a code act for a person."""
    sign_in.allow_device(service, person, user_code)
    return _show("device", service, visitor, done=True)


@router.post("/terminals/{name}/revoke")
def revoke(service: ServiceOf, person: Sender, name: str) -> RedirectResponse:
    """End the token of one's own terminal."""
    sign_in.revoke(service, person, name)
    return _back("/")


@router.post("/submissions")
def submit(service: ServiceOf, person: Sender, archive: UploadFile) -> RedirectResponse:
    """Inspect a zip file."""
    content = archive.file.read(contributing.MOST_ZIP_BYTES + 1)
    report = contributing.inspect(service, person, archive.filename or "plugin.zip", content)
    return _back(f"/submissions/{report['id']}")


@router.post("/submissions/{submission_id}/open")
def open_pull_requests(service: ServiceOf, person: Sender, submission_id: str) -> RedirectResponse:
    """Open the pull requests of an inspected zip file, data first."""
    contributing.open_zip(service, person, submission_id)
    return _back(f"/submissions/{submission_id}")
