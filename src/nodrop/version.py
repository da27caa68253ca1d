"""The version of this package, one place."""

from typing import Final

__version__: Final = "0.1.0"
