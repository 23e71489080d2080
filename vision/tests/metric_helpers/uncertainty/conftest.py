import importlib.util
import sys
from pathlib import Path

import pytest

PERF = Path(__file__).parents[4] / "perf"


@pytest.fixture(scope="module")
def coverage(request):
    """Import the script in perf/ that a test module names as `SCRIPT`."""
    spec = importlib.util.spec_from_file_location(f"measured_{request.module.SCRIPT}", PERF / request.module.SCRIPT)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PERF)  # makes modules shared by scripts importable
        patch.setitem(sys.modules, spec.name, module)  # dataclasses look up their module there
        spec.loader.exec_module(module)
        yield module
    for name, each in list(sys.modules.items()):
        if Path(getattr(each, "__file__", None) or "/").parent == PERF:
            del sys.modules[name]
