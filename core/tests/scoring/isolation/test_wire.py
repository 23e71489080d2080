"""Values are received as sent, and hostile bytes only ever raise one class of error."""

import itertools
import json
import math
import socket
import struct
import threading
import tracemalloc
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from brainscore_core.errors import PeerClosedError, PeerTimeoutError, ProtocolError
from brainscore_core.scoring.isolation.values import DTYPES, Announced, pack, planned
from brainscore_core.scoring.isolation.wire import Bounds, Connection, Message, read_message, write_message
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly, NeuroidAssembly

_SMALL = Bounds(header_bytes=2**16, arrays=20, array_bytes=2**20)


_LARGE = Bounds()


def _through(content, bounds=_LARGE):
    """Return a value as it is received; a thread sends it, because a large value does not fit into the socket."""
    ours, theirs = socket.socketpair()
    sender = threading.Thread(target=Connection(theirs).send, args=(Message("answer", 7, content),))
    sender.start()
    try:
        message = Connection(ours, bounds).receive(30)
    finally:
        sender.join(30)
        ours.close()
        theirs.close()
    assert (message.kind, message.number) == ("answer", 7)
    return message.content


def _receive(data, bounds=_SMALL, timeout_s=30.0):
    """Return the message received from bytes, after which the peer closes."""
    ours, theirs = socket.socketpair()
    sender = threading.Thread(target=_send_and_close, args=(theirs, data))
    sender.start()
    try:
        return Connection(ours, bounds).receive(timeout_s)
    finally:
        ours.close()
        sender.join(30)


def _send_and_close(sock, data):
    with suppress(OSError):  # the reader may close before the end
        sock.sendall(data)
    sock.close()


def _frame(header, rest=b""):
    encoded = json.dumps(header).encode() if not isinstance(header, bytes) else header
    return struct.pack("<4sI", b"BSw1", len(encoded)) + encoded + rest


def _header(**changes):
    return {"kind": "answer", "number": 0, "content": None, "arrays": [], **changes}


_FIRST = {"array": 0}


def _one_array(dtype, shape, content=_FIRST):
    return _header(content=content, arrays=[{"dtype": dtype, "shape": shape}])


def _assembly(dims, of_coordinate=()):
    coordinate = {"name": "c", "dims": of_coordinate, "values": {"array": 1}}
    assembly = {"kind": "DataArray", "dims": dims, "values": {"array": 0}, "name": None, "attrs": {"dict": []}}
    assembly["coords"] = [coordinate] if of_coordinate else []
    arrays = [{"dtype": "<f8", "shape": [2, 2]}, {"dtype": "<f8", "shape": [2] * len(of_coordinate)}]
    return _header(content={"assembly": assembly}, arrays=arrays[: 1 + bool(of_coordinate)])


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | _texts
_dtypes = st.sampled_from(sorted(DTYPES)).map(np.dtype)
_arrays = stn.arrays(_dtypes, stn.array_shapes(max_dims=4, min_side=0, max_side=4)) | stn.arrays(
    np.dtype("<U5"),
    stn.array_shapes(max_side=3),
    elements=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
)
_values = st.recursive(
    _scalars | _arrays,
    lambda each: st.lists(each, max_size=3) | st.tuples(each, each) | st.dictionaries(_texts, each, max_size=3),
    max_leaves=8,
)


def _same(one, other):
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and (one.dtype, one.shape) == (other.dtype, other.shape)
            and one.tobytes() == other.tobytes()  # including the bits of NaN and the sign of zero
        )
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return isinstance(other, dict) and list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return type(one) is type(other) and one == other


@settings(max_examples=80)
@given(_values)
def test_values_are_received_as_sent(value):
    assert _same(value, _through(value))


@pytest.mark.parametrize("order", ["<", ">"])
def test_other_byte_orders_and_strided_arrays_are_received(order):
    array = np.arange(24, dtype=f"{order}i4").reshape(4, 6)[::2, ::3]
    arrived = _through(array)
    assert arrived.dtype == np.dtype("<i4")
    np.testing.assert_array_equal(arrived, array)


def test_array_larger_than_memory_is_received_in_a_file(tmp_path):
    values = np.random.default_rng(0).random((1000, 300))
    arrived = _through([values, values], Bounds(memory_bytes=3_000_000, folder=tmp_path))
    assert not isinstance(arrived[0].base, np.memmap)
    np.testing.assert_array_equal(arrived[1], values)
    assert list(tmp_path.iterdir()) == []  # the file has no name, so others cannot open it


