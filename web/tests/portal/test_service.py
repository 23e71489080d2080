"""Test sending files to a portal as the clients do, and their further processing."""

import errno
import hashlib
import io
import random
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import boto3
import httpx
import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from brainscore_web.portal import audit, demo, serving, sign_in
from brainscore_web.portal.checking.worker import Report, ReportedProblem
from brainscore_web.portal.states import RefusedError
from brainscore_web.portal.tables import AuditEntry, Upload

FILES = {"a.nc": b"a" * (6 * 2**20), "b.csv": b"b" * 10}
SMALL = {"b.csv": b"b" * 10}


def state_of(person, upload_id):
    answer = person.get(f"uploads/{upload_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_upload_is_received_checked_and_published(portal):
    ada = portal.caller("ada")
    assert ada.get("me").json() == {"login": "ada", "role": "contributor", "quota_bytes": 10**11, "used_bytes": 0}
    upload_id = ada.upload("Mine2026", FILES)
    assert state_of(ada, upload_id)["state"] == "waiting"
    portal.work()
    state = state_of(ada, upload_id)
    assert state["state"] == "published"
    assert state["result"]["bucket"] == f"brainscore-public/{upload_id}"
    for name, content in FILES.items():
        version = state["result"]["files"][name]["version_id"]
        address = f"{portal.service.settings.s3_endpoint}/brainscore-public/{upload_id}/{name}"
        assert httpx.get(address, params={"versionId": version}).content == content  # without credentials
    assert ada.get(f"uploads/{upload_id}/plugin").json()["files"]["metadata.yml"] == 'access: "public"\n'
    with zipfile.ZipFile(io.BytesIO(ada.get(f"uploads/{upload_id}/plugin.zip").content)) as archive:
        assert "data/mine2026/metadata.yml" in archive.namelist()
    assert serving.verify_audit(portal.service.settings.database)[1] is None


def test_interrupted_upload_resumes_from_stored_parts(portal):
    ada = portal.caller("ada")
    first = ada.announce("Mine2026", FILES)
    assert first.status_code == 201
    entry, part = ada.urls(first.json(), first.json()["files"][0], FILES["a.nc"], [2])[0]
    assert ada.put(entry, part) == 200
    again = ada.announce("Mine2026", FILES)  # another tab, or a restarted server
    assert again.status_code == 200
    assert again.json()["id"] == first.json()["id"]
    received = state_of(ada, again.json()["id"])["files"][0]["received"]
    assert [(entry["number"], entry["size"]) for entry in received] == [(2, 2**20)]
    path = f"uploads/{again.json()['id']}"
    missing = ada.post(f"{path}/files/1/complete")
    assert missing.status_code == 409
    assert "missing or have a wrong size: 1" in missing.json()["problems"][0]["what"]
    assert ada.post(f"{path}/finalize").status_code == 409
    ada.send_files(again.json(), FILES)
    same = [ada.post(f"{path}/files/1/complete").json() for _ in range(2)]
    assert same[0] == same[1]


def test_concurrent_finalizes_queue_an_upload_once(portal):
    ada = portal.caller("ada")
    upload = ada.announce("Mine2026", SMALL).json()
    ada.send_files(upload, SMALL)
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: ada.post(f"uploads/{upload['id']}/finalize"), range(10)))
    assert {(answer.status_code, answer.json()["state"]) for answer in answers} == {(202, "waiting")}
    with Session(portal.service.engine) as session:
        assert session.query(AuditEntry).filter_by(action="finalize").count() == 1
        assert session.query(Upload).count() == 1


def test_only_one_of_concurrent_uploads_gets_an_identifier(portal):
    people = [portal.caller(f"person-{number}") for number in range(10)]
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda person: person.announce("Mine2026", SMALL), people))
    assert sorted(answer.status_code for answer in answers) == [201, *[409] * 9]
    said = {answer.json()["problems"][0]["what"] for answer in answers if answer.status_code == 409}
    assert said == {"'Mine2026' is already taken"}  # the owner is not named, to keep others' plans private


def test_similar_identifiers_count_as_one(portal):
    people = [portal.caller(f"person-{number}") for number in range(6)]
    spellings = ("Mine2026.IT", "mine2026.it", "Mine2026IT", "MINE_2026-IT", "Mine2026_IT", "mine-2026it")
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda who, name: who.announce(name, SMALL), people, spellings))
    assert sorted(answer.status_code for answer in answers) == [201, *[409] * 5]
    first = next(number for number, answer in enumerate(answers) if answer.status_code == 201)
    same = [people[first].announce(name, SMALL).status_code for name in spellings]
    assert [status for number, status in enumerate(same) if number != first] == [409] * 5  # not even for their owner
    assert same[first] == 200
    for look_alike in ("Mine2026.\u0406T", "Mine2026.\uff29T", "Mine2026\u200b.IT", "Mine2026.IT "):
        refused = people[-1].announce(look_alike, SMALL)
        assert refused.status_code in (409, 422), look_alike


