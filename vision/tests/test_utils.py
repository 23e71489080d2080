import copy
from collections import OrderedDict

import numpy as np
import pytest

from brainscore_vision.model_helpers.utils import fullname as also_fullname
from brainscore_vision.utils import LazyLoad, fullname, loaded


class Box:
    def __init__(self):
        self.value = 3

    def double(self):
        return 2 * self.value


@pytest.fixture
def counted():
    loads = []

    def load():
        loads.append(1)
        return Box()

    return LazyLoad(load), loads


def test_loads_on_first_use_and_only_once(counted):
    lazy, loads = counted
    assert type(lazy) is LazyLoad
    assert loads == []
    assert lazy.double() == 6
    lazy.value = 5
    assert lazy.double() == 10
    assert lazy.content.value == 5
    assert loads == [1]


def test_isinstance_sees_the_class_of_the_content(counted):
    lazy, loads = counted
    assert isinstance(lazy, Box)
    assert not isinstance(lazy, dict)
    assert loads == [1]


def test_reload_loads_again(counted):
    lazy, loads = counted
    lazy.value = 9
    lazy.reload()
    assert lazy.value == 3
    assert loads == [1, 1]


def test_none_is_loaded_once():
    loads = []
    lazy = LazyLoad(lambda: loads.append(1))
    assert not lazy
    assert not lazy
    assert loads == [1]


def test_container_methods_are_forwarded():
    lazy = LazyLoad(lambda: {"a": 1})
    lazy["b"] = 2
    assert len(lazy) == 2
    assert "b" in lazy
    assert sorted(lazy) == ["a", "b"]
    assert lazy["b"] == 2


def test_calls_are_forwarded():
    assert LazyLoad(lambda: max)(3, 7) == 7


def test_operators_and_numpy_functions_are_forwarded():
    lazy = LazyLoad(lambda: np.array([1.0, 2.0]))
    np.testing.assert_array_equal(lazy * 2, [2, 4])
    np.testing.assert_array_equal(10 - lazy, [9, 8])
    np.testing.assert_array_equal(lazy == np.array([1.0, 5.0]), [True, False])
    np.testing.assert_array_equal(lazy + LazyLoad(lambda: 1), [2, 3])
    assert np.sqrt(LazyLoad(lambda: np.array([4.0])))[0] == 2


def test_an_error_while_loading_is_not_cached():
    answers = iter([ValueError("not yet"), 4])

    def load():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    lazy = LazyLoad(load)
    with pytest.raises(ValueError, match="not yet"):
        len(lazy)
    assert lazy + 1 == 5


def test_a_copy_loads_separately(counted):
    lazy, loads = counted
    duplicate = copy.copy(lazy)
    assert loads == []
    assert duplicate.value == 3
    assert loads == [1]


def test_loaded_returns_the_content_or_the_object_itself(counted):
    lazy, loads = counted
    assert type(loaded(lazy)) is Box
    assert loads == [1]
    other = Box()
    assert loaded(other) is other


# -- names -------------------------------------------------------------------------------------------------------------


def test_fullname_includes_the_module_unless_built_in():
    assert fullname(OrderedDict()) == "collections.OrderedDict"
    assert fullname(OrderedDict) == "collections.OrderedDict"
    assert fullname(LazyLoad.reload) == "brainscore_vision.utils.LazyLoad.reload"
    assert fullname(3) == "int"
    assert also_fullname is fullname
