"""openai: chat completions by OpenAI's SDK, from OpenAI or any service that speaks the same."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from steelyard.domain.usage import Usage
from steelyard.judge.base import Judge, JudgeError, JudgeRequest, Line, Reply
from steelyard.judge.services import Ladder, count, trouble, within

URL = "https://api.openai.com/v1"


class OpenAIJudge(Judge):
    """Asks a model by chat completions. Needs `steelyard[openai]` and `OPENAI_API_KEY`.

    `OPENAI_BASE_URL` points it elsewhere; then no key is needed. A service that refuses a JSON schema is asked for a
    JSON object, then for plain text.
    """

    type: Literal["openai"] = "openai"

    default_model: ClassVar[str] = "gpt-5.4"

    def check(self, env: Mapping[str, str]) -> str | None:
        """Whether the SDK is installed and there is somebody to ask."""
        if not env.get("OPENAI_API_KEY") and not env.get("OPENAI_BASE_URL"):
            return "OPENAI_API_KEY is not set; export it, or OPENAI_BASE_URL for a service of your own"
        if find_spec("openai") is None:
            return "the openai package is not installed; install steelyard[openai]"
        return None

    def open(self, env: Mapping[str, str]) -> Line:
        """A client of its own, with our retries instead of the SDK's."""
        missing = self.check(env)
        if missing is not None:
            raise JudgeError("refused", missing)
        return _OpenAILine(self, env)


class _OpenAILine(Line):
    def __init__(self, judge: OpenAIJudge, env: Mapping[str, str]) -> None:
        import openai

        self._judge, self._sdk = judge, openai
        self._ladder = Ladder(("schema", "object", "text"))
        self._client = openai.OpenAI(
            api_key=env.get("OPENAI_API_KEY") or "none",
            base_url=env.get("OPENAI_BASE_URL") or URL,
            timeout=judge.timeout_s,
            max_retries=0,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, request: JudgeRequest) -> Reply:
        """One completion."""
        return within(self._judge.timeout_s, lambda: self._ladder.climb_down(lambda way: self._once(request, way)))

    def _once(self, request: JudgeRequest, way: str) -> Reply:
        try:
            completion = self._client.chat.completions.create(
                model=self._judge.model_name,
                messages=_messages(request),  # type: ignore[arg-type]  # plain dicts of the right shape
                **_form(request, way),
            )
        except self._sdk.OpenAIError as error:
            raise trouble(self._sdk, error) from error
        return _reply(completion)


def _messages(request: JudgeRequest) -> list[dict[str, str]]:
    messages = [
        {"role": "system", "content": request.system},
        {"role": "user", "content": f"{request.context}\n\n{request.evidence}"},
    ]
    if request.refused is not None:
        messages.append({"role": "assistant", "content": request.refused[0].strip() or "(nothing)"})
        messages.append({"role": "user", "content": request.complaint})
    return messages


def _form(request: JudgeRequest, way: str) -> dict[str, Any]:
    if way == "schema":
        schema = {"name": "verdict", "strict": True, "schema": request.schema}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    return {"response_format": {"type": "json_object"}} if way == "object" else {}


def _reply(completion: Any) -> Reply:
    """What a completion holds; a service that answers something else is taken at its word, as text."""
    choices = getattr(completion, "choices", None)
    if not choices:
        return Reply(text=completion if isinstance(completion, str) else repr(completion))
    message = getattr(choices[0], "message", None)
    text = getattr(message, "content", None) or getattr(message, "refusal", None) or ""
    used = getattr(completion, "usage", None)
    prompt, details = count(getattr(used, "prompt_tokens", None)), getattr(used, "prompt_tokens_details", None)
    cached = count(getattr(details, "cached_tokens", None)) or 0
    usage = Usage(
        input_tokens=None if prompt is None else max(0, prompt - cached),
        output_tokens=count(getattr(used, "completion_tokens", None)),
        cache_read_tokens=None if prompt is None else cached,
        cache_write_tokens=None if prompt is None else 0,
    )
    model = getattr(completion, "model", None)
    return Reply(text if isinstance(text, str) else repr(text), None, model if isinstance(model, str) else None, usage)
