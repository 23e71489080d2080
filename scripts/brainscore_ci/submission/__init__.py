"""Take a plugin that somebody submits as a zip file, and make a pull request of it.

=========== =============================================================
`archive`   zip file -> the files of one plugin, or everything wrong with it
`rules`     which names, kinds and contents of files a plugin may have
`place`     these files and a checkout -> what changes; writes the folder
`owners`    history of a plugin -> who has to be asked before it is replaced
`request`   issue -> who submits what; branch, commit message, title, body
`forge`     what of this needs GitHub
`publish`   all of these -> a branch and a pull request
=========== =============================================================
"""
