"""The editor of scenarios: rows of scorers, mistakes at their fields, YAML in and out, tasks that stay frozen."""

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import httpx
import pytest
import yaml
from sqlalchemy import update

from steelyard import plugins
from steelyard.domain.record import sha256
from steelyard.domain.suite import Scenario
from steelyard.store import schema
from steelyard.store.clean import exact_json
from steelyard.web.pages.editor import build, draft_of, scorer_types
from steelyard.web.pages.scenario_yaml import from_document, to_document
from steelyard.web.scenarios import checked
from tests.web.pages.test_signing import HTML, form, sign_in
from tests.web.server import Served, serving

SCORERS: list[dict[str, Any]] = [
    {"name": "unit tests", "type": "command", "command": "pytest -q\nruff check .", "timeout_s": 300},
    {"name": "inside", "type": "allowed_paths", "patterns": ["src/*", "tests/*"]},
    {"name": "outside", "type": "forbid_paths", "patterns": [".github/*"], "required": False},
    {"name": "small", "type": "max_files_changed", "limit": 0},
    {"name": "secrets", "type": "forbid_secrets"},
    {"name": "there", "type": "file_exists", "path": "README.md"},
    {"name": "frozen", "type": "tests_unmodified", "paths": ["tests/test_a.py"]},
    {"name": "scaffold", "type": "baseline_unmodified", "paths": ["setup.cfg"]},
    {"name": "skips", "type": "no_new_skips", "required": True},
    {"name": "asserts", "type": "assertions_not_weakened", "test_globset": ["spec/*"]},
    {"name": "taste", "type": "llm_judge", "rubric": "Small.\n\nAnd clear: \u202e as said."},
    {"name": "rules", "type": "trajectory_rules", "rules": [{"name": "curl", "pattern": "curl", "on": "command"}]},
    {"name": "harness", "type": "harness_unmodified", "allow": ["conftest.py"]},
    {"name": "before", "type": "baseline_tests_pass", "must_pass": ["tests/test_a.py::test_b"]},
    {"name": "hidden", "type": "hidden_tests", "command": "pytest -q h", "contents": [{"path": "h.py", "text": "1\n"}]},
]
FIELDS: dict[str, Any] = {
    "seed": {"git": "https://example.org/x.git", "ref": "abc"},
    "setup": ["make\ninstall", "true"],
    "stages": [{"name": "test", "command": "pytest -q", "timeout_s": 60}],
    "max_repair_loops": 0,
    "grading": "fresh",
    "expected_outcome": "refusal",
    "judge": {"enabled": False, "backend": "canned"},
    "limits": {"memory_mb": 512, "cpus": 1.5, "network": False},
    "scorers": SCORERS,
}


@pytest.fixture(scope="module")
def open_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without tokens and with nothing stored."""
    with serving(tmp_path_factory.mktemp("scenarios") / "home", "--rate", "0") as started:
        yield started


@pytest.fixture
def client(open_door: Served) -> Iterator[httpx.Client]:
    """A browser without scripts."""
    with open_door.client() as made:
        made.headers.update(HTML)
        yield made


def sent(page: httpx.Response) -> dict[str, list[str]]:
    """Every field of a page's form as a browser would send it."""
    body = page.text[page.text.index("data-editor") : page.text.index("</form>", page.text.index("data-editor"))]
    found: dict[str, list[str]] = {}

    def add(name: str, value: str) -> None:
        found.setdefault(unescape(name), []).append(unescape(value))

    for match in re.finditer(
        r'<input (?P<attributes>[^>]*)>|<textarea name="(?P<area>[^"]*)"[^>]*>\n(?P<text>.*?)</textarea>'
        r'|<select name="(?P<select>[^"]*)"[^>]*>(?P<options>.*?)</select>',
        body,
        re.DOTALL,
    ):
        if match["area"]:
            add(match["area"], match["text"])
        elif match["select"]:
            chosen = re.search(r'value="([^"]*)" selected', match["options"])
            add(match["select"], chosen[1] if chosen else unescape(re.findall(r'value="([^"]*)"', match["options"])[0]))
        else:
            given = dict(re.findall(r'([a-z-]+)="([^"]*)"', match["attributes"]))
            if given.get("type") != "checkbox" or " checked" in match["attributes"]:
                add(given["name"], given.get("value", ""))
    return found


