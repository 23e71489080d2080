"""Test the functions shared by all pages, in a browser, from a server and from a file."""

import json
import shutil
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[2] / "brainscore_web" / "leaderboard" / "static"
MADE = {"made": {"revision": None, "newest": None, "repository": None, "notice": None, "schema": 1}}


@pytest.fixture(scope="session")
def folder(tmp_path_factory, render):
    """Make a site with only the frame of its pages, one of them in a folder, and a few data files."""
    site = tmp_path_factory.mktemp("frame of pages")  # many paths contain spaces
    shutil.copytree(STATIC, site / "static")
    for path, root in (("index.html", ""), ("models/one.html", "../")):
        (site / path).parent.mkdir(exist_ok=True)
        (site / path).write_text(render("base", MADE, root))
    inline = """<script>fooled = 1</script><script src="data:text/javascript,fooled=2"></script>
      <style>button {position: fixed}</style><button id="inline" onclick="fooled = 3" style="position: fixed">x</button>
    </body>"""
    (site / "inline.html").write_text((site / "index.html").read_text().replace("</body>", inline))
    files = {
        "board": MADE,
        "columns/IT": {"value": [0.5, None], "name": "</script><b>\u2028"},
        "columns/~C3~A9.x": {"value": []},
    }
    for name, value in files.items():
        path = site / "data" / f"{name}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(value).replace("</", "<\\/")
        path.write_text(f'BrainScore.take("{name}", {text});\n')
    (site / "data" / "wrong.js").write_text('BrainScore.take("right", {});\n')
    (site / "other.js").write_text("globalThis.fooled = true;\n")
    return site


@pytest.fixture(params=["server", "file"])
def site(request, folder, serve):
    """Return the address of the site, from a server and from a file."""
    return serve(folder) if request.param == "server" else folder.as_uri() + "/"


@pytest.mark.parametrize("path", ["index.html", "models/one.html"])
def test_data_files_are_loaded_from_every_folder(site, path, open_page):
    page = open_page(site + path)
    loaded = page.evaluate("BrainScore.load('columns/IT')")
    assert loaded == {"value": [0.5, None], "name": "</script><b>\u2028"}
    assert page.evaluate("BrainScore.load('columns/~C3~A9.x')") == {"value": []}
    assert page.evaluate("BrainScore.taken('board').made.schema") == 1
    assert page.locator("head script[src*='columns']").count() == 0  # the script element is removed after loading


def test_each_data_file_is_loaded_once(site, open_page):
    page = open_page(site + "index.html")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    assert page.evaluate("Promise.all(Array(5).fill('columns/IT').map(BrainScore.load)).then((all) => all.length)") == 5
    page.evaluate("BrainScore.load('columns/IT')")
    assert [each for each in asked if "/data/" in each] == [site + "data/columns/IT.js"]


@pytest.mark.parametrize("name", ["columns/none", "wrong"])
def test_failed_load_names_the_file(site, name, open_page):
    page = open_page(site + "index.html", expected_errors=["ERR_FILE_NOT_FOUND", "404"])
    told = page.evaluate(f"BrainScore.load('{name}').catch((error) => error.message)")
    assert told.startswith(f"data/{name}.js ")


OTHER_PLACES = "../other", "columns/../../other", "%2e%2e/other", "//example.org/x", "https://example.org/x"


def test_policy_allows_only_data_files(site, open_page):
    page = open_page(site + "index.html")
    for name in (*OTHER_PLACES, "a\\b", "x?y", ""):
        told = page.evaluate(
            "(name) => { try { BrainScore.load(name); } catch (error) { return error.message } "
            "return BrainScore.load(name).then(() => 'loaded', (error) => error.message) }",
            name,
        )
        assert "No data file of this site" in told, name
    assert page.evaluate("globalThis.fooled") is None


def test_trusted_types_block_injection(site, open_page):
    page = open_page(site + "index.html", expected_errors=["policy", "Trusted", "Content Security Policy"])
    for attack in (
        "document.createElement('script').src = 'other.js'",
        "document.body.innerHTML = '<b>x</b>'",
        "trustedTypes.createPolicy('brainscore', {})",
        "trustedTypes.createPolicy('default', {})",
        "document.write('<script>1</script>')",
        "document.body.setAttribute('onclick', 'globalThis.fooled = true')",
    ):
        outcome = page.evaluate(f"() => {{ try {{ {attack}; return 'done' }} catch (error) {{ return error.name }} }}")
        assert outcome in {"TypeError", "EvalError"}, attack


