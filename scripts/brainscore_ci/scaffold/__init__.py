"""Start a plugin: a folder that passes every check and its own tests, to be changed step by step.

============ ===========================================================
`names`      what a person typed -> folder, identifiers, names in code
`packages`   packaged files -> registrations, and facts for their tests
`make`       what is wished for -> folders of the library
``templates`` the files, with ``$placeholders``
============ ===========================================================
"""
