"""Sign people in, in browsers and at terminals, and say who makes a request."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from typing import Annotated, Any

import httpx
from authlib.integrations.base_client import OAuthError
from authlib.integrations.starlette_client import OAuth
from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse
from sqlalchemy import ColumnElement, delete, func, select

from brainscore_web.portal import audit
from brainscore_web.portal.service import Service
from brainscore_web.portal.states import refuse
from brainscore_web.portal.tables import Device, Person, SignIn

COOKIE = "__Host-session"
_SAFE = ("GET", "HEAD", "OPTIONS")
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels: codes spell nothing

_NAME_DIGITS = 16
"""Digits of a token's digest that name the token; they are not secret."""

_OF_TERMINALS = {
    ("GET", "/api/v1/me"),
    ("POST", "/api/v1/uploads"),
    ("POST", "/api/v1/uploads/{upload_id}/finalize"),
    *(("POST", f"/api/v1/uploads/{{upload_id}}/files/{{number}}/{step}") for step in ("parts", "complete")),
    *(("GET", f"/api/v1/uploads/{{upload_id}}{what}") for what in ("", "/plugin")),
}
"""Methods and routes that a token allows: to upload, and to follow the upload."""

router = APIRouter(include_in_schema=False)


class Visitor:
    """Who makes a request: a person, and the secret of the session in a browser."""

    def __init__(self, person: Person | None, session_secret: str | None) -> None:
        self.person, self.session_secret = person, session_secret


def make_oauth(service: Service) -> OAuth:
    """Return the client of the provider."""
    settings, oauth = service.settings, OAuth()
    oauth.register(
        "provider",
        client_id=settings.client_id,
        client_secret=settings.client_secret,
        authorize_url=settings.authorize_url,
        access_token_url=settings.token_url,
        client_kwargs={"code_challenge_method": "S256", "timeout": 10},
    )
    return oauth


def service_of(request: Request) -> Service:
    """Return the service of the app that a request came to."""
    service: Service = request.app.state.service
    return service


ServiceOf = Annotated[Service, Depends(service_of)]


def visitor(request: Request, service: ServiceOf) -> Visitor:
    """Return who makes a request; requests that change something must come from our own pages, or with a token."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        person = _person_of(service, token, "token")
        if person is None:
            raise refuse(401, "the token is unknown or has expired", where="Authorization", remedy="sign in again")
        if (request.method, getattr(request.scope.get("route"), "path", "")) not in _OF_TERMINALS:
            raise refuse(
                403, "a terminal may only upload", remedy=f"do this in a browser at {service.settings.public_url}"
            )
        person.role = "contributor"  # to upload needs no more
        return Visitor(person, None)
    secret = request.cookies.get(COOKIE)
    person = _person_of(service, secret, "session") if secret else None
    return Visitor(person, secret if person else None)


VisitorOf = Annotated[Visitor, Depends(visitor)]


def signed_in(request: Request, service: ServiceOf, visitor: VisitorOf) -> Person:
    """Return the person of an API call, or refuse it; cookies without a token change nothing."""
    if visitor.person is None:
        raise refuse(401, "you are not signed in", remedy=f"sign in at {service.settings.public_url}/sign-in")
    if visitor.session_secret is not None and request.method not in _SAFE:
        check_csrf(service, visitor, request.headers.get("X-CSRF-Token", ""))
    return visitor.person


def with_csrf(service: ServiceOf, visitor: VisitorOf, csrf: Annotated[str, Form()] = "") -> Person:
    """Return the person who sent a form of ours, or refuse it."""
    if visitor.person is None:
        raise refuse(401, "you are not signed in", remedy=f"sign in at {service.settings.public_url}/sign-in")
    check_csrf(service, visitor, csrf)
    return visitor.person


def csrf_of(service: Service, visitor: Visitor) -> str:
    """Return the token that forms of a session must send; empty without a session."""
    if not visitor.session_secret:
        return ""
    return hmac.new(service.settings.secret.encode(), visitor.session_secret.encode(), "sha256").hexdigest()


def check_csrf(service: Service, visitor: Visitor, token: str) -> None:
    """Refuse a request that does not prove that it comes from our own page."""
    if not hmac.compare_digest(csrf_of(service, visitor).encode() or b"-", token.encode()):
        raise refuse(403, "the request does not come from a page of this portal", remedy="reload the page")


# -- browsers ----------------------------------------------------------------------------------------------------------


@router.get("/sign-in")
async def sign_in(request: Request, service: ServiceOf, to: str = "/") -> Any:
    """Send a browser to the provider."""
    request.session["to"] = to if to.startswith("/") and not to.startswith(("//", "/\\")) else "/"
    oauth = request.app.state.oauth
    return await oauth.provider.authorize_redirect(request, f"{service.settings.public_url}/signed-in")


@router.get("/signed-in")
async def signed_in_there(request: Request, service: ServiceOf) -> RedirectResponse:
    """Take a browser back from the provider, and give it a new session."""
    try:
        token = await request.app.state.oauth.provider.authorize_access_token(request)
        async with httpx.AsyncClient(timeout=10) as client:
            headers = {"Authorization": f"Bearer {token['access_token']}", "Accept": "application/json"}
            answer = await client.get(service.settings.person_url, headers=headers)
            account = answer.raise_for_status().json()
        subject, login = str(int(account["id"])), str(account["login"])[:80]
    except OAuthError as error:
        raise refuse(403, f"the sign-in was not completed ({error.error[:80]})", remedy="sign in again") from error
    except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
        what = f"the sign-in provider gave an unexpected answer ({type(error).__name__})"
        raise refuse(503, what, remedy="sign in again later", retry_s=10) from error
    person = welcome(service, subject, login)
    _forget(service, request.cookies.get(COOKIE, ""))
    answer_ = RedirectResponse(request.session.pop("to", "/"), status_code=303)
    secret = issue(service, person, "session")
    answer_.set_cookie(
        COOKIE, secret, max_age=service.settings.session_s, path="/", secure=True, httponly=True, samesite="lax"
    )
    request.session.clear()
    return answer_


@router.post("/sign-out")
def sign_out(
    service: ServiceOf, visitor: VisitorOf, _person: Annotated[Person, Depends(with_csrf)]
) -> RedirectResponse:
    """End a session, also on the server."""
    _forget(service, visitor.session_secret or "")
    answer = RedirectResponse("/", status_code=303, headers={"Clear-Site-Data": '"cache", "storage"'})
    answer.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="lax")
    return answer


def _forget(service: Service, secret: str) -> None:
    with service.session() as session:
        session.execute(delete(SignIn).where(SignIn.digest == _digest(secret)))


def welcome(service: Service, subject: str, login: str) -> Person:
    """Return the person of an account, made at the first sign-in."""
    with service.session() as session:
        person = session.scalars(select(Person).where(Person.subject == subject)).first()
        if person is None:
            person = Person(subject=subject, login=login)
            session.add(person)
        has_name = func.lower(Person.login) == login.lower(), Person.subject != subject
        for former in session.scalars(select(Person).where(*has_name)):
            former.login = f"#{former.subject}"  # GitHub gave the name of their account to somebody else
        person.login, person.role = login, _role_of(service, subject)
        session.flush()
        audit.append(session, time.time(), person.id, "sign in", str(person.id))
    return person


def issue(service: Service, person: Person, kind: str) -> str:
    """Return the secret of a new session or token."""
    secret = secrets.token_urlsafe(32)
    seconds = service.settings.session_s if kind == "session" else service.settings.token_s
    with service.session() as session:
        session.add(SignIn(digest=_digest(secret), person_id=person.id, kind=kind, expires=time.time() + seconds))
    return secret


def _person_of(service: Service, secret: str, kind: str) -> Person | None:
    with service.session(only_reads=True) as session:
        found = session.get(SignIn, _digest(secret))
    if found is None or found.kind != kind or found.expires <= time.time():
        return None
    person = found.person
    person.role = _role_of(service, person.subject)  # sessions do not outlive the listing
    return person


def _role_of(service: Service, subject: str) -> str:
    # By number alone: a login that its owner gave up may be somebody else's by now.
    maintainers = {name.strip() for name in service.settings.maintainers.split(",")}
    return "maintainer" if f"#{subject}" in maintainers else "contributor"


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


# -- terminals ---------------------------------------------------------------------------------------------------------


def start_device(service: Service) -> dict[str, Any]:
    """Return a terminal's secret code, and one to enter in a browser."""
    device_code = secrets.token_urlsafe(32)
    letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
    user_code, seconds = f"{letters[:4]}-{letters[4:]}", service.settings.device_s
    with service.session() as session:
        session.execute(delete(Device).where(Device.expires < time.time()))
        session.add(Device(digest=_digest(device_code), user_code=user_code, expires=time.time() + seconds))
    return {
        "device_code": device_code,
        "user_code": user_code,
        # Without the code: who is sent a link with it would sign in the terminal of the sender.
        "verification_uri": f"{service.settings.public_url}/device",
        "interval": 2,
        "expires_in": seconds,
    }


