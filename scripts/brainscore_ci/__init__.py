"""Plan, check, test and report around a pull request and a merge, by pure functions with git and files at the edges."""
