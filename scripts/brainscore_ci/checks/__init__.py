"""Check one plugin without importing it: everything that is wrong, where, and what to do about it.

================ =================================================================
`findings`       one `Finding`; lists of them as text, JSON, annotations of GitHub
`plugin`         the plugin that is checked, and what is around it
`registrations`  what it registers, and what it loads
`imports`        what importing it does
`files`          size, form and names of its files
`metadata`       ``metadata.yml``
`requirements`   ``requirements.txt``
`tests`          ``test.py``
`citations`      BibTeX, and reading it
`versions`       versions of benchmarks against an earlier state
`runner`         all rules on one plugin, and finding plugins to check
================ =================================================================
"""
