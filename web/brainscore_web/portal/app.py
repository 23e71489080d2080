"""Put the portal together: routes, pages, rules for every request."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import sqlalchemy
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.exceptions import HTTPException
from starlette.middleware.sessions import SessionMiddleware

from brainscore_core.errors import BrainScoreError
from brainscore_web.portal import api, pages, sign_in
from brainscore_web.portal.objects import Objects
from brainscore_web.portal.service import Service
from brainscore_web.portal.states import RefusedError, problem_of
from brainscore_web.portal.tables import Upload, open_engine

if TYPE_CHECKING:
    from brainscore_web.portal.settings import PortalSettings

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
    for router in (api.router, sign_in.router, pages.router):
        app.include_router(router)
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
            what = "this address asks too often"
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
        return 421, problem_of("this portal does not answer for that host", "Host", host)
    if request.headers.get("Origin", origin) != origin:
        return 403, problem_of("requests of other sites are refused", "Origin", origin)
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
            answer = _answer(500, problem_of(f"the portal failed; tell the maintainers the number {number}"))
        route = getattr(request.scope.get("route"), "path", "none")
        taken = time.perf_counter() - started
        requests.labels(request.method if request.method.isalpha() else "other", route, answer.status_code).inc()
        seconds.labels(route).observe(taken)
        facts = {"request": number, "method": request.method[:10], "route": route, "status": answer.status_code}
        _logger.info("%s", json.dumps({**facts, "ms": round(taken * 1000, 1)}))
        return answer
