"""The scripted model server, spoken to by the real SDKs and by hand."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from steelyard.errors import InputError
from steelyard.testing.scripted_model import ScriptedModel, read_scripts

TOOLS: list[Any] = [
    {
        "name": "Write",
        "description": "writes",
        "input_schema": {
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
        },
    },
    {
        "name": "Bash",
        "description": "runs",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
    },
]
FUNCTIONS: list[Any] = [
    {"type": "function", "function": {"name": tool["name"].lower(), "parameters": tool["input_schema"]}}
    for tool in TOOLS
]
ASK: list[Any] = [{"role": "user", "content": "go"}]
USAGE = {"input_tokens": 1000, "output_tokens": 50, "cache_read_tokens": 30, "cache_write_tokens": 20}
SCRIPTS: dict[str, Any] = {
    "steps": ["from the root"],
    "scripts": {
        "work": [
            {"text": "I will.", "calls": [{"write": {"path": "a.txt", "content": "é\n"}}], "usage": USAGE},
            "Done.",
        ],
        "score": [{"json": {"score": 4}}],
        "busy": [{"text": "in the end", "fault": {"status": 429, "retry_after_s": 0, "times": 2}}],
        "refuse": [{"fault": {"status": 401, "message": "bad key"}}],
        "overflow": [{"fault": {"overflow": True}}],
        "drop": [{"fault": {"drop": True}}],
        "cut": [{"text": "abcdef", "fault": {"cut_after": 2}}],
        "slow": [{"text": "abcdef", "fault": {"pause_s": 0.01}}],
    },
}


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    """All scripts."""
    with ScriptedModel(SCRIPTS) as running:
        yield running


@pytest.fixture
def claude(server: ScriptedModel) -> Iterator[Any]:
    """Anthropic's SDK for a named script."""
    clients: list[anthropic.Anthropic] = []

    def client(name: str) -> anthropic.Anthropic:
        clients.append(anthropic.Anthropic(api_key="k", base_url=server.url_of(name), max_retries=0))
        return clients[-1]

    yield client
    for made in clients:
        made.close()


@pytest.fixture
def gpt(server: ScriptedModel) -> Iterator[Any]:
    """OpenAI's SDK for a named script."""
    clients: list[openai.OpenAI] = []

    def client(name: str, retries: int = 0) -> openai.OpenAI:
        clients.append(openai.OpenAI(api_key="k", base_url=f"{server.url_of(name)}/v1", max_retries=retries))
        return clients[-1]

    yield client
    for made in clients:
        made.close()


