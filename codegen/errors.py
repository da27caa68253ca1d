"""The one exception of the build gate that is meant for people."""


class CannotRunError(Exception):
    """The input is unusable. One line: the cause, and the way out. The command line prints it and exits with 2."""
