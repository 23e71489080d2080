"""Drive the portal as a user would: upload, copy code, return after an interruption, with and without scripts."""

import itertools
import os
import random
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from brainscore_core.supported_data_standards.brainio.packaging import (
    package_data_assembly_locally,
    package_stimulus_set_locally,
)
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.machine import free_port
from brainscore_web import upload as client
from brainscore_web.upload import identifier_of

pytest.importorskip("fastapi")
from brainscore_web.portal import demo, serving
from brainscore_web.portal.app import make_app, make_service
from brainscore_web.portal.checking.worker import Worker
from brainscore_web.portal.settings import PREFIX, PortalSettings
from brainscore_web.portal.tables import Person, Upload, UploadFile, ZipFile

sys.path.insert(0, str(Path(__file__).parents[1] / "portal"))
from hostile import hostile, packaged, verdict, written

PHONE = {"width": 390, "height": 844}
HOSTILE = '"><img src=x onerror=alert(1)><script>alert(1)</script>'
PROBLEM = {"where": HOSTILE, "what": "is empty", "expected": "rows", "remedy": "write rows"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PREVIEW = {
    "n_stimuli": 1,
    "pictures": [{"name": HOSTILE, "png": PIXEL}],
    "assemblies": [
        {"identifier": "A", "sizes": {"presentation": 3}, "counts": {"region": 1}, "reliability": 0.5, "plot": PIXEL}
    ],
}


@contextmanager
def demonstration(folder, **changed):
    """Start the demonstration's S3 and accounts; yield the settings of a portal at a free port."""
    port = free_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in demo.KEYS.items():
            patch.setenv(name, value)
        with serving.demonstration(folder, port) as settings:
            settings = replace(settings, part_bytes=5 * 2**20, **changed)
            serving.migrate(settings.database)
            yield settings


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    with demonstration(tmp_path_factory.mktemp("portal")) as settings:
        yield settings


@contextmanager
def served(settings):
    """Serve the portal in this process, without a worker."""
    service = make_service(settings)
    with demo.serving(make_app(service), port=int(settings.public_url.rpartition(":")[2])):
        yield service


@pytest.fixture(scope="module")
def service(settings):
    with served(settings) as service:
        yield service


@pytest.fixture
def own_service(tmp_path, make_database):
    """Serve a portal only for this test, with each database in turn."""
    with demonstration(tmp_path, database=make_database()) as settings, served(settings) as service:
        yield service


@pytest.fixture
def sign_in(open_page, request):
    """Return a function that signs a user in, in a browser, and opens a page."""

    def sign_in_(login, path="/", settings=None, **options):
        settings = settings or request.getfixturevalue("settings")
        origins = (settings.s3_endpoint, settings.authorize_url.removesuffix("authorize"))
        errors = ("404", "422", "ERR_")  # a missing icon of the provider; a server that was killed
        page = open_page(f"{settings.public_url}/sign-in?to={path}", also=origins, expected_errors=errors, **options)
        page.locator("[name=login]").fill(login)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{settings.public_url}{path}")
        return page

    return sign_in_


def add(service, login, **facts):
    """Add an upload of a signed-in user to the database."""
    with service.session() as session:
        owner = session.query(Person).filter_by(login=login).one()
        upload = Upload(owner_id=owner.id, visibility="public", **{"identifier": "Mine2026", **facts})
        upload.files = [UploadFile(number=1, name=f"{HOSTILE[:40]}.csv", size=1536)]
        session.add(upload)
        session.flush()
        return upload.id


STATES = {
    "receiving": {},
    "validating": {"attempts": 2},
    "rejected": {"problems": [PROBLEM]},
    "review": {"preview": PREVIEW, "problems": [{**PROBLEM, "kind": "hint"}]},
    "published": {
        "plugin": {"files": {"__init__.py": HOSTILE, "metadata.yml": "", "test.py": ""}},
        "result": {"bucket": "b", "path": "p", "files": {}},
        "pull_request": "https://github.com/a/b/pull/1",
        "deletion_wish": 1e9,
        "preview": PREVIEW,
    },
}


@pytest.mark.slow
def test_every_page_is_accessible_and_fits_a_phone(service, settings, sign_in, violations):
    page = sign_in("ada", viewport=PHONE)
    uploads = [add(service, "ada", state=state, identifier=f"{state}2026", **facts) for state, facts in STATES.items()]
    with service.session() as session:
        report = {"findings": [HOSTILE], "plugins": []}
        owner = session.query(Person).filter_by(login="ada").one().id
        session.add(ZipFile(id="0" * 32, owner_id=owner, name=HOSTILE, content=b"", report=report))
    paths = ["/", "/new", "/submissions", f"/submissions/{'0' * 32}", "/device?code=BCDF-GHJK", "/missing"]
    paths += [f"/uploads/{upload}" for upload in uploads]
    for login, further in (("ada", paths), ("maintainer", ["/queue", "/audit", *paths[-3:]])):
        if login == "maintainer":
            page.get_by_role("button", name="Sign out").click()
            assert page.locator("h1").inner_text() == "Upload data, submit plugins"
            page.goto(f"{settings.public_url}/sign-in?to=/queue")
            page.locator("[name=login]").fill(login)
            page.keyboard.press("Enter")
            page.wait_for_url(f"{settings.public_url}/queue")
        for path in further:
            page.goto(settings.public_url + path)
            assert page.url == settings.public_url + path
            assert violations(page) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
            assert page.locator("main img[src=x]").count() == 0, path
    page.goto(f"{settings.public_url}/uploads/{uploads[-2]}")
    page.get_by_label("Message").fill("Units?")
    page.get_by_role("button", name="Request changes").click()
    page.goto(f"{settings.public_url}/uploads/{uploads[-2]}")
    assert "review: Units?" in page.locator(".problems").inner_text()
    assert (
        "its tests and every benchmark on it fail" in page.goto(f"{settings.public_url}/uploads/{uploads[-1]}").text()
    )


def test_forms_work_without_scripts(service, settings, sign_in):
    page = sign_in("eve", java_script_enabled=False)
    upload = add(service, "eve", state="rejected", problems=[PROBLEM], identifier="Eve2026")
    page.goto(f"{settings.public_url}/uploads/{upload}")
    page.get_by_label("Repeat the identifier").fill("wrong")
    page.get_by_role("button", name="Delete permanently").click()
    assert "expected Eve2026" in page.locator("main").inner_text()
    page.go_back()
    page.get_by_label("Repeat the identifier").fill("Eve2026")
    page.get_by_role("button", name="Delete permanently").click()
    assert page.locator(".badge").inner_text() == "deleted"
    device = httpx.post(f"{settings.public_url}/api/v1/device").json()
    page.goto(device["verification_uri"])
    assert page.get_by_label("Code").input_value() == ""
    page.get_by_label("Code").fill(device["user_code"])
    page.get_by_role("button", name="Sign in").click()
    assert "signed in as eve" in page.locator("main").inner_text()
    token = httpx.post(f"{settings.public_url}/api/v1/device/token", json={"device_code": device["device_code"]}).json()
    me = httpx.get(f"{settings.public_url}/api/v1/me", headers={"Authorization": f"Bearer {token['token']}"}).json()
    assert me["login"] == "eve"
    page.goto(f"{settings.public_url}/new")
    assert "brainscore upload FOLDER --portal" in page.locator("noscript, main").first.inner_text()


def test_browser_makes_the_same_decisions_as_the_terminal(service, sign_in, tmp_path):
    page = sign_in("ada", "/new")
    for size, part_bytes in ((0, 5), (1, 5), (5, 5), (6, 5), (1000, 7)):
        found = page.evaluate("(given) => BrainScore.upload.partsOf(...given)", [size, part_bytes])
        expected = client.parts_of(size, part_bytes)
        assert [(one["number"], one["begin"], one["size"]) for one in found] == [
            (one.number, one.begin, one.size_bytes) for one in expected
        ]
    bodies = [
        "",
        *(f"<Code>{code}</Code><Message>Request has expired</Message>" for code in ("AccessDenied", "BadDigest")),
    ]
    bodies.append("<Code>AccessDenied</Code>")
    for attempt in (1, 4, 5):
        for status in (None, 400, 403, 429, 500, 503):
            for body in bodies:
                for retry_after in (None, "7", "500", "soon"):
                    given = [attempt, status or 0, body, retry_after]
                    found = page.evaluate("(given) => BrainScore.upload.pauseBeforeRetry(...given)", given)
                    assert found == client.pause_before_retry(attempt, status, body, retry_after), given
    for names in (["stimulus_A_b.csv", "stimulus_A_b.zip", "assy_A_b.nc"], ["a.nc"]):
        found = page.evaluate("(names) => BrainScore.upload.identifierOf(names)", names)
        assert found == identifier_of([tmp_path / name for name in names])


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Package a small data set as in the tutorial."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    ids = [f"img_{number}" for number in range(4)]
    for stimulus_id in ids:
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(folder / f"{stimulus_id}.png")
    stimuli = StimulusSet([{"stimulus_id": stimulus_id} for stimulus_id in ids])
    stimuli.stimulus_paths = {name: folder / f"{name}.png" for name in ids}
    stimuli.name = "Whole2026"
    coords = {
        "stimulus_id": ("presentation", ids * 2),
        "repetition": ("presentation", [0] * 4 + [1] * 4),
        "neuroid_id": ("neuroid", ["a", "b"]),
        "region": ("neuroid", ["IT", "IT"]),
    }
    assembly = NeuroidAssembly(rng.random((8, 2)), coords=coords, dims=["presentation", "neuroid"])
    package_stimulus_set_locally(stimuli, "Whole2026", folder / "packages")
    package_data_assembly_locally(assembly, "Whole2026", "Whole2026", downloads_path=folder / "packages")
    return folder / "packages"


def press_until(page, name):
    """Press Tab until the named element has the focus, as a keyboard user does."""
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent")
        if focused.strip().startswith(name):
            return
    raise AssertionError(f"Tab never comes to {name}")


@pytest.mark.slow
def test_upload_by_keyboard_gives_a_working_plugin(own_service, sign_in, packages, tmp_path, monkeypatch):
    settings = own_service.settings
    page = sign_in("ada", "/", settings)
    press_until(page, "New upload")
    page.keyboard.press("Enter")
    page.wait_for_url("**/new")
    press_until(page, "Packaged files")
    page.locator("#files").set_input_files(sorted(packages.iterdir()))
    press_until(page, "Upload")
    page.keyboard.press("Enter")
    page.locator("#watched").wait_for()
    stop = threading.Event()
    worker = threading.Thread(target=Worker(own_service, stop).run)
    worker.start()
    try:
        page.locator("#code, #problems").first.wait_for()  # without reloading
    finally:
        stop.set()
        worker.join()
    assert page.locator(".badge").inner_text() == "published", page.locator("main").inner_text()
    plugin = tmp_path / "clone" / "data" / "whole2026"
    plugin.mkdir(parents=True)
    for block in page.locator(".to-copy").all():
        (plugin / block.get_attribute("data-label")).write_text(block.locator("code").text_content())
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "BRAIN"))}
    environment |= {
        "AWS_ENDPOINT_URL_S3": settings.s3_endpoint.replace("localhost", "127.0.0.1"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "BRAINIO_HOME": str(tmp_path / "elsewhere"),
        "BRAINSCORE_HOME": str(tmp_path / "home"),
        "HOME": str(tmp_path),
        "BS_INSTALL_DEPENDENCIES": "no",
    }
    command = [sys.executable, "-m", "brainscore_vision", "test-plugin", "whole2026", "--plugins", tmp_path / "clone"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    fetched = {file.name for file in (tmp_path / "elsewhere").rglob("*") if file.is_file()}
    assert fetched >= {file.name for file in packages.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("what", ["archive: a bomb", "assembly: half", "table: a NUL"])
def test_hostile_files_get_the_same_verdict_as_locally(service, sign_in, tmp_path, what):
    folder = written(tmp_path / "files", dict(hostile(packaged(tmp_path)))[what])
    page = sign_in("eve", "/new")
    page.locator("#files").set_input_files(sorted(folder.iterdir()))
    page.locator("#identifier").fill("Hostile2026")
    page.get_by_role("button", name="Upload").click()
    page.locator("#watched").wait_for()
    assert Worker(service, threading.Event()).step()
    problems = page.get_by_role("region", name="Problems").get_by_role("list")
    shown = " ".join(problems.text_content().split())
    assert page.locator(".badge").inner_text() == "rejected"
    assert all(" ".join(problem.split()) in shown for problem in verdict(folder))


@contextmanager
def process_of(settings):
    """Serve a portal in a separate process, which is killed at the end."""
    stated = {field.name: getattr(settings, field.name) for field in fields(PortalSettings)}
    variables = {f"{PREFIX}{name.upper()}": str(int(v) if v in (True, False) else v) for name, v in stated.items()}
    command = [sys.executable, "-m", "brainscore_web", "portal", "serve", "--no-worker"]
    command += ["--port", settings.public_url.rpartition(":")[2]]
    process = subprocess.Popen(command, env={**os.environ, **variables})
    try:
        for _ in range(600):
            with suppress(httpx.TransportError):
                if httpx.get(f"{settings.public_url}/healthz").is_success:
                    break
            time.sleep(0.1)
        yield
    finally:
        process.kill()  # SIGKILL
        process.wait()


@pytest.mark.slow
def test_upload_resumes_after_a_killed_server_and_closed_tab(sign_in, tmp_path):
    file, n_parts, workers, most_arriving = tmp_path / "stimulus_Big2026.zip", 8, 4, 6
    file.write_bytes(random.Random(0).randbytes(n_parts * 5 * 2**20 - 7))  # noqa: S311 - made-up content
    sent = []
    with demonstration(tmp_path) as settings:
        service = make_service(settings)

        def received(upload_id):
            with service.session(only_reads=True) as session:
                upload = session.get(Upload, upload_id)
                _ = upload.files
            return {part["number"] for part in service.received(upload, upload.files[0])}

        with process_of(settings):
            page = sign_in("ada", "/new", settings)
            page.on("dialog", lambda dialog: dialog.accept())  # leave this page?
            page.on("request", lambda request: sent.append(request.url) if request.method == "PUT" else None)
            puts = itertools.count(1)

            def hold_last_parts(route):
                """Never let the upload end before the server is killed, however late the test notices."""
                if route.request.method != "PUT" or next(puts) <= most_arriving:
                    route.continue_()

            page.route("**", hold_last_parts)
            line = page.context.new_cdp_session(page)
            line.send("Network.enable")
            slow = {"offline": False, "latency": 20, "downloadThroughput": -1, "uploadThroughput": 6 * 2**20}
            line.send("Network.emulateNetworkConditions", slow)
            page.locator("#files").set_input_files(file)
            page.get_by_role("button", name="Upload").click()
            page.wait_for_url("**/uploads/*")
            upload_id = page.url.rpartition("/")[2]
            while len(received(upload_id)) < 3:
                page.wait_for_timeout(50)
            assert re.fullmatch(r".* of 40\.0 MiB, .*/s, .* left", page.locator("#numbers").inner_text())
        page.goto("about:blank")
        page.unroute_all(behavior="ignoreErrors")
        n_before = len(sent)
        with process_of(settings):
            page.goto(f"{settings.public_url}/uploads/{upload_id}")
            page.locator("#files").set_input_files(file)
            before = received(upload_id)  # including parts that were in flight
            page.get_by_role("button", name="Continue").click()
            page.locator("#watched").wait_for()
            assert received(upload_id) == set(range(1, n_parts + 1))
    assert before
    assert n_before <= len(before) + workers
    assert len(sent) - n_before == n_parts - len(before)
