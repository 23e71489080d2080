"""The commands ``brainscore cache list|explain|clean``: which activations are cached, why, and what can be removed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from brainscore_core import command_line
from brainscore_core.errors import ConfigurationError, count
from brainscore_core.identity.store import CacheEntry, cache_limit_bytes

if TYPE_CHECKING:
    from brainscore_vision.model_helpers.activations.cache import Call, Stored

__all__ = ["app"]

_NAME_WIDTH = 40
_SHOWN_LAYERS = 3

app = command_line.make_app("List, explain and remove cached activations.")


@app.command("list", cls=command_line.Command)
def list_entries(
    verify: Annotated[bool, typer.Option("--verify", help="verify all bytes against their checksums")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, including every part of the keys")] = False,
) -> int:
    """List cached activations, the least recently used first."""
    from brainscore_vision.isolation import kept  # slow to import, and completion does without
    from brainscore_vision.model_helpers.activations import cache

    entries = cache.stored_entries()
    states = [_state(stored, verify=verify) for stored in entries]
    if as_json:
        rows = [_as_json(stored, state) for stored, state in zip(entries, states, strict=True)]
        command_line.show(json.dumps(rows, indent=2))
        return 0
    for stored, state in zip(entries, states, strict=True):
        command_line.show(_line(stored, state))
    total = sum(stored.size_bytes for stored in entries)
    command_line.show(
        f"{count(len(entries), 'entry', 'entries')}, {_size(total)} of {_size(cache_limit_bytes())}, "
        f"in {cache.cache_folder()}"
    )
    if answers_bytes := kept.stored_answers().size_bytes():
        command_line.show(f"Stored answers of isolated models: {_size(answers_bytes)}, in {kept.answers_folder()}")
    return command_line.FAILED if "damaged" in states else 0


def _state(stored: Stored, *, verify: bool) -> str:
    damaged = verify and stored.state == "whole" and not stored.entry().is_intact()
    return "damaged" if damaged else stored.state


def _line(stored: Stored, state: str) -> str:
    used = datetime.fromtimestamp(stored.used).astimezone().strftime("%Y-%m-%d %H:%M")
    number = f"{stored.finished}/{stored.n_stimuli}" if state == "partial" else str(stored.n_stimuli)
    what = _what(stored)
    size = _size(stored.size_bytes)
    return f"{used}  {size:>9}  {state:8}  {number:>11} stimuli  {what:{_NAME_WIDTH}}  {stored.key[:12]}"


def _what(stored: Stored) -> str:
    first, more = ", ".join(stored.layers[:_SHOWN_LAYERS]), len(stored.layers) - _SHOWN_LAYERS
    return f"{stored.about.get('model', '?')} {first or '?'}{f' and {more} more' if more > 0 else ''}"


def _as_json(stored: Stored, state: str) -> dict[str, object]:
    return {
        "key": stored.key,
        "folder": str(stored.folder),
        "state": state,
        "layers": list(stored.layers),
        "stimuli": stored.n_stimuli,
        "finished": stored.finished,
        "size_bytes": stored.size_bytes,
        "used": stored.used,
        "about": dict(stored.about),
        "parts": dict(stored.parts),
        "notes": dict(stored.entry().notes()),
    }


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:.1f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:.1f} MB"


@app.command("explain", cls=command_line.Command)
def explain(last: Annotated[int, typer.Option(metavar="N", help="number of calls, latest last")] = 1) -> int:
    """Explain why the last calls were hits or misses.

    Names the layers that were in the cache and, for the others, which parts of their key differ from the nearest entry.
    """
    from brainscore_vision.model_helpers.activations import cache  # slow to import, see `list_entries`

    calls = cache.noted_calls(last)
    if not calls:
        command_line.show("This cache has no record of a call for activations.")
    entries = cache.stored_entries()
    for call in calls:
        command_line.show("\n".join(_explained(call, entries)))
    return 0


def _explained(call: Call, entries: Sequence[Stored]) -> list[str]:
    moment = datetime.fromtimestamp(call.time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    model, first = (call.about.get(name, "?") for name in ("model", "first stimulus"))
    lines = [f"{moment}  {model}, {call.parts.get('number of stimuli', '?')} stimuli, first {first}"]
    if call.reason:
        return [*lines, f"  not cached: {call.reason}"]
    hits = [layer for layer, outcome in call.outcomes.items() if outcome == "hit"]
    if hits:
        lines.append(f"  hit: {', '.join(hits)}")
    for layer, outcome in call.outcomes.items():
        if outcome == "resumed":
            lines.append(f"  resumed: {layer}; continued from an interrupted extraction")
        elif outcome == "miss":
            lines += _miss(call, layer, entries)
    return lines


def _miss(call: Call, layer: str, entries: Sequence[Stored]) -> list[str]:
    from brainscore_vision.model_helpers.activations import cache  # slow to import, see `list_entries`

    nearest = cache.nearest_entry(call, layer, entries)
    if nearest is None:
        return [f"  miss: {layer}; no other entry to compare it with"]
    different = cache.differences(call, layer, nearest)
    lines = [f"  miss: {layer}; the nearest entry ({_what(nearest)}) differs in:"]
    sides = ((name, _short(here), _short(there)) for name, (here, there) in different.items())
    return lines + [f"    {name}: {here} in this call, {there} in the entry" for name, here, there in sides]


def _short(value: object) -> str:
    text = json.dumps(value) if isinstance(value, (Mapping, list)) else str(value)
    return text if len(text) <= _NAME_WIDTH else f"{text[:12]}..."


@app.command("clean", cls=command_line.Command)
def clean(
    to_gb: Annotated[
        float | None,
        typer.Option(metavar="GB", min=0, help="shrink the cache to this size (10^9 bytes)", show_default=False),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="remove everything")] = False,
    damaged: Annotated[
        bool,
        typer.Option("--damaged", help="remove entries that fail their checksums or were written by another version"),
    ] = False,
) -> int:
    """Remove cached activations, chosen by one of --to-gb, --all and --damaged.

    The least recently used are removed first; entries in use stay. --to-gb and --all also remove stored answers of
    isolated models.
    """
    if (to_gb is not None) + everything + damaged != 1:
        raise ConfigurationError("Name what to remove: exactly one of --to-gb GB, --all and --damaged.")
    if to_gb is not None and not to_gb < float("inf"):
        raise ConfigurationError(f"--to-gb is {to_gb}; expected a finite number of GB, 0 or more.")
    from brainscore_vision.isolation import kept  # slow to import, see `list_entries`
    from brainscore_vision.model_helpers.activations import cache

    if damaged:
        entries = cache.stored_entries()
        removed: Sequence[Stored | CacheEntry] = cache.remove_entries(
            [stored for stored in entries if _state(stored, verify=True) in ("damaged", "outdated")]
        )
    else:
        limit_bytes = int((to_gb or 0) * 1e9)
        removed = cache.make_room(limit_bytes)
        answers = kept.remove_answers() if everything else len(kept.stored_answers(limit_bytes).make_room())
        if answers:
            command_line.show(f"Removed {answers} stored answers of isolated models.")
    freed = sum(entry.size_bytes for entry in removed)
    n_remaining = len(cache.stored_entries())
    command_line.show(f"Removed {count(len(removed), 'entry', 'entries')}, {_size(freed)}; {n_remaining} remaining.")
    if everything and n_remaining:
        command_line.say("The remaining entries are in use by a process.")
    return 0