def press(client: httpx.Client, address: str, what: str, **changes: Any) -> httpx.Response:
    """Open a form, change fields, press a button."""
    fields = sent(client.get(address)) | {"do": [what]}
    return client.post(address, data={**fields, **changes})


def make(client: httpx.Client, name: str, **fields: Any) -> None:
    """A scenario, sent to the API."""
    assert client.post("/v1/scenarios", json={"name": name, **fields}).status_code == 201


def read(client: httpx.Client, name: str) -> dict[str, Any]:
    """A scenario as the API has it."""
    found: dict[str, Any] = client.get(f"/v1/scenarios/{name}").json()
    return found


def test_every_type_of_scorer_survives_the_form_and_the_yaml() -> None:
    """Each scorer, and each field of a scenario, comes back from the form and from YAML exactly as it went in."""
    whole = checked(Scenario.model_validate_json(json.dumps(FIELDS)))
    assert {spec["type"] for spec in whole.scorers} == set(plugins.BUILT_IN["scorers"])
    assert build(draft_of(whole)) == whole
    assert from_document(to_document("s", whole), "s") == whole


@pytest.mark.parametrize("name", plugins.BUILT_IN["scorers"])
def test_the_fields_of_a_type_are_those_of_its_class(name: str) -> None:
    """No second registry: widgets, and where the switch starts, come from the scorer itself."""
    kind = plugins.load("scorers", name)
    made = scorer_types()[name]
    assert [widget.name for widget in made.widgets] == [n for n in kind.model_fields if n not in ("type", "required")]
    assert made.required == kind.required_by_default


def test_opening_and_saving_changes_nothing(client: httpx.Client) -> None:
    """The form sends back what it was given: the same scenario, no new revision."""
    make(client, "whole", **FIELDS)
    before = read(client, "whole")
    saved = press(client, "/scenarios/whole", "save")
    assert saved.status_code == 303
    assert read(client, "whole") == before


def test_rows_are_added_moved_retyped_and_removed_without_scripts(client: httpx.Client) -> None:
    """Each button sends the form and shows it again; another type has other fields and its own switch."""
    fields = sent(client.get("/new-scenario"))
    (key,) = fields["row"]
    fields |= {"name": ["made"], f"{key}.f.name": ["tests"], f"{key}.f.command": ["true"]}
    page = client.post("/new-scenario", data={**fields, "do": "add"})
    fields = sent(page)
    first, second = fields["row"]
    assert first == key
    assert fields[f"{first}.f.command"] == ["true"]
    fields |= {f"{second}.type": ["no_new_skips"], f"{second}.f.name": ["skips"]}
    assert f"{second}.required" in fields
    page = client.post("/new-scenario", data={**fields, "do": "type"})
    fields = sent(page)
    assert f"{second}.f.test_globset" in fields
    assert f"{second}.required" not in fields
    fields = sent(client.post("/new-scenario", data={**fields, "do": f"up:{second}"}))
    assert fields["row"] == [second, first]
    saved = client.post("/new-scenario", data={**fields, "do": "save"})
    assert saved.status_code == 303
    assert [spec["type"] for spec in read(client, "made")["scenario"]["scorers"]] == ["no_new_skips", "command"]
    again = press(client, "/scenarios/made", f"remove:{sent(client.get('/scenarios/made'))['row'][0]}")
    assert len(sent(again)["row"]) == 1


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("f.limit", "many", "must be a whole number"),
        ("f.limit", "-1", "must be at least 0"),
        ("f.limit", "", "is required"),
        ("f.name", "", "is required"),
        ("f.name", "x" * 201, "must have at most 200 characters"),
    ],
)
def test_a_mistake_stands_at_its_field(client: httpx.Client, field: str, value: str, said: str) -> None:
    """Next to the field, tied to it for those who hear the page, and nothing is stored."""
    name = f"wrong-{abs(hash((field, value)))}"
    make(client, name, scorers=[{"name": "small", "type": "max_files_changed", "limit": 3}])
    (key,) = sent(client.get(f"/scenarios/{name}"))["row"]
    page = press(client, f"/scenarios/{name}", "save", **{f"{key}.{field}": value})
    assert page.status_code == 422
    label = page.text[page.text.index(f'name="{key}.{field}"') :].partition("</label>")[0]
    assert said in unescape(label)
    described = re.search(r'aria-invalid="true" aria-describedby="([^"]*)"', label)
    assert described is not None
    assert f'id="{described[1]}"' in label
    assert read(client, name)["revision"] == 1


