"""Test that requests allowed by the OpenAPI description cause no server error, and that clients make no others."""

import re
from importlib.resources import files

import httpx
import hypothesis
import jsonschema
import pytest

from brainscore_web import upload as client
from brainscore_web.portal import sign_in
from brainscore_web.portal.app import make_app
from brainscore_web.upload import Portal, send

UPLOAD_JS = (files("brainscore_web.portal") / "assets" / "upload.js").read_text(encoding="utf-8")


def test_clients_make_only_described_requests(settings, serve, tmp_path, own_homes, monkeypatch):
    """All requests of the terminal are recorded; the browser's calls are read from its script."""
    asked, request = [], httpx.Client.request

    def recording_request(client, method, url, *, json=None, **options):
        if client.base_url.host:
            asked.append((method, f"{client.base_url.path}{url}", json))
        return request(client, method, url, json=json, **options)

    monkeypatch.setattr(httpx.Client, "request", recording_request)
    monkeypatch.setattr(
        sign_in, "start_device", lambda service, start=sign_in.start_device: {**start(service), "interval": 0}
    )
    file = tmp_path / "stimulus_Described2026.csv"
    file.write_text("stimulus_id\n1\n")
    with serve(settings) as portal:
        description = make_app(portal.service).openapi()
        ada = sign_in.welcome(portal.service, "1", "ada")
        terminal = Portal(portal.address, None)
        terminal.sign_in(lambda told: sign_in.allow_device(portal.service, ada, told.rpartition(" ")[2]))
        state = send(terminal, [file], "Described2026", is_private=False)
        portal.work()
        assert client._wait(terminal, state)["state"] == "published"
        client._write_plugin(terminal, state["id"], tmp_path / "plugin")
    assert len({(method, re.sub(r"[0-9a-f]{32}", "", path)) for method, path, _ in asked}) == 8
    by_browser = re.findall(r'call\("(\w+)", [`"]([^`"]+)[`"]', UPLOAD_JS)
    assert len(by_browser) == 6
    for method, path in by_browser:
        address = re.sub(r"\$\{\w+[^}]*\}", "1", path.replace("${path}", "uploads/1/files/1"))
        asked.append((method, f"/api/v1/{address}", None))
    for method, path, body in asked:
        found = [each for each in description["paths"] if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each), path)]
        operation = min((description["paths"][each] for each in found), key=len)[method.lower()]
        if body is not None:
            content = operation["requestBody"]["content"]["application/json"]["schema"]
            jsonschema.validate(body, {**content, "components": description["components"]})


@pytest.mark.slow
@pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)
def test_described_requests_cause_no_server_error(portal):
    schemathesis = pytest.importorskip("schemathesis")
    caller = portal.caller("Anna")
    caller.upload("Described2026", {"stimulus_Described2026.csv": b"stimulus_id\n1\n"})
    schema = schemathesis.openapi.from_dict(caller.get(f"{portal.address}/openapi.json").json())
    signed, answered = {name: caller.headers[name] for name in ("Cookie", "X-CSRF-Token")}, set()
    for found in schema.get_all_operations():

        @hypothesis.settings(max_examples=8, database=None, suppress_health_check=[*hypothesis.HealthCheck])
        @hypothesis.seed(0)
        @hypothesis.given(found.ok().as_strategy())
        def ask(case):
            answer = case.call(base_url=portal.address, headers=signed, allow_redirects=False)
            assert answer.status_code < 500, (case.method, case.formatted_path, answer.text)
            answered.add((case.operation.label, answer.status_code))

        ask()
    assert len({label for label, _ in answered}) >= 15
    assert {200, 404, 422} <= {status for _, status in answered}
