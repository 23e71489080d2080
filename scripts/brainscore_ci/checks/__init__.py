"""Check one plugin without importing it: every problem, its place, and its fix.

================ =================================================================
`findings`       one `Finding`; lists of them as text, JSON, GitHub annotations
`plugin`         the checked plugin and its surroundings
`registrations`  what it registers and loads
`imports`        effects of importing it
`files`          size, form and names of its files
`outdated`       module and class names of predecessors
`metadata`       ``metadata.yml``
`requirements`   ``requirements.txt``
`undeclared`     imports without a requirement
`tests`          ``test.py``
`citations`      BibTeX, and its reader
`placeholders`   remaining template texts
`versions`       benchmark versions against an earlier state
`fix`            mechanical fixes
`runner`         finds plugins and applies all rules
================ =================================================================
"""
