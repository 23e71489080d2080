"""Test that untrusted text stays text: on hard cases, and on random text read by a CommonMark parser."""

import html.parser
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brainscore_ci.reporting.markdown import block, code, escape, plain, summary, table

JOINER = "\u2060"
NASTY = "`|\\*_<>[](){}!#@&;:/-+=~$^.%\"'\n\r\t abfw019\u202e\u200b\u0301\ud800\u2028\x00\x1bé語😀"
texts = st.one_of(
    st.text(st.sampled_from(NASTY), max_size=60),
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            [
                "```", "~~~", "``", "|", "\\|", "\\", "<!--", "-->", "<b>", "</details>", "<img src=x>", "&#64;",
                "@octocat", "@org/team", "#1", "GH-12", "o/r#3", "o/r@0123456789abcdef", "deadbeef12", "http://a.b/c",
                "www.example.com", "a@b.co", "[x](http://y)", "![x](y)", "<http://y>", "[^1]", ":tada:", "- [ ] x",
                "1. x", "# x", "> x", "---", "| --- |", "\n\n", "\n", "    x", "$x$", "x",
            ]
        ),
        max_size=6,
    ).map("".join),
)  # fmt: skip
# What GitHub turns into links in text that is not code, after processing Markdown.
LINKED = re.compile(
    r"""(?ix) @[a-z0-9] | \#\w | \bgh-\d | \b[0-9a-f]{7,40}\b | ://| \bwww\. | mailto:\S | :\w+: """, re.ASCII
)
SEEN = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"}
SEEN |= {"Sm", "Sc", "Sk", "So"}


@pytest.fixture(scope="module")
def parse():
    return pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse


def inline(tokens):
    return [child for token in tokens if token.type == "inline" for child in token.children]


def text_of(tokens):
    return "".join(token.content for token in tokens)


@given(texts, st.integers(1, 80))
def test_plain_is_one_short_line_of_visible_characters(text, most):
    line = plain(text, most)
    assert len(line) <= most
    assert all(character == " " or unicodedata.category(character) in SEEN for character in line)
    assert line == line.strip()
    assert "  " not in line


def test_plain_keeps_harmless_characters():
    assert plain("résumé 語 a_b|c `d` 😀") == "résumé 語 a_b|c `d` 😀"
    assert plain("abcdef", 4) == "abc…"
    assert plain("a\r\n\tb") == "a b"


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\u200b", "\u200f", "\ufeff", "\x00", "\x1b", "\U000e0041"])
def test_plain_drops_hidden_and_bidirectional_characters(hidden):
    assert plain(f"a{hidden}b") in {"ab", "a b"}


def test_plain_truncates_stacked_accents():
    assert plain("a" + "\u0301" * 50) == "a\u0301\u0301"
    assert plain("\u0338a") == "a"


@given(texts)
def test_escaped_text_is_only_text(parse, text):
    tokens = parse(escape(text) + "\n")
    expected = plain(text)
    assert [token.type for token in tokens] == (["paragraph_open", "inline", "paragraph_close"] if expected else [])
    assert {token.type for token in inline(tokens)} <= {"text", "text_special"}
    assert text_of(inline(tokens)).replace(JOINER, "") == expected
    assert not LINKED.search(text_of(inline(tokens)))
    tokens = parse(f"- {escape(text)}\n- end\n")
    assert [token.type for token in tokens].count("list_item_open") == 2
    assert {token.type for token in inline(tokens)} <= {"text", "text_special"}


@given(texts)
def test_code_is_inline_code(parse, text):
    (child,) = inline(parse(code(text) or "`empty`"))
    assert child.type == "code_inline"
    assert child.content == (plain(text, 200).replace("|", "¦") or "empty")


@given(texts, texts, texts)
def test_table_cells_stay_in_the_table(parse, first, second, third):
    head, rows = table(["a", "b"], [[escape(first), code(second)], [code(third), escape(first)]])
    tokens = parse("\n".join([*head, *rows, "", "after"]))
    kinds = [token.type for token in tokens]
    assert kinds.count("table_open") == 1
    assert kinds.count("tr_open") == 3
    assert kinds.count("td_open") == 4
    cells = [token for token in tokens if token.type == "inline"][2:6]
    assert text_of(cells[0].children).replace(JOINER, "") == plain(first)
    assert text_of(cells[1].children) == plain(second, 200).replace("|", "¦")
    assert tokens[-2].content == "after"


@given(texts)
def test_backslashes_do_not_split_table_rows(first):
    """GitHub reads a backslash with the next character as one; markdown-it only checks the last backslash."""
    _, (row,) = table(["a", "b"], [[escape(first), code(first)]])
    assert len(re.findall(r"(?:\\.|[^|\\])+", row.strip("|"))) == 2


@given(texts)
def test_block_cannot_be_closed(parse, text):
    tokens = parse(block(text) + "\n\nafter\n")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[2].content == "after"


def test_block_keeps_lines_and_indents_and_is_truncated(parse):
    assert parse(block("def f():\n\treturn '```'\n"))[0].content == "def f():\n    return '```'\n\n"
    assert block("x\n" * 100, most_lines=3).splitlines() == ["```text", "x", "x", "x", "…", "```"]
    assert len(block("x" * 9999, most=50)) < 70


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, attributes))

    def handle_data(self, data):
        self.text += data


@given(texts)
def test_summary_is_code_in_html_and_in_markdown(parse, text):
    reader = Reader()
    reader.feed(f"<details><summary>{summary(text)}</summary>")
    assert reader.tags == [("details", []), ("summary", []), ("code", [])]
    assert reader.text.replace(JOINER, "") == plain(text, 200)
    kinds = {token.type for token in inline(parse(f"x {summary(text)} x"))}
    assert kinds <= {"text", "text_special", "html_inline"}


@pytest.mark.parametrize(
    "text",
    [
        "@octocat", "thanks @org/team.", "#1", "owner/repo#12", "GH-1", "gh-7", "0123456789abcdef0123456789abcdef",
        "owner/repo@deadbee", "http://evil.example", "https://x.y", "www.evil.example", "me@evil.example", ":tada:",
    ],
)  # fmt: skip
def test_escaped_text_is_not_linked_by_github(text):
    assert LINKED.search(text) or "@" in text
    assert not LINKED.search(re.sub(r"\\(.)", r"\1", escape(text)))
