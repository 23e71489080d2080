from __future__ import annotations

import contextvars
import threading
from contextlib import closing

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from brainscore_core.errors import AssemblyError
from brainscore_vision.model_helpers.activations import batches as module
from brainscore_vision.model_helpers.activations.batches import BatchTooLargeError, is_out_of_memory, run_batches


def prepare(start, stop):
    return np.arange(start, stop, dtype=np.float32)


def run(inputs):
    return {"same": inputs[:, None], "double": 2 * inputs}


def start(count=10, prepare=prepare, run=run, batch_size=4, **options):
    return run_batches(count, prepare, run, batch_size=batch_size, describe=lambda index: f"no. {index}", **options)


def preparation_threads():
    return [thread for thread in threading.enumerate() if thread.name == "brainscore-prepare"]


@pytest.fixture(autouse=True)
def _no_threads_remain():
    yield
    for thread in preparation_threads():
        thread.join(timeout=60)
    assert preparation_threads() == []


@given(count=st.integers(0, 12), batch_size=st.integers(1, 14), first=st.integers(0, 12))
def test_every_stimulus_appears_once_and_in_order(count, batch_size, first):
    batches = list(start(count, batch_size=batch_size, first=first))
    assert [index for batch in batches for index in range(batch.start, batch.stop)] == list(range(first, count))
    for batch in batches:
        assert batch.stop - batch.start <= batch_size
        np.testing.assert_array_equal(batch.activations["double"], 2 * np.arange(batch.start, batch.stop))


class TestPreparation:
    @pytest.mark.parametrize("ahead", [1, 2, 3])
    def test_reads_ahead_by_at_most_the_limit(self, monkeypatch, ahead):
        monkeypatch.setattr(module, "AHEAD", ahead)
        prepared, idle = [], threading.Event()

        def count_prepared(start, stop):
            prepared.append(start)
            if len(prepared) == ahead:
                idle.set()
            return prepare(start, stop)

        def run_first(inputs):
            assert idle.wait(timeout=60)
            return run(inputs)

        with closing(start(100, count_prepared, run_first, batch_size=1)) as batches:
            next(batches)
            assert len(prepared) == ahead
        prepared.clear()
        with closing(start(100, count_prepared, run, batch_size=1)) as batches:
            for batch in batches:
                assert len(prepared) <= ahead + batch.start + 1

    def test_continues_while_the_model_runs(self):
        second = threading.Event()

        def tell(start, stop):
            if start:
                second.set()
            return prepare(start, stop)

        def wait(inputs):
            assert second.wait(timeout=60)
            return run(inputs)

        list(start(2, tell, wait, batch_size=1))

    def test_batches_are_prepared_one_at_a_time(self):
        lock = threading.Lock()

        def alone(start, stop):
            assert lock.acquire(blocking=False)
            try:
                return prepare(start, stop)
            finally:
                lock.release()

        assert len(list(start(50, alone, batch_size=1))) == 50

    def test_errors_are_raised_at_their_batch(self):
        def fail(start, stop):
            if start == 4:
                raise FileNotFoundError("b.png")
            return prepare(start, stop)

        batches = start(prepare=fail)
        assert next(batches).stop == 4
        with pytest.raises(FileNotFoundError, match=r"b\.png"):
            next(batches)

    def test_preparation_sees_the_context_variables_of_the_caller(self):
        variable = contextvars.ContextVar("variable", default="outside")
        seen = []

        def look(start, stop):
            seen.append(variable.get())
            return prepare(start, stop)

        token = variable.set("inside")
        try:
            list(start(4, look))
        finally:
            variable.reset(token)
        assert seen == ["inside"]


class TestInterruption:
    @pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
    def test_interruption_does_not_wait_for_preparation(self, error):
        release = threading.Event()

        def stuck(start, stop):
            if start:
                assert release.wait(timeout=60)
            return prepare(start, stop)

        def interrupted(_inputs):
            raise error

        with pytest.raises(error):
            list(start(prepare=stuck, run=interrupted))
        assert len(preparation_threads()) == 1  # still preparation_threads a batch that is no longer needed
        release.set()

    def test_closing_early_ends_the_thread(self):
        for batch in (batches := start(1000, batch_size=1)):
            if batch.stop == 3:
                break
        batches.close()
        assert preparation_threads() == []


