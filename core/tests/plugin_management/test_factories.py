import pytest

from brainscore_core.errors import PluginError, UnknownIdentifierError
from brainscore_core.plugin_management.factories import Expected, make

A_LIST = Expected("a list", lambda made: isinstance(made, list), "Return [].")


def make_model(library, *args, **kwargs):
    return make(library.name, "model", "x", A_LIST, *args, **kwargs)


@pytest.mark.parametrize("factory", ["list", "lambda: []", "functools.partial(list, 'a')", "Made().list", "Made()"])
def test_any_callable_without_arguments_is_a_factory(library, factory):
    source = f"import functools\nclass Made:\n    list = staticmethod(lambda: [])\n    __call__ = list\n{REGISTER}"
    library.add("models", "plugin", f"{source}{factory}")
    assert isinstance(make_model(library), list)


REGISTER = "model_registry['x'] = "


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (f"{REGISTER}[]", "model_registry['x'] is a list (PLACE:2); expected a function or class that creates one"),
        (f"{REGISTER}'pixels'", "model_registry['x'] is the text 'pixels' (PLACE:2); expected a function or class"),
        (f"{REGISTER}None", "model_registry['x'] is None (PLACE:2); expected a function or class"),
        (
            f"class Subject:\n    def __call__(self, candidate): pass\n{REGISTER}Subject()",
            "model_registry['x'] is a Subject (PLACE:4); expected a function or class that creates one on every load.",
        ),
        (
            f"{REGISTER}lambda layer: []",
            "is a factory that cannot be called without arguments (missing a required argument: 'layer') (PLACE:2)",
        ),
        (f"{REGISTER}lambda: None", "returned None (PLACE:2); expected a list. Does it end with return?"),
        (f"{REGISTER}lambda: list", "returned the class list (PLACE:2); expected a list. Make an object of the class"),
        (f"{REGISTER}lambda: 'pixels'", "returned the text 'pixels' (PLACE:2); expected a list. Return []."),
        (f"{REGISTER}dict", "The factory of the model 'x' returned a dict (PLACE:2); expected a list. Return []."),
    ],
)
def test_error_of_a_wrong_factory_names_file_and_line(library, source, message):
    directory = library.add("models", "plugin", source)
    with pytest.raises(PluginError) as caught:
        make_model(library)
    assert message.replace("PLACE", str(directory / "__init__.py")) in str(caught.value)


def test_error_of_a_run_time_registration_names_no_line(library):
    library.module.model_registry["x"] = []
    with pytest.raises(PluginError, match=r"^model_registry\['x'\] is a list; expected"):
        make_model(library)


def test_metric_factories_take_arguments(library):
    library.add("metrics", "m", "metric_registry['m'] = lambda size: [size]\nmetric_registry['object'] = [1]")
    assert make(library.name, "metric", "m", A_LIST, 3) == [3]
    assert make(library.name, "metric", "m", A_LIST, size=3) == [3]
    with pytest.raises(TypeError, match="size"):
        make(library.name, "metric", "m", A_LIST)
    with pytest.raises(PluginError, match=r"metric_registry\['object'\] is a list"):
        make(library.name, "metric", "object", A_LIST)


def test_errors_of_factory_and_lookup_are_passed_on(library):
    library.add("models", "plugin", "model_registry['x'] = lambda: [].missing")
    with pytest.raises(AttributeError, match="missing"):
        make_model(library)
    with pytest.raises(UnknownIdentifierError):
        make(library.name, "model", "y", A_LIST)
