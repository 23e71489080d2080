"""Configure the documentation site."""

project = "Brain-Score"
author = "The Brain-Score contributors"
copyright = "2026, The Brain-Score contributors"  # noqa: A001 - Sphinx wants this name
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "How brain-like is a vision model?", "page_width": "1100px"}
myst_enable_extensions = ["dollarmath"]
numpydoc_show_class_members = False
autodoc_typehints = "none"


def setup(app):
    """Register what changes docstrings before they are read."""
    app.connect("autodoc-process-docstring", headings_of_modules, priority=100)


def headings_of_modules(app, what, name, obj, options, lines):  # noqa: ARG001 - Sphinx calls it with all of these
    """Turn the headings in docstrings of modules into rubrics: several modules of one page have the same ones."""
    if what == "module":
        for index in range(len(lines) - 1, 0, -1):
            if lines[index] and set(lines[index]) == {"-"} and len(lines[index]) == len(lines[index - 1]):
                lines[index - 1 : index + 1] = [f".. rubric:: {lines[index - 1]}", ""]