def test_concurrent_requests_take_effect_once(settings, serve):
    with serve(replace(settings, quota_bytes=25)) as portal, ThreadPoolExecutor(10) as pool:
        ada, anybody = portal.caller("ada"), httpx.Client(base_url=f"{portal.address}/api/v1/")
        answers = list(pool.map(lambda number: ada.announce(f"Mine{number}", SMALL), range(10)))
        assert sorted(answer.status_code for answer in answers) == [201, 201, *[422] * 8]  # the quota has room for two
        upload = next(answer.json() for answer in answers if answer.status_code == 201)
        urls = list(pool.map(lambda _: ada.urls(upload, upload["files"][0], SMALL["b.csv"]), range(10)))
        assert {ada.put(*entries[0]) for entries in urls} == {200}
        assert ada.get(f"uploads/{upload['id']}").json()["files"][0]["received"][0]["size"] == 10
        completed = list(pool.map(lambda _: ada.post(f"uploads/{upload['id']}/files/1/complete"), range(10)))
        assert {(answer.status_code, answer.text) for answer in completed} == {(200, completed[0].text)}
        device = anybody.post("device").json()
        sign_in.allow_device(portal.service, sign_in.welcome(portal.service, "5", "bob"), device["user_code"])
        secret = {"device_code": device["device_code"]}
        tokens = list(pool.map(lambda _: anybody.post("device/token", json=secret).status_code, range(10)))
        assert sorted(tokens) == [200, *[400] * 9]

        def welcome(_):
            try:
                return f"person {sign_in.welcome(portal.service, '6', 'eve').id}"
            except RefusedError as error:  # the first sign-in in another browser had not finished
                return error.retry_s

        assert len(set(pool.map(welcome, range(10))) - {2}) == 1
        assert serving.verify_audit(settings.database)[1] is None


