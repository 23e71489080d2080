"""Mutated frames, as from a hostile candidate, cause only `ProtocolError` and stay within the memory bound."""

import json
import random
import struct
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from brainscore_core.errors import PeerClosedError, ProtocolError
from brainscore_core.scoring.isolation.wire import Bounds, Connection, Message
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly

HEADER_BYTES, ARRAY_BYTES = 2**16, 2**20
# The objects of a parsed header take about sixty times the bytes of its text; the socket holds a second copy of arrays.
MOST_BYTES = 64 * HEADER_BYTES + 2 * ARRAY_BYTES
HOSTILE = [
    *(None, True, -1, 0, 2**40, 2**63, 10**400, 1.5, "", "x" * 5000, "\ud800", "__class__", [], {}, [[]], {"array": 0}),
    *(
        {"texts": 0},
        {"objects": [1, "a"]},
        {"dict": [["a", 1], ["a", 2]]},
        {"tuple": [[[]]]},
        "<f8",
        "|O",
        "<U4000",
        "<M8[ns]",
    ),
    *(
        [0, 2**40, 2**40],
        ["presentation", "presentation"],
        {"assembly": {}},
        {"table": {"columns": [], "index": [9**9, None]}},
    ),
]


class Wire:
    """A socket in memory, for both directions."""

    def __init__(self, data=b""):
        self.data, self.at = bytearray(data), 0

    def settimeout(self, seconds):
        pass

    def send(self, view):
        self.data += view
        return len(view)

    def recv_into(self, view):
        chunk = self.data[self.at : self.at + len(view)]
        view[: len(chunk)] = chunk
        self.at += len(chunk)
        return len(chunk)


def frames():
    """Yield valid frames as (header, bytes of arrays)."""
    assembly = NeuroidAssembly(
        np.arange(12.0).reshape(3, 4),
        coords={
            "stimulus_id": ("presentation", ["a", "b", "c"]),
            "object_name": ("presentation", ["dog", "cat", "dog"]),
            "neuroid_id": ("neuroid", list("wxyz")),
        },
        dims=["presentation", "neuroid"],
        attrs={"n": 3, "more": {"t": (1, "x", None)}},
    )
    table = pd.DataFrame({"stimulus_id": ["a", "b"], "size": [1.5, 2.5], "seen": [True, False]})
    for content in (
        assembly,
        table,
        {"classes": ["ValueError"], "message": "m"},
        [assembly, {"again": table}],
        8.0,
        None,
    ):
        wire = Wire()
        Connection(wire).send(Message("answer", 7, content))
        (length,) = struct.unpack_from("<I", wire.data, 4)
        yield json.loads(wire.data[8 : 8 + length]), bytes(wire.data[8 + length :])


def places(node):
    """Return (container, key) of every value inside a JSON value."""
    keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    return [place for key in keys for place in [(node, key), *places(node[key])]]


def mutate(draw, corpus):
    """Return a frame with mutations of its values, its text or its bytes."""
    header, arrays = corpus[draw.randrange(len(corpus))]
    header = json.loads(json.dumps(header))
    for _ in range(draw.choice([0, 1, 1, 2, 5])):
        container, key = draw.choice(places(header))
        others = [holder[name] for holder, name in places(header)]
        container[key] = json.loads(json.dumps(draw.choice(HOSTILE) if draw.random() < 0.6 else draw.choice(others)))
    text = bytearray(json.dumps(header).encode("utf-8", "surrogatepass"))
    if draw.random() < 0.1:
        text = text.replace(b"[", b"[" * draw.choice([2, 500, 20_000]), 1)
    length = len(text) if draw.random() < 0.9 else draw.choice([0, 1, len(text) - 1, len(text) + 9, 2**32 - 1])
    frame = bytearray(struct.pack("<4sI", b"BSw1", length)) + text + arrays * draw.choice([1, 1, 1, 2, 0])
    for _ in range(draw.choice([0, 0, 1, 3])):
        frame[draw.randrange(len(frame))] = draw.randrange(256)
    return frame[: draw.choice([len(frame), len(frame), draw.randrange(len(frame) + 1)])]


@pytest.mark.parametrize("number", [1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_mutated_frames_only_cause_protocol_errors(number, tmp_path):
    draw, corpus = random.Random(number), list(frames())  # noqa: S311 - the same frames each time
    bounds = Bounds(header_bytes=HEADER_BYTES, array_bytes=ARRAY_BYTES, folder=tmp_path)
    accepted, largest = 0, 0
    for at in range(number):
        connection = Connection(Wire(mutate(draw, corpus)), bounds)
        if at % 10 == 0:  # tracing memory takes most of the time
            tracemalloc.start()
        try:
            connection.receive(60)
            accepted += 1
        except (ProtocolError, PeerClosedError):
            pass
        finally:
            largest = max(largest, tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert largest < MOST_BYTES
    assert 0.02 * number < accepted < 0.9 * number  # both valid and invalid frames occur
