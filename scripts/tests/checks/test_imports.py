"""Importing a plugin only defines and registers."""

import pytest

from brainscore_ci.checks.findings import Surroundings

INIT = """
from brainscore_vision import model_registry
from .model import get_model
model_registry['network'] = get_model
"""


def violations(bench, code, rule, **files):
    bench.write("models", "network", **{"__init____py": INIT, "model__py": code, **files})
    return [(one.path.rpartition("/")[2], one.line) for one in bench.check("models", "network") if one.rule == rule]


@pytest.mark.parametrize(
    "code",
    [
        "from brainscore_core.supported_data_standards.brainio.s3 import load_weight_file\nw = load_weight_file('x')",
        "import torch\nw = torch.hub.load('a', 'b')",
        "import torch as t\nw = t.load('a.pth')",
        "from torch import hub\nw = hub.load_state_dict_from_url('a')",
        "import requests\nw = requests.get('https://x')",
        "from urllib.request import urlretrieve as get\nget('https://x')",
        "import timm\nw = timm.create_model('x', pretrained=True)",
        "from timm import create_model\nw = create_model('x', pretrained=flag)",
        "from torchvision.models import resnet18\nw = resnet18(weights='DEFAULT')",
        "from transformers import AutoModel\nw = AutoModel.from_pretrained('x')",
        "from brainscore_vision import load_dataset\nw = load_dataset('A2024')",
        "import subprocess\nsubprocess.run(['pip', 'install', 'x'])",
        "import torch\nclass Net: w = torch.load('a')",
        "import torch\ndef get_model(w=torch.load('a')): pass",
        "import torch\n\nif torch: w = torch.load('a')".replace("\n\n", "\n"),
        "import numpy as np\nw = np.load('a.npy')",
        "import buckets\nw = buckets.Bucket('b').stimuli('A2024', csv_sha1='00', zip_sha1='11')()",
        "from .other import BUCKET\nw = BUCKET.assembly('A2024', sha1='00')()",
    ],
)
def test_network_or_weights_at_import_is_an_error(bench, code):
    assert violations(bench, code, "no-network-at-import") == [("model.py", 2)]


@pytest.mark.parametrize(
    "code",
    [
        "import torch\ndef get_model(): return torch.load('a')",
        "import torch\nget_model = lambda: torch.load('a')",
        "import torch\nif __name__ == '__main__': torch.load('a')",
        "import timm\nw = timm.create_model('x', pretrained=False)",
        "from torchvision.models import resnet18\nw = resnet18(weights=None)",
        "import torch\ntorch.hub.set_dir",
        "def f():\n    import torch\n    return torch.load('a')\n@f\ndef g(): pass".replace("@f\n", ""),
        "text = 'torch.load(x)'  # torch.load(x)",
        "from .other import BUCKET\nw = BUCKET.assembly('A2024', sha1='00')",
    ],
)
def test_network_after_import_is_allowed(bench, code):
    assert violations(bench, code, "no-network-at-import") == []


def test_local_functions_are_followed_one_level_deep(bench):
    code = "import torch\ndef build():\n    return torch.load('a')\nmodel = build()\n"
    assert violations(bench, code, "no-network-at-import") == [("model.py", 4)]
    within = "def build():\n    import torch\n    return torch.load('a')\nmodel = build()\n"
    assert violations(bench, within, "no-network-at-import") == [("model.py", 4)]
    other = "from .net import Net\nmodel = Net()\n"
    net = "import torch\nclass Net:\n    def __init__(self):\n        torch.load('a')\n    def f(self):\n        pass\n"
    assert violations(bench, other, "no-network-at-import", net__py=net) == [("model.py", 2)]


def test_only_imported_modules_count(bench):
    script = "import torch\ntorch.load('a')\n"
    assert violations(bench, "def get_model(): pass", "no-network-at-import", train__py=script) == []
    assert violations(bench, "from . import train", "no-network-at-import", train__py=script) == [("train.py", 2)]
    absolute = "from brainscore_vision.models.network.train import x"
    assert violations(bench, absolute, "no-network-at-import", train__py=script) == [("train.py", 2)]
    later = "def get_model():\n    from .train import x"
    assert violations(bench, later, "no-network-at-import", train__py=script) == []


