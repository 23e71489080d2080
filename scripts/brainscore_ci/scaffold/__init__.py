"""Start a plugin: a folder that passes every check and its own tests, to be changed step by step.

============ ===============================================================
`names`      what a person typed -> folder, identifiers, names in code
`packages`   packaged files -> registrations, and facts for their tests
`templates`  files and settings of the library -> files of the plugin
`make`       what is asked for -> folders of the library
============ ===============================================================
"""