def post(server: ScriptedModel, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
    """A request by hand."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic_messages(claude: Any, server: ScriptedModel, stream: bool) -> None:
    """An intent becomes the offered tool; usage is Anthropic's; the conversation tells the next step."""
    messages = claude("work").messages
    asked: dict[str, Any] = {"model": "m", "max_tokens": 99, "messages": ASK, "tools": TOOLS}
    if stream:
        with messages.stream(**asked) as events:
            reply = events.get_final_message()
    else:
        reply = messages.create(**asked)

    assert [block.type for block in reply.content] == ["text", "tool_use"]
    assert (reply.content[1].name, reply.content[1].input) == ("Write", {"file_path": "a.txt", "content": "é\n"})
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (1000, 50)
    assert (reply.usage.cache_read_input_tokens, reply.usage.cache_creation_input_tokens) == (30, 20)
    assert reply.stop_reason == "tool_use"
    result = {"type": "tool_result", "tool_use_id": reply.content[1].id, "content": "ok"}
    talk = [*ASK, {"role": "assistant", "content": reply.content}, {"role": "user", "content": [result]}]
    last = messages.create(**{**asked, "messages": talk})
    assert last.content[0].text == "Done."
    assert [(entry.turn, entry.outcome, entry.key) for entry in server.requests] == [
        (0, "reply", "k"),
        (1, "reply", "k"),
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_chat_completions(gpt: Any, stream: bool) -> None:
    """The same script in Chat Completions; prompt tokens include cached ones."""
    completions = gpt("work").chat.completions
    asked: dict[str, Any] = {"model": "m", "messages": ASK, "tools": FUNCTIONS}
    if stream:
        parts = list(completions.create(**asked, stream=True, stream_options={"include_usage": True}))
        calls = [call for part in parts if part.choices for call in part.choices[0].delta.tool_calls or []]
        arguments, usage = "".join(call.function.arguments for call in calls), parts[-1].usage
    else:
        reply = completions.create(**asked)
        arguments, usage = reply.choices[0].message.tool_calls[0].function.arguments, reply.usage

    assert json.loads(arguments) == {"file_path": "a.txt", "content": "é\n"}
    assert (usage.prompt_tokens, usage.completion_tokens) == (1050, 50)
    assert usage.prompt_tokens_details.cached_tokens == 30


@pytest.mark.parametrize("stream", [False, True])
def test_responses(gpt: Any, stream: bool) -> None:
    """The same script in Responses, where a shell does what no writing tool can."""
    responses = gpt("work").responses
    tool = {"type": "function", "name": "exec_command", "strict": False}
    tool["parameters"] = {"type": "object", "properties": {"cmd": {"type": "string"}}}
    asked: dict[str, Any] = {"model": "m", "input": "go", "tools": [tool]}
    if stream:
        with responses.stream(**asked) as events:
            reply = events.get_final_response()
    else:
        reply = responses.create(**asked)

    assert [item.type for item in reply.output] == ["message", "function_call"]
    assert json.loads(reply.output[1].arguments) == {"cmd": "mkdir -p . && printf '%s' 'é\n' > a.txt"}
    assert (reply.usage.input_tokens, reply.usage.input_tokens_details.cached_tokens) == (1050, 30)
    call, result = reply.output[1], {"type": "function_call_output", "call_id": reply.output[1].call_id, "output": "ok"}
    talk = [*ASK, {"role": "assistant", "content": "I will."}, call.model_dump(exclude_none=True), result]
    assert responses.create(**{**asked, "input": talk}).output_text == "Done."


def test_structured_answers(claude: Any, gpt: Any) -> None:
    """`json` comes by the forced tool, by the command line's own tool, or as text, as the request asks."""
    forced = claude("score").messages.create(
        model="m", max_tokens=9, messages=ASK, tools=TOOLS, tool_choice={"type": "tool", "name": "Bash"}
    )
    offered = claude("score").messages.create(
        model="m", max_tokens=9, messages=ASK, tools=[{**TOOLS[1], "name": "StructuredOutput"}]
    )
    plain = claude("score").messages.create(model="m", max_tokens=9, messages=ASK)
    schema: Any = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}}
    chat = gpt("score").chat.completions.create(model="m", messages=ASK, response_format=schema)

    assert (forced.content[0].name, forced.content[0].input) == ("Bash", {"score": 4})
    assert (offered.content[0].name, offered.content[0].input) == ("StructuredOutput", {"score": 4})
    assert json.loads(plain.content[0].text) == {"score": 4}
    assert json.loads(chat.choices[0].message.content) == {"score": 4}


def test_counting_and_side_requests_do_not_advance(claude: Any, server: ScriptedModel) -> None:
    """A count of tokens and a title are answered beside the script."""
    client = claude("work")
    counted = client.messages.count_tokens(model="m", messages=ASK)
    title = client.messages.create(model="m", max_tokens=9, messages=ASK)

    assert counted.input_tokens >= 1
    assert title.content[0].text == "A scripted conversation"
    assert [entry.outcome for entry in server.requests] == ["count", "side"]


def test_a_busy_service_that_recovers(gpt: Any, server: ScriptedModel) -> None:
    """The SDK's own retries see 429 twice, then the answer."""
    reply = gpt("busy", retries=3).chat.completions.create(model="m", messages=ASK)

    assert reply.choices[0].message.content == "in the end"
    assert [entry.status for entry in server.requests] == [429, 429, 200]


def test_errors_are_the_protocols_own(claude: Any, gpt: Any) -> None:
    """The SDKs raise what they raise for the real service."""
    with pytest.raises(anthropic.AuthenticationError, match="bad key"):
        claude("refuse").messages.create(model="m", max_tokens=9, messages=ASK)
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
        claude("overflow").messages.create(model="m", max_tokens=9, messages=ASK)
    with pytest.raises(openai.BadRequestError) as caught:
        gpt("overflow").chat.completions.create(model="m", messages=ASK)
    assert caught.value.code == "context_length_exceeded"
    with pytest.raises(openai.APIConnectionError):
        gpt("drop").chat.completions.create(model="m", messages=ASK)


def test_streams_that_break_and_streams_that_crawl(server: ScriptedModel) -> None:
    """A cut stream ends without its end; a slow one is whole."""
    body = json.dumps({"model": "m", "stream": True, "messages": ASK})
    got = {}
    for name in ("cut", "slow"):
        connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("POST", f"/s/{name}/v1/messages", body)
        try:
            got[name] = connection.getresponse().read()
        except HTTPException as error:
            got[name] = getattr(error, "partial", b"")
        connection.close()

    assert b"message_stop" not in got["cut"]
    assert b"message_stop" in got["slow"]


