"""Keep credentials out of the processes and output of strangers' code."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from urllib.parse import quote

_SHORTEST_SECRET = 6  # shorter values occur in any text

# A list of allowed variables: one of forbidden ones would never be complete.
_HANDED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|TZ|TMPDIR|TEMP|TMP|TERM|SHELL|CI|GITHUB_ACTIONS|RUNNER_OS"
    r"|SYSTEMROOT|SYSTEMDRIVE|WINDIR|PATHEXT|COMSPEC|APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAMDATA"
    r"|(LC|OMP|MKL|OPENBLAS|NUMEXPR|BRAINSCORE|BRAINIO|BS|RESULTCACHING|PYTHON|VIRTUAL|CONDA|LD|DYLD|CUDA|NVIDIA|TORCH"
    r"|HF|XDG|SSL|REQUESTS|CURL|PIP|UV|COVERAGE|HTTP|HTTPS|ALL|NO|FTP)(_\w+)?"
    r"|PYTHON\w*|PYTORCH\w*",
    re.IGNORECASE,
)
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|PASSPHRASE|_KEY|KEY_|APIKEY|CREDENTIAL|(^|_)AUTH", re.IGNORECASE)
_WITH_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]*@")


def environment_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that processes running or installing plugins may see.

    Credentials in files are hidden from the usual programs too.
    """
    variables = {
        name: value
        for name, value in environment.items()
        if _HANDED_ON.fullmatch(name) and not _SECRET.search(name) and not _WITH_PASSWORD.search(value)
    }
    nothing = {"AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_CONFIG_FILE": os.devnull}
    return {**variables, **nothing, "AWS_EC2_METADATA_DISABLED": "true"}


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that no log may contain, longest first, also URL-quoted and in base64."""
    values = {value for name, value in environment.items() if _SECRET.search(name)}
    values |= {
        password for value in environment.values() for password in re.findall(r"://[^/@\s:]*:([^/@\s]+)@", value)
    }
    values |= {line for value in values for line in value.splitlines()}
    forms: set[str] = set()
    for value in values:
        if len(value) < _SHORTEST_SECRET:
            continue
        forms |= {value, quote(value.encode("utf-8", "surrogateescape"), safe="")}
        for shift in range(3):  # a byte of base64 depends on where in a group of three it stands
            encoded = base64.b64encode(b"\0" * shift + value.encode("utf-8", "surrogateescape")).decode()
            forms.add(encoded.rstrip("=")[4 * (shift > 0) : -1])
    return tuple(sorted((form for form in forms if len(form) >= _SHORTEST_SECRET), key=len, reverse=True))
