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
