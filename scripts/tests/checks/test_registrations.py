"""Registrations are literal, unique, and agree with the identifier of the registered object."""

import pytest

from brainscore_ci.checks.findings import Surroundings

IMPORT = "from brainscore_vision import benchmark_registry\n"


def test_sound_benchmark_has_no_findings(bench):
    bench.write()
    assert bench.check() == []


def test_check_never_runs_the_plugin(bench, tmp_path):
    bench.write(__init____py=f"open({str(tmp_path / 'ran')!r}, 'w')\n" + IMPORT)
    bench.check()
    assert not (tmp_path / "ran").exists()


def test_computed_identifier_is_an_error(bench):
    code = IMPORT + "import os\nbenchmark_registry[os.name] = 1\nbenchmark_registry['Author2024.IT-pls'] = 2\n"
    assert bench.errors(__init____py=code) == [("literal-registration", "__init__.py", 3)]


@pytest.mark.parametrize(
    "code", ["for name in ('a', 'b'):\n    benchmark_registry[f'Author2024.{name}-pls'] = 1\n", ""]
)
def test_literal_loop_passes_and_no_registration_fails(bench, code):
    expected = [] if code else [("registration", "__init__.py", 1)]
    assert bench.errors(__init____py=IMPORT + code) == expected


@pytest.mark.parametrize(
    "code",
    [
        "benchmark_registry.update({f'Author2024.{name}-pls': 1 for name in ('a', 'b')})\n",
        "for name in range(3):\n    benchmark_registry['Author2024.%s-pls' % name] = 1\n",
        "for name, make in {'a': 1}.items():\n    benchmark_registry[name] = make\n",
    ],
)
def test_computed_registration_gets_an_example(bench, code):
    (finding,) = bench.errors(__init____py=IMPORT + code)
    assert finding[0] == "literal-registration"
    (error,) = (one for one in bench.check() if one.is_error)
    assert "benchmark_registry['<identifier>'] = ..." in error.fix
    assert "loop over a list that is written out" in error.fix


def test_registering_another_kind_is_an_error(bench):
    code = "from brainscore_vision import model_registry\nmodel_registry['x'] = 1\n"
    assert bench.errors(__init____py=code) == [("registry", "__init__.py", 2)]


def test_conditional_registration_gets_a_hint(bench):
    code = IMPORT + "if input():\n    benchmark_registry['Author2024.IT-pls'] = 1\n"
    assert bench.hints(__init____py=code) == [("conditional-registration", "__init__.py", 3)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("make", []),
        ("lambda: make()", []),
        ("lambda: NeuralBenchmark(identifier='Author2024.IT-pls', **rest)", []),
        ("lambda: NeuralBenchmark(identifier='Author2023.IT-pls', **rest)", [("__init__.py", 4)]),
        ("lambda: NeuralBenchmark(identifier=NAME, **rest)", [("__init__.py", 4)]),
        ("Wrong", [("benchmark.py", 7)]),
        ("lambda: Wrong()", [("benchmark.py", 7)]),
        ("lambda: Wrong(region='V4')", []),  # the identifier may depend on the argument
        ("family('V4')", []),
    ],
)
def test_identifier_must_equal_its_key(bench, value, expected):
    init = f"{IMPORT}from .benchmark import *\nNAME = 'other'\nbenchmark_registry['Author2024.IT-pls'] = {value}\n"
    init = init.replace("import *", "import make, Wrong, family")
    code = """\
        def make():
            return NeuralBenchmark(identifier="Author2024.IT-pls", activations=Wrapper(identifier="inner"), **rest)

        class Wrong(BenchmarkBase):
            def __init__(self, region="IT"):
                super().__init__(
                    identifier="Author2024.IT-ridge")

        def family(region):
            return NeuralBenchmark(identifier=f"Author2024.{region}-pls", **rest)
        """
    found = bench.errors(__init____py=init, benchmark__py=code)
    assert found == [("identifier-equals-key", *place) for place in expected]


def test_packaged_data_names_get_hints(bench):
    init = """\
        stimulus_set_registry["Author2024"] = lambda: load_stimulus_set_from_s3(identifier="Faces", csv_sha1="00")
        data_registry["Author2024"] = lambda: load_assembly_from_s3(identifier="dicarlo.Author2024", bucket="b")
        data_registry["Author2024.V4"] = lambda: load_assembly_from_s3(identifier="Author2023.V4", bucket="b")
        BUCKET = Bucket("b")
        stimulus_set_registry["Author2024.faces"] = BUCKET.stimuli("Faces", csv_sha1="00", zip_sha1="11")
        data_registry["Author2024.IT"] = clean_up(BUCKET.assembly(identifier="dicarlo.Author2024.IT", sha1="00"))
        data_registry["Author2024.V1"] = BUCKET.assembly("Author2024.V1", sha1="00")
        """
    bench.write("data", __init____py=init, benchmark__py="BIBTEX = ''\n")
    found = [(one.rule, one.line, one.severity) for one in bench.check("data")]
    severities = ["hint", "hint", "error", None, "hint", "hint"]
    expected = [(line, severity) for line, severity in enumerate(severities, start=1) if severity]
    assert found == [("identifier-equals-key", line, severity) for line, severity in expected]


