"""A signal that ends requests, from any thread or task, and from a signal handler."""

from __future__ import annotations

from collections.abc import Callable


class AbortSignal:
    """Give it to ``stream``, ``complete`` or a document query; ``abort()`` ends all that hold it.

    ``abort()`` may be called from any thread or task, from a signal handler, at any moment, and more than once. A
    signal that was aborted stays so: a request that gets it ends before anything is sent.
    """

    # No lock: a signal handler runs in the middle of the main thread's code and would wait for itself. Each step on the
    # dict is atomic, a callback is taken out by whoever calls it, and whoever adds one looks at the flag afterwards.

    def __init__(self) -> None:
        self._aborted = False
        self._callbacks: dict[object, Callable[[], None]] = {}

    def __repr__(self) -> str:
        return f"AbortSignal(aborted={self._aborted})"

    @property
    def aborted(self) -> bool:
        """Whether ``abort()`` was called."""
        return self._aborted

    def abort(self) -> None:
        """Ends every request that holds this signal, and every one that will."""
        self._aborted = True
        self._call_all()

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls ``callback`` once, at the abort, in the thread that aborts; at once if that was before.

        It must be quick and must not raise. Gives a function that takes it back.
        """
        token = object()
        self._callbacks[token] = callback
        if self._aborted:
            self._call_all()
        return lambda: _forget(self._callbacks, token)

    def _call_all(self) -> None:
        while self._callbacks:
            try:
                _, callback = self._callbacks.popitem()
            except KeyError:
                return  # another thread took the last one
            callback()

    def __reduce__(self) -> tuple[type[AbortSignal], tuple[()]]:
        raise TypeError("an AbortSignal belongs to its process and does not pickle")


def _forget(callbacks: dict[object, Callable[[], None]], token: object) -> None:
    callbacks.pop(token, None)
