"""Try to access others' uploads, to act on their behalf, and to leave the folders of the portal."""

import base64
import hashlib
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from brainscore_core.errors import ConfigurationError
from brainscore_web.portal import app, contributing, demo, pages, serving, sign_in
from brainscore_web.portal.app import make_app, make_service
from brainscore_web.portal.settings import PREFIX, PortalSettings
from brainscore_web.portal.states import UploadLimits, check_files, refuse

SMALL = {"b.csv": b"b" * 10}
CHECKLIST = Path(__file__).parents[3] / "docs" / "explanation" / "portal_security.md"
N_REQUIREMENTS = 70  # of level 1 of ASVS 5.0.0
TEST = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)
LIMITS = UploadLimits(most_files=3, most_file_bytes=100, part_bytes=10, left_bytes=150)


@pytest.fixture(scope="module")
def scene(s3, tmp_path_factory, serve_module):
    """Return a portal with Eve, and Ada who has an upload in progress and a published private one."""
    with serve_module(s3, tmp_path_factory.mktemp("attacks")) as portal:
        ada, eve = portal.caller("ada"), portal.caller("eve")
        private = ada.upload("Private2026", SMALL, "private")
        portal.work()
        upload = ada.announce("Mine2026", SMALL).json()
        [(entry, part)] = ada.urls(upload, upload["files"][0], SMALL["b.csv"])
        yield {
            "portal": portal,
            "ada": ada,
            "eve": eve,
            "id": upload["id"],
            "private": private,
            "url": entry["url"],
            "headers": entry["headers"],
            "part": part,
        }


