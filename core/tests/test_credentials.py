"""Credentials are found however they are encoded, and are not passed on."""

import base64
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.credentials import environment_of, secrets_of
from brainscore_core.processes import scrub


@given(
    secret=st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=8, max_size=30),
    shift=st.binary(max_size=5),
)
def test_secrets_are_found_in_base64_and_in_addresses(secret, shift):
    forms = secrets_of({"MY_TOKEN": secret})
    encoded = base64.b64encode(shift + secret.encode() + b"after").decode()
    for text in (secret, f"https://x:{quote(secret, safe='')}@y", encoded):
        assert "***" in scrub(text, forms)


def test_environment_contains_only_permitted_variables():
    given_ = {"PATH": "/bin", "ANYTHING": "x", "http_proxy": "http://proxy", "HTTPS_PROXY": "http://me:pw@proxy"}
    kept = environment_of({**given_, "AWS_ACCESS_KEY_ID": "x", "AWS_REGION": "y"})
    assert {"PATH", "http_proxy"} <= kept.keys()
    assert not {"ANYTHING", "HTTPS_PROXY", "AWS_ACCESS_KEY_ID", "AWS_REGION"} & kept.keys()
