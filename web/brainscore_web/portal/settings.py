"""Read the settings of the portal from the environment, once, when it starts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from brainscore_core.errors import ConfigurationError, did_you_mean

PREFIX = "BRAINSCORE_PORTAL_"


@dataclass(frozen=True, kw_only=True)
class PortalSettings:
    """Everything about one portal; each field is the variable ``BRAINSCORE_PORTAL_<FIELD>``.

    Attributes
    ----------
    public_url
        Address in the browser, without a path; requests to other hosts are refused.
    database
        URL for SQLAlchemy, such as ``postgresql+psycopg://user@host/name``.
    folder
        For work in progress; must hold two of the largest uploads.
    s3_endpoint, s3_public_endpoint
        Addresses of S3 for the portal and for browsers; empty: AWS, and the same as the portal's.
    quarantine_bucket, public_bucket, private_bucket
        Buckets with versioning.
    secret
        Signs the cookie of a sign-in in progress and CSRF tokens: at least 32 characters.
    client_id, client_secret, authorize_url, token_url, person_url
        OAuth application; the addresses are GitHub's by default.
    maintainers
        Numbers of accounts as ``#583231``, separated by commas. Logins are refused: somebody else can register one that
        its owner gave up.
    library, library_folder
        The domain's package, and its folder in the repository.
    repository, remote, base, github_token, github_api
        Where pull requests go: owner/name, address for git (empty: that on GitHub), target branch, token, API.
    submission_issue
        Issue that pull requests are part of.
    records
        Folder of score records, as for the leaderboard.
    review
        Whether a maintainer approves uploads before publication.
    demo
        Whether any name signs in.
    metrics_token
        Token for reading ``/metrics``, sent as ``Authorization: Bearer <token>``; empty: they cannot be read.
    most_files, most_file_bytes, quota_bytes, most_live_uploads, most_zip_files
        Limits: files of one upload, size of a file, of a person's uploads together, and a person's uploads in progress
        and zip files.
    most_empty_uploads, empty_s
        Limit of a person's uploads that have not received a byte, and the age at which such an upload is deleted, so
        that its identifier is free again.
    most_tries
        Requests a minute of one address to each of the routes that sign in or start something; 0 means no limit.
    most_memory_bytes, longest_check_s
        Limits of the box that checks.
    url_s, session_s, token_s, device_s
        Validity of presigned URLs, sessions, tokens of terminals, and codes of sign-ins at terminals.
    heartbeat_s, silent_s, most_requeues, abandoned_s
        Interval of heartbeats, silence after which an upload is queued again, how often, and silence after which one
        that still receives files is deleted, as zip files of that age are.
    deletable_s
        How long owners may delete published data that the portal opened no pull request for; then a plugin may name
        them, and a maintainer decides.
    """

    public_url: str = "http://localhost:8060"
    database: str = "sqlite:///portal.sqlite"
    folder: Path = Path("portal-work")
    s3_endpoint: str = ""
    s3_public_endpoint: str = ""
    quarantine_bucket: str = "brainscore-quarantine"
    public_bucket: str = "brainscore-public"
    private_bucket: str = "brainscore-private"
    secret: str = ""
    client_id: str = ""
    client_secret: str = ""
    authorize_url: str = "https://github.com/login/oauth/authorize"
    token_url: str = "https://github.com/login/oauth/access_token"  # noqa: S105 - an address
    person_url: str = "https://api.github.com/user"
    maintainers: str = ""
    library: str = "brainscore_vision"
    library_folder: str = "vision/brainscore_vision"
    repository: str = ""
    remote: str = ""
    base: str = "main"
    github_token: str = ""
    github_api: str = "https://api.github.com"
    submission_issue: int = 0
    records: str = ""
    review: bool = False
    demo: bool = False
    metrics_token: str = ""
    part_bytes: int = 8 * 2**20
    most_files: int = 2000
    most_file_bytes: int = 64 * 2**30
    quota_bytes: int = 100 * 10**9
    most_live_uploads: int = 20
    most_zip_files: int = 20
    most_empty_uploads: int = 5
    empty_s: float = 3600.0
    most_tries: int = 300
    most_memory_bytes: int = 2 * 2**30
    longest_check_s: float = 600.0
    url_s: int = 3600
    session_s: int = 7 * 86400
    token_s: int = 7 * 86400
    device_s: int = 900
    heartbeat_s: float = 5.0
    silent_s: float = 30.0
    most_requeues: int = 3
    abandoned_s: float = 7 * 86400.0
    deletable_s: float = 86400.0

    @property
    def host(self) -> str:
        """Host, and port if it is not the usual one."""
        return urlsplit(self.public_url).netloc

    @property
    def is_connected(self) -> bool:
        """Whether pull requests can be opened."""
        return bool(self.repository and self.submission_issue)

    @property
    def browser_s3(self) -> str:
        """Address of S3 for browsers; empty for AWS."""
        return self.s3_public_endpoint or self.s3_endpoint

    @classmethod
    def of(cls, environment: Mapping[str, str], **others: Any) -> PortalSettings:
        """Read the variables of an environment; `others` are defaults that differ from the class's.

        Raises a `ConfigurationError` with all unknown names and unusable values.
        """
        known = {f"{PREFIX}{field.name.upper()}": field for field in fields(cls)}
        problems, values = [], dict(others)
        for name in sorted(environment):
            if not name.startswith(PREFIX):
                continue
            if name not in known:
                problems.append(f"{name} is not a setting of the portal.{did_you_mean(name, known)}")
                continue
            field = known[name]
            try:
                values[field.name] = _READ[str(field.type)](environment[name])
            except (ValueError, KeyError):
                problems.append(f"{name} is {environment[name]!r}; expected {_EXPECTED[str(field.type)]}.")
        settings = cls(**values)
        if len(settings.secret) < 32:
            problems.append(f"{PREFIX}SECRET has {len(settings.secret)} characters; expected 32 or more random ones.")
        if not settings.demo and not settings.client_id:
            problems.append(f"{PREFIX}CLIENT_ID is missing: register an OAuth application, or start with --demo.")
        problems += [
            f"{PREFIX}MAINTAINERS has {name!r}; expected an account number, such as #583231, which is the 'id' at "
            f"https://api.github.com/users/{name}."
            for name in filter(None, map(str.strip, settings.maintainers.split(",")))
            if not re.fullmatch("#[0-9]+", name)
        ]
        if problems:
            raise ConfigurationError("\n".join(problems))
        return settings


_READ: dict[str, Any] = {
    "str": str,
    "int": lambda text: int(text) if int(text) >= 0 else int("negative"),
    "float": lambda text: float(text) if float(text) > 0 else float("negative"),
    "bool": {"1": True, "0": False}.__getitem__,
    "Path": Path,
}
_EXPECTED = {"int": "an integer of 0 or more", "float": "a number above 0", "bool": "0 or 1"}
