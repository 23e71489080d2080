"""Turn a submitted zip file with a plugin into a pull request."""