@pytest.mark.parametrize(
    ("change", "about", "said"),
    [
        ({"s.f.limits.timeout_s": "0"}, "s.f.limits.timeout_s", "must be at least 1"),
        ({"s.f.seed.directory": "a", "s.f.seed.git": "b"}, "s.f.seed.directory", "give exactly one of"),
        ({"s.y.stages": "- {name: a"}, "s.y.stages", "not valid YAML"),
        ({"s.y.stages": "- {name: a, command: x}\n- {name: a, command: y}"}, "s.y.stages", "two have the name"),
        ({"s.f.image": "a", "s.f.dockerfile": "b"}, "s.f.image", "either image or dockerfile"),
    ],
)
def test_mistakes_of_the_rest_stand_at_their_fields(
    client: httpx.Client, change: dict[str, str], about: str, said: str
) -> None:
    """Fields of records inside the scenario too."""
    page = press(client, "/new-scenario", "save", name="never", **change)
    assert page.status_code == 422
    assert said in unescape(page.text[page.text.index(f'name="{about}"') :].partition("</label>")[0])
    assert client.get("/v1/scenarios/never").status_code == 404


def test_two_scorers_do_not_share_a_name(client: httpx.Client) -> None:
    """The second one is told."""
    fields = sent(client.post("/new-scenario", data={**sent(client.get("/new-scenario")), "do": "add"}))
    for key in fields["row"]:
        fields |= {f"{key}.f.name": ["same"], f"{key}.f.command": ["true"]}
    page = client.post("/new-scenario", data={**fields, "name": "never", "do": "save"})
    assert page.status_code == 422
    assert page.text.count("another scorer has this name") == 1


@pytest.mark.parametrize("name", ["", "a b", "ümlaut", "-x", "a/b", "x" * 300])
def test_a_name_that_no_address_can_hold_is_explained(client: httpx.Client, name: str) -> None:
    """At the name."""
    fields = sent(client.get("/new-scenario"))
    (key,) = fields["row"]
    changes = {"name": name, f"{key}.f.name": "t", f"{key}.f.command": "true", "do": "save"}
    page = client.post("/new-scenario", data={**fields, **changes})
    assert page.status_code == 422
    assert 'id="name-wrong"' in page.text


def test_yaml_goes_out_and_comes_in(client: httpx.Client) -> None:
    """The download is a piece of a suite; loading it fills the form and saves nothing; mistakes have lines."""
    make(client, "out", **FIELDS)
    text = client.get("/scenarios/out/yaml").text
    assert yaml.safe_load(text)["scenarios"]["out"]["scorers"][3] == {
        "name": "small",
        "type": "max_files_changed",
        "limit": 0,
    }
    page = press(client, "/new-scenario", "yaml", yaml=text, name="in")
    assert page.status_code == 200
    assert client.get("/v1/scenarios/in").status_code == 404
    assert client.post("/new-scenario", data={**sent(page), "do": "save"}).status_code == 303
    assert read(client, "in")["scenario"] == read(client, "out")["scenario"]
    wrong = press(
        client, "/new-scenario", "yaml", yaml="scorers:\n  - {name: a, type: command}\n  - {name: b, type: no}\n"
    )
    assert wrong.status_code == 422
    assert "line:2:" in wrong.text
    assert "scorers.1.command: is required" in wrong.text
    assert "line:3:" in wrong.text
    assert "line:1:" in press(client, "/new-scenario", "yaml", yaml="&a [*a]").text


