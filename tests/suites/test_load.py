"""Suite files: what a good one becomes, and every mistake of a bad one at its place."""

import re
from pathlib import Path

import pytest

from steelyard.domain.suite import FrozenTask
from steelyard.errors import InputError
from steelyard.suites.load import SuiteError, load_scorers, load_suite

GOOD = """\
workspace: payments
scenarios:
  calc-fix:
    seed: {directory: fixtures/calc}
    setup: ["pip install -q -e ."]
    stages:
      - {name: lint, command: "ruff check .", timeout_s: 120}
      - {name: test, command: "pytest -q"}
    max_repair_loops: 1
    grading: fresh
    scorers:
      - {name: unit tests, type: command, command: "pytest -q", timeout_s: 300}
      - {name: frozen tests, type: tests_unmodified, paths: [tests/test_calc.py]}
      - {name: taste, type: llm_judge, rubric: "Prefer the smallest clear change."}
    judge: {enabled: true, model: some-model}
    expected_outcome: completion
    limits: {timeout_s: 900, memory_mb: 2048, cpus: 1.0, network: false, max_cost_usd: 2.0}
tasks:
  - {id: off-by-one, scenario: calc-fix, prompt: "tests/test_calc.py fails. Fix the code.", tags: [bugfix]}
  - {id: chat, scenario: calc-fix, turns: ["Fix it.", "Now add a changelog line."], limits: {timeout_s: 60}}
  - {id: alone, prompt: "What is a steelyard?"}
arms:
  without_skill: {agent: command, command: "my-agent --plain", model: m}
  with_skill: {agent: command, command: "my-agent", overlay: configs/with_skill, env: [MY_KEY], preamble: "Be brief."}
compare: {baseline: without_skill, candidate: with_skill, thresholds: {min_composite_gain: 0.02}}
repeats: 5
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with what the good suite names."""
    (tmp_path / "fixtures/calc").mkdir(parents=True)
    (tmp_path / "configs/with_skill").mkdir(parents=True)
    return tmp_path


def write(place: Path, text: str | bytes) -> Path:
    """A suite file with that text."""
    file = place / "suite.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def mistakes(place: Path, text: str | bytes) -> list[str]:
    """What is wrong with a suite, a line a mistake, without the directory's name."""
    with pytest.raises(SuiteError) as caught:
        load_suite(write(place, text))
    return [line.removeprefix(f"{place}/") for line in str(caught.value).splitlines()]


def changed(old: str, new: str) -> str:
    """The good suite with one thing changed."""
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def test_a_good_suite_becomes_tasks_arms_and_a_comparison(place: Path) -> None:
    """Scenario fields stand in the task, and the arm is split into its own fields and its agent's."""
    suite = load_suite(write(place, GOOD))

    assert (suite.workspace, suite.repeats, suite.root) == ("payments", 5, str(place))
    assert [task.id for task in suite.tasks] == ["off-by-one", "chat", "alone"]
    first = suite.tasks[0]
    assert first.seed is not None
    assert first.seed.directory == "fixtures/calc"
    assert [stage.name for stage in first.stages] == ["lint", "test"]
    assert first.prompts == ("tests/test_calc.py fails. Fix the code.",)
    assert suite.tasks[1].prompts == ("Fix it.", "Now add a changelog line.")
    arm = suite.arms[1]
    assert (arm.name, arm.overlay, arm.env, arm.preamble) == (
        "with_skill",
        "configs/with_skill",
        ("MY_KEY",),
        "Be brief.",
    )
    assert arm.agent == {"type": "command", "command": "my-agent", "model": None}
    assert suite.compare.thresholds.min_composite_gain == 0.02


def test_parts_are_kept_with_every_default_filled_in(place: Path) -> None:
    """A scorer's stored configuration names all its fields, so that later defaults can't change it."""
    scorers = load_suite(write(place, GOOD)).tasks[0].scorers

    assert [scorer["type"] for scorer in scorers] == ["command", "tests_unmodified", "llm_judge"]
    assert scorers[0] == {
        "type": "command",
        "name": "unit tests",
        "required": None,
        "command": "pytest -q",
        "timeout_s": 300,
    }


