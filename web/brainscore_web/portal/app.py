"""Put the portal together: routes, pages, rules for every request."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import sqlalchemy
from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.middleware.sessions import SessionMiddleware

from brainscore_core.errors import BrainScoreError
from brainscore_web.portal import contributing, pages, sign_in
from brainscore_web.portal.objects import Objects
from brainscore_web.portal.service import Service
from brainscore_web.portal.sign_in import ServiceOf, signed_in
from brainscore_web.portal.states import RefusedError, count_parts, problem_of
from brainscore_web.portal.tables import Person, Upload, open_engine
from brainscore_web.portal.tables import UploadFile as StoredFile

if TYPE_CHECKING:
    from brainscore_web.portal.settings import PortalSettings

# -- Define the JSON interface of the portal, below ``/api/v1`` --------------------------------------------------------

router = APIRouter(prefix="/api/v1")

PersonOf = Annotated[Person, Depends(signed_in)]
Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
Number = Annotated[int, Path(ge=1, le=100_000)]


class Body(BaseModel):
    """Base of request bodies, which refuse undeclared fields."""

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


# -- the application ---------------------------------------------------------------------------------------------------

_MOST_BODY_BYTES = 4 * 2**20
_MOST_ZIP_BODY_BYTES = 32 * 2**20
_LIMITED = {
    ("GET", "/sign-in"),
    ("POST", "/device"),
    ("POST", "/submissions"),
    *(("POST", f"/api/v1/{name}") for name in ("device", "device/token", "uploads", "submissions")),
}
_logger = logging.getLogger("brainscore.portal")


def make_service(settings: PortalSettings) -> Service:
    """Return the service of a portal."""
    return Service(settings, open_engine(settings.database), Objects(settings))


def make_app(service: Service) -> FastAPI:
    """Return the application of a portal."""
    settings = service.settings
    app = FastAPI(title="Brain-Score portal", version="1", docs_url=None, redoc_url=None)
    app.state.service, app.state.oauth = service, sign_in.make_oauth(service)
    for routes in (router, sign_in.router, pages.router):
        app.include_router(routes)
    pages.mount(app)
    _handle_errors(app)
    _observe(app, service)
    app.add_middleware(
        SessionMiddleware,
        secret_key=settings.secret,
        session_cookie="__Host-sign-in",
        max_age=600,
        same_site="lax",
        https_only=True,
    )
    app.middleware("http")(_guard(settings))
    return app


def _guard(settings: PortalSettings) -> Callable[[Request, Any], Awaitable[Response]]:
    """Return the middleware that refuses strange hosts, origins and sizes, and sends policies."""
    storage = settings.browser_s3 or "https://*.amazonaws.com"
    parts = urlsplit(settings.public_url)
    origin = f"{parts.scheme}://{parts.netloc}"
    headers = {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            f"connect-src 'self' {storage}; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "
            "require-trusted-types-for 'script'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
        **({"Strict-Transport-Security": "max-age=31536000"} if parts.scheme == "https" else {}),
    }

    limiter, most = MovingWindowRateLimiter(MemoryStorage()), RateLimitItemPerMinute(settings.most_tries or 1)

    def waits_s(request: Request) -> int | None:
        """Return after how many seconds an address may ask again; None: at once."""
        route = request.method, request.url.path
        caller = (*route, request.client.host if request.client else "")
        if not settings.most_tries or route not in _LIMITED or limiter.hit(most, *caller):
            return None
        return max(1, round(limiter.get_window_stats(most, *caller).reset_time - time.time()))

    async def guard(request: Request, call_next: Any) -> Response:
        if (problem := _refusal(request, settings.host, origin)) is not None:
            answer: Response = _answer(*problem)
        elif (wait_s := waits_s(request)) is not None:
            what = "too many requests from this address"
            answer = _answer(429, problem_of(what, request.url.path, f"{most}", "try again later"), retry_s=wait_s)
        else:
            answer = await call_next(request)
        answer.headers.update(headers)
        if not request.url.path.startswith("/assets/"):
            answer.headers["Cache-Control"] = "no-store"
        return answer

    return guard


def _refusal(request: Request, host: str, origin: str) -> tuple[int, dict[str, str]] | None:
    if request.url.path != "/healthz" and request.headers.getlist("host") != [host]:
        return 421, problem_of("this portal does not serve that host", "Host", host)
    if request.headers.get("Origin", origin) != origin:
        return 403, problem_of("requests from other sites are refused", "Origin", origin)
    is_zip = request.url.path in ("/api/v1/submissions", "/submissions")
    most_bytes = _MOST_ZIP_BODY_BYTES if is_zip else _MOST_BODY_BYTES
    stated = request.headers.get("Content-Length", "0")
    if not stated.isascii() or not stated.isdigit() or int(stated) > most_bytes:
        return 413, problem_of("the request is too large", "Content-Length", f"at most {most_bytes:,} bytes")
    if "Transfer-Encoding" in request.headers:
        return 411, problem_of("the request does not state its length", "Content-Length", "a number of bytes")
    return None


def _answer(status: int, *problems: dict[str, str], retry_s: int | None = None) -> JSONResponse:
    headers = {} if retry_s is None else {"Retry-After": str(retry_s)}
    return JSONResponse({"problems": list(problems)}, status_code=status, headers=headers)


def _handle_errors(app: FastAPI) -> None:
    def answer_for(
        request: Request, status: int, problems: list[dict[str, str]], retry_s: int | None = None
    ) -> Response:
        if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("Accept", ""):
            return _answer(status, *problems, retry_s=retry_s)
        return pages.error_page(request, status, problems)

    @app.exception_handler(RefusedError)
    def refused(request: Request, error: RefusedError) -> Response:
        return answer_for(request, error.status, error.problems, error.retry_s)

    @app.exception_handler(BrainScoreError)
    def failed(request: Request, error: BrainScoreError) -> Response:
        return answer_for(request, 422, [problem_of(str(error))])

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        problems = [
            problem_of(entry["msg"][:200], ".".join(map(str, entry["loc"]))[:200]) for entry in error.errors()[:50]
        ]
        return answer_for(request, 422, problems)

    @app.exception_handler(HTTPException)
    def unknown(request: Request, error: HTTPException) -> Response:
        response = answer_for(request, error.status_code, [problem_of(str(error.detail), request.url.path[:200])])
        response.headers.update(error.headers or {})
        return response


def _observe(app: FastAPI, service: Service) -> None:
    """Add health, metrics and a log line for each request, without addresses, names or identifiers."""
    registry = CollectorRegistry()
    requests = Counter("portal_requests", "Requests", ["method", "route", "status"], registry=registry)
    seconds = Histogram("portal_request_seconds", "Duration of requests", ["route"], registry=registry)
    uploads = Gauge("portal_uploads", "Uploads", ["state"], registry=registry)

    @app.get("/healthz", include_in_schema=False)
    def healthz() -> dict[str, str]:
        with service.session(only_reads=True) as session:
            session.execute(sqlalchemy.select(1))
        service.objects.check()
        return {"status": "ok"}

    @app.get("/metrics", include_in_schema=False)
    def metrics(request: Request) -> PlainTextResponse:
        token, given = service.settings.metrics_token, request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not token or not secrets.compare_digest(token.encode(), given.encode()):
            raise HTTPException(404)  # as for an address that does not exist
        with service.session(only_reads=True) as session:
            query = sqlalchemy.select(Upload.state, sqlalchemy.func.count()).group_by(Upload.state)
            for state, number in session.execute(query):
                uploads.labels(state).set(number)
        return PlainTextResponse(generate_latest(registry).decode(), media_type="text/plain; version=0.0.4")

    @app.middleware("http")
    async def observe(request: Request, call_next: Any) -> Response:
        started, number = time.perf_counter(), secrets.token_hex(4)
        try:
            answer: Response = await call_next(request)
        except Exception:
            _logger.exception("request %s failed", number)
            answer = _answer(500, problem_of(f"the portal failed; report the number {number} to the maintainers"))
        route = getattr(request.scope.get("route"), "path", "none")
        taken = time.perf_counter() - started
        requests.labels(request.method if request.method.isalpha() else "other", route, answer.status_code).inc()
        seconds.labels(route).observe(taken)
        facts = {"request": number, "method": request.method[:10], "route": route, "status": answer.status_code}
        _logger.info("%s", json.dumps({**facts, "ms": round(taken * 1000, 1)}))
        return answer
