"""Compare the choices of observers: agreement, confusions, psychometric functions."""
