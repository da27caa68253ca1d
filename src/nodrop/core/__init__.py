"""The sans-IO core: bytes in, events out. It never reads a clock, opens a socket or waits.

``sse`` bytes → server-sent events · ``wire_json`` one event's JSON → a wire chunk, or an error that names the culprit
(``culprits``, ``shapes``, ``repeated_keys``) · ``repeats`` the short way of an event like the last one · ``decisions``
what becomes of each wire type, ``fields`` of each field · ``assembler`` and ``blocks`` wire chunks → events and the
message · ``tool_calls`` fragments → calls · ``usage`` counters and cost · ``sink`` all of that for one body, in a
``message_sink`` or a ``wire_sink`` · ``flow`` the life of one request as a generator of ``commands``.
"""