class TestFiles:
    @settings(max_examples=40)
    @given(_values)
    def test_message_is_read_as_written(self, tmp_path, value):
        write_message(tmp_path / "kept", Message("answer", 3, value))
        message = read_message(tmp_path / "kept")
        assert (message.kind, message.number) == ("answer", 3)
        assert _same(value, message.content)

    def test_array_larger_than_memory_is_mapped_from_the_file(self, tmp_path):
        values = np.random.default_rng(0).random((1000, 300))
        write_message(tmp_path / "kept", Message("answer", 0, [values, values + 1]))
        first, second = read_message(tmp_path / "kept", Bounds(memory_bytes=3_000_000)).content
        assert not isinstance(first.base, np.memmap)
        np.testing.assert_array_equal(second, values + 1)
        with pytest.raises(ValueError, match="read-only"):
            second[0, 0] = 1
        (tmp_path / "kept").unlink()  # as eviction does
        np.testing.assert_array_equal(second, values + 1)

    def test_every_changed_byte_is_detected(self, tmp_path):
        file = tmp_path / "kept"
        write_message(file, Message("answer", 0, [np.arange(3), "text"]))
        data = file.read_bytes()
        for at in range(len(data)):
            file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            with pytest.raises(ProtocolError):
                read_message(file)
            file.write_bytes(data[:at])
            with pytest.raises(ProtocolError):
                read_message(file)

    def test_oversized_message_is_not_written(self, tmp_path):
        with pytest.raises(ProtocolError, match="expected at most"):
            write_message(tmp_path / "kept", Message("answer", 0, np.zeros(1000)), most_bytes=1000)
        assert not (tmp_path / "kept").exists()


def _of_labels():
    answer = BehavioralAssembly(
        [["dog", "cat"]],
        coords={"stimulus_id": ("presentation", ["a", "b"]), "label": ("presentation", ["dog", "cat"])},
        dims=["choice", "presentation"],
    )
    answer.attrs["probabilities"] = BehavioralAssembly(
        [[0.2, 0.8], [0.5, 0.5]],
        coords={"stimulus_id": ("presentation", ["a", "b"]), "choice": ("choice", ["cat", "dog"])},
        dims=["presentation", "choice"],
    )
    return answer


def _of_neurons():
    return NeuroidAssembly(
        np.random.default_rng(0).random((3, 2, 1), dtype=np.float32),
        coords={
            "stimulus_id": ("presentation", ["a", "b", "c"]),
            "number": ("presentation", [1, 2, 3]),
            "mixed": ("presentation", np.array(["x", None, 2.5], dtype=object)),
            "neuroid_id": ("neuroid", ["n.0", "n.1"]),
            "time_bin_start": ("time_bin", [70]),
            "time_bin_end": ("time_bin", [170]),
            "note": "a scalar",
        },
        dims=["presentation", "neuroid", "time_bin"],
        name="it",
        attrs={"deviation": 0.5, "layers": ["a", "b"], "empty": {}},
    )


@pytest.mark.parametrize("make", [_of_labels, _of_neurons])
def test_assemblies_keep_class_order_types_and_attributes(make):
    sent, arrived = make(), _through(make())
    assert type(arrived) is type(sent)
    assert (arrived.dims, arrived.dtype, arrived.name) == (sent.dims, sent.dtype, sent.name)
    assert list(arrived.coords) == list(sent.coords)
    assert {name: arrived[name].dtype for name in arrived.coords} == {name: sent[name].dtype for name in sent.coords}
    xr.testing.assert_equal(arrived, sent)
    assert list(arrived.attrs) == list(sent.attrs)
    for name, value in sent.attrs.items():
        if isinstance(value, xr.DataArray):
            xr.testing.assert_identical(arrived.attrs[name], value)
        else:
            assert arrived.attrs[name] == value


