"""The clients: they drive ``core.flow`` with httpx (or httpx2), and decide nothing themselves.

``options`` what a client is told · ``abort`` the abort signal · ``transport`` what both HTTP families share ·
``sync_driver`` and ``async_driver`` one request's commands, carried out · ``sync`` and ``aio`` the public classes.
"""
