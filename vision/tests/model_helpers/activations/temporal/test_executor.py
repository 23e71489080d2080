import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_vision.model_helpers.activations.temporal.executor import BatchExecutor


class Model:
    """Return its inputs unchanged and record each batch."""

    def __init__(self):
        self.batches = []

    def __call__(self, inputs, layers):
        self.batches.append(list(inputs))
        return {layer: np.asarray(inputs)[:, np.newaxis] for layer in layers}


@pytest.mark.parametrize("batch_size", [1, 2, 3, 10])
def test_batches_contain_one_group_only(batch_size):
    model = Model()
    executor = BatchExecutor(model, lambda number: number * 10, batch_size, batch_grouper=lambda number: number % 2)
    results = executor.execute([1, 2, 3, 5, 4], ["a", "b"])
    assert [int(values[0]) for values in results["a"]] == [10, 20, 30, 50, 40]
    assert results.keys() == {"a", "b"}
    assert max(map(len, model.batches)) == min(batch_size, 3)
    assert all(len({number // 10 % 2 for number in batch}) == 1 for batch in model.batches)


def test_short_batches_are_padded_with_their_last_input():
    model = Model()
    executor = BatchExecutor(model, lambda number: number, 4, batch_padding=True)
    results = executor.execute([1, 2, 3, 4, 5], ["a"])
    assert model.batches == [[1, 2, 3, 4], [5, 5, 5, 5]]
    assert [int(values[0]) for values in results["a"]] == [1, 2, 3, 4, 5]


def test_rejects_outputs_without_one_row_per_input():
    executor = BatchExecutor(lambda inputs, layers: {"a": np.zeros(7)}, lambda number: number, 4)
    with pytest.raises(AssemblyError, match=r"shape \(7,\) for 2 clips.*process_output"):
        executor.execute([1, 2], ["a"])
    with pytest.raises(ValueError, match="batch_size is 0"):
        BatchExecutor(Model(), lambda number: number, 0)
