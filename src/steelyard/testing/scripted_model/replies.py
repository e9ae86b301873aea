"""What a step becomes for one request: text and tool calls that this client can use."""

import json
from dataclasses import dataclass

from steelyard.testing.scripted_model.asks import Ask
from steelyard.testing.scripted_model.script import USAGE, Step
from steelyard.testing.scripted_model.tools import Call, as_call, submission, working_directory

STRUCTURED = "StructuredOutput"


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply before it is written down in a protocol; `turn` makes its ids."""

    turn: int
    model: str
    text: str
    calls: tuple[Call, ...]
    usage: dict[str, int]
    side: bool = False
    unmet: tuple[str, ...] = ()

    def id(self, prefix: str, part: int = 0) -> str:
        """An id that names the reply and the part: the same step always has the same ids."""
        return f"{prefix}_{self.turn:06d}_{part}"


def compose(step: Step, ask: Ask) -> Reply:
    """The step as a reply to this request."""
    usage = {kind: step.tokens(kind) for kind in USAGE}
    if step.calls and not ask.tools:
        # A title or a summary that the client wants beside its work: it must not see the step's text.
        return Reply(ask.replies, ask.model, "A scripted conversation", (), usage, side=True)
    if step.json is not None or ask.forced is not None:
        return _structured(step, ask, usage)
    cwd = working_directory(ask.prompt)
    made = [(wanted, as_call(wanted, ask.tools, cwd)) for wanted in step.calls]
    calls = [call for _, call in made if call is not None]
    unmet = tuple(next(iter(wanted)) for wanted, call in made if call is None)
    text = step.text + "".join(f"\n(the script wants {name}, but no tool for it is offered)" for name in unmet)
    if not calls and ask.submits:
        last = submission(step.text, ask.tools)
        calls = [last] if last is not None else []
    return Reply(ask.replies, ask.model, text, tuple(calls), usage, unmet=unmet)


def _structured(step: Step, ask: Ask, usage: dict[str, int]) -> Reply:
    """A structured answer: by the forced tool, by the command line's own tool, or as JSON text."""
    tool = ask.forced or next((tool.name for tool in ask.tools if tool.name == STRUCTURED), None)
    value = step.json if step.json is not None else _object(step.text)
    if tool is not None and value is not None:
        return Reply(ask.replies, ask.model, "", (Call(tool, value),), usage)
    text = step.text if value is None else json.dumps(value, ensure_ascii=False)
    return Reply(ask.replies, ask.model, text, (), usage)


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