def test_flipped_bits_in_transit_are_refused(portal):
    """The storage refuses bytes whose digest differs from the signed one."""
    ada, content = portal.caller("ada"), bytes(range(256)) * 4
    upload = ada.announce("Mine2026", {"a.nc": content}).json()
    [(entry, part)] = ada.urls(upload, upload["files"][0], content)
    choose = random.Random(0)  # noqa: S311 - the same bits each time
    for bit in choose.sample(range(len(part) * 8), 200):
        flipped = bytearray(part)
        flipped[bit // 8] ^= 1 << bit % 8
        assert ada.put(entry, bytes(flipped)) == 400
    assert state_of(ada, upload["id"])["files"][0]["received"] == []


@pytest.mark.parametrize("offset", [0, 5 * 2**20 + 7])
def test_flipped_bit_at_rest_prevents_publication(portal, offset):
    ada = portal.caller("ada")
    upload_id = ada.upload("Mine2026", FILES)
    objects = portal.service.objects
    download = objects._client.get_object

    def rotten(**parameters):
        answer = download(**parameters)
        content = bytearray(answer["Body"].read())
        if len(content) > offset:
            content[offset] ^= 1
        return {"Body": io.BytesIO(bytes(content))}

    objects._client.get_object = rotten
    portal.work()
    state = state_of(ada, upload_id)
    assert state["state"] == "rejected"
    assert "a.nc" in {problem["where"] for problem in state["problems"]}
    assert state["result"] is None


def test_rejected_upload_lists_problems_and_frees_its_name(portal):
    ada = portal.caller("ada")
    upload_id = ada.upload("Mine2026", SMALL)
    portal.work(Report([ReportedProblem(f"wrong {n}", "b.csv", "mend it", "error") for n in range(3)]))
    state = state_of(ada, upload_id)
    assert state["state"] == "rejected"
    assert [(p["what"], p["remedy"]) for p in state["problems"]] == [(f"wrong {n}", "mend it") for n in range(3)]
    assert ada.get("me").json()["used_bytes"] == 0
    assert portal.caller("eve").announce("Mine2026", SMALL).status_code == 201


def test_pages_separate_hints_and_mark_placeholders(portal):
    hint = ReportedProblem("no units", "assy_Mine2026.nc: attrs", "set them", "hint")
    texts = {"__init__.py": 'BIBTEX = "<Title>"\nif 1 < 2 > 0:\n', "metadata.yml": 'licence: "<SPDX>"\n', "test.py": ""}
    upload_id = portal.caller("ada").upload("Mine2026", SMALL)
    portal.work(Report([hint], texts, None))
    browser = portal.browser("ada")
    page = browser.get(f"/uploads/{upload_id}").text
    assert '<h2 id="hints">Hints</h2>' in page
    assert "Problems" not in page
    assert "<mark>&lt;Title&gt;</mark>" in page
    assert "<mark>&lt;SPDX&gt;</mark>" in page
    assert page.count("<mark>") == 3  # the third is in the explanation
    for name, content in SMALL.items():
        assert f"{hashlib.sha256(content).hexdigest()}  {name}" in page
    assert "Open a pull request" not in page
    assert "or open a pull request" not in browser.get("/").text
    assert "1 hint." in browser.get("/").text
    error = ReportedProblem("no rows", "table", "add some", "error")
    upload_id = portal.caller("ada").upload("Other2026", SMALL)
    portal.work(Report([hint, error], {}, None))
    page = browser.get(f"/uploads/{upload_id}").text
    assert page.index('<h2 id="problems">Problems</h2>') < page.index("no rows") < page.index('<h2 id="hints">')
    assert "1 problem. 1 hint." in browser.get("/").text
    assert portal.browser("boss").get("/queue").text.count("<td>1</td>") == 1


def test_upload_is_rejected_after_four_silent_workers(portal):
    ada = portal.caller("ada")
    upload_id = ada.upload("Mine2026", SMALL)
    worker = portal.worker()
    now = time.time()
    for attempt in range(1, 5):
        with Session(portal.service.engine) as session, session.begin():  # a worker claims it and dies
            values = {"state": "validating", "claim": f"{attempt}", "attempts": attempt, "heartbeat": now}
            session.execute(update(Upload).values(**values))
        worker.watch(now + 1)
        assert state_of(ada, upload_id)["state"] == "validating"  # the heartbeat is still recent
        worker.watch(now + 3)
        assert state_of(ada, upload_id)["state"] == ("waiting" if attempt < 4 else "rejected")
    [problem] = state_of(ada, upload_id)["problems"]
    assert "tried 4 times" in problem["what"]
    assert "has not responded for 2 s" in problem["what"]


@pytest.mark.parametrize("is_noticed", [True, False])
def test_full_disk_postpones_the_check_without_an_attempt(portal, monkeypatch, is_noticed):
    ada = portal.caller("ada")
    upload_id, worker = ada.upload("Mine2026", SMALL), portal.worker()
    worker._boxed = lambda *_: Report([])
    with monkeypatch.context() as full:
        if is_noticed:
            full.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=19))
        else:

            def write(*_):
                raise OSError(errno.ENOSPC, "No space left on device")

            full.setattr(portal.service.objects, "download", write)
        for _ in range(6):  # more often than a check may be attempted
            assert not worker.step()
        state = state_of(ada, upload_id)
        assert (state["state"], state["attempts"]) == ("waiting", 0)
        assert state["problems"][0]["what"] == "the disk of the portal is full"
    assert worker.step()
    state = state_of(ada, upload_id)
    assert (state["state"], state["problems"]) == ("published", [])


def test_replaced_worker_publishes_nothing(portal):
    ada = portal.caller("ada")
    upload_id = ada.upload("Mine2026", SMALL)
    worker = portal.worker()

    def lose_the_claim(*_):
        with Session(portal.service.engine) as session, session.begin():
            session.execute(update(Upload).values(state="deleted", claim="another"))
        return Report([])

    worker._boxed = lose_the_claim
    worker.step()
    assert state_of(ada, upload_id)["state"] == "deleted"
    listed = portal.service.objects._client.list_object_versions(Bucket="brainscore-public", Prefix=upload_id)
    assert listed.get("Versions", []) == []


def test_reviews_quotas_limits_and_deletion(settings, serve):
    with serve(replace(settings, review=True, quota_bytes=25, most_live_uploads=2)) as portal:
        ada, boss = portal.caller("ada"), portal.caller("boss")
        upload_id = ada.upload("Mine2026", SMALL)
        portal.work()
        assert state_of(boss, upload_id)["state"] == "review"
        assert ada.post(f"uploads/{upload_id}/review", json={"verdict": "approve"}).status_code == 403
        assert boss.post(f"uploads/{upload_id}/review", json={"verdict": "approve"}).json() == {"state": "waiting"}
        portal.work()
        assert state_of(ada, upload_id)["state"] == "published"
        assert boss.post(f"uploads/{upload_id}/review", json={"verdict": "changes"}).status_code == 409
        refused = ada.announce("Large2026", {"b.csv": b"b" * 16})
        assert refused.status_code == 422
        assert "the rest of your quota" in refused.json()["problems"][0]["expected"]
        for name in "First2026", "Second2026":
            assert ada.announce(name, {"b.csv": b"b"}).status_code == 201
        refused = ada.announce("Third2026", {"b.csv": b"b"})
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
        with Session(portal.service.engine) as session, session.begin():
            session.execute(update(Upload).where(Upload.id == upload_id).values(pull_request="https://example.org/1"))
        assert ada.delete(f"uploads/{upload_id}").json() == {"state": "asked"}
        assert "could no longer load them" in boss.delete(f"uploads/{upload_id}").json()["problems"][0]["what"]
        assert state_of(ada, upload_id)["state"] == "published"
        confirmed = boss.delete(f"uploads/{upload_id}", params={"confirm": "Mine2026"})
        assert confirmed.json() == {"state": "deleted"}
        address = f"{settings.s3_endpoint}/brainscore-public/{upload_id}/b.csv"
        assert httpx.get(address).status_code == 404


