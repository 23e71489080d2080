"""Talk to a portal: sign in, call its API, and try again what may pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from brainscore_core.errors import ConfigurationError, UploadError
from brainscore_web.upload.decisions import pause_before_retry
from brainscore_web.upload.tokens import write_token

_PENDING, _UNAUTHORIZED = 428, 401
_SILENT_S = 60.0
_SHOWN = 2_000  # characters of an answer
_LOCAL = ("localhost", "127.0.0.1", "::1")


def make_client(**options: Any) -> httpx.Client:
    """Return a client for a few threads; one for S3 must not hold the token of a portal."""
    return httpx.Client(timeout=httpx.Timeout(_SILENT_S, connect=20), headers={"User-Agent": "brainscore"}, **options)


def attempts(send: Callable[[], httpx.Response], what: str) -> httpx.Response:
    """Return the first answer that is final, trying again as `pause_before_retry` says.

    Raises `UploadError` if there is no connection; `what` names the request.
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
                    f"{what} failed: {error or type(error).__name__}. {attempt} attempts were made. What has arrived "
                    "is kept: run the same command again to continue."
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
            raise ConfigurationError(f"{address!r} is no address of a portal; expected https://...")
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
        raise UploadError(f"Nobody entered the code {device['user_code']} in time. Run the command again.")


def _problems(answer: httpx.Response) -> str:
    try:
        problems = answer.json()["problems"]
        return "; ".join(
            " ".join(f"{problem[part]}" for part in ("where", "what", "expected", "remedy") if problem.get(part))
            for problem in problems
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return answer.text[:_SHOWN] or answer.reason_phrase
