from collections import OrderedDict

from brainscore_vision.model_helpers.utils import fullname as also_fullname
from brainscore_vision.utils import LazyLoad, fullname


def test_fullname_includes_the_module_unless_built_in():
    assert fullname(OrderedDict()) == "collections.OrderedDict"
    assert fullname(OrderedDict) == "collections.OrderedDict"
    assert fullname(LazyLoad.reload) == "brainscore_vision.utils._lazy.LazyLoad.reload"
    assert fullname(3) == "int"
    assert also_fullname is fullname