class TestMemory:
    @pytest.mark.parametrize(
        "error",
        [
            MemoryError(),
            np._core._exceptions._ArrayMemoryError((10,), np.dtype(float)),
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
            RuntimeError("[enforce fail at alloc_cpu.cpp:124] . DefaultCPUAllocator: can't allocate memory: you tried"),
            RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"),
            RuntimeError("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Failed to allocate memory for requested buffer"),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_batch_is_halved_until_it_fits(self, error):
        sizes = []

        def small(inputs):
            sizes.append(len(inputs))
            if len(inputs) > 2:
                raise error
            return run(inputs)

        with pytest.raises(BatchTooLargeError, match=r"for 8 stimuli.*batch_size=2 asks") as caught:
            next(start(20, run=small, batch_size=8))
        assert caught.value.size == 2
        assert sizes == [8, 4, 2]

    @given(fits=st.integers(1, 14), batch_size=st.integers(1, 14))
    def test_suggested_batch_size_fits(self, fits, batch_size):
        def small(inputs):
            if len(inputs) > fits:
                raise MemoryError
            return run(inputs)

        size = batch_size
        try:
            list(start(20, run=small, batch_size=size))
        except BatchTooLargeError as error:
            size = error.size
        batches = list(start(20, run=small, batch_size=size))
        assert [index for batch in batches for index in range(batch.start, batch.stop)] == list(range(20))
        assert size >= min(batch_size, fits) / 2

    def test_recognises_out_of_memory_errors_of_pytorch(self):
        with pytest.raises(RuntimeError) as caught:
            torch.empty(2**60)
        assert is_out_of_memory(caught.value)

    def test_preparation_out_of_memory_also_halves_the_batch(self):
        def small(start, stop):
            if stop - start > 3:
                raise MemoryError
            return prepare(start, stop)

        with pytest.raises(BatchTooLargeError, match="batch_size=3 asks"):
            next(start(prepare=small, batch_size=6))

    def test_error_if_a_single_stimulus_does_not_fit(self):
        def never(_inputs):
            raise MemoryError("no")

        with pytest.raises(MemoryError) as caught:
            list(start(run=never))
        assert any("no. 0" in note for note in caught.value.__notes__)

    def test_other_errors_are_not_retried(self):
        calls = []

        def fail(inputs):
            calls.append(len(inputs))
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

        with pytest.raises(RuntimeError, match="mat1"):
            list(start(run=fail))
        assert calls == [4]


class TestValues:
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
    def test_error_names_layer_and_stimulus(self, value, dtype):
        def broken(inputs):
            values = np.ones((len(inputs), 3, 2), dtype=dtype)
            values[inputs >= 6, 1, 0] = value
            return {"fine": inputs, "conv": values}

        kind = "NaN" if np.isnan(value) else "infinity"
        with pytest.raises(AssemblyError, match=rf"'conv' gave .*not finite \({kind}\) for no\. 6 and for 1 more"):
            list(start(run=broken))

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
    def test_error_says_if_all_values_are_nan(self, dtype):
        with pytest.raises(AssemblyError) as caught:
            list(start(run=lambda inputs: {"conv": np.full((len(inputs), 3), np.nan, dtype=dtype)}))
        assert str(caught.value).startswith(
            "All values of layer 'conv' are NaN, for all 4 stimuli of a batch that starts with no. 0."
        )

    def test_large_values_count_as_finite(self):
        large = np.full((4, 2000), 3e38, dtype=np.float32)
        assert len(list(start(4, run=lambda _: {"large": large}))) == 1
        half = np.full((4, 2000), 60000, dtype=np.float16)
        assert len(list(start(4, run=lambda _: {"half": half}))) == 1

    @pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.uint8])
    def test_integers_always_count_as_finite(self, dtype):
        assert len(list(start(run=lambda inputs: {"whole": inputs.astype(dtype)}))) == 3

    def test_layers_without_units_count_as_finite(self):
        assert len(list(start(run=lambda inputs: {"empty": np.empty((len(inputs), 0))}))) == 3

    @pytest.mark.parametrize("shape", [(3, 2), (), (8,)])
    def test_rejects_a_wrong_number_of_rows(self, shape):
        with pytest.raises(AssemblyError, match=r"'conv' gave shape .* for 4 stimuli"):
            list(start(run=lambda _: {"conv": np.zeros(shape)}))
