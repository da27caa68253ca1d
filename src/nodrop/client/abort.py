"""A signal that ends requests, from any thread or task."""

from __future__ import annotations

import threading
from collections.abc import Callable


class AbortSignal:
    """Give it to ``stream``, ``complete`` or a document query; ``abort()`` ends all that hold it.

    ``abort()`` may be called from any thread or task, at any moment, and more than once. A signal that was aborted
    stays so: a request that gets it ends before anything is sent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._aborted = False
        self._callbacks: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"AbortSignal(aborted={self._aborted})"

    @property
    def aborted(self) -> bool:
        """Whether ``abort()`` was called."""
        return self._aborted

    def abort(self) -> None:
        """Ends every request that holds this signal, and every one that will."""
        with self._lock:
            if self._aborted:
                return
            self._aborted = True
            callbacks = self._callbacks
            self._callbacks = []
        for callback in callbacks:
            callback()

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls ``callback`` once, at the abort, in the thread that aborts; at once if that was before.

        It must be quick and must not raise. Gives a function that takes it back.
        """
        with self._lock:
            if not self._aborted:
                self._callbacks.append(callback)
                return lambda: self._remove(callback)
        callback()
        return lambda: None

    def _remove(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def __reduce__(self) -> tuple[type[AbortSignal], tuple[()]]:
        raise TypeError("an AbortSignal belongs to its process and does not pickle")