@pytest.mark.parametrize(
    ("folder", "identifier", "hinted"),
    [
        ("benchmarks", "MajajHong2015public.IT-pls", False),
        ("benchmarks", "Geirhos2021colour-error_consistency", False),
        ("benchmarks", "tong.Coggan2024.V1-rdm", True),
        ("benchmarks", "MajajHong2015", True),
        ("data", "MajajHong2015.IT", False),
        ("data", "imagenet", True),
        ("models", "resnet-50.v1_5", False),
        ("models", "resnet:50/x", True),
        ("metrics", "pls", False),
    ],
)
def test_unconventional_identifier_gets_a_hint(bench, folder, identifier, hinted):
    registry = {"benchmarks": "benchmark", "data": "data", "models": "model", "metrics": "metric"}[folder]
    bench.write(folder, __init____py=f"BIBTEX = ''\n{registry}_registry[{identifier!r}] = 1\n")
    found = [(one.rule, one.severity) for one in bench.check(folder) if one.rule == "identifier-name"]
    assert found == ([("identifier-name", "hint")] if hinted else [])


def test_unusual_folder_names_are_reported(bench):
    bench.write("models", "Capital", __init____py="model_registry['x'] = 1\n")
    assert [(one.rule, one.severity) for one in bench.check("models", "Capital")] == [("folder-name", "hint")]
    bench.write("models", "x$(touch pwned)", __init____py="model_registry['x'] = 1\n")
    assert [(one.rule, one.severity) for one in bench.check("models", "x$(touch pwned)")] == [("folder-name", "error")]


@pytest.mark.parametrize(
    "identifier",
    ["Author2024.IT-pls", "Author2024.it-PLS", "Author_2024_IT_pls", "Author2024IT-pls", "Author2024.IT.pls_"],
)
def test_identifier_of_another_plugin_is_an_error(bench, identifier):
    places = {identifier: ("benchmarks/author2024/__init__.py:6", "benchmarks/other/__init__.py:2")}
    bench.surroundings = Surroundings(identifiers={"benchmark": places})
    assert bench.errors() == [("unique-identifier", "__init__.py", 6)]
    assert "benchmarks/other/__init__.py:2" in bench.check()[0].message


@pytest.mark.parametrize(
    ("identifier", "said"),
    [
        ("\u0430lexnet", "CYRILLIC SMALL LETTER A"),
        ("\uff41lexnet", "FULLWIDTH LATIN SMALL LETTER A"),
        ("alex\u200bnet", "ZERO WIDTH SPACE"),
        ("alexnet ", "SPACE"),
        ("alexnet\u00a0", "NO-BREAK SPACE"),
        ("alex\u00adnet", "SOFT HYPHEN"),
        ("\x1balexnet", "'\\x1b'"),
    ],
)
def test_lookalike_characters_are_errors(bench, identifier, said):
    bench.write("models", __init____py=f"model_registry[{identifier!r}] = 1\n")
    errors = [one for one in bench.check("models") if one.severity == "error"]
    assert [one.rule for one in errors] == ["identifier-characters"]
    assert said in errors[0].message
    assert errors[0].message.isascii()


def errors_of_a_model(bench):
    return [one.rule for one in bench.check("models") if one.severity == "error"]


def test_lookalike_names_in_one_plugin_are_errors(bench):
    bench.write("models", __init____py="model_registry['my_net'] = 1\nmodel_registry['My-Net'] = 2\n")
    places = {"my_net": ("models/author2024/__init__.py:1",), "My-Net": ("models/author2024/__init__.py:2",)}
    assert errors_of_a_model(bench) == []
    bench.surroundings = Surroundings(identifiers={"model": places})
    assert errors_of_a_model(bench) == ["unique-identifier"] * 2


def test_published_names_may_differ_by_separators(bench):
    name = "resnet50_ewconplus_wzc_seed2_2"
    bench.surroundings = Surroundings(identifiers={"model": {name: ("models/x/__init__.py:1",)}})
    bench.write("models", __init____py=f"model_registry['{name}_'] = 1\n")
    assert errors_of_a_model(bench) == []


@pytest.mark.parametrize(
    ("parent", "is_there"),
    [
        ("IT", True),
        ("behavior", True),
        ("Known2021", True),
        ("Known2021-top1", True),
        ("Known2021colour-top1", True),
        ("Author2024", True),
        ("Hendrycks2019-top1", True),
        ("It", False),
        ("Unknown2021", False),
    ],
)
def test_unknown_parent_is_an_error(bench, parent, is_there):
    places = {"Known2021colour-top1": ("elsewhere:1",)}
    bench.surroundings = Surroundings(identifiers={"benchmark": places}, nodes=frozenset({"Hendrycks2019-top1"}))
    code = f"BIBTEX = ''\nmake = lambda: NeuralBenchmark(identifier='Author2024.IT-pls', parent={parent!r}, **rest)\n"
    assert bench.errors(benchmark__py=code) == ([] if is_there else [("parent", "benchmark.py", 2)])
    if parent == "It":
        assert "Did you mean 'IT'?" in bench.check()[0].fix


def test_loading_an_unknown_identifier_is_an_error(bench):
    bench.surroundings = Surroundings(identifiers={"metric": {"pls": ("metrics/pls/__init__.py:1",)}})
    code = """\
        import brainscore_vision
        from brainscore_vision import load_metric, load_dataset
        from timm import load_model
        BIBTEX, NAME = "", "rdmm"
        def make():
            load_metric("pls"), load_metric("plss"), load_metric(NAME), load_metric(given())
            brainscore_vision.load_metric(identifier="ridge")
            load_dataset("nothing is known about data here"), load_model("of another package")
        """
    found = bench.errors(benchmark__py=code)
    assert found == [("unknown-identifier", "benchmark.py", line) for line in (6, 6, 7)]
    assert {one.fix for one in bench.check()} >= {"Did you mean 'pls'?"}
    bench.surroundings = Surroundings(identifiers=bench.surroundings.identifiers, computing=frozenset({"metric"}))
    assert bench.errors(benchmark__py=code) == []
