"""Keep the comments, labels and scores of pull requests up to date.

============== ===========================================================================
`bundle`       artifact of a run <-> its plan and results
`comments`     text of the one comment on a pull request
`decide`       facts -> actions, and applying them
`reconciler`   look at everything, decide, act
============== ===========================================================================
"""
