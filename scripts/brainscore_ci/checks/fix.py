"""Make mechanical fixes: outdated names in the code, missing keys of ``metadata.yml``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import yaml

from brainscore_ci.checks.metadata import CITED, OTHER_SPELLINGS, PUBLISHED, REQUIRED
from brainscore_ci.checks.outdated import NAMES, current_name
from brainscore_ci.checks.placeholders import QUESTIONS
from brainscore_core.files import atomic_path
from brainscore_core.plugin_management.registrations import dotted, parse

if TYPE_CHECKING:
    from brainscore_ci.checks.plugin import CheckedPlugin

_Edit = tuple[int, int, int, str]  # line from 0, first byte, end byte, new text


def fix_plugin(source: CheckedPlugin) -> list[str]:
    """Fix the files of a plugin on disk."""
    library = source.plugin.root.package.partition(".")[0]
    changed: dict[str, bytes] = {}
    for path, file in source.files.items():
        if file.tree is not None and file.content is not None:
            mended = fixed_source(file.content, library)
            if mended != file.content:
                changed[path] = mended
    if "metadata.yaml" not in source.files:
        metadata = source.files.get("metadata.yml")
        is_private = any(b"private_access" in (file.content or b"") for file in source.files.values())
        original = "" if metadata is None else metadata.text
        text = fixed_metadata(original, is_private=is_private)
        if text != original and (metadata is None or metadata.content is not None):
            changed["metadata.yml"] = text.encode()
    for path, content in changed.items():
        with atomic_path(source.plugin.directory / path) as temporary:
            temporary.write_bytes(content)
    return [source.where(path) for path in changed]


# -- code --------------------------------------------------------------------------------------------------------------


def fixed_source(content: bytes, library: str) -> bytes:
    """Return Python code with current names, see `current_name`, where renaming is safe."""
    tree = parse(content)
    lines = content.splitlines(keepends=True)
    for line, start, end, text in sorted(set(_edits(tree, lines, library)), reverse=True):
        lines[line] = lines[line][:start] + text.encode() + lines[line][end:]
    mended = b"".join(lines)
    try:
        parse(mended)
    except SyntaxError:
        return content
    return mended


def _edits(tree: ast.Module, lines: list[bytes], library: str) -> Iterator[_Edit]:
    plain = {alias.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import)
             for alias in node.names if alias.asname is None}  # fmt: skip
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    renamed = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in NAMES and alias.asname is None
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from _edits_of_import(node, lines, library)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                new = current_name(alias.name, library)
                if new is not None:
                    at = alias.col_offset
                    yield alias.lineno - 1, at, at + len(alias.name), new
        elif isinstance(node, ast.Attribute) and id(node) not in inner and node.lineno == node.end_lineno:
            name = dotted(node, {})
            new = current_name(name, library) if name.partition(".")[0] in plain else None
            if new is not None:
                yield node.lineno - 1, node.col_offset, node.end_col_offset or 0, new
        elif isinstance(node, ast.Name) and node.id in renamed:
            yield node.lineno - 1, node.col_offset, node.end_col_offset or 0, NAMES[node.id]


def _edits_of_import(node: ast.ImportFrom, lines: list[bytes], library: str) -> Iterator[_Edit]:
    module = str(node.module)
    new = current_name(module, library)
    match = re.compile(rb"from\s+" + re.escape(module.encode())).match(lines[node.lineno - 1], node.col_offset)
    if new is not None and match is not None:
        yield node.lineno - 1, match.end() - len(module.encode()), match.end(), new
    for alias in node.names:
        whole = current_name(f"{module}.{alias.name}", library) or ""
        last = whole.rpartition(".")[2]
        if whole and last != alias.name:
            keeps = alias.asname is not None or alias.name in NAMES
            text = last if keeps else f"{last} as {alias.name}"
            yield alias.lineno - 1, alias.col_offset, alias.col_offset + len(alias.name.encode()), text


# -- metadata ----------------------------------------------------------------------------------------------------------


def fixed_metadata(text: str, *, is_private: bool) -> str:
    """Return the text of a ``metadata.yml`` with normalised keys, and placeholders for missing values."""
    for spelled, key in OTHER_SPELLINGS.items():
        if not re.search(rf"^{key}:", text, re.MULTILINE):
            text = re.sub(rf"^{spelled}:", f"{key}:", text, flags=re.MULTILINE)
    try:
        values = yaml.safe_load(text) if text.strip() else {}
    except (yaml.YAMLError, RecursionError, ValueError):
        return text
    if values is None:
        values = {}
    if not isinstance(values, dict) or any(isinstance(values.get(key), dict) for key in PUBLISHED):
        return text  # a published file, or something else
    added = {**QUESTIONS, **({"access": "private"} if is_private else {})}
    missing = [key for key in REQUIRED if key not in values] + ([] if set(CITED) & values.keys() else ["citation"])
    lines = [f'{key}: "{added[key]}"' for key in missing]
    if not lines:
        return text
    return "\n".join([*([text.rstrip("\n")] if text.strip() else []), *lines]) + "\n"
