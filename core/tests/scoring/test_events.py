"""Events of pairs are read complete, and anything else is ignored."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.scoring.judging import EventReader, append_event


@pytest.fixture
def file(tmp_path):
    return tmp_path / "events.jsonl"


def test_each_event_is_read_once(file):
    with EventReader(file, 2) as reader:
        assert list(reader.new()) == []
        append_event(file, "started", "b")
        append_event(file, "ended", "b")
        assert list(reader.new()) == [("started", "b"), ("ended", "b")]
        assert list(reader.new()) == []


def test_incomplete_line_is_read_when_complete(file):
    with EventReader(file, 1) as reader, file.open("ab", buffering=0) as stream:
        stream.write(b'["star')
        assert list(reader.new()) == []
        stream.write(b'ted", "b"]\n')
        assert list(reader.new()) == [("started", "b")]


@given(st.lists(st.binary(max_size=60) | st.just(b'["ended", "b"]'), max_size=9))
def test_malformed_lines_are_ignored(tmp_path_factory, lines):
    file = tmp_path_factory.mktemp("events") / "events"
    with EventReader(file, 5) as reader:
        file.write_bytes(b"\n".join(lines) + b"\n")
        wanted = b"\n".join(lines).split(b"\n").count(b'["ended", "b"]')
        assert list(reader.new()) == [("ended", "b")] * wanted


def test_event_flood_is_read_only_in_part(file):
    with EventReader(file, 1) as reader:
        for number in range(2_000):
            append_event(file, "ended", f"{number} {'x' * 300}")
        read = [event for _ in range(100) for event in reader.new()]
        assert 10 < len(read) < 200


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name here")
def test_replaced_file_is_not_read(file):
    with EventReader(file, 1) as reader:
        file.unlink()
        os.mkfifo(file)
        assert list(reader.new()) == []


def test_lines_of_concurrent_writers_stay_separate(file):
    def write(name):
        for _ in range(100):
            append_event(file, "ended", name * 200)

    with EventReader(file, 1_000) as reader:
        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len([event for _ in range(20) for event in reader.new()]) == 400