def test_inline_scripts_and_styles_are_blocked(site, open_page):
    page = open_page(site + "inline.html", expected_errors=["policy", "Content Security Policy"])
    page.locator("#inline").click()
    assert page.evaluate("globalThis.fooled") is None
    assert page.evaluate("getComputedStyle(document.getElementById('inline')).position") == "static"


def test_address_holds_the_state(site, open_page):
    page = open_page(site + "index.html#sort=V1&q=a%26b%20%C3%A9&pin=x,y")
    assert page.evaluate("BrainScore.state.get('q')") == "a&b é"
    assert page.evaluate("BrainScore.state.list('pin')") == ["x", "y"]
    page.evaluate("BrainScore.state.set({sort: null, q: 'c=d#,ü', pin: ['z', '~C3']})")
    page.reload()
    assert page.evaluate("[BrainScore.state.get('sort'), BrainScore.state.get('q'), BrainScore.state.list('pin')]") == [
        None,
        "c=d#,ü",
        ["z", "~C3"],
    ]
    page.evaluate("BrainScore.state.set({q: null, pin: []})")
    assert "#" not in page.url
    assert page.evaluate("location.hash") == ""


def test_going_back_restores_the_state(site, open_page):
    page = open_page(site + "index.html#a=1")
    page.evaluate("BrainScore.state.onChange(() => { globalThis.heard = BrainScore.state.get('a'); })")
    page.evaluate("BrainScore.state.set({a: '2'})")
    page.evaluate("history.back()")
    page.wait_for_function("globalThis.heard === '1'")
    page.evaluate("location.hash = '#a=%E0%A4%A'")  # truncated within a character
    page.wait_for_function("globalThis.heard === '%E0%A4%A'")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("score(0.41251)", "0.413"),
        ("score(-0.5)", "\u22120.500"),
        ("score(-0.0001)", "0.000"),
        ("score(null)", ""),
        ("score(NaN)", ""),
        ("interval(0.4, 0.5123)", "0.400\u20130.512"),
        ("interval(-0.1, 0.5, 1)", "\u22120.1 to 0.5"),
        ("interval(null, 0.5)", ""),
        ("count(1234567)", "1,234,567"),
        ("millions(25557032)", "25.6 M"),
        ("millions(632045800)", "632 M"),
        ("millions(22e9)", "22.0 G"),
        ("millions(1200)", "1 k"),
        ("bytes(1536)", "1.5 KiB"),
        ("bytes(0)", "0 B"),
        ("duration(3725)", "1 h 2 min"),
        ("duration(2.25)", "2.3 s"),
        ("date('2026-10-03T08:15:00Z')", "2026-10-03"),
    ],
)
def test_number_formats(core_page, expression, text):
    assert core_page.evaluate(f"BrainScore.format.{expression}") == text


@pytest.fixture(scope="module")
def core_page(browser, folder):
    """Open one page for all tests that only compute."""
    page = browser.new_page()
    page.goto(folder.as_uri() + "/index.html")
    return page


@pytest.mark.parametrize("address", ["javascript:alert(1)", " JaVaScript:alert(1)", "data:text/html,x", "vbscript:x"])
def test_elements_reject_script_addresses(core_page, address):
    assert core_page.evaluate("(address) => BrainScore.element('a', {href: address}).outerHTML", address) == "<a></a>"


def test_elements_escape_text(core_page):
    made = core_page.evaluate("BrainScore.element('p', {class: 'x', hidden: true}, '<b>', [1, null], false).outerHTML")
    assert made == '<p class="x" hidden="">&lt;b&gt;1</p>'
    assert core_page.evaluate("BrainScore.element('svg:circle', {r: 2}).namespaceURI") == "http://www.w3.org/2000/svg"


def test_theme_follows_the_system_until_chosen(site, open_page):
    page = open_page(site + "index.html", color_scheme="dark")
    background = "getComputedStyle(document.documentElement).colorScheme"
    assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(background) == "light"
    page.reload()
    assert page.evaluate(background) == "light"
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("document.documentElement.dataset.theme ?? 'of the system'") == "of the system"
