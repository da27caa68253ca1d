"""The moment at which the server is told to stop.

ASGI tells an application of a shutdown only after its last answer has ended, which for a stream may be never. So the
application listens to the signals itself, and hands them on to the server's own handler.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_termination(callback: Callable[[], None]) -> Generator[None]:
    """While it is entered, SIGINT and SIGTERM call ``callback`` in the running event loop, and then do what they did.

    Only where a handler stands already (the server's), and in the main thread: elsewhere it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {number: signal.getsignal(number) for number in _SIGNALS}
    chained = {number: handler for number, handler in before.items() if callable(handler)}

    def hear(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(callback)
        chained[signal.Signals(number)](number, frame)

    for number in chained:
        signal.signal(number, hear)
    try:
        yield
    finally:
        for number, handler in chained.items():
            if signal.getsignal(number) is hear:
                signal.signal(number, handler)
