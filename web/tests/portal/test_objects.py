"""Test storage failures: the portal recovers, or reports them with the time to retry."""

import itertools
from dataclasses import replace

import pytest
from botocore.retries.standard import ExponentialBackoff

from brainscore_web.portal import objects

pytestmark = pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)

SMALL = {"b.csv": b"b" * 10}
PASSING = {
    "500": (500, "InternalError"),
    "503": (503, "SlowDown"),
    "429": (429, "TooManyRequests"),
    "slow": "slow",
    "reset": "reset",
    "answer lost": "answer lost",
}
LASTING = {
    "refused": (403, "AccessDenied", 1, "refuses the portal (AccessDenied)"),
    "clock": (403, "RequestTimeTooSkewed", 1, "clock differs from the storage's (RequestTimeTooSkewed)"),
    "bucket": (404, "NoSuchBucket", 1, "refuses the portal (NoSuchBucket)"),
    **{name: (*fault, 5, "busy") for name, fault in PASSING.items() if isinstance(fault, tuple)},
}


@pytest.fixture
def unreliable_portal(settings, storage, serve, monkeypatch):
    """Return a portal whose storage has faults, with short pauses between retries."""
    monkeypatch.setattr(ExponentialBackoff, "delay_amount", lambda *_: 0.01)
    monkeypatch.setattr(objects, "_LONGEST_S", 0.5)
    with serve(replace(settings, s3_endpoint=storage.address, s3_public_endpoint=settings.s3_endpoint)) as portal:
        yield portal


@pytest.mark.slow
def test_upload_survives_each_fault_at_each_step(unreliable_portal, storage):
    ada = unreliable_portal.caller("ada")
    for number, (name, fault) in enumerate(PASSING.items()):
        upload = ada.announce(f"Mine{number}", SMALL).json()
        for step in ("sign", "complete", "look", "check"):
            storage.faults = iter([fault])
            if step == "sign":
                [(entry, part)] = ada.urls(upload, upload["files"][0], SMALL["b.csv"])
                assert ada.put(entry, part) == 200
            elif step == "complete":
                answer = ada.post(f"uploads/{upload['id']}/files/1/complete")
                assert answer.status_code == 200, (name, answer.text)
                assert ada.post(f"uploads/{upload['id']}/finalize").status_code == 202
            elif step == "check":
                unreliable_portal.work()
            assert ada.get(f"uploads/{upload['id']}").status_code == 200, (name, step)
        assert ada.get(f"uploads/{upload['id']}").json()["state"] == "published", name


def test_failing_storage_is_retried_and_refusing_is_not(unreliable_portal, storage):
    ada = unreliable_portal.caller("ada")
    upload = ada.announce("Mine2026", SMALL).json()
    [(entry, part)] = ada.urls(upload, upload["files"][0], SMALL["b.csv"])
    for name, (status, code, most, said) in LASTING.items():
        storage.faults, storage.asked = itertools.repeat((status, code)), 0
        answer = ada.get(f"uploads/{upload['id']}")
        assert (answer.status_code, answer.headers["Retry-After"], storage.asked) == (503, "5", most), name
        assert said in answer.json()["problems"][0]["what"], name
    complete, storage.faults = f"uploads/{upload['id']}/files/1/complete", iter(())
    answer = ada.post(complete)
    assert (answer.status_code, answer.json()["problems"][0]["remedy"]) == (409, "send these parts")
    storage.faults = iter([None, *[(503, "SlowDown")] * 5])  # it lists the parts but fails to look up the file
    assert ada.post(complete).status_code == 503
    assert ada.put(entry, part) == 200
    assert ada.post(complete).status_code == 200


def test_file_completed_before_a_crash_is_accepted(portal):
    ada = portal.caller("ada")
    upload = ada.announce("Mine2026", SMALL).json()
    [(entry, part)] = ada.urls(upload, upload["files"][0], SMALL["b.csv"])
    assert ada.put(entry, part) == 200
    stored, key = portal.service.objects, f"{upload['id']}/1"
    [started] = stored._client.list_multipart_uploads(Bucket=stored.quarantine, Prefix=key)["Uploads"]
    version = stored.complete(key, started["UploadId"], list(stored.parts(key, started["UploadId"]).values()))
    assert ada.get(f"uploads/{upload['id']}").json()["files"][0]["received"] == []
    again = stored.complete(key, started["UploadId"], [{"PartNumber": 1, "ETag": "x"}])
    assert again == version
    assert ada.post(f"uploads/{upload['id']}/files/1/complete").status_code == 200
    assert ada.post(f"uploads/{upload['id']}/finalize").status_code == 202
    portal.work()
    assert ada.get(f"uploads/{upload['id']}").json()["state"] == "published"
