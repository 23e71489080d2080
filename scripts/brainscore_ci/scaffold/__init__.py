"""Start a plugin: a folder whose tests pass; checks find what people still have to fill in.

============ ===============================================================
`names`      typed name -> folder, identifiers, names in code
`designs`    metric -> lawful benchmark design, and facts about its data
`packages`   packaged files -> registrations, and facts for their tests
`templates`  files and settings of the library -> files of the plugin
`plan`       request -> everything inferred
`make`       everything inferred -> folders of the library
============ ===============================================================
"""