@pytest.mark.parametrize("change", [{"details": {"identifier": "Other"}}, {"actor": 7}, {"number": 9}, None])
def test_audit_log_detects_changed_moved_and_removed_lines(portal, change):
    ada = portal.caller("ada")
    for number in range(3):
        ada.announce(f"Mine{number}", SMALL)
    engine, database = portal.service.engine, portal.service.settings.database
    number, broken, head = serving.verify_audit(database)
    assert (number, broken) == (4, None)
    with Session(engine) as session, session.begin():
        if change is None:
            session.query(AuditEntry).filter_by(number=4).delete()
        else:
            session.execute(update(AuditEntry).where(AuditEntry.number == 2).values(**change))
    assert serving.verify_audit(database, head)[1] == (4 if change is None else 2)
    assert change is not None or serving.verify_audit(database)[1] is None  # only a digest noted elsewhere reveals it
    assert audit.first_broken([]) is None


def test_terminal_gets_a_token_after_its_code_is_entered(portal):
    anybody = httpx.Client(base_url=f"{portal.address}/api/v1/")
    device = anybody.post("device").json()
    pending = anybody.post("device/token", json={"device_code": device["device_code"]})
    assert (pending.status_code, pending.headers["Retry-After"]) == (428, "2")
    person = sign_in.welcome(portal.service, "5", "ada")
    sign_in.allow_device(portal.service, person, device["user_code"].lower())
    token = anybody.post("device/token", json={"device_code": device["device_code"]}).json()["token"]
    assert anybody.get("me", headers={"Authorization": f"Bearer {token}"}).json()["login"] == "ada"
    assert anybody.post("device/token", json={"device_code": device["device_code"]}).status_code == 400  # only once


def test_unreachable_storage_answers_503_with_retry_after(portal, settings, serve):
    ada = portal.caller("ada")
    upload = ada.announce("Mine2026", SMALL).json()
    with serve(replace(settings, s3_endpoint="http://127.0.0.1:9")) as other:
        person = other.caller("ada")
        parts = {"parts": [{"number": 1, "sha256": "A" * 43 + "="}]}
        answer = person.post(f"uploads/{upload['id']}/files/1/parts", json=parts)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert httpx.get(f"{other.address}/healthz", timeout=60).status_code == 503
    assert httpx.get(f"{portal.address}/healthz", timeout=60).json() == {"status": "ok"}


def test_metrics_require_the_token(settings, serve):
    for token, given, status in (
        ("", "", 404),
        ("", "Bearer", 404),
        ("a b", "Bearer a", 404),
        ("a b", "Bearer a b", 200),
    ):
        with serve(replace(settings, metrics_token=token)) as portal:
            portal.caller("ada").announce(f"Mine{status}{len(given)}", SMALL)
            answer = httpx.get(f"{portal.address}/metrics", headers={"Authorization": given}, timeout=60)
            assert answer.status_code == status
            assert ('portal_uploads{state="receiving"}' in answer.text) == (status == 200)
            assert "ada" not in answer.text


def test_storage_uses_the_current_keys(settings, serve, monkeypatch):
    former = boto3.Session(aws_access_key_id="former", aws_secret_access_key="keys")  # noqa: S106 - made up
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", former)
    with serve(settings) as portal:
        portal.caller("ada").upload("Keys2026", {"a.csv": b"a"})


@pytest.mark.parametrize("ahead_s", [-900, 900])
def test_clock_skew_of_15_minutes_does_not_stop_uploads(settings, serve, make_database, monkeypatch, ahead_s):
    """Parts are signed by the portal's clock and checked by the storage's; the clients' clocks do not matter."""
    clock = SimpleNamespace(**{**vars(time), "time": lambda: time.time() + ahead_s})
    monkeypatch.setattr(demo, "time", clock)
    with serve(settings) as portal:
        portal.caller("ada").upload("Skewed2026", SMALL)
    monkeypatch.setattr(clock, "time", lambda: time.time() + settings.url_s + 60)
    with serve(replace(settings, database=make_database())) as portal:
        ada = portal.caller("ada")
        upload = ada.announce("Late2026", SMALL).json()
        assert [ada.put(*each) for each in ada.urls(upload, upload["files"][0], SMALL["b.csv"])] == [403]
