"""JSON Schemas (2020-12) of what people write and programs read, put together from the parts that are installed."""

from typing import Any

from pydantic import BaseModel

from steelyard import plugins
from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.record import JsonObject
from steelyard.domain.suite import Scenario, Suite, Task
from steelyard.suites.parts import ARM_FIELDS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def installed(kind: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The part classes of a kind by type, and why the others can't be loaded."""
    loaded: dict[str, Any] = {}
    broken: dict[str, str] = {}
    for name in plugins.names(kind):
        try:
            loaded[name] = plugins.load(kind, name)
        except (ImportError, AttributeError) as error:
            broken[name] = " ".join(str(error).split())
    return loaded, broken


def suite_schema() -> JsonObject:
    """The schema of a suite file."""
    defs: JsonObject = {}
    _add(defs, "Scenario", Scenario)
    _add(defs, "Task", Task)
    _add(defs, "Compare", CompareSpec)
    defs["Scorer"] = _union("scorers", defs)
    defs["Arm"] = _union("agents", defs)
    for name in ("Scenario", "Task"):
        defs[name]["properties"]["scorers"]["items"] = {"$ref": "#/$defs/Scorer"}
    defs["Task"]["oneOf"] = [{"required": ["prompt"]}, {"required": ["turns"]}]
    sources = {".Seed": ("directory", "git", "archive", "empty"), ".Reference": ("directory", "patch")}
    for ending, fields in sources.items():
        for name in [key for key in defs if key.endswith(ending)]:
            defs[name]["oneOf"] = [{"required": [field]} for field in fields]
    top = Suite.model_json_schema()["properties"]
    properties = {field: top[field] for field in ("workspace", "repeats", "max_cost_usd", "max_tokens", "max_seconds")}
    properties["scenarios"] = {
        "description": "How to seed a code tree, set it up and grade it, by name.",
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/Scenario"},
    }
    properties["tasks"] = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Task"}}
    properties["arms"] = {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/Arm"}}
    properties["compare"] = {"$ref": "#/$defs/Compare"}
    return _document("Steelyard suite", {**_object(properties, ["tasks", "arms"]), "$defs": defs})


def scorer_schema() -> JsonObject:
    """The schema of one scorer of any installed type."""
    defs: JsonObject = {}
    return _document("Steelyard scorer", {**_union("scorers", defs), "$defs": defs})


def agent_schema() -> JsonObject:
    """The schema of one arm with any installed agent."""
    defs: JsonObject = {}
    return _document("Steelyard arm", {**_union("agents", defs), "$defs": defs})


def run_record_schema() -> JsonObject:
    """The schema of one line of collected.jsonl."""
    from steelyard.domain.run_record import RunRecord

    return _document("Steelyard run record", RunRecord.model_json_schema())


SCHEMAS = {
    "suite": suite_schema,
    "run-record": run_record_schema,
    "scorer": scorer_schema,
    "agent": agent_schema,
}


def _document(title: str, schema: JsonObject) -> JsonObject:
    return {"$schema": DIALECT, **schema, "title": title}


def _object(properties: JsonObject, required: list[str]) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _add(defs: JsonObject, name: str, model: type[BaseModel]) -> None:
    """Put a record's schema under a name, and what it refers to under names of its own."""
    schema = model.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
    for inner, definition in schema.pop("$defs", {}).items():
        defs[f"{name}.{inner}"] = definition
    defs[name] = schema


def _union(kind: str, defs: JsonObject) -> JsonObject:
    """Exactly one of the installed parts, told apart by its type."""
    loaded, _ = installed(kind)
    prefix, key = ("scorer", "type") if kind == "scorers" else ("agent", "agent")
    for name, model in loaded.items():
        _add(defs, f"{prefix}.{name}", model)
        schema = defs[f"{prefix}.{name}"]
        schema["properties"].pop("type", None)
        own = {key: {"const": name}, **schema["properties"]}
        if kind == "agents":
            own |= _arm_properties()
        schema["properties"] = own
        schema["required"] = [key, *(field for field in schema.get("required", []) if field != "type")]
        schema["additionalProperties"] = False
    return {"oneOf": [{"$ref": f"#/$defs/{prefix}.{name}"} for name in loaded]}


def _arm_properties() -> JsonObject:
    said = {
        "overlay": {"type": "string", "description": "A directory whose files are laid over the tree."},
        "env": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
            "uniqueItems": True,
            "description": "Names of variables that the agent gets; their values never stand in a suite.",
        },
        "preamble": {"type": "string", "description": "Text that is put before every task's prompt."},
    }
    return {field: said[field] for field in ARM_FIELDS["agent"]}
