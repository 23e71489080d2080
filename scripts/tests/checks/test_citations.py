"""Citations parse and have the fields that their type requires."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.checks.metadata import MalformedBibtexError, missing_fields, read_bibtex

ENTRY = '@article{key, author={A}, title={T {with} braces}, journal = "J", year=2024, month = jan # "~1" }'


def test_reads_an_entry():
    (entry,) = read_bibtex(f"Some words.\n{ENTRY} and more")
    assert (entry.type, entry.key, entry.line) == ("article", "key", 1)
    assert entry.fields == {"author": "A", "title": "T {with} braces", "journal": "J", "year": "2024", "month": "jan~1"}
    assert missing_fields(entry) == ()


def test_reads_several_entries_in_either_brackets():
    entries = read_bibtex('@string{x = "y"}\n@misc(a, title={A}, )\n@Comment{x}\n@BOOK{b,title="B"}')
    assert [(entry.type, entry.key) for entry in entries] == [("misc", "a"), ("book", "b")]
    assert missing_fields(entries[1]) == ("author", "publisher", "year")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 0),
        ("TBD", 0),
        ("@article", 0),
        ("@article{", 0),
        ("@article{}", 0),
        ("@article{, title={A}}", 0),
        ("@article{key, title={A}", 0),
        ("@article{key,\n title={A\n}", 2),
        ("@article{key,\n title={A}}}\n}\n@misc{", 3),
        ('@article{key, title="A}', 0),
        ("@article{key, title}", 0),
        ("@article{key,\n title={A}\n year={2024}}", 2),
        ("@article{key, title=}", 0),
        ("jane@example.org", 0),
    ],
)
def test_malformed_entry_names_the_line(text, line):
    with pytest.raises(MalformedBibtexError) as caught:
        read_bibtex(text)
    assert caught.value.line == line


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.text('ab \n"#,=@(){}\\é'), max_size=5))
def test_balanced_values_are_read_back(fields):
    fields = {name: value for name, value in fields.items() if _is_balanced(value)}
    text = ", ".join(["@misc{key", *(f"{name} = {{{value}}}" for name, value in fields.items())]) + "}"
    assert read_bibtex(text)[0].fields == fields


def _is_balanced(text):
    depth = 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0


@given(st.text(max_size=200))
def test_any_text_is_read_or_reported_as_malformed(text):
    try:
        entries = read_bibtex(f"@misc{{k, title={{{text}")
    except MalformedBibtexError as error:
        lines = [error.line]
    else:
        lines = [entry.line for entry in entries]
    assert all(0 <= line <= text.count("\n") for line in lines)


def code(text):
    return f"BIBTEX = {text!r}\n"


@pytest.mark.parametrize(
    ("benchmark", "expected"),
    [
        (code(ENTRY), []),
        (code(""), []),
        (code("xx"), [("error", "citation", 1)]),
        ('BIBTEX = """\n@article{key,\n  title=\n}"""\n', [("error", "citation", 4)]),
        (code("@article{key, title={A}}"), [("hint", "citation", 1)]),
        (code("@nonsense{key, title={A}}"), [("hint", "citation", 1)]),
        ("make = lambda: Benchmark(bibtex='xx')\n", [("error", "citation", 1)]),
        ("def get_bibtex(name):\n    return 'xx'\n", [("error", "citation", 2)]),
        ("import other\nBIBTEX = other.BIBTEX\n", []),
        ("x = 1\n", [("hint", "citation", 1)]),
    ],
)
def test_check_reports_plugin_citations(bench, benchmark, expected):
    bench.write(benchmark__py=benchmark)
    assert [(one.severity, one.rule, one.line) for one in bench.check()] == expected
