import inspect
import pkgutil

from brainscore_vision.metric_helpers import arrays


def test_every_function_of_the_room_is_listed_by_its_name():
    kernels = arrays.kernels()
    assert {"cka", "spearman_brown", "ridge_cv_predict_splits", "error_consistency"} <= kernels.keys()
    assert list(kernels) == sorted(kernels)
    assert all(inspect.isfunction(kernel) and kernel.__name__ == name for name, kernel in kernels.items())


def test_modules_are_offered_for_completion():
    places = {place.name for place in pkgutil.iter_modules(arrays.__path__)}
    assert places <= {*dir(arrays)}
    assert places - {"types"} <= {word.strip("`") for word in arrays.__doc__.replace(",", " ").split()}