PARTS = {"parts": [{"number": 1, "sha256": base64.b64encode(bytes(32)).decode()}]}
REQUESTS = {
    "read": ("GET", "uploads/{id}", None, 404),
    "sign parts": ("POST", "uploads/{id}/files/1/parts", PARTS, 404),
    "complete": ("POST", "uploads/{id}/files/1/complete", None, 404),
    "finalize": ("POST", "uploads/{id}/finalize", None, 404),
    "delete": ("DELETE", "uploads/{id}?confirm=Mine2026", None, 404),
    "read a private plugin": ("GET", "uploads/{private}/plugin", None, 404),
    "download private data": ("GET", "uploads/{private}/data/b.csv", None, 404),
    "open a pull request": ("POST", "uploads/{private}/pull-request", None, 404),
    "review": ("POST", "uploads/{id}/review", {"verdict": "approve"}, 403),
    "list everybody's": ("GET", "uploads?all=1", None, 403),
    "leave the path": ("GET", "uploads/..%2f..%2fetc%2fpasswd", None, 404),
    "an id that is SQL": ("GET", "uploads/' OR '1'='1", None, 422),
    "open a submission": ("POST", "submissions/{id}/open", None, 404),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_uploads_of_others_cannot_be_accessed(scene, name):
    method, path, body, status = REQUESTS[name]
    before = scene["ada"].get(f"uploads/{scene['id']}").json()
    for person, expected in ((scene["eve"], status), (httpx.Client(base_url=scene["eve"].base_url), 401)):
        answer = person.request(method, path.format(**scene), json=body)
        assert answer.status_code in {expected, 422 if status == 422 else expected, 404 if status == 404 else expected}
        assert answer.json()["problems"]
    assert scene["ada"].get(f"uploads/{scene['id']}").json() == before


def swapped(url, name, value):
    return re.sub(rf"({name}=)[^&]+", rf"\g<1>{value}", url)


STORAGE = {
    "another part": lambda scene: swapped(scene["url"], "partNumber", "2"),
    "another upload": lambda scene: scene["url"].replace(scene["id"], scene["private"]),
    "another bucket": lambda scene: scene["url"].replace("quarantine", "private"),
    "a later end": lambda scene: swapped(scene["url"], "X-Amz-Expires", "604800"),
    "no signature": lambda scene: scene["url"].partition("?")[0],
    "an expired URL": lambda scene: swapped(scene["url"], "X-Amz-Date", "20200101T000000Z"),
}


@pytest.mark.parametrize("name", STORAGE)
def test_presigned_urls_accept_only_the_signed_request(scene, name):
    answer = httpx.put(STORAGE[name](scene), content=scene["part"], headers=scene["headers"])
    assert answer.status_code == 403, answer.text
    assert ("Request has expired" in answer.text) == (name == "an expired URL")  # clients then request a new one
    assert httpx.get(scene["url"]).status_code == 403
    other = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    answer = httpx.put(scene["url"], content=b"other", headers={"x-amz-checksum-sha256": other})
    assert answer.status_code == 403
    private = f"{scene['portal'].service.settings.s3_endpoint}/brainscore-private/{scene['private']}/b.csv"
    assert httpx.get(private).status_code == 403


BROWSER = {
    "no token in the form": ({}, 403),
    "a wrong token": ({"X-CSRF-Token": "0" * 64}, 403),
    "another origin": ({"Origin": "https://evil.example"}, 403),
    "no origin": ({"Origin": "null"}, 403),
    "another host": ({"Host": "evil.example"}, 421),
}


@pytest.mark.parametrize("name", BROWSER)
def test_session_works_only_from_own_pages(scene, name):
    headers, status = BROWSER[name]
    browser = scene["portal"].browser("ada")
    assert browser.get("/api/v1/me").json()["login"] == "ada"
    answer = browser.post("/api/v1/uploads", headers=headers, json={"identifier": "X2026", "files": []})
    assert answer.status_code == status
    assert browser.post("/sign-out", headers=headers).status_code == status


def test_security_of_cookies_headers_and_sign_in(scene):
    portal = scene["portal"]
    browser = portal.browser("ada")
    cookies = [line for line in portal.back.headers.get_list("set-cookie") if line.startswith("__Host-session=")]
    assert all(word in cookies[0] for word in ("HttpOnly", "Secure", "SameSite=lax", "Path=/"))
    assert "Domain" not in cookies[0]
    policy = browser.get("/api/v1/me").headers["Content-Security-Policy"]
    assert {"default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'"} <= set(policy.split("; "))
    for changed in ({"state": "forged"}, {"code": "forged"}):
        stranger = portal.browser("mallory", **changed)
        assert portal.back.status_code in (403, 503)
        assert stranger.get("/api/v1/me").status_code == 401
    away = httpx.get(f"{portal.address}/sign-in", params={"to": "//evil.example"})
    assert away.headers["location"].startswith(portal.service.settings.authorize_url)


def test_unlisted_maintainer_loses_the_role(settings, serve):
    with serve(settings) as portal:
        boss = portal.caller("boss")
        assert boss.get("me").json()["role"] == "maintainer"
        number = sign_in.welcome(portal.service, "583231", "renamed").subject
        listings = (("", "contributor"), (f"#1, {settings.maintainers}", "maintainer"), (f"#{number}", "contributor"))
        for maintainers, role in listings:
            portal.service.settings = replace(settings, maintainers=maintainers)
            assert boss.get("me").json()["role"] == role
        assert boss.get("uploads?all=1").status_code == 403
        assert sign_in.welcome(portal.service, number, "anything").role == "maintainer"
        assert sign_in.welcome(portal.service, "7", number).role == "contributor"  # a login equal to the number


def test_reused_login_of_a_maintainer_gives_no_role(settings, serve):
    with serve(replace(settings, maintainers="boss")) as portal:  # the former form of the setting
        successor = portal.caller("boss")
        assert successor.get("me").json()["role"] == "contributor"
        assert successor.get("uploads?all=1").status_code == 403
    stated = {"SECRET": "s" * 32, "CLIENT_ID": "id", "MAINTAINERS": "#583231, boss"}
    environment = {f"{PREFIX}{name}": value for name, value in stated.items()}
    with pytest.raises(ConfigurationError, match=r"MAINTAINERS has 'boss'; expected an account number"):
        PortalSettings.of(environment)
    assert PortalSettings.of({**environment, f"{PREFIX}MAINTAINERS": "#583231, #7"}).maintainers == "#583231, #7"


BY_TOKEN = {
    "delete": ("DELETE", "uploads/{id}", {}),
    "list": ("GET", "uploads", {}),
    "list everybody's": ("GET", "uploads?all=1", {}),
    "review": ("POST", "uploads/{id}/review", {"json": {"verdict": "approve"}}),
    "open a pull request": ("POST", "uploads/{private}/pull-request", {}),
    "download private data": ("GET", "uploads/{private}/data/b.csv", {}),
    "submit a zip": ("POST", "submissions", {"files": {"file": ("a.zip", b"zip")}}),
    "list zips": ("GET", "submissions", {}),
    "open a zip": ("POST", "submissions/{id}/open", {}),
    "my page": ("GET", "/", {}),
    "look at an upload": ("GET", "/uploads/{id}", {}),
    "sign another terminal in": ("POST", "/device", {"data": {"user_code": "BBBB-BBBB", "csrf": "-"}}),
    "delete by a form": ("POST", "/uploads/{id}/delete", {"data": {"confirm": "Mine2026", "csrf": "-"}}),
    "revoke a terminal": ("POST", "/terminals/0123456789abcdef/revoke", {"data": {"csrf": "-"}}),
}


@pytest.mark.parametrize("name", BY_TOKEN)
def test_terminal_token_can_only_upload(scene, name):
    method, path, options = BY_TOKEN[name]
    address = path.format(**scene)
    terminal = scene["portal"].terminal("ada")
    answer = terminal.request(method, f"{scene['portal'].address}{address}" if path[0] == "/" else address, **options)
    assert (answer.status_code, answer.json()["problems"][0]["what"]) == (403, "a terminal may only upload")
    assert scene["ada"].get(f"uploads/{scene['id']}").json()["state"] == "receiving"


def test_maintainers_terminal_token_sees_no_upload_of_others(scene):
    boss = scene["portal"].terminal("boss")
    assert boss.get("me").json()["role"] == "contributor"
    assert boss.get(f"uploads/{scene['private']}").status_code == 404
    assert scene["portal"].caller("boss").get(f"uploads/{scene['private']}").status_code == 200


def test_terminal_uploads_and_downloads_the_plugin(portal):
    ada = portal.terminal("ada")
    upload_id = ada.upload("Mine2026", SMALL)
    portal.work()
    assert ada.get(f"uploads/{upload_id}").json()["state"] == "published"
    assert "metadata.yml" in ada.get(f"uploads/{upload_id}/plugin").json()["files"]


def move_clock(monkeypatch, seconds):
    monkeypatch.setattr(sign_in, "time", SimpleNamespace(time=lambda: time.time() + seconds))


def test_token_expires_after_seven_days(portal, monkeypatch):
    ada = portal.terminal("ada")
    for days, status in ((6.99, 200), (7.01, 401)):
        move_clock(monkeypatch, days * 86400)
        assert ada.get("me").status_code == status


def test_only_owner_lists_and_revokes_terminals(portal):
    ada, eve = portal.terminal("ada"), portal.browser("eve")
    browser = portal.browser("ada")
    page = browser.get("/").text
    [name] = re.findall(r'action="/terminals/([0-9a-f]{16})/revoke"', page)
    token = ada.headers["Authorization"].removeprefix("Bearer ")
    assert token not in page
    assert hashlib.sha256(token.encode()).hexdigest() not in page
    assert "/terminals/" not in eve.get("/").text
    for client, status, after in ((eve, 404, 200), (browser, 303, 401), (browser, 404, 401)):
        csrf = re.search('name="csrf" content="([^"]+)"', client.get("/").text)[1]
        assert client.post(f"/terminals/{name}/revoke", data={"csrf": csrf}).status_code == status
        assert ada.get("me").status_code == after
    assert browser.get("/api/v1/me").status_code == 200


def test_published_data_and_complete_files_are_protected(settings, serve):
    with serve(settings) as portal:
        ada = portal.caller("ada")
        upload = ada.announce("Mine2026", SMALL).json()
        ada.send_files(upload, SMALL)
        path = f"uploads/{upload['id']}"
        assert ada.post(f"{path}/files/1/parts", json=PARTS).status_code == 409
        ada.post(f"{path}/finalize")
        portal.work()
        portal.service.settings = replace(settings, deletable_s=0)  # the code was copied long ago
        assert ada.delete(f"{path}?confirm=Mine2026").status_code == 403
        assert ada.delete(path).json() == {"state": "asked"}
        assert "may refer to these data" in portal.caller("boss").delete(path).json()["problems"][0]["what"]
        portal.service.settings = settings
        assert ada.delete(path).json() == {"state": "deleted"}


def test_number_of_stored_zip_files_is_limited(settings, serve, monkeypatch):
    monkeypatch.setattr(contributing, "_submission", lambda *_: {"findings": [], "plugins": []})
    with serve(replace(settings, most_zip_files=2)) as portal:
        ada, archive = portal.caller("ada"), {"file": ("a.zip", b"zip")}
        answers = [ada.post("submissions", files=archive).status_code for _ in range(3)]
        assert answers == [200, 200, 429]
        assert portal.caller("eve").post("submissions", files=archive).status_code == 200
        portal.service.forget(time.time() + settings.abandoned_s)
        assert portal.caller("ada").get("submissions").json() == {"submissions": []}


def test_concurrent_zip_files_cannot_exceed_the_limit(settings, serve, monkeypatch):
    n_running, most_running = 0, 0

    def inspect(*_):
        nonlocal n_running, most_running
        n_running += 1
        most_running = max(most_running, n_running)
        time.sleep(0.3)  # a real inspection takes seconds
        n_running -= 1
        return {"findings": [], "plugins": []}

    monkeypatch.setattr(contributing, "_submission", inspect)
    with serve(replace(settings, most_zip_files=2)) as portal, ThreadPoolExecutor(6) as pool:
        ada = portal.caller("ada")

        def send(_):
            answer = ada.post("submissions", files={"file": ("a.zip", b"zip")})
            return answer.status_code, answer.json().get("problems", [{"what": ""}])[0]["what"]

        answers = [sorted(pool.map(send, range(6))) for _ in range(3)]
    busy = "another of your zip files is being inspected"
    assert answers == [[(200, ""), *[(429, busy)] * 5]] * 2 + [[(429, "you have sent 2 zip files")] * 6]
    assert most_running == 1


def test_zip_file_with_failed_inspection_does_not_count(settings, serve, monkeypatch):
    def inspect(*_):
        raise refuse(503, "no answer")

    with serve(replace(settings, most_zip_files=1)) as portal:
        ada, archive = portal.caller("ada"), {"file": ("a.zip", b"zip")}
        monkeypatch.setattr(contributing, "_submission", inspect)
        assert [ada.post("submissions", files=archive).status_code for _ in range(2)] == [503, 503]
        monkeypatch.setattr(contributing, "_submission", lambda *_: {"findings": [], "plugins": []})
        assert ada.post("submissions", files=archive).status_code == 200


def test_identifier_without_bytes_is_released_after_an_hour(portal):
    ada, eve = portal.caller("ada"), portal.caller("eve")
    for name in ("Empty2026", "Signed2026", "Begun2026"):
        upload = ada.announce(name, SMALL).json()
        if name != "Empty2026":
            [entry] = ada.urls(upload, upload["files"][0], SMALL["b.csv"])
        if name == "Begun2026":
            assert ada.put(*entry) == 200
    expected = {3500: [409, 409, 409], 3700: [201, 201, 409]}
    for seconds, statuses in expected.items():
        portal.service.forget(time.time() + seconds)
        names = ("Empty2026", "Signed2026", "Begun2026")
        assert [eve.announce(name, SMALL).status_code for name in names] == statuses


def test_user_holds_at_most_five_identifiers_without_bytes(settings, serve):
    with serve(settings) as portal, ThreadPoolExecutor(10) as pool:
        ada = portal.caller("ada")
        answers = list(pool.map(lambda number: ada.announce(f"Mine{number}", SMALL), range(10)))
        assert sorted(answer.status_code for answer in answers) == [201] * 5 + [429] * 5
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.json()["problems"][0]["what"] == "5 of your uploads have received no data yet"
        upload = next(answer.json() for answer in answers if answer.status_code == 201)
        [entry] = ada.urls(upload, upload["files"][0], SMALL["b.csv"])
        assert ada.announce("More2026", SMALL).status_code == 429  # a presigned URL is not yet a received byte
        assert ada.put(*entry) == 200
        assert [ada.announce(f"More{number}", SMALL).status_code for number in range(2)] == [201, 429]


def test_worker_survives_errors_of_a_check(portal):
    ada, worker = portal.caller("ada"), portal.worker()
    upload_id = ada.upload("Mine2026", SMALL)

    def fail(upload, folder):
        raise KeyError("a file of a name that nothing announced")

    worker._boxed = fail
    thread = threading.Thread(target=worker.run)
    thread.start()
    while ada.get(f"uploads/{upload_id}").json()["state"] != "rejected":
        assert thread.is_alive()
    worker._stop.set()
    thread.join()
    assert "was tried 4 times" in ada.get(f"uploads/{upload_id}").json()["problems"][0]["what"]


def test_session_ends_with_next_sign_in_or_sign_out(scene):
    portal = scene["portal"]
    first, second = portal.browser("ada"), portal.browser("ada")
    assert first.headers["Cookie"] != second.headers["Cookie"]
    portal.browser("ada", cookie=second.headers["Cookie"])
    assert [client.get("/api/v1/me").status_code for client in (first, second)] == [200, 401]
    token = re.search('name="csrf" content="([^"]+)"', first.get("/").text)[1]
    out = first.post("/sign-out", data={"csrf": token})
    assert (out.status_code, out.headers["Clear-Site-Data"]) == (303, '"cache", "storage"')
    assert first.get("/api/v1/me").status_code == 401


def test_former_owner_of_a_login_keeps_no_rights(portal):
    service, me = portal.service, f"{portal.address}/api/v1/me"
    tokens = [sign_in.issue(service, sign_in.welcome(service, *who), "token") for who in (("1", "Boss"), ("2", "boss"))]
    former, successor = (httpx.get(me, headers={"Authorization": f"Bearer {token}"}).json() for token in tokens)
    assert (former["login"], former["role"]) == ("#1", "contributor")
    assert successor["login"] == "boss"
    serving.set_quota(service.settings.database, "Boss", 7)
    assert httpx.get(me, headers={"Authorization": f"Bearer {tokens[1]}"}).json()["quota_bytes"] == 7
    assert serving.sign_out(service.settings.database, "#1") == 1


def test_answers_are_typed_and_reading_changes_nothing(scene):
    portal = scene["portal"]
    browser, before = portal.browser("boss"), serving.verify_audit(portal.service.settings.database)
    routes = [*app.router.routes, *pages.router.routes]
    paths = {route.path for route in routes if "GET" in route.methods} | {"/assets/{name}", "/openapi.json"}
    paths = {path.replace("{upload_id}", scene["private"]).replace("{name}", "core.js") for path in paths}
    unknown = {"/.git/config", "/assets/..%2f..%2fpages.py", "/assets/pages.py", "/portal.sqlite"}
    assert len(paths) > 15
    for path in paths | unknown:
        answer = browser.get(path)
        assert answer.status_code == 404 or path not in unknown, path
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        kind = answer.headers.get("Content-Type", "")
        assert "charset=utf-8" in kind or not kind.startswith("text/"), path
        assert kind or not answer.content, path
    assert serving.verify_audit(portal.service.settings.database) == before
    too_large = browser.post("/api/v1/uploads", content=bytes(5 * 2**20))
    assert too_large.status_code == 413


def test_strict_transport_security_over_tls(settings):
    app = make_app(make_service(replace(settings, public_url="https://portal.example", client_id="x")))
    with demo.serving(app) as port:  # behind a proxy that terminates TLS
        answer = httpx.get(f"http://127.0.0.1:{port}/new", headers={"Host": "portal.example"})
    assert int(re.fullmatch(r"max-age=(\d+)", answer.headers["Strict-Transport-Security"])[1]) >= 365 * 86400


def test_security_checklist_covers_all_requirements():
    text = CHECKLIST.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:\d+\.\d+\.\d+(?:, )?)+) \|.*\| (.+) \|$", text, re.MULTILINE)
    numbers = [number for row, _ in rows for number in row.split(", ")]
    assert len(numbers) == len(set(numbers)) == N_REQUIREMENTS
    known = {
        name for file in CHECKLIST.parents[2].glob("*/tests/**/test_*.py") for name in TEST.findall(file.read_text())
    }
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) > 10
    assert named <= known
    assert all("`test_" in how or how.startswith(("not here: ", "by hand: ", "not reached: ")) for _, how in rows)