def test_the_preview_is_what_is_frozen(client: httpx.Client) -> None:
    """Canonical JSON whose sha256 is shown; freezing gives the same, and a later edit changes nothing of it."""
    make(client, "calm", **{**FIELDS, "scorers": SCORERS[:3]})
    words = {"task_id": "t1", "prompt": "Do it.", "tags": "bugfix, ü"}
    page = press(client, "/scenarios/calm", "preview", **words)
    text = re.search(r"<pre [^>]*data-snapshot>(.*?)</pre>", page.text, re.DOTALL)
    told = re.search(r"data-sha>([0-9a-f]{64})<", page.text)
    assert text is not None
    assert told is not None
    assert sha256(unescape(text[1])) == told[1]
    frozen = press(client, "/scenarios/calm", "freeze", **words)
    assert (frozen.status_code, frozen.headers["location"]) == (303, "/tasks/t1?workspace=default")
    assert told[1] in client.get("/tasks/t1").text
    assert client.get("/v1/tasks/t1").json()["sha256"] == told[1]
    assert press(client, "/scenarios/calm", "save", **{"s.f.max_repair_loops": "7"}).status_code == 303
    assert client.get("/v1/tasks/t1").json()["sha256"] == told[1]
    other = press(client, "/scenarios/calm", "freeze", **words)
    assert other.status_code == 422
    assert "frozen otherwise" in other.text
    assert "/tasks/t1" in client.get("/scenarios").text


def test_a_scorer_that_is_not_installed_is_shown_and_kept(open_door: Served, client: httpx.Client) -> None:
    """It stays as it was through edits, moves and the API; it can be removed; it can't be made up or frozen."""
    gone = {"name": "shape", "type": "a_plugin_that_is_gone", "required": True, "angle": [1, {"<b>": "x"}]}
    make(client, "plugin", scorers=SCORERS[:1])
    with open_door.open_store() as store, store.database.write("as if a package had been removed") as connection:
        kept = Scenario(scorers=(gone, SCORERS[3] | {"required": None}))
        record = exact_json(kept.model_dump(mode="json"))
        connection.execute(update(schema.scenarios).where(schema.scenarios.c.name == "plugin").values(record=record))
    page = client.get("/scenarios/plugin")
    assert "not installed" in page.text
    assert "a_plugin_that_is_gone" in page.text
    assert "a_plugin_that_is_gone" in client.get("/scenarios").text
    fields = sent(page)
    fields[f"{fields['row'][1]}.f.limit"] = ["9"]
    fields["row"] = fields["row"][::-1]
    assert client.post("/scenarios/plugin", data={**fields, "do": "save"}).status_code == 303
    assert read(client, "plugin")["scenario"]["scorers"][1] == gone
    edited = {**read(client, "plugin")["scenario"], "max_repair_loops": 5}
    assert client.put("/v1/scenarios/plugin", json=edited).status_code == 200
    forged = fields | {f"{fields['row'][1]}.raw": [json.dumps(gone | {"angle": 2})]}
    assert client.post("/scenarios/plugin", data={**forged, "do": "save", "revision": "3"}).status_code == 422
    refused = press(client, "/scenarios/plugin", "freeze", task_id="t", prompt="Do.")
    assert refused.status_code == 422
    assert "unknown scorer type" in refused.text
    fields = sent(client.get("/scenarios/plugin"))
    left = client.post("/scenarios/plugin", data={**fields, "do": f"remove:{fields['row'][1]}"})
    assert "not installed" not in left.text