@pytest.mark.parametrize(
    "code",
    [
        *("import sys\nsys.path.insert(0, 'x')", "import sys\nsys.path += ['x']"),
        *("from sys import path\npath.append('x')", "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'"),
        *("import os\nos.environ.setdefault('A', 'b')", "import os\ndel os.environ['A']", "import os\nos.chdir('/')"),
        *("import logging\nlogging.basicConfig(level=0)", "import warnings\nwarnings.simplefilter('ignore')"),
        "import torch\ntorch.manual_seed(0)",
        "import numpy as np\nnp.random.seed(0)",
        "import torch\ntorch.backends.cudnn.benchmark = True",
    ],
)
def test_side_effects_at_import_are_errors(bench, code):
    assert violations(bench, code, "no-side-effects-at-import") == [("model.py", 2)]


def test_disabling_certificate_checks_is_a_hint(bench):
    code = "import ssl\nssl._create_default_https_context = ssl._create_unverified_context"
    bench.write("models", "network", __init____py=INIT, model__py=code)
    (one,) = [one for one in bench.check("models", "network") if one.rule == "no-side-effects-at-import"]
    assert (one.line, one.severity) == (2, "hint")
    assert one.fix.startswith("remove it: without certificate checks")


@pytest.mark.parametrize(
    "code",
    [
        "import os\nhome = os.environ.get('HOME')\nhere = os.environ['PATH']",
        "import sys\npath = list(sys.path)",
        "import logging\nlogger = logging.getLogger(__name__)",
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n    import torch",
        "import os\ndef get_model():\n    os.environ['A'] = 'b'",
        "path = []\npath.append('x')",
    ],
)
def test_reading_global_state_is_allowed(bench, code):
    assert violations(bench, code, "no-side-effects-at-import") == []


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        ("from brainscore_vision.models.other.model import Wrapper", "error"),
        ("from ..other.model import Wrapper", "error"),
        ("from .. import other", "error"),
        ("import brainscore_vision.models.other", "error"),
        ("from brainscore_vision.models.other.model import *", "error"),
        ("def f():\n    from brainscore_vision.data import recordings", "error"),
        ("from brainscore_vision.metrics.rdm.metric import RDM", "hint"),
        ("from brainscore_vision.metrics.rdm.metric import *", "error"),
        ("from brainscore_vision.metrics import Score", None),
        ("from brainscore_vision.models.network.model import x", None),
        ("from .model import x", None),
        ("from brainscore_vision.model_helpers.activations import pytorch", None),
    ],
)
def test_importing_another_plugin_is_reported(bench, code, severity):
    bench.surroundings = Surroundings(plugins=frozenset({"models/other", "data/recordings", "metrics/rdm"}))
    bench.write("models", "network", __init____py=INIT, model__py=code)
    seen = [one.severity for one in bench.check("models", "network") if one.rule == "no-plugin-imports"]
    assert seen == ([severity] if severity else [])
    bench.write("models", "network", **{"__init____py": INIT, "model__py": "", "data_packaging/x__py": code})
    assert [one for one in bench.check("models", "network") if one.rule == "no-plugin-imports"] == []


@pytest.mark.parametrize(
    ("code", "hinted"),
    [
        ("import pickle\ndef f(): return pickle.load(open('x', 'rb'))", True),
        ("import torch\ndef f(): return torch.load('x', weights_only=False)", True),
        ("import numpy\ndef f(): return numpy.load('x', allow_pickle=True)", True),
        ("import torch\ndef f(): return torch.load('x', weights_only=True)", False),
        ("import json\ndef f(): return json.load(open('x'))", False),
    ],
)
def test_unsafe_pickles_get_a_hint(bench, code, hinted):
    assert violations(bench, code, "pickle") == ([("model.py", 2)] if hinted else [])
