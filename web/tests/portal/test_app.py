"""Test properties of all requests: rate limits, logs without personal data, and a locked database."""

import json
import logging
import sqlite3
from dataclasses import replace

import httpx
import pytest

from brainscore_web.portal import tables

pytestmark = pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)

SMALL = {"b.csv": b"b" * 10}


def test_starting_actions_is_rate_limited(settings, serve):
    with serve(replace(settings, most_tries=3)) as portal:
        ada, anybody = portal.caller("ada"), httpx.Client(base_url=portal.address)
        for ask in (
            lambda: anybody.get("/sign-in"),
            lambda: anybody.post("/api/v1/device"),
            lambda: anybody.post("/api/v1/device/token", json={"device_code": "guess"}),
            lambda: ada.announce("Mine2026", SMALL),
        ):
            answers = [ask() for _ in range(5)]
            assert [answer.status_code == 429 for answer in answers] == [False] * 3 + [True] * 2
            assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
            assert "3 per 1 minute" in answers[-1].json()["problems"][0]["expected"]
        assert ada.get("uploads").status_code == 200  # reading is not limited
        other = anybody.get("/sign-in", headers={"X-Forwarded-For": "203.0.113.7"})  # as set by a proxy on this machine
        assert other.status_code == 302


def test_log_lines_are_json_without_personal_data(portal, caplog):
    caplog.set_level(logging.INFO, "brainscore.portal")
    ada = portal.caller("ada-lovelace")
    upload_id = ada.upload("Secret2026", {"private name.csv": b"b"})
    portal.browser("ada-lovelace").get("/", params={"to": "/ada-lovelace"})
    ada.get(f"uploads/{'0' * 32}")
    portal.work()
    lines = [record.getMessage() for record in caplog.records if record.name == "brainscore.portal"]
    requests = [json.loads(line) for line in lines if line.startswith("{")]
    assert len(requests) >= 7
    assert {tuple(line) for line in requests} == {("request", "method", "route", "status", "ms")}
    assert {"/api/v1/uploads/{upload_id}", "/signed-in"} <= {line["route"] for line in requests}
    said = "\n".join(lines)
    for personal in ("lovelace", "Secret2026", "private name", upload_id, "127.0.0.1", "Bearer", "session="):
        assert personal not in said, personal


def test_locked_database_answers_503_with_retry_after(settings, serve, monkeypatch):
    monkeypatch.setattr(tables, "_BUSY_S", 0.2)
    with serve(settings) as portal:
        ada = portal.caller("ada")
        browser = portal.browser("ada")
        other = sqlite3.connect(settings.database.removeprefix("sqlite:///"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answer = ada.announce("Mine2026", SMALL)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
        assert answer.json()["problems"][0]["what"] == "the database is busy or its disk is full"
        assert ada.get("uploads").status_code == 200  # reading still works
        assert browser.get("/").status_code == 200
        other.execute("ROLLBACK")
        assert ada.announce("Mine2026", SMALL).status_code == 201


def test_error_pages_have_a_heading(portal):
    browser = portal.browser("ada")
    as_page = {"Accept": "text/html"}
    for path, heading in (("/missing", "Page not found"), ("/queue", "You do not have permission")):
        page = browser.get(path, headers=as_page)
        assert f"<h1>{heading}</h1>" in page.text, page.status_code


def test_link_cannot_prefill_a_terminal_code(portal):
    """Otherwise a user who follows a link and confirms would sign in the sender's terminal."""
    device = httpx.post(f"{portal.address}/api/v1/device").json()
    assert device["user_code"] not in device["verification_uri"]
    page = portal.browser("ada").get("/device", params={"code": device["user_code"]})
    assert page.status_code == 200
    assert device["user_code"] not in page.text
