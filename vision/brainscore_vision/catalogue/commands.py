"""Offer the command ``python -m brainscore_vision data``: list, describe, fetch, verify and remove data."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from brainscore_core import command_line
from brainscore_core.plugin_management.source import read_plugin
from brainscore_core.supported_data_standards.brainio.access import public_variant
from brainscore_vision.catalogue.entries import DATA_KINDS, clean, entries, plugin_index, verify
from brainscore_vision.catalogue.references import constant

__all__ = ["add_commands"]

DAMAGED = 1
"""Exit code if a cached file is damaged."""


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``data`` to a command line; each parser sets ``command``, a function of the parsed options."""
    data = commands.add_parser("data", help="list, describe, fetch, verify or remove data")
    actions = data.add_subparsers(required=True, metavar="ACTION")

    def add(name: str, command: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        parser = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        parser.add_argument("--traceback", action="store_true", help="show the Python traceback of an error")
        parser.set_defaults(command=command)
        return parser

    listing = add("list", _list, "list what is registered, whether it is cached, and its size on the disk")
    listing.add_argument("--cached", action="store_true", help="only what is cached")
    add("info", _info, "describe data: plugin, files, licence, citation").add_argument("identifier")
    add("fetch", _fetch, "fetch data and load them once").add_argument("identifier", nargs="+")
    verifying = add("verify", _verify, "hash cached files again and report the damaged ones (exit code 1)")
    verifying.add_argument("identifier", nargs="*", help="default: everything that is cached")
    cleaning = add("clean", _clean, "remove cached files")
    what = cleaning.add_mutually_exclusive_group(required=True)
    what.add_argument("identifier", nargs="?", help="whose files")
    what.add_argument("--all", action="store_true", help="everything that is cached")
    cleaning.add_argument("--dry-run", action="store_true", help="only say what would be removed")


def _list(options: argparse.Namespace) -> int:
    shown = [entry for entry in entries() if not options.cached or entry.cached in {"yes", "partly"}]
    rows = [("IDENTIFIER", "KIND", "CACHED", "SIZE", "PLUGIN")] + [
        (entry.identifier, entry.kind, entry.cached, _size(entry.size_bytes), entry.plugin.name) for entry in shown
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        _print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _info(options: argparse.Namespace) -> int:
    found = entries(options.identifier)
    for entry in found:
        _print(f"{entry.identifier} ({entry.kind})")
        _print(f"  plugin    {entry.plugin.directory}")
        _print(f"  cached    {entry.cached}, {_size(entry.size_bytes)}")
        for file in entry.files:
            _print(f"  bucket    {file.source.bucket}")
            _print(f"    key     {file.source.key}")
            _print(f"    version {file.source.version_id or 'newest'}")
            _print(f"    sha1    {file.source.sha1 or 'not given'}")
            _print(f"    file    {file.path}{'' if file.is_cached else ' (absent)'}")
        if not entry.files:
            _print("  files     none that are known without running the plugin")
    plugin = found[0].plugin
    source = read_plugin(plugin.directory, plugin.module)
    known = [name for kind in DATA_KINDS for name in plugin_index().identifiers(kind)]
    variant = public_variant(options.identifier, known)
    if variant is not None:
        _print(f"  public    {variant}")
    licence = constant(source, "LICENSE", "LICENCE") or _licence_file(plugin.directory)
    _print(f"  licence   {licence or 'not stated by the plugin'}")
    _print(f"  citation  {constant(source, 'BIBTEX') or 'not stated by the plugin'}")
    return 0


def _licence_file(directory: Path) -> str | None:
    for path in sorted(directory.glob("LICEN[SC]E*")):
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"{lines[0] if lines else ''} ({path})"
    return None


def _fetch(options: argparse.Namespace) -> int:
    from brainscore_vision.loading import load_dataset, load_stimulus_set

    load = {"data": load_dataset, "stimulus_set": load_stimulus_set}
    wanted = [entry for identifier in options.identifier for entry in entries(identifier)]  # all known, or none
    for entry in wanted:
        command_line.say(f"Fetching {entry.identifier} ({entry.kind}) ...")
        loaded = load[entry.kind](entry.identifier)
        shape = getattr(loaded, "sizes", None) or {"stimuli": len(loaded)}
        described = ", ".join(f"{size} {name}" for name, size in shape.items())
        _print(f"{entry.identifier} ({entry.kind}): {type(loaded).__name__}, {described}, {_size(entry.size_bytes)}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    wanted = [entry for identifier in options.identifier for entry in entries(identifier)]
    count, problems = verify(wanted if options.identifier else None)
    for problem in problems:
        _print(problem)
    _print(f"{count} files verified, {len(problems)} problems.")
    if problems:
        command_line.say("Remove what is damaged (data clean IDENTIFIER) and fetch it again.")
    return DAMAGED if problems else 0


def _clean(options: argparse.Namespace) -> int:
    removed = clean(None if options.all else entries(options.identifier), dry_run=options.dry_run)
    for folder, size_bytes in removed:
        _print(f"{'Would remove' if options.dry_run else 'Removed'} {folder} ({_size(size_bytes)})")
    _print(f"{_size(sum(size_bytes for _, size_bytes in removed))} in {len(removed)} folders.")
    return 0


def _size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _print(line: str) -> None:
    print(line)  # noqa: T201 - a command line talks
