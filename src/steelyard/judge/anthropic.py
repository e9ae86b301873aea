"""anthropic: the Messages API by Anthropic's SDK, with rubrics and task in the prompt cache."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from pydantic import Field

from steelyard.domain.usage import Usage
from steelyard.judge.base import Judge, JudgeError, JudgeRequest, Line, Reply
from steelyard.judge.services import Ladder, count, trouble, within

TOOL = "judge"
URL = "https://api.anthropic.com"


class AnthropicJudge(Judge):
    """Asks Claude by the Messages API. Needs `steelyard[anthropic]` and `ANTHROPIC_API_KEY`.

    `ANTHROPIC_BASE_URL` points it elsewhere. The reply has a schema; a service that takes none is asked for a tool
    call, then for plain JSON.
    """

    type: Literal["anthropic"] = "anthropic"
    max_tokens: int = Field(default=8192, ge=256, le=64_000, description="how long a reply may be")

    default_model: ClassVar[str] = "claude-sonnet-5-5"

    def check(self, env: Mapping[str, str]) -> str | None:
        """Whether the SDK is installed and a key is set."""
        if not env.get("ANTHROPIC_API_KEY"):
            return "ANTHROPIC_API_KEY is not set; export it"
        if find_spec("anthropic") is None:
            return "the anthropic package is not installed; install steelyard[anthropic]"
        return None

    def open(self, env: Mapping[str, str]) -> Line:
        """A client of its own, with our retries instead of the SDK's."""
        missing = self.check(env)
        if missing is not None:
            raise JudgeError("refused", missing)
        return _AnthropicLine(self, env)


class _AnthropicLine(Line):
    def __init__(self, judge: AnthropicJudge, env: Mapping[str, str]) -> None:
        import anthropic

        self._judge, self._sdk = judge, anthropic
        self._ladder = Ladder(("schema", "tool", "text"))
        self._client = anthropic.Anthropic(
            api_key=env["ANTHROPIC_API_KEY"],
            base_url=env.get("ANTHROPIC_BASE_URL") or URL,
            timeout=judge.timeout_s,
            max_retries=0,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, request: JudgeRequest) -> Reply:
        """One message."""
        return within(self._judge.timeout_s, lambda: self._ladder.climb_down(lambda way: self._once(request, way)))

    def _once(self, request: JudgeRequest, way: str) -> Reply:
        try:
            message = self._client.messages.create(
                model=self._judge.model_name,
                max_tokens=self._judge.max_tokens,
                system=[{"type": "text", "text": request.system}],
                messages=_messages(request),  # type: ignore[arg-type]  # plain dicts of the right shape
                **_form(request, way),
            )
        except self._sdk.AnthropicError as error:
            raise trouble(self._sdk, error) from error
        return _reply(message)


def _messages(request: JudgeRequest) -> list[dict[str, Any]]:
    """The cache ends after rubrics and task, which all runs of a task share."""
    context = {"type": "text", "text": request.context, "cache_control": {"type": "ephemeral"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [context, {"type": "text", "text": request.evidence}]},
    ]
    if request.refused is not None:
        messages.append({"role": "assistant", "content": request.refused[0].strip() or "(nothing)"})
        messages.append({"role": "user", "content": request.complaint})
    return messages


def _form(request: JudgeRequest, way: str) -> dict[str, Any]:
    if way == "schema":
        return {"output_config": {"format": {"type": "json_schema", "schema": request.schema}}}
    if way == "tool":
        tool = {"name": TOOL, "description": "Gives the verdict.", "input_schema": request.schema}
        return {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
    return {}


def _reply(message: Any) -> Reply:
    """What a message holds; a service that answers something else is taken at its word, as text."""
    content = getattr(message, "content", None)
    if not isinstance(content, list):
        return Reply(text=message if isinstance(message, str) else repr(message))
    texts = [str(getattr(block, "text", "")) for block in content if getattr(block, "type", "") == "text"]
    calls = [getattr(block, "input", None) for block in content if getattr(block, "type", "") == "tool_use"]
    value = next((call for call in calls if isinstance(call, dict)), None)
    used = getattr(message, "usage", None)
    usage = Usage(
        input_tokens=count(getattr(used, "input_tokens", None)),
        output_tokens=count(getattr(used, "output_tokens", None)),
        cache_read_tokens=count(getattr(used, "cache_read_input_tokens", None)) or 0,
        cache_write_tokens=count(getattr(used, "cache_creation_input_tokens", None)) or 0,
    )
    model = getattr(message, "model", None)
    return Reply("".join(texts), value, model if isinstance(model, str) else None, usage)
