"""Configure the documentation site."""

import os
import sys
from pathlib import Path

from sphinx.util.parallel import make_chunks

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "_ext")]
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"]]
)  # notebooks run brainscore
os.environ.setdefault("OMP_NUM_THREADS", "1")  # two notebooks at once share the cores
os.environ["BRAINSCORE_PROGRESS"] = "0"  # how long a step took is no content of a page

project = "Brain-Score"
author = "The Brain-Score contributors"
copyright = "2026, The Brain-Score contributors"  # noqa: A001 - Sphinx wants this name
extensions = [
    "drawn",
    "formulas",
    "measured",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "tabled",
]
exclude_patterns = ["_build", "jupyter_execute", "tests"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"  # of the gallery, since its results depend on the library
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autosummary_ignore_module_all = (
    False  # what a module documents is what its __all__ names
)
# Names of a module that another page describes.
autosummary_context = {
    "elsewhere": {
        "brainscore_core.benchmarks": ["Score"],
        "brainscore_core.supported_data_standards.brainio.assemblies": ["DataPoint"],
        "brainscore_vision.model_helpers.brain_transformation": [
            "ProbabilitiesMapping"
        ],
    }
}
default_role = (
    "py:obj"  # a name between backticks of a docstring links to its description
)
autodoc_typehints = "signature"  # docstrings do not repeat the types
suppress_warnings = ["ref.python"]  # a class in two modules: either description will do
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

# Everything a page shows lies in the site: no address of another host in its head.
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "Brain-Score"
html_logo = "_static/mark.svg"
html_favicon = "_static/mark.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "search_scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": "Brain-Score", "alt_text": "Brain-Score, front page"},
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_depth": 1,  # modules are listed on the pages of the reference
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
copybutton_exclude = ".linenos, .gp, .go"


def setup(app):
    """Register what changes docstrings before they are read, and the order of pages."""
    app.connect("autodoc-process-docstring", headings_of_modules, priority=100)
    app.connect("env-before-read-docs", spread_notebooks)


def spread_notebooks(app, env, docnames):  # noqa: ARG001 - Sphinx calls it with all of these
    """Order pages so that neighbours, such as notebooks, are in different chunks, which processes read in parallel."""
    n_chunks = len(make_chunks(docnames, app.parallel))
    docnames[:] = [
        name for first in range(n_chunks) for name in docnames[first::n_chunks]
    ]


def headings_of_modules(app, what, name, obj, options, lines):  # noqa: ARG001 - Sphinx calls it with all of these
    """Turn the headings in docstrings of modules into rubrics: several modules of one page have the same ones."""
    if what == "module":
        for index in range(len(lines) - 1, 0, -1):
            if (
                lines[index]
                and set(lines[index]) == {"-"}
                and len(lines[index]) == len(lines[index - 1])
            ):
                lines[index - 1 : index + 1] = [f".. rubric:: {lines[index - 1]}", ""]
