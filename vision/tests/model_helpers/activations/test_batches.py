from __future__ import annotations

import contextvars
import threading
from contextlib import closing

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from brainscore_core.errors import AssemblyError
from brainscore_vision.model_helpers.activations import batches as module
from brainscore_vision.model_helpers.activations.batches import BatchTooLargeError, is_out_of_memory, run_batches
from brainscore_vision.model_helpers.activations.extractor import ActivationsExtractorHelper
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
from brainscore_vision.model_helpers.adapters import as_brain_model


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


# -- axis of the stimuli -----------------------------------------------------------------------------------------------
# Layers whose outputs put steps, tokens or layers before the stimuli, compared with runs of single stimuli.

STEPS, FEATURES, UNITS = 4, 12, 5  # rows of a 4 x 4 picture with 3 channels


def load(paths):
    return load_preprocess_images(paths, image_size=STEPS)


@pytest.fixture(params=[1, 2, 7])
def paths(write_stimuli, request):
    rng = np.random.default_rng(0)
    pictures = {f"s{place}": rng.integers(0, 256, (STEPS, STEPS, 3)) for place in range(request.param)}
    return [str(path) for path in write_stimuli(pictures, "noise").stimulus_paths.values()]


class Sequential(nn.Module):
    """Feed the rows of a picture, one after the other, to a recurrent or attention layer."""

    def __init__(self, layer, *, batch_first):
        super().__init__()
        self.layer, self.batch_first, self.shown = layer, batch_first, []

    def forward(self, pictures):
        self.shown.append(len(pictures))
        steps = pictures.permute(0, 2, 1, 3).flatten(2)
        steps = steps if self.batch_first else steps.transpose(0, 1)
        return self.layer(steps, steps, steps) if isinstance(self.layer, nn.MultiheadAttention) else self.layer(steps)


def alone(model, paths, part):
    """Return a part of the output for each stimulus, run on its own, without the batch axis."""
    rows = []
    for path in paths:
        with torch.no_grad():
            value = model(torch.from_numpy(load([path])))
        for key in part:
            value = value[key]
        rows.append(value.numpy().ravel())  # an axis of length 1 does not change the order
    return np.stack(rows)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 64])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda **options: nn.LSTM(FEATURES, UNITS, **options), ["[0]", "[1][0]", "[1][1]"]),
        (lambda **options: nn.LSTM(FEATURES, UNITS, 2, **options), ["[0]", "[1][0]", "[1][1]"]),
        (lambda **options: nn.LSTM(FEATURES, UNITS, 2, bidirectional=True, **options), ["", "[1][0]"]),
        (lambda **options: nn.GRU(FEATURES, UNITS, 3, **options), ["", "[1]"]),
        (lambda **options: nn.MultiheadAttention(FEATURES, 2, **options), ["[0]", "[1]"]),
    ],
    ids=["LSTM", "two layers", "bidirectional", "GRU", "attention"],
)
def test_each_row_matches_a_run_of_that_stimulus(paths, make, parts, batch_first, batch_size):
    torch.manual_seed(0)
    model = Sequential(make(batch_first=batch_first), batch_first=batch_first).eval()
    wrapper = PytorchWrapper(model, load, "net", batch_size=batch_size, device="cpu")
    activations = wrapper(paths, layers=[f"layer{part}" for part in parts])
    for part in parts:
        keys = [int(key) for key in part[1:-1].split("][")] if part else [0]
        own = activations.values[:, activations["layer"].values == f"layer{part}"]
        np.testing.assert_allclose(own, alone(model, paths, keys), rtol=1e-5, atol=1e-6)


def test_brain_model_reads_a_part_of_a_recurrent_output(paths):
    network = nn.Sequential()
    network.lstm = Sequential(nn.LSTM(FEATURES, UNITS, 2), batch_first=False)
    brain = as_brain_model(network, preprocessing="imagenet-4", layers=["lstm.layer[1][0]"], identifier="net")
    activations = brain.activations_model(paths, layers=["lstm.layer[1][0]"])
    assert activations.shape == (len(paths), 2 * UNITS)


def extractor_of_shape(shape_of):
    """Return a model whose layers have shape ``shape_of(n)`` for n stimuli, and the list of its batch sizes."""
    shown = []

    def answer(inputs, layers):
        shown.append(len(inputs))
        return {layer: np.ones(shape_of(len(inputs))) for layer in layers}

    return answer, shown


@pytest.mark.parametrize("batch_size", [2, 3, 64])
@pytest.mark.parametrize(
    "shape_of",
    [lambda n: (2, 5), lambda n: (n, n), lambda n: (3, n, n), lambda n: (4 * n, 5), lambda n: (n + 1, 5), lambda n: ()],
    ids=["constant", "pairs", "pairs last", "several rows", "one more", "number"],
)
def test_rejects_layers_without_one_batch_axis(paths, shape_of, batch_size):
    answer, _ = extractor_of_shape(shape_of)
    with pytest.raises(AssemblyError, match=r"'x' of model 'net' gave shape .* for 2 stimuli.*on exactly one axis"):
        ActivationsExtractorHelper(answer, load, "net", batch_size=batch_size)(paths, layers=["x"])


@pytest.mark.parametrize("check_steady", [True, False])
def test_only_ambiguous_shapes_cost_a_small_extra_batch(write_stimuli, check_steady):
    pictures = {f"s{place}": np.full((4, 4, 3), place) for place in range(7)}
    paths = [str(path) for path in write_stimuli(pictures, "levels").stimulus_paths.values()]
    passes = [2, 2, 2, 3] if check_steady else []  # run by the check for steadiness
    # If the other axis is as long as the batch, only a batch of a different size shows which axis is which.
    for shape_of, more in ((lambda n: (n, 8, 3, 3), []), (lambda n: (n, 5), [2]), (lambda n: (5, n), [2])):
        answer, shown = extractor_of_shape(shape_of)
        helper = ActivationsExtractorHelper(answer, load, "net", batch_size=5, check_steady=check_steady)
        helper(paths, layers=["x"])
        assert shown == [*passes, 5, *([] if check_steady else more), 2]


def test_unit_shape_is_independent_of_the_number_of_stimuli(paths):
    answer, _ = extractor_of_shape(lambda n: (2, 1, n, 3))
    activations = ActivationsExtractorHelper(answer, load, "net")(paths, layers=["x"])
    assert activations["channel"].values.tolist() == [0, 0, 0, 1, 1, 1]
    assert activations["channel_y"].values.tolist() == [0, 1, 2] * 2
