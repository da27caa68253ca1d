"""The version of this package, one place."""

__version__ = "0.1.0"
