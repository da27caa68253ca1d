"""A payload that must show up nowhere, and the search for it in all that a failure puts out."""

from __future__ import annotations

import copy
import pickle
import traceback

from nodrop.errors import NodropError
from nodrop.events import Failed, event_to_json
from tests.core.driving import Outcome

MARK = "SECRETPAYLOAD"
SECRET = f"data:image/png;base64,{MARK}+/=="  # in no place is this a name


def check_hidden(outcome: Outcome) -> None:
    """The marker is in no output of the failure: text, repr, args, chain, traceback, JSON, a pickled copy."""
    error = outcome.error
    assert isinstance(error, NodropError)
    terminal = outcome.events[-1]
    assert isinstance(terminal, Failed)
    for each in (error, pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(each) is type(error)
        assert (str(each), each.args) == (str(error), error.args)
        assert each.__cause__ is None
        assert each.__context__ is None
        facts = {key: value for key, value in vars(each).items() if key not in ("partial", "body", "raw")}
        shown = [str(each), repr(each), repr(each.args), each.message, repr(facts)]
        try:
            raise each
        except NodropError as raised:
            shown += traceback.format_exception(raised)
            shown += traceback.TracebackException.from_exception(raised, capture_locals=False).format()
        assert MARK not in "".join(shown)
    assert MARK not in repr(terminal)
    kept = terminal.message.model_copy(update={"content": [], "unmapped": {}})
    assert MARK not in repr(kept)
    assert MARK not in str(event_to_json(Failed(terminal.reason, kept, error)))
    assert str(error) == terminal.message.error_message
