"""Bring what pull requests show into line with what is known.

============== ===========================================================================
`bundle`       the artifact of a run <-> its plan and results
`comments`     what the one comment on a pull request says
`decide`       everything known -> what has to be done, and doing it
`reconciler`   look at everything, decide, do it
============== ===========================================================================
"""
