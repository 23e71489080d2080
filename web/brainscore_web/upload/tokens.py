"""Keep the tokens of portals in a file that only its owner can read."""

from __future__ import annotations

import json
from pathlib import Path

from brainscore_core.config import settings
from brainscore_core.errors import ConfigurationError
from brainscore_core.files import atomic_path, locked


def _tokens_path() -> Path:
    return settings().home / "portal_tokens.json"


def read_tokens() -> dict[str, str]:
    """Return address of a portal -> token, from ``BRAINSCORE_HOME/portal_tokens.json``.

    Raises `ConfigurationError` if others may read the file, or it is damaged.
    """
    path = _tokens_path()
    if not path.exists():
        return {}
    if path.stat().st_mode & 0o077:
        raise ConfigurationError(f"{path} holds tokens that other users can read. Run chmod 600 {path}")
    try:
        tokens = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        tokens = None
    if not isinstance(tokens, dict) or not all(isinstance(token, str) for token in tokens.values()):
        raise ConfigurationError(f"{path} is no list of tokens. Remove it and sign in again.")
    return tokens


def write_token(address: str, token: str | None) -> None:
    """Store the token of a portal; None removes it."""
    path = _tokens_path()
    with locked(path):
        tokens = {name: stored for name, stored in read_tokens().items() if name != address}
        with atomic_path(path) as temporary:
            temporary.chmod(0o600)  # before anything is in it
            temporary.write_text(json.dumps(tokens if token is None else {**tokens, address: token}), encoding="utf-8")
