import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from brainscore_core.testing import machine
from brainscore_core.testing.machine import (
    Conditions,
    available_memory_gb,
    free_port,
    has_gpu,
    has_network,
    kind_of_reason,
    running_processes,
    wait_until,
)
from brainscore_core.testing.machine import skip_reason as reason_of

EVERYTHING = Conditions(private=True, slow=True, gpu=True, memory_gb=64)
NOTHING = Conditions(private=False, slow=False, gpu=False, memory_gb=1)
MARKERS = {
    "private_access": "private",
    "slow": "slow",
    "travis_slow": "slow",
    "memory_intense": "memory",
    "gpu": "gpu",
    "requires_gpu": "gpu",
}


@pytest.mark.parametrize(("marker", "kind"), MARKERS.items())
def test_each_marker_has_its_reason(marker, kind):
    reason = reason_of({marker, "parametrize"}, NOTHING)
    assert kind_of_reason(reason) == kind
    assert kind_of_reason(f"Skipped: {reason}") == kind
    assert reason_of({marker}, EVERYTHING) is None
    assert reason_of({marker}, NOTHING, wanted={marker}) is None


def test_private_tests_run_by_default_and_slow_ones_do_not():
    assert reason_of({"private_access"}, Conditions()) is None
    assert "--slow" in reason_of({"slow"}, Conditions())
    assert reason_of({"network"}, Conditions()) is None  # its data may be in the data home
    assert reason_of({"memory_intense"}, Conditions()) is None  # the available memory is unknown


@pytest.mark.parametrize("reason", ["no reason", "because: of this", "", "privately: no"])
def test_reasons_given_by_plugins_are_of_another_kind(reason):
    assert kind_of_reason(reason) == "other"


@pytest.mark.parametrize("value", ["", "-1"])
def test_gpu_that_may_not_be_used_does_not_count(monkeypatch, value):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    has_gpu.cache_clear()
    assert not has_gpu()
    has_gpu.cache_clear()


@pytest.fixture
def direct_network(monkeypatch):
    for name in os.environ:
        if "proxy" in name.lower() or name.startswith("AWS_ENDPOINT"):
            monkeypatch.delenv(name)


def test_network_is_available_if_the_store_answers(direct_network, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(machine, "_STORE", server.getsockname())
        assert has_network()
    assert not has_network()


def test_slow_look_ups_count_as_no_network(direct_network, monkeypatch):
    waiting = threading.Event()

    def hang(*_, **__):
        waiting.wait(20)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", hang)
    started = time.monotonic()
    assert not has_network(timeout_s=0.1)
    assert time.monotonic() - started < 10
    waiting.set()


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "AWS_ENDPOINT_URL"])
def test_proxy_or_other_endpoint_counts_as_network(direct_network, monkeypatch, name):
    monkeypatch.setattr(machine, "_STORE", ("127.0.0.1", 1))
    monkeypatch.setenv(name, "http://somewhere:3128")
    assert has_network()


def test_memory_is_a_plausible_number():
    assert available_memory_gb() is None or 0 < available_memory_gb() < 1e5


def test_processes_are_listed_until_they_end():
    with subprocess.Popen([sys.executable, "-c", "input()", "word-of-a-test"], stdin=subprocess.PIPE) as process:
        wait_until(lambda: running_processes("word-of-a-test") == [process.pid])
        assert process.pid in running_processes()
        process.stdin.close()
        wait_until(lambda: process.pid not in running_processes())  # a zombie now
    assert running_processes("word-of-a-test") == []
    with pytest.raises(TimeoutError, match="never"):
        wait_until(lambda: False, "never", most_s=0.01)


def test_free_port_is_usable_and_outside_the_range_of_clients():
    with socket.create_server(("127.0.0.1", free_port())) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert port < 32768 <= client.getsockname()[1]
            assert free_port() != port


def test_absence_of_a_free_port_is_an_error(monkeypatch):
    with socket.create_server(("127.0.0.1", free_port())) as server:
        taken = server.getsockname()[1]
        monkeypatch.setattr(machine.random.SystemRandom, "sample", lambda self, ports, n: [taken])
        with pytest.raises(OSError, match="None of 100 ports"):
            free_port()