def test_a_task_puts_its_own_fields_over_its_scenario(place: Path) -> None:
    """Lists and the seed replace the scenario's; limits and judge are laid over it field by field."""
    text = changed("limits: {timeout_s: 60}", "limits: {timeout_s: 60}, judge: {enabled: false}, stages: []")

    task = load_suite(write(place, text)).tasks[1]

    assert task.limits.timeout_s == 60
    assert task.limits.network is False
    assert task.limits.memory_mb == 2048
    assert (task.judge.enabled, task.judge.model) == (False, "some-model")
    assert task.stages == ()
    assert task.grading == "fresh"


def test_a_task_without_a_seed_is_a_ledger_run(place: Path) -> None:
    """It needs no scenario, and has no tree."""
    tasks = load_suite(write(place, GOOD)).tasks

    assert [task.is_ledger for task in tasks] == [False, False, True]


def test_a_directory_stands_for_its_steelyard_yaml(place: Path) -> None:
    """`steelyard run DIR` finds the file by its usual name."""
    write(place, GOOD).rename(place / "steelyard.yaml")

    assert load_suite(place).repeats == 5


def test_an_image_of_the_task_replaces_the_dockerfile_of_its_scenario(place: Path) -> None:
    """The two never stand together after merging."""
    (place / "Dockerfile").write_text("FROM scratch\n")
    text = changed("    grading: fresh\n", "    dockerfile: Dockerfile\n").replace(
        "{id: chat, scenario: calc-fix,", "{id: chat, scenario: calc-fix, image: 'debian:13',"
    )

    tasks = load_suite(write(place, text)).tasks

    assert (tasks[0].dockerfile, tasks[0].image) == ("Dockerfile", None)
    assert (tasks[1].dockerfile, tasks[1].image) == (None, "debian:13")


def test_judges_of_a_panel_may_be_names_alone(place: Path) -> None:
    """A name is a judge with its defaults; a wrong one is named at its place."""
    text = "tasks:\n  - {id: t, prompt: p, judge: {judges: [openai, {type: canned}]}}\n"
    text += "arms:\n  a: {agent: command, command: x}\n"

    (task,) = load_suite(write(place, text)).tasks

    assert [(judge["type"], judge["model"]) for judge in task.judge.judges] == [("openai", None), ("canned", "canned")]
    (said,) = mistakes(place, text.replace("openai", "openia"))
    assert said.endswith("did you mean 'openai'?")
    assert ":2:41: tasks[0].judge.judges[0].type: unknown type" in said