def test_two_editors_do_not_overwrite_each_other(client: httpx.Client) -> None:
    """The second learns of the first, with the form as it was."""
    make(client, "shared", max_repair_loops=1)
    mine, theirs = sent(client.get("/scenarios/shared")), sent(client.get("/scenarios/shared"))
    saved = client.post("/scenarios/shared", data={**theirs, "s.f.max_repair_loops": "3", "do": "save"})
    assert saved.status_code == 303
    late = client.post("/scenarios/shared", data={**mine, "s.f.max_repair_loops": "4", "do": "save"})
    assert late.status_code == 422
    assert "Somebody else saved revision 2" in late.text
    assert read(client, "shared")["scenario"]["max_repair_loops"] == 3


def test_a_reader_looks_and_a_stranger_sees_nothing(open_door: Served, tmp_path_factory: Any) -> None:
    """A token of scope read can't save; another workspace's scenario is 404; a form without its secret is refused."""
    with serving(tmp_path_factory.mktemp("guarded") / "home") as served:
        with served.client(served.token("payments", "write")) as writer:
            writer.post("/v1/scenarios", json={"name": "s"})
        with served.client() as reader, served.client() as stranger:
            for each in (reader, stranger):
                each.headers.update(HTML)
            sign_in(reader, served.token("payments", "read"))
            sign_in(stranger, served.token("other", "admin"))
            page = reader.get("/scenarios/s")
            assert "reads only" in page.text
            data = {"csrf": form(reader, "/scenarios"), "do": "save"}
            assert reader.post("/scenarios/s", data=data).status_code == 403
            assert reader.get("/new-scenario?workspace=other").status_code == 404
            assert stranger.get("/scenarios/s").status_code == 404
            assert stranger.get("/scenarios/s/yaml").status_code == 404
            assert stranger.get("/tasks/t?workspace=payments").status_code == 404
            assert "/scenarios/s?" not in stranger.get("/scenarios?workspace=payments").text
            assert stranger.post("/new-scenario", data={"name": "x"}).status_code == 403


@pytest.mark.browser
def test_a_person_edits_with_scripts(look: Callable[..., Any], open_door: Served) -> None:
    """Adding, retyping, moving and removing need no round trip; the switch starts where the type has it."""
    tab = look(base_url=open_door.url)
    tab.goto("/new-scenario")
    tab.wait_for_selector("html[data-ready]")
    tab.fill("input[name=name]", "pressed")
    rows = tab.locator("[data-scorer-row]")
    tab.click("[data-add]")
    assert rows.count() == 2
    assert rows.nth(1).locator("[role=switch]").is_checked()
    rows.nth(1).locator("[data-type]").select_option("assertions_not_weakened")
    assert not rows.nth(1).locator("[role=switch]").is_checked()
    rows.nth(1).locator("[data-type]").select_option("max_files_changed")
    assert rows.nth(1).locator("[role=switch]").is_checked()
    rows.nth(1).locator("input[name$='.f.name']").fill("small")
    rows.nth(1).locator("input[name$='.f.limit']").fill("4")
    rows.nth(1).locator("[data-move='-1']").click()
    assert rows.nth(0).locator("input[name$='.f.name']").input_value() == "small"
    assert "Moved: 1 of 2" in tab.locator("[data-said]").text_content()
    rows.nth(1).locator("[data-remove]").click()
    assert rows.count() == 1
    tab.click(".actions >> text=Save >> nth=0")
    tab.wait_for_url("**/scenarios/pressed**")
    assert "Saved as revision 1" in tab.inner_text(".notice.good")
    tab.fill("input[name=task_id]", "pressed-1")
    tab.fill("textarea[name=prompt]", "Do it.")
    tab.click("text=Preview the snapshot")
    tab.wait_for_selector("[data-preview]")
    told = tab.inner_text("[data-sha]")
    tab.click("text=Save and freeze a task")
    tab.wait_for_url("**/tasks/pressed-1**")
    assert tab.inner_text("[data-sha]") == told
    assert tab.wrongs == []
