import inspect
import pkgutil

from brainscore_vision.metric_helpers import arrays


def test_kernels_lists_every_function_by_name():
    kernels = arrays.kernels()
    assert {"cka", "spearman_brown", "ridge_cv_predict_splits", "error_consistency"} <= kernels.keys()
    assert list(kernels) == sorted(kernels)
    assert all(inspect.isfunction(kernel) and kernel.__name__ == name for name, kernel in kernels.items())


def test_dir_lists_the_modules():
    places = {place.name for place in pkgutil.iter_modules(arrays.__path__)}
    assert places <= {*dir(arrays)}
    assert places - {"types"} <= {word.strip("`") for word in arrays.__doc__.replace(",", " ").split()}