def test_every_mistake_is_named_at_once(place: Path) -> None:
    """Nothing is left for a second try: all of them come, in the order of the file."""
    text = """\
workspace: 12
scenarois: {}
scenarios:
  calc:
    seed: {directory: fixtures/calk}
    max_repair_loops: "5"
    grading: fersh
    stages: [{name: a, comand: x}]
    limits: {network: no, timeout_s: 0}
    scorers: [{name: tests, type: comand}]
tasks:
  - {id: a, scenario: clac, prompt: x}
  - {id: a, scenario: calc, prompt: x}
arms:
  a: {agent: comand}
  b: {agent: command, command: x, overlay: none}
compare: {baseline: a, candidate: bb}
repeats: 0
"""
    found = mistakes(place, text)

    assert [line.split(": ")[0] + " " + line.split(": ")[1] for line in found] == [
        "suite.yaml:1:12 workspace",
        "suite.yaml:2:1 scenarois",
        "suite.yaml:5:23 scenarios.calc.seed.directory",
        "suite.yaml:6:23 scenarios.calc.max_repair_loops",
        "suite.yaml:7:14 scenarios.calc.grading",
        "suite.yaml:8:14 scenarios.calc.stages[0].command",
        "suite.yaml:8:24 scenarios.calc.stages[0].comand",
        "suite.yaml:9:23 scenarios.calc.limits.network",
        "suite.yaml:9:38 scenarios.calc.limits.timeout_s",
        "suite.yaml:10:35 scenarios.calc.scorers[0].type",
        "suite.yaml:12:23 tasks[0].scenario",
        "suite.yaml:13:10 tasks[1].id",
        "suite.yaml:15:14 arms.a.agent",
        "suite.yaml:16:44 arms.b.overlay",
        "suite.yaml:17:35 compare.candidate",
        "suite.yaml:18:10 repeats",
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("grading: fresh", "grading: fersh", "can't be the text 'fersh'; allowed: live, fresh; did you mean 'fresh'?"),
        ("max_repair_loops: 1", "max_repair_loops: '1'", "an integer, not the text '1'; write 1 without quotes"),
        ("max_repair_loops: 1", "max_repair_loops: 1.5", "must be an integer, not 1.5"),
        ("max_repair_loops: 1", "max_repair_loops: true", "must be an integer, not true"),
        ("max_repair_loops: 1", "max_repair_loop: 1", "did you mean 'max_repair_loops'?"),
        ("network: false", "network: off", "must be true or false, not the text 'off'; write false"),
        ("memory_mb: 2048", "memory_mb: 2_048", "an integer, not the text '2_048'; write 2048 without quotes"),
        ("memory_mb: 2048", "memory_mb: 1e3", "must be an integer, not 1000.0"),
        ("tags: [bugfix]", "tags: bugfix", "must be a list, not the text 'bugfix'; write [bugfix]"),
        ("tags: [bugfix]", "tags: [12]", "tasks[0].tags[0]: must be text, not 12; put it in quotes"),
        ("type: tests_unmodified", "type: test_unmodified", "did you mean 'tests_unmodified'?"),
        ("timeout_s: 300", "timeout_s: 3601", "scorers[0].timeout_s: must be at most 3600, not 3601"),
        ("timeout_s: 300", "timeout: 300", "scorers[0].timeout: unknown field; allowed: type, name, required, command"),
        ("paths: [tests/test_calc.py]", "paths: []", "scorers[1].paths: "),
        ("paths: [tests/test_calc.py]", "paths: [../x.py]", "scorers[1].paths[0]: has a '..' step"),
        ("paths: [tests/test_calc.py]", "paths: [/etc/x]", "scorers[1].paths[0]: is an absolute path"),
        ("name: frozen tests", "name: unit tests", "another scorer has this name, at line 12"),
        ("name: test, ", "name: lint, ", "another stage has this name, at line 7"),
        ("{directory: fixtures/calc}", "{directory: fixtures/nix}", "there is no directory 'fixtures/nix'"),
        ("{directory: fixtures/calc}", "{archive: x.tar.gz}", "there is no file 'x.tar.gz'"),
        ("{directory: fixtures/calc}", "{git: repo}", "there is no repository 'repo'"),
        ("{directory: fixtures/calc}", "{git: 'https://x/y', ref: --upload-pack=x}", "or start with '-'"),
        ("{directory: fixtures/calc}", "{git: 'https://x/y', ref: 1234567}", "must be text, not 1234567; put it in"),
        ("{directory: fixtures/calc}", "{empty: true, directory: fixtures/calc}", "give exactly one of directory"),
        ("    grading: fresh", "    dockerfile: nix", "there is no file 'nix'"),
        ("overlay: configs/with_skill", "overlay: suite.yaml", "there is no directory 'suite.yaml'"),
        ("judge: {enabled: true", "judge: {backend: antropic", "unknown judge; allowed: auto, none, anthropic"),
        ("id: chat", "id: off-by-one", "another task has this id, at line 19"),
        ('id: alone, prompt: "What is a steelyard?"', "id: alone", "tasks[2]: give either prompt or turns"),
        ("What is a steelyard?", " ", "tasks[2].prompt: is empty"),
        ('agent: command, command: "my-agent"', "agent: clude-code", "did you mean 'claude-code'?"),
        ('agent: command, command: "my-agent"', "command: x", "arms.with_skill.agent: this field is missing"),
        ("model: m", "modle: m", "unknown field; allowed: agent, command, model, overlay, env, preamble; did you mean"),
        ("candidate: with_skill", "candidate: with_skil", "did you mean 'with_skill'?"),
        ("candidate: with_skill", "candidate: without_skill", "is the baseline itself"),
        ("repeats: 5", "repeats: 0", "repeats: must be at least 1, not 0"),
        ("repeats: 5", "repeats: ", "repeats: must be an integer, not nothing (null)"),
        ("repeats: 5", "repeats: 5\nrepeats: 6", "this key was given before, at line 26"),
    ],
)
def test_a_mistake_says_what_is_wrong_and_what_is_allowed(place: Path, old: str, new: str, expected: str) -> None:
    """One change of the good suite makes exactly one line, with its remedy."""
    found = mistakes(place, changed(old, new))

    assert len(found) == 1, found
    assert expected in found[0]
    assert re.match(r"suite\.yaml:\d+:\d+: \S", found[0])


