"""The description is true: whatever fits it, or does not, is answered as it says, and never with a 500."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.web.server import Served, run_body

Enter = Callable[..., httpx.Client]
EXAMPLES = 8


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Every method of every path."""
    return [(path, name, item) for path, methods in document["paths"].items() for name, item in methods.items()]


def test_every_answer_and_error_is_typed(enter: Enter) -> None:
    """Each response names a content type with a schema, each problem is a Problem, every reference leads somewhere."""
    document = enter("read").get("/openapi.json").json()
    names = document["components"]["schemas"]
    for path, method, operation in operations(document):
        assert {"401", "429", "500", "503"} <= set(operation["responses"]) or path in ("/healthz", "/readyz")
        for status, response in operation["responses"].items():
            if status == "304":
                assert "ETag" in response["headers"], path
                continue
            assert response.get("content"), (path, method, status)
            for media, content in response["content"].items():
                assert content["schema"], (path, method, status)
                if int(status) >= 400:
                    assert media == "application/problem+json"
                    assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
    references = {part.partition('"')[0] for part in str(document).replace("'", '"').split("#/components/schemas/")[1:]}
    assert {name.split("/")[0] for name in references} <= set(names)


def test_no_request_makes_the_server_fail(served: Served, workspace: str) -> None:
    """Schemathesis over the whole description, with the same examples every time: no 500, and what is described."""
    token = served.token(workspace, "admin")
    headers = {"Authorization": f"Bearer {token}"}
    with served.client(token) as client:
        client.post("/v1/runs", json=run_body(1, run_id=f"{workspace}-1", experiment="e", diff="x", scorers=[]))
    schema = schemathesis.openapi.from_url(f"{served.url}/openapi.json", headers=headers)
    checked = []
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]  # a description that can't be read fails here
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            if mode == schemathesis.GenerationMode.NEGATIVE and not _can_be_wrong(operation.definition.raw):
                continue
            strategy = operation.as_strategy(generation_mode=mode)

            @settings(
                max_examples=EXAMPLES,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=strategy)
            def attempt(case: Any) -> None:
                answer = case.call(headers=headers)
                assert answer.status_code < 500, (case.method, case.path, answer.text)
                case.validate_response(answer, checks=[schemathesis.checks.not_a_server_error])
                validate(schema.raw_schema, case, answer)

            attempt()
            checked.append(operation.label)
    assert len(set(checked)) == len(operations(schema.raw_schema))


@schemathesis.serializer("application/x-ndjson")
def lines(_context: Any, value: Any) -> bytes:
    """Whatever is generated for a bulk, as it stands."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def _can_be_wrong(operation: dict[str, Any]) -> bool:
    """Whether there is anything to get wrong in a request."""
    return bool(operation.get("parameters") or operation.get("requestBody"))


def validate(document: dict[str, Any], case: Any, answer: Any) -> None:
    """The answer is one of those that the description has, of the type and the schema that it says."""
    described = case.operation.definition.raw["responses"]
    status = str(answer.status_code)
    assert status in described or status in ("404", "405"), (case.method, case.path, status, answer.text)
    if status not in described:
        return
    kind = answer.headers["content-type"][0].partition(";")[0]
    contents = described[status]["content"]
    assert kind in contents, (case.method, case.path, status, kind)
    if kind.endswith("json") and not kind.endswith("ndjson"):
        whole = {**contents[kind]["schema"], "components": document["components"]}
        jsonschema.Draft202012Validator(whole).validate(answer.json())


@pytest.mark.parametrize("path", ["", "/score", "/scorers", "/judge", "/diff", "/trace"])
def test_answers_about_a_run_fit_their_schemas(enter: Enter, workspace: str, path: str) -> None:
    """A run with everything in it is answered as described."""
    client = enter()
    body = run_body(1, run_id=workspace, diff="x", trajectory={"agent": {"name": "a", "version": "1"}})
    body["scorers"] = [{"name": "t", "verdict": "PASS", "findings": [{"path": "x", "rule": "r", "message": "m"}]}]
    assert client.post("/v1/runs", json=body).status_code == 201
    document = client.get("/openapi.json").json()
    answer = client.get(f"/v1/runs/{workspace}{path}")
    contents = document["paths"][f"/v1/runs/{{run_id}}{path}"]["get"]["responses"]["200"]["content"]
    kind = answer.headers["content-type"].partition(";")[0]
    schema = {**contents[kind]["schema"], "components": document["components"]}
    value = answer.json() if kind == "application/json" else answer.text
    jsonschema.Draft202012Validator(schema).validate(value)


@given(text=st.text(max_size=300))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_as_a_filter_or_a_name_is_answered(served: Served, text: str) -> None:
    """Whatever Unicode there is."""
    with served.client(_token(served)) as client:
        assert client.get("/v1/runs", params={"arm": text, "task": text}).status_code in (200, 422)
        assert client.get(f"/v1/runs/{quote(text, safe='')}").status_code < 500


_tokens: dict[str, str] = {}


def _token(served: Served) -> str:
    """One token for all examples."""
    return _tokens.setdefault(served.url, served.token("fuzz", "read"))
