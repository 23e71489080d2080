"""Whatever the OpenAPI description allows is answered, never with an error of the server."""

import hypothesis
import pytest

schemathesis = pytest.importorskip("schemathesis")


@pytest.mark.slow
@pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)
def test_no_request_of_the_description_is_an_error_of_the_server(portal):
    terminal = portal.terminal("Anna")
    terminal.upload("Described2026", {"stimulus_Described2026.csv": b"stimulus_id\n1\n"})
    schema = schemathesis.openapi.from_dict(terminal.get(f"{portal.address}/openapi.json").json())
    signed, answered = {"Authorization": terminal.headers["Authorization"]}, set()
    for found in schema.get_all_operations():

        @hypothesis.settings(max_examples=15, database=None, suppress_health_check=[*hypothesis.HealthCheck])
        @hypothesis.seed(0)
        @hypothesis.given(found.ok().as_strategy())
        def ask(case):
            answer = case.call(base_url=portal.address, headers=signed, allow_redirects=False)
            assert answer.status_code < 500, (case.method, case.formatted_path, answer.text)
            answered.add((case.operation.label, answer.status_code))

        ask()
    assert len({label for label, _ in answered}) >= 15
    assert {200, 404, 422} <= {status for _, status in answered}