def allow_device(service: Service, person: Person, user_code: str) -> None:
    """Let a terminal act for a person who entered its code."""
    code = "".join(letter for letter in user_code.upper() if letter in _LETTERS)
    with service.session() as session:
        query = select(Device).where(Device.user_code == f"{code[:4]}-{code[4:]}", Device.person_id.is_(None))
        device = session.scalars(query).first()
        if device is None or device.expires < time.time():
            remedy = "start again at the terminal"
            raise refuse(422, "the code is unknown, already used or expired", where="code", remedy=remedy)
        device.person_id = person.id
        audit.append(session, time.time(), person.id, "allow a terminal", str(person.id))


def take_token(service: Service, device_code: str) -> dict[str, Any]:
    """Return the token of a terminal once its code was entered; 428 until then."""
    with service.session() as session:
        device = session.get(Device, _digest(device_code), with_for_update=True)
        if device is None or device.expires < time.time():
            raise refuse(400, "the device code is unknown, already used or expired", remedy="start again")
        if device.person_id is None:
            raise refuse(428, "the code has not been entered yet", remedy="enter it in a browser", retry_s=2)
        person = session.get_one(Person, device.person_id)
        session.delete(device)
    return {"token": issue(service, person, "token"), "expires": time.time() + service.settings.token_s}


def terminals_of(service: Service, person: Person) -> dict[str, float]:
    """Return the names of the tokens of terminals that act for a person, and when they expire, the last one first."""
    with service.session(only_reads=True) as session:
        query = select(SignIn).where(*_tokens_of(person), SignIn.expires > time.time())
        tokens = session.scalars(query.order_by(SignIn.expires.desc()))
        return {token.digest[:_NAME_DIGITS]: token.expires for token in tokens}


def revoke(service: Service, person: Person, name: str) -> None:
    """End the token of a person's terminal; its name is the start of the token's digest."""
    with service.session() as session:
        row = *_tokens_of(person), func.substr(SignIn.digest, 1, _NAME_DIGITS) == name
        ended: Any = session.execute(delete(SignIn).where(*row))
        if not ended.rowcount:
            raise refuse(404, "this terminal does not exist or is not yours", where=name[:40])
        audit.append(session, time.time(), person.id, "revoke a terminal", str(person.id))


def _tokens_of(person: Person) -> tuple[ColumnElement[bool], ...]:
    return SignIn.person_id == person.id, SignIn.kind == "token"