@pytest.mark.parametrize(
    "env", ["{MY_KEY: s3cret}", '["MY_KEY=s3cret"]', "[{MY_KEY: s3cret}]", "[MY_KEY, MY_KEY]", "[12]", '["a b"]']
)
def test_env_is_a_list_of_names_and_values_are_never_repeated(place: Path, env: str) -> None:
    """A value in the file gets one clear line that does not show it."""
    found = mistakes(place, changed("env: [MY_KEY]", f"env: {env}"))

    assert len(found) == 1
    assert "arms.with_skill.env" in found[0]
    assert "s3cret" not in found[0]


def test_a_missing_script_is_named_at_the_arm(place: Path) -> None:
    """What an agent reads for itself is read with the suite, so that nothing starts without it."""
    text = changed('agent: command, command: "my-agent"', "agent: scripted, script: nix.yaml")

    found = mistakes(place, text)

    assert len(found) == 1
    assert "arms.with_skill.script: " in found[0]
    assert "nix.yaml" in found[0]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("tasks: &a {x: *a}\n", "script.yaml:1:15: anchor 'a' holds itself"),
        ("[" * 1000, "nested more than 50 levels deep"),
        ("tasks: [\n", "not valid YAML"),
        ("12\n", "a script is a mapping with `tasks:`"),
    ],
)
def test_a_bad_script_is_named_at_the_arm(place: Path, script: str, expected: str) -> None:
    """The same bounds hold for the files that a suite names."""
    (place / "script.yaml").write_text(script)
    text = changed('agent: command, command: "my-agent"', "agent: scripted, script: script.yaml")

    found = mistakes(place, text)

    assert len(found) == 1
    assert "arms.with_skill.script: " in found[0]
    assert expected in found[0]


def test_names_of_the_norway_kind_are_text(place: Path) -> None:
    """`no`, `on` and a date are names here, not a boolean and not a day."""
    text = GOOD.replace("without_skill", "no").replace("off-by-one", "2024-01-01").replace("id: chat", "id: on")

    suite = load_suite(write(place, text))

    assert suite.arms[0].name == "no"
    assert [task.id for task in suite.tasks] == ["2024-01-01", "on", "alone"]


def test_anchors_and_merge_keys_save_repetition(place: Path) -> None:
    """An alias stands for its anchor, and `<<` for keys that the mapping does not have itself."""
    text = GOOD.replace("without_skill: {", "without_skill: &base {").replace(
        'with_skill: {agent: command, command: "my-agent", ', "with_skill: {<<: *base, model: other, "
    )

    arms = load_suite(write(place, text)).arms

    assert arms[1].agent == {"type": "command", "command": "my-agent --plain", "model": "other"}


@pytest.mark.parametrize("text", ["tasks: []\narms: {}\n", "{}\n", "tasks: {}\narms: []\n"])
def test_a_suite_needs_a_task_and_an_arm(place: Path, text: str) -> None:
    """Both lacks are named."""
    found = " ".join(mistakes(place, text))

    assert "tasks: " in found
    assert "arms: " in found


def test_files_that_cannot_be_are_missing_files(place: Path) -> None:
    """A name that is too long for the system is a mistake in the suite, not a crash."""
    found = mistakes(place, changed("{directory: fixtures/calc}", "{directory: " + "x" * 5000 + "}"))

    assert len(found) == 1
    assert "there is no directory" in found[0]
    assert len(found[0]) < 300


@pytest.mark.parametrize("name", ["nix.yaml", "fixtures/calc", "suite.yaml/x", "y" * 5000])
def test_a_suite_that_is_not_a_file_is_one_clear_line(place: Path, name: str) -> None:
    """Missing, a directory without a suite, below a file, or with an impossible name."""
    write(place, GOOD)

    with pytest.raises(InputError) as caught:
        load_suite(place / name)

    assert len(str(caught.value).splitlines()) == 1


def test_a_flood_of_mistakes_is_cut(place: Path) -> None:
    """A file that is no suite at all gives a thousand lines, and says that there are more."""
    found = mistakes(place, "".join(f"key{n}: x\n" for n in range(3000)))

    assert len(found) == 1001
    assert found[-1].endswith("1000 mistakes so far; the rest is not listed")


def test_names_that_would_act_on_a_terminal_are_shown_as_escapes(place: Path) -> None:
    """A key's control codes reach the reader as text, on one line."""
    found = mistakes(place, GOOD + '"\\e[31m\\n\\u202e": 1\n')

    assert found == [f"suite.yaml:27:1: \\x1b[31m\\n\\u202e: unknown field; {found[0].split('; ')[1]}"]