def test_tables_keep_types_and_index():
    table = pd.DataFrame(
        {
            "stimulus_id": ["a", "b", "c", "d"],
            "number": [1, 2, 3, 4],
            "degrees": [8.0, np.nan, 4.0, 4.0],
            "is_face": [True, False, True, False],
            "missing": ["x", None, "y", "z"],
            "mixed": pd.Series([1, "x", None, 2.5], dtype=object),
            "kind": pd.Categorical(["u", "v", "u", "v"]),
            "maybe": pd.array([1, None, 2, 3], dtype="Int64"),
        }
    )
    for sent in (table, table[table["is_face"]], table[:1]):
        expected = sent.assign(kind=sent["kind"].cat.remove_unused_categories())
        pd.testing.assert_frame_equal(_through(sent), expected, check_index_type=False)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        b"bytes",
        {1: "a key"},
        np.array([object()]),
        np.array([1 + 2j]),
        np.array(["2024-01-01"], dtype="datetime64[s]"),
        np.ma.masked_array([1.0], [True]),
        {"deep": [[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]},
        pd.DataFrame({"when": pd.to_datetime(["2024-01-01"])}),
        pd.DataFrame({3: [1]}),
    ],
)
def test_unsupported_values_are_rejected_before_sending(value):
    ours, theirs = socket.socketpair()
    with pytest.raises(ProtocolError):
        Connection(theirs).send(Message("answer", 0, value))
    ours.setblocking(False)
    with pytest.raises(BlockingIOError):
        ours.recv(1)
    ours.close()
    theirs.close()


# -- hostile bytes -----------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(st.binary(max_size=200))
def test_random_bytes_raise_only_protocol_errors(data):
    with pytest.raises(ProtocolError):
        _receive(data)


_json = st.recursive(
    _scalars,
    lambda each: (
        st.lists(each, max_size=3)
        | st.dictionaries(
            st.sampled_from(["array", "texts", "objects", "dict", "tuple", "table", "assembly", "kind", "dims", "x"]),
            each,
            max_size=2,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=80)
@given(
    _json,
    st.lists(
        st.tuples(
            st.sampled_from([*sorted(DTYPES), "<U3", "|O", "<M8[s]", "V8"]), st.lists(st.integers(-1, 3), max_size=3)
        ),
        max_size=3,
    ),
    st.binary(max_size=300),
)
def test_random_headers_raise_only_protocol_errors(content, arrays, rest):
    announced = [{"dtype": dtype, "shape": shape} for dtype, shape in arrays]
    with suppress(ProtocolError):
        _receive(_frame(_header(content=content, arrays=announced), rest))


@settings(max_examples=60)
@given(st.data())
def test_corrupted_messages_raise_only_protocol_errors(data):
    arrays: list = []
    content = pack(_of_neurons(), arrays)
    announced = [{"dtype": each.dtype.str, "shape": list(each.shape)} for each in arrays]
    whole = bytearray(_frame(_header(content=content, arrays=announced), b"".join(each.tobytes() for each in arrays)))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ProtocolError):
        _receive(bytes(whole[: data.draw(st.integers(0, len(whole)))] if data.draw(st.booleans()) else whole))


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "begin with"),
        (struct.pack("<4sI", b"BSw1", 2**32 - 1), "header of 4294967295 bytes"),
        (_frame(b"{"), "not JSON"),
        (_frame(b'{"kind": "a", "kind": "b"}'), "key twice"),
        (_frame(b"[" * 60_000), "not JSON"),
        (_frame(_header(more=1)), "more"),
        (_frame(_header(kind="x" * 500)), "kind"),
        (_frame(_header(arrays=[{"dtype": "|O", "shape": [1]}])), "type"),
        (_frame(_header(arrays=[{"dtype": "<U999999", "shape": [1]}])), "type"),
        (_frame(_header(arrays=[{"dtype": "<f8", "shape": [2**40, 2**40]}])), "MiB"),
        (_frame(_header(arrays=[{"dtype": "<f8", "shape": [2**30]}])), "MiB"),
        (_frame(_header(arrays=[{"dtype": "<f8", "shape": [-1]}])), "greater than or equal to 0"),
        (_frame(_header(arrays=[{"dtype": "<f8", "shape": [0] * 9}])), "shape"),
        (_frame(_header(arrays=[{"dtype": "<f8", "shape": [0]}] * 21)), "21 arrays"),
        (_frame(_one_array("|b1", [1]), b"\x02"), "neither 0 nor 1"),
        (_frame(_one_array("<U1", [1]), b"\xff\xff\xff\xff"), "invalid characters"),
        (_frame(_one_array("<U1", [1]), struct.pack("<I", 0xD800)), "invalid characters"),
        (_frame(_header(content={"array": 0})), "was not sent"),
        (_frame(_header(content={"array": True}, arrays=[{"dtype": "|b1", "shape": [0]}])), "was not sent"),
        (_frame(_header(content={"pickle": "x"})), "does not exist"),
        (_frame(_header(content={"dict": [["a", 1], ["a", 2]]})), "key twice"),
        (_frame(_header(content={"objects": [[1]]})), "more than scalars"),
        (_frame(_one_array("<f8", [0, 2**40, 2**40])), "MiB"),
        (_frame(_one_array("<f8", [1], content=None)), "1 arrays and refers to 0"),
        (_frame(_one_array("<f8", [1], content=[{"array": 0}, {"array": 0}])), "referred to twice"),
        (_frame(_one_array("<U1", [1], content=[{"texts": 0}] * 1000)), "referred to twice"),
        (_frame(_one_array("<U1", [2**15])), "MiB"),  # Python strings take more than the array
        (_frame(_header(content={"objects": [0] * 20_000})), "MiB"),
        (_frame(_assembly(["x", "x"])), "2 dimensions, but names for 1"),
        (_frame(_assembly(["x", "y"], ["x", "x"])), "a dimension twice"),
        (_frame(_assembly(["x", "y"], ["z"])), "expected"),
    ],
)
def test_error_names_the_rule_that_a_message_breaks(frame, said):
    with pytest.raises(ProtocolError, match=said):
        _receive(frame)


