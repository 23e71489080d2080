"""The page on isolation names an existing test for each claim, and every hostile test."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "explanation" / "isolation.md"
FOLDERS = ("core/tests", "vision/tests", "scripts/tests", "web/tests")


def names_in(files):
    return {
        node.name
        for file in files
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_page_lists_every_hostile_test():
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text("utf-8")))
    assert len(named) > 25
    assert named <= names_in(file for folder in FOLDERS for file in (ROOT / folder).rglob("test_*.py"))
    assert names_in(Path(__file__).parent.glob("test_hostile_*.py")) <= named
