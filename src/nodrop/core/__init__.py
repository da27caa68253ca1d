"""The sans-IO core: bytes in, events out. It never reads a clock, opens a socket or waits.

``sse`` bytes → server-sent events · ``wire_json`` one event's JSON → a wire chunk, or an error that names the culprit ·
``decisions`` what becomes of each wire type · ``assembler`` wire chunks → events and the message · ``tool_calls``
fragments → calls · ``usage`` counters and cost · ``flow`` the life of one request as a generator of commands.
"""