def test_announced_size_is_checked_before_allocation():
    frame = _frame(_header(arrays=[{"dtype": "<f8", "shape": [2**30]}]))
    tracemalloc.start()
    with pytest.raises(ProtocolError):
        _receive(frame)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**22


def test_rejects_arrays_larger_than_memory_and_disk(tmp_path):
    bounds = replace(_SMALL, array_bytes=2**62, memory_bytes=2**20, folder=tmp_path)
    with pytest.raises(ProtocolError, match="BRAINSCORE_MEMORY_GB"):
        _receive(_frame(_one_array("<f8", [2**30, 2**10])), bounds)


def test_closed_and_silent_peers_have_separate_errors():
    with pytest.raises(PeerClosedError):
        _receive(_frame(_header())[:-3])
    ours, theirs = socket.socketpair()
    with pytest.raises(PeerTimeoutError):
        Connection(ours).receive(0.05)
    with pytest.raises(PeerTimeoutError):
        Connection(ours).send(Message("answer", 0, np.zeros(2**24)), 0.2)  # the peer does not read
    theirs.close()
    with pytest.raises(PeerClosedError):
        Connection(ours).send(Message("answer"))
    ours.close()
    with pytest.raises(PeerClosedError):
        Connection(ours).receive(1)


def test_slow_sender_cannot_extend_the_timeout():
    ours, theirs = socket.socketpair()
    stop = threading.Event()

    def trickle():
        for byte in itertools.cycle(struct.pack("<4sI", b"BSw1", 2**15) + b" "):
            if stop.wait(0.01):
                return
            theirs.send(bytes([byte]))

    sender = threading.Thread(target=trickle)
    sender.start()
    with pytest.raises((PeerTimeoutError, ProtocolError)):
        Connection(ours, _SMALL).receive(0.5)
    stop.set()
    sender.join()
    ours.close()
    theirs.close()


def test_header_is_checked_before_arrays_are_received():
    arrays: list = []
    tree = pack({"a": (1, [2.5, None], np.arange(3))}, arrays)
    make = planned(tree, [Announced(each.dtype, each.shape) for each in arrays], 10_000)
    assert make(arrays)["a"][:2] == (1, [2.5, None])
    ours, theirs = socket.socketpair()
    theirs.send(_frame(_assembly(["x", "x"])))  # without any byte of the array
    with ours, theirs, pytest.raises(ProtocolError, match="names for 1"):
        Connection(ours).receive(30)


@settings(max_examples=40)
@given(_json, st.lists(st.tuples(st.sampled_from(["<f8", "<U9", "|b1"]), st.lists(st.integers(0, 2**13), max_size=2))))
def test_message_never_exceeds_its_memory_bound(content, arrays):
    announced = [{"dtype": dtype, "shape": shape} for dtype, shape in arrays]
    tree = [content, *({"texts" if dtype == "<U9" else "array": n} for n, (dtype, _) in enumerate(arrays))]
    size = sum(np.dtype(dtype).itemsize * math.prod(shape) for dtype, shape in arrays)
    frame = _frame(_header(content=tree, arrays=announced), bytes(min(size, 2**21)))
    tracemalloc.start()
    with suppress(ProtocolError, PeerClosedError):
        _receive(frame)
    most = tracemalloc.get_traced_memory()[1] - 2 * len(frame)
    tracemalloc.stop()
    assert most < _SMALL.array_bytes + 40 * _SMALL.header_bytes
