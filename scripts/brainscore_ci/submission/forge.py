"""Call GitHub for a submission."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlsplit

from brainscore_ci.github.client import HttpGitHub
from brainscore_ci.submission.request import Issue, is_attachment
from brainscore_core.errors import ConfigurationError, DownloadError, UploadError

_MOST_REDIRECTS = 3
_STORAGE = (".githubusercontent.com", ".s3.amazonaws.com")


class HttpForge(HttpGitHub):
    """Access for submissions to one repository; arguments are those of `HttpGitHub`."""

    def issue(self, number: int) -> Issue:
        """Return an issue."""
        entry = self._object("GET", f"/issues/{number}")
        user = entry.get("user") or {}
        return Issue(
            number=number,
            author=str(user.get("login") or ""),
            author_id=int(user.get("id") or 0),
            body=str(entry.get("body") or ""),
            is_pull_request="pull_request" in entry,
        )

    def attachment(self, url: str, most_bytes: int) -> bytes:
        """Return a file attached to an issue, fetched without a token.

        Raises
        ------
        ConfigurationError
            If the URL is not an attachment's.
        DownloadError
            If it cannot be fetched, is too large, or redirects outside of GitHub's storage.
        """
        if not is_attachment(url):
            raise ConfigurationError(
                f"{url!a} is no attachment: expected https://github.com/user-attachments/files/<number>/<name>.zip."
            )
        answer = self._send("GET", url, most_bytes=most_bytes, elsewhere=True)
        for _ in range(_MOST_REDIRECTS):
            if not answer.location:
                break
            host = urlsplit(answer.location).hostname or ""
            if not host.endswith(_STORAGE):
                raise DownloadError(f"{url} is kept at {host!a}, which is not where GitHub keeps attachments.")
            answer = self._send("GET", answer.location, most_bytes=most_bytes, elsewhere=True)
        if answer.status != 200:
            raise DownloadError(
                f"{url} cannot be fetched (status {answer.status}). In a repository that is not public only a person "
                "can: download it and give the file."
            )
        return answer.body

    def pull_request_of(self, branch: str) -> int | None:
        """Return the open pull request from a branch of this repository; None if there is none."""
        owner = self._repository.partition("/")[0]
        for entry in self._pages("/pulls", {"state": "open", "head": f"{owner}:{branch}"}):
            head = entry["head"]
            is_here = (head.get("repo") or {}).get("full_name", "").lower() == self._repository.lower()
            if head["ref"] == branch and is_here:  # a fork may use the same branch name
                return int(entry["number"])
        return None

    def open_pull_request(self, *, branch: str, base: str, title: str, body: str) -> int:
        """Open a pull request and return its number.

        Raises `UploadError` if GitHub refuses it.
        """
        content = {"title": title, "head": branch, "base": base, "body": body, "maintainer_can_modify": False}
        return int(self._object("POST", "/pulls", content)["number"])

    def progress(self, number: int) -> dict[str, Any]:
        """Return the ``state`` of a pull request (open, merged or closed) and its ``checks``.

        Each check has ``name``, ``state`` (such as success, failure or in_progress) and ``url``.
        """
        pull = self._object("GET", f"/pulls/{number}")
        runs = self._pages(f"/commits/{quote(str(pull['head']['sha']))}/check-runs", {}, "check_runs")
        checks = [
            {"name": str(run["name"]), "state": str(run["conclusion"] or run["status"]), "url": str(run["html_url"])}
            for run in runs
        ]
        return {"state": "merged" if pull.get("merged") else str(pull["state"]), "checks": checks}

    def _object(self, method: str, path: str, content: object = None) -> dict[str, Any]:
        answer = self._send(method, f"{self._base}{quote(path)}", content=content)
        failure = DownloadError if method == "GET" else UploadError
        try:
            data = json.loads(answer.body)
        except ValueError:
            data = None
        if answer.status not in {200, 201} or not isinstance(data, dict):
            message = str(data.get("message", ""))[:200] if isinstance(data, dict) else ""
            raise failure(
                f"GitHub answered {method} {path} with status {answer.status} ({message!a}). Check the number, the "
                "permissions of the job, and that the settings of the repository let Actions open pull requests."
            )
        return data