def test_a_request_is_logged_as_it_arrives() -> None:
    """A step that thinks for an hour is in the log at once, and the end of the server ends it."""
    with ScriptedModel([{"text": "late", "delay_s": 3600}]) as slow:
        connection = HTTPConnection("127.0.0.1", slow.port, timeout=60)
        connection.request("POST", "/v1/messages", "{}")
        deadline = time.monotonic() + 60
        while not slow.requests and time.monotonic() < deadline:
            time.sleep(0.01)
        seen = [(entry.turn, entry.outcome) for entry in slow.requests]
    with pytest.raises((HTTPException, ConnectionError)):
        connection.getresponse()
    connection.close()

    assert seen == [(0, "reply")]


def test_many_clients_at_once(server: ScriptedModel) -> None:
    """Sixteen conversations on one script do not disturb each other."""
    talk = [*ASK, {"role": "assistant", "content": "I will."}, {"role": "user", "content": "and?"}]
    bodies = [json.dumps({"model": "m", "messages": messages, "tools": FUNCTIONS}) for messages in (ASK, talk)]
    seen: list[tuple[int, str]] = []

    def speak(number: int) -> None:
        _, reply = post(server, "/s/work/v1/chat/completions", bodies[number % 2].encode())
        seen.append((number % 2, reply["choices"][0]["message"]["content"]))

    threads = [threading.Thread(target=speak, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(seen) == [(0, "I will.")] * 8 + [(1, "Done.")] * 8


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/messages", b"{", 400),
        ("/v1/messages", b"[1]", 400),
        ("/v1/messages", b"[" * 100_000, 400),
        ("/v1/messages", b'{"messages": [1, {"role": 2}], "tools": 3, "system": {"a": 1}}', 200),
        ("/v1/responses", b'{"input": [{"type": 1}, 2]}', 200),
        ("/v1/nothing", b"{}", 404),
        ("/s/unknown/v1/messages", b"{}", 404),
        ("/v1/messages/count_tokens", b"{}", 200),
    ],
)
def test_bad_requests_are_answered(server: ScriptedModel, path: str, body: bytes, status: int) -> None:
    """Whatever comes in, an answer goes out and the server lives."""
    assert post(server, path, body)[0] == status
    assert post(server, "/v1/messages", b"{}")[1]["content"][0]["text"] == "from the root"


def test_a_body_that_lies_about_its_length(server: ScriptedModel) -> None:
    """A length past all reason is refused without waiting for it."""
    assert post(server, "/v1/messages", b"{}", **{"Content-Length": "99999999999"})[0] == 400


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (7, "must be a list of steps"),
        ([7], r"script\[0\]: must be an object or a text"),
        ([{"txt": "a"}], r"script\[0\]: unknown field txt; allowed: text, calls"),
        ([{"calls": [{"jump": 1}]}], r"script\[0\].calls\[0\]: give one of write, shell, read"),
        ([{"calls": [{"write": {"path": "a"}}]}], r"write.content: must be text"),
        ([{"usage": {"input_tokens": -1}}], "must be a whole number, 0 or more"),
        ([{"fault": {}}], "give exactly one of status, drop"),
        ([{"fault": {"status": 200}}], "must be an HTTP error"),
        ([{"fault": {"status": 429, "drop": True}}], "give exactly one of"),
        ([{"delay_s": "long"}], "must be a number of seconds"),
        ({"scripts": {"a": {"stepz": []}}}, "script.scripts.a: unknown field stepz"),
    ],
)
def test_mistakes_in_a_script_are_named(script: Any, message: str) -> None:
    """The place, what is wrong, and what is allowed."""
    with pytest.raises(InputError, match=message):
        read_scripts(script)


def test_the_command_line(tmp_path: Path) -> None:
    """It says where it listens, answers, logs, and ends on SIGTERM."""
    script, log = tmp_path / "script.json", tmp_path / "log.jsonl"
    script.write_text('["hello"]')
    argv = [sys.executable, "-m", "steelyard.testing.scripted_model", "--script", str(script), "--log", str(log)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        where = json.loads(process.stdout.readline())
        connection = HTTPConnection("127.0.0.1", where["port"], timeout=60)
        connection.request("POST", "/v1/messages", "{}")
        reply = json.loads(connection.getresponse().read())
        connection.close()
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)

    assert (code, where["pid"], where["url"]) == (0, process.pid, f"http://127.0.0.1:{where['port']}")
    assert reply["content"] == [{"type": "text", "text": "hello"}]
    assert json.loads(log.read_text())["outcome"] == "reply"


@pytest.mark.parametrize(("content", "words"), [("{", "is not JSON"), ('[{"a": 1}]', "unknown field a")])
def test_the_command_line_and_a_wrong_script(tmp_path: Path, content: str, words: str) -> None:
    """One line that names the file, exit code 2."""
    script = tmp_path / "script.json"
    script.write_text(content)
    argv = [sys.executable, "-m", "steelyard.testing.scripted_model", "--script", str(script)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert str(script) in done.stderr
    assert words in done.stderr
