"""Check one plugin without importing it: everything that is wrong, where, and what to do about it.

================ =================================================================
`findings`       one `Finding`; lists of them as text, JSON, annotations of GitHub
`plugin`         the plugin that is checked, and what is around it
`registrations`  what it registers, and what it loads
`imports`        what importing it does
`files`          size, form and names of its files
`outdated`       names of modules and classes of predecessors
`metadata`       ``metadata.yml``
`requirements`   ``requirements.txt``
`undeclared`     imports that nothing provides
`tests`          ``test.py``
`citations`      BibTeX, and reading it
`placeholders`   what is left of a new plugin's first texts
`versions`       versions of benchmarks against an earlier state
`fix`            mends what is mechanical
`runner`         all rules on one plugin, and finding plugins to check
================ =================================================================
"""