@pytest.mark.parametrize(
    ("identifier", "files", "where"),
    [
        ("../x", [("a.csv", 1, None)], "identifier"),
        ("<b>x</b>", [("a.csv", 1, None)], "identifier"),
        *(
            ("X2026", [(name, 1, None)], name)
            for name in ("../a", "/etc/passwd", "a\\b", "C:a", "a\0b", ".a", "a/../b")
        ),
        *(
            ("X2026", [(name, 1, None)], name)
            for name in (
                'a".csv',
                "a;b.csv",
                "a\nb",
                "a\x1b[2J",
                "CON",
                "aux.csv",
                "a/NUL.tar.nc",
                "Lpt1 .x",
                "a/com9/b",
            )
        ),
        ("X\0", [("a.csv", 1, None)], "identifier"),
        ("X2026", [("a.csv", 1, None), ("A.csv", 1, None)], "A.csv"),
        ("X2026", [("a.csv", 0, None)], "a.csv"),
        ("X2026", [("a.csv", 101, None)], "a.csv"),
        ("X2026", [("a.csv", 1, "f" * 63)], "a.csv"),
        ("X2026", [], "files"),
        ("X2026", [(f"{n}.csv", 1, None) for n in range(4)], "files"),
        ("X2026", [("a.csv", 90, None), ("b.csv", 90, None)], "files"),
    ],
)
def test_unsafe_announced_files_are_refused(identifier, files, where):
    assert where in {problem["where"] for problem in check_files(identifier, files, LIMITS)}
    assert check_files("X2026", [("a/b.csv", 100, "f" * 64)], LIMITS) == []