def test_a_scorers_file_is_a_list_or_a_mapping(place: Path) -> None:
    """Both shapes give the same scorers, whole."""
    rows = "- {name: small, type: max_files_changed, limit: 2}\n"

    plain = load_scorers(write(place, rows))
    mapped = load_scorers(write(place, "scorers:\n" + rows))

    assert plain == mapped == ({"type": "max_files_changed", "name": "small", "required": None, "limit": 2},)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- {name: small, type: max_files_changed}\n", ":1:3: scorers[0].limit: this field is missing"),
        ("scorer: []\n", "did you mean 'scorers'?"),
        ("[]\n", "the list is empty"),
        ("12\n", "must be a list, not 12"),
        ("- {name: a, type: command, command: ' '}\n", "scorers[0].command: must not be blank"),
        ("- {name: a, type: forbid_paths, patterns: []}\n", "patterns: must be a list of at least 1; this one has 0"),
    ],
)
def test_a_bad_scorers_file_names_its_mistakes(place: Path, text: str, expected: str) -> None:
    """In the same words as a suite."""
    with pytest.raises(SuiteError) as caught:
        load_scorers(write(place, text))

    assert expected in str(caught.value)


@pytest.mark.parametrize("name", ['"a\\nb"', '""', '" x"', "x" * 201])
def test_a_workspace_has_a_name_that_can_be_typed(tmp_path: Path, name: str) -> None:
    """It stands in lists, tokens and addresses, so it is printable text of bounded length."""
    file = tmp_path / "suite.yaml"
    file.write_text(
        f"workspace: {name}\ntasks: [{{id: t, prompt: hi}}]\narms: {{a: {{agent: command, command: 'true'}}}}\n"
    )

    with pytest.raises(SuiteError, match=r"suite\.yaml:1:12: workspace: "):
        load_suite(file)


TRUSTED = """
tasks:
  - id: one
    seed: {directory: seed}
    prompt: x
    FIELD
    scorers: [{name: unit tests, type: command, command: "true"}]
arms: {idle: {agent: command, command: "true", overlay: over}}
"""


@pytest.mark.parametrize(
    ("field", "line", "said"),
    [
        ("quarantine: [unit test]", 6, "there is no scorer or stage 'unit test'; allowed: unit tests; did you mean"),
        ("reference: {patch: no.patch}", 6, "there is no file 'no.patch' beside the suite"),
        ("reference: {directory: none}", 6, "there is no directory 'none' beside the suite"),
        ("reference: {directory: a, patch: b}", 6, "give exactly one of patch, directory"),
        ("reference: {directory: seed/solved}", 6, "lies in the seed, so an agent would see it; move it out"),
        ("reference: {patch: over/fix.patch}", 6, "lies in the overlay of idle, so an agent would see it"),
    ],
)
def test_what_is_said_of_trust_is_checked(tmp_path: Path, field: str, line: int, said: str) -> None:
    """Names in quarantine exist; a reference is there, and no agent can see it."""
    (tmp_path / "seed/solved").mkdir(parents=True)
    (tmp_path / "over").mkdir()
    (tmp_path / "over/fix.patch").write_text("")
    file = tmp_path / "suite.yaml"
    file.write_text(TRUSTED.replace("FIELD", field))

    with pytest.raises(SuiteError) as refused:
        load_suite(file)

    assert said in str(refused.value)
    assert {problem.line for problem in refused.value.problems} == {line}


def test_a_reference_is_no_part_of_the_frozen_task(tmp_path: Path) -> None:
    """A task is named alike with and without it, and its snapshot does not hold it; a quarantine changes the name."""
    (tmp_path / "seed").mkdir()
    (tmp_path / "over").mkdir()
    (tmp_path / "solved").mkdir()
    frozen = {}
    for field in (
        "tags: [x]",
        "reference: {directory: solved}\n    tags: [x]",
        "quarantine: [unit tests]\n    tags: [x]",
    ):
        file = tmp_path / "suite.yaml"
        file.write_text(TRUSTED.replace("FIELD", field))
        frozen[field.split(":")[0]] = FrozenTask.of(load_suite(file).tasks[0])

    assert frozen["tags"].sha256 == frozen["reference"].sha256 != frozen["quarantine"].sha256
    assert frozen["reference"].task.reference is not None
    assert "solved" not in frozen["reference"].model_dump_json()
