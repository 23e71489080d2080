"""Show the portal in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from fastapi.responses import JSONResponse

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

__all__ = ["error_page", "mount", "router"]

router = APIRouter(include_in_schema=False)


def mount(app: FastAPI) -> None:
    """Add the assets."""


def error_page(_request: Request, status: int, problems: list[dict[str, str]]) -> Response:
    """Return a page with problems."""
    return JSONResponse({"problems": problems}, status_code=status)
