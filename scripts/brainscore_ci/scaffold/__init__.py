"""Start a plugin: a folder whose tests pass, and in which checks find what nobody can infer, to be changed in steps.

============ ===============================================================
`names`      what a person typed -> folder, identifiers, names in code
`designs`    metric -> lawful design of a benchmark, and facts about its data
`packages`   packaged files -> registrations, and facts for their tests
`templates`  files and settings of the library -> files of the plugin
`plan`       what is asked for -> everything that is inferred
`make`       that -> folders of the library
============ ===============================================================
"""
