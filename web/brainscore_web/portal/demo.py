"""Run an S3 in memory, and accounts without passwords."""

from __future__ import annotations

import base64
import calendar
import hashlib
import hmac
import io
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import boto3
import uvicorn
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from fastapi import FastAPI, Form, Header, HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse

KEYS = {"AWS_ACCESS_KEY_ID": "demo", "AWS_SECRET_ACCESS_KEY": "demo-secret", "AWS_DEFAULT_REGION": "us-east-1"}
"""Credentials of the S3 in memory, as environment variables."""

_FORM = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in to the demonstration</title>
<main><h1>Sign in to the demonstration</h1><p>Any name will do; <code>maintainer</code> reviews uploads.</p>
<form method="post"><label>Name <input name="login" required pattern="[A-Za-z0-9\\-]{1,39}" value="contributor"></label>
<button>Sign in</button></form></main></html>"""

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


@contextmanager
def storage(public_bucket: str, *buckets: str, port: int = 0) -> Iterator[str]:
    """Serve S3 from memory within the block, with empty buckets that keep versions; give its address.

    It refuses what S3 refuses: bytes with another SHA-256 than was signed, URLs that were changed or have expired, and
    requests without a signature, except for downloads from the public bucket.
    """
    from moto.moto_server.werkzeug_app import (  # heavy: start-up of every command
        DomainDispatcherApplication,
        create_backend_app,
    )
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    backend = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", port, checked(backend, public_bucket), threaded=True)
    address = f"http://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        client = boto3.client(
            "s3",
            endpoint_url=address,
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            region_name=KEYS["AWS_DEFAULT_REGION"],
        )
        for bucket in (public_bucket, *buckets):
            client.create_bucket(Bucket=bucket)
            client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        yield address
    finally:
        server.shutdown()
        thread.join()


def checked(application: Application, public_bucket: str) -> Application:
    """Return a WSGI application that refuses what S3 refuses, then asks another."""

    def check(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        why = _refusal(environ, public_bucket)
        if why is None:
            return application(environ, start_response)
        origin = ("Access-Control-Allow-Origin", "*")
        start_response(why[0], [("Content-Type", "application/xml"), origin])
        code, _, message = why[1].partition(": ")
        return [f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message or code}</Message></Error>".encode()]

    return check


def _refusal(environ: dict[str, Any], public_bucket: str) -> tuple[str, str] | None:
    method, query = environ["REQUEST_METHOD"], dict(parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True))
    if method == "OPTIONS" or environ["PATH_INFO"].startswith("/moto-api/"):
        return None
    stated = environ.get("HTTP_X_AMZ_CHECKSUM_SHA256")
    if "X-Amz-Signature" in query:
        signed_at = time.strptime(query["X-Amz-Date"] + "UTC", "%Y%m%dT%H%M%SZ%Z")
        if time.time() > calendar.timegm(signed_at) + int(query["X-Amz-Expires"]):
            return "403 Forbidden", "AccessDenied: Request has expired"
        if not hmac.compare_digest(_signature(environ, query), query["X-Amz-Signature"]):
            return "403 Forbidden", "SignatureDoesNotMatch"
    elif "HTTP_AUTHORIZATION" not in environ:
        is_download = method in ("GET", "HEAD") and environ["PATH_INFO"].startswith(f"/{public_bucket}/")
        if not is_download:
            return "403 Forbidden", "AccessDenied"
        scope = f"{KEYS['AWS_ACCESS_KEY_ID']}/20260101/{KEYS['AWS_DEFAULT_REGION']}/s3/aws4_request"
        # The application behind would refuse it; everybody may download, as decided above.
        environ["HTTP_AUTHORIZATION"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
    if stated is not None and method == "PUT":
        content = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(content)
        if base64.b64encode(hashlib.sha256(content).digest()).decode() != stated:
            return "400 Bad Request", "BadDigest"
    return None


def _signature(environ: dict[str, Any], query: dict[str, str]) -> str:
    unsigned = {name: value for name, value in query.items() if name != "X-Amz-Signature"}
    names = {"content-length": "CONTENT_LENGTH", "content-type": "CONTENT_TYPE"}
    wanted = query.get("X-Amz-SignedHeaders", "").split(";")
    headers = {name: environ.get(names.get(name, f"HTTP_{name.upper().replace('-', '_')}"), "") for name in wanted}
    path = quote(environ["PATH_INFO"].encode("latin-1"), safe="/~")
    url = f"http://{environ['HTTP_HOST']}{path}?{urlencode(unsigned, quote_via=quote)}"
    request = AWSRequest(method=environ["REQUEST_METHOD"], url=url, headers=headers)
    request.context["timestamp"] = query["X-Amz-Date"]
    scope = query["X-Amz-Credential"].split("/")
    auth = _Auth(Credentials(KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"]), "s3", scope[2])
    return auth.signature_of(request)


class _Auth(S3SigV4QueryAuth):
    """Signs a request that has all its parameters already."""

    def signature_of(self, request: AWSRequest) -> str:
        """Return the signature of a request."""
        return str(self.signature(self.string_to_sign(request, self.canonical_request(request)), request))


# -- accounts ----------------------------------------------------------------------------------------------------------


def make_provider(portal: str, client_id: str, client_secret: str) -> FastAPI:
    """Return an OAuth provider (authorization code with PKCE) that believes any name."""
    app, codes, tokens = FastAPI(), dict[str, tuple[str, str]](), dict[str, str]()

    @app.get("/authorize", response_class=HTMLResponse)
    def ask() -> str:
        return _FORM

    @app.post("/authorize")
    def allow(
        login: str = Form(max_length=39), redirect_uri: str = "", state: str = "", code_challenge: str = ""
    ) -> RedirectResponse:
        if redirect_uri != f"{portal}/signed-in":
            raise HTTPException(400, "redirect_uri does not belong to the portal")
        code = secrets.token_urlsafe(16)
        codes[code] = (login, code_challenge)
        return RedirectResponse(f"{redirect_uri}?{urlencode({'code': code, 'state': state})}", status_code=303)

    @app.post("/token")
    def token(code: str = Form(""), code_verifier: str = Form(""), authorization: str = Header("")) -> dict[str, str]:
        expected = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
        login, challenge = codes.pop(code, ("", ""))
        digest = base64.urlsafe_b64encode(hashlib.sha256(code_verifier.encode()).digest()).rstrip(b"=").decode()
        if not login or authorization != f"Basic {expected}" or (challenge and challenge != digest):
            raise HTTPException(400, "invalid_grant")
        access = secrets.token_urlsafe(16)
        tokens[access] = login
        return {"access_token": access, "token_type": "bearer"}

    @app.get("/user")
    def user(authorization: str = Header("")) -> dict[str, Any]:
        login = tokens.get(authorization.removeprefix("Bearer "))
        if login is None:
            raise HTTPException(401, "unknown token")
        return {"id": number_of(login), "login": login}

    return app


def number_of(login: str) -> int:
    """Return the number of an account of this provider."""
    return int.from_bytes(hashlib.sha256(login.casefold().encode()).digest()[:4], "big")


@contextmanager
def serving(app: Any, host: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """Serve an application in a thread within the block; give its port."""
    server = uvicorn.Server(uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise OSError(f"Port {port} of {host} cannot be used.")
        time.sleep(0.01)
    try:
        yield int(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
