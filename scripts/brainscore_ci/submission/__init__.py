"""Turn a submitted zip file with a plugin into a pull request.

=========== =============================================================
`archive`   zip file -> the files of one plugin, or every problem
`rules`     allowed names, kinds and contents of files
`place`     files and a checkout -> their differences; writes the folder
`owners`    history of a plugin -> owners to ask before replacing it
`request`   issue -> submission; branch, commit message, title, body
`forge`     the calls of GitHub
`publish`   all of these -> a branch and a pull request
=========== =============================================================
"""
