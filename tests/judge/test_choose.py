"""Who judges: the command line, the suite, or whoever is there."""

from pathlib import Path
from typing import Any

import pytest

from steelyard.domain.suite import JudgeSpec
from steelyard.errors import InputError
from steelyard.judge.choose import Choice

ANTHROPIC = {"ANTHROPIC_API_KEY": "k"}
OPENAI = {"OPENAI_API_KEY": "k"}


def seats(name: str, env: dict[str, str], flag: str | None = None, **spec: Any) -> tuple[list[Any], list[str]]:
    """The chosen judges as (backend, model), and the notes."""
    notes: list[str] = []
    choice = Choice(name, flag, {"PATH": "/nowhere", **env}, notes.append)
    record = JudgeSpec.model_validate(spec, strict=False)
    chosen = [choice.seats(record) for _ in range(2)][-1]
    return [(judge.type, judge.model_name) for judge in chosen], notes


@pytest.mark.parametrize(
    ("env", "backend"),
    [
        (ANTHROPIC, "anthropic"),
        ({**ANTHROPIC, **OPENAI}, "anthropic"),
        (OPENAI, "openai"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "openai"),
    ],
)
def test_auto_takes_the_first_that_is_there(env: dict[str, str], backend: str) -> None:
    """In the order anthropic, claude-cli, openai."""
    chosen, notes = seats("auto", env)

    assert [name for name, _ in chosen] == [backend]
    assert notes == []


def test_claude_counts_when_it_is_there_and_signed_in(tmp_path: Path) -> None:
    """A program on the PATH with a key, a token or a sign-in of its own; without them it is passed over."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    here = {"PATH": str(tmp_path), "HOME": str(tmp_path)}

    assert seats("auto", here)[0] == []
    assert seats("auto", {**here, "CLAUDE_CODE_OAUTH_TOKEN": "t"})[0][0][0] == "claude-cli"
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".credentials.json").write_text("{}")
    assert seats("auto", {**here, **OPENAI})[0][0][0] == "claude-cli"


def test_nobody_there_is_said_once() -> None:
    """The dimension is dropped, with one note, however many tasks there are."""
    chosen, notes = seats("auto", {})

    assert chosen == []
    assert len(notes) == 1
    assert "ANTHROPIC_API_KEY" in notes[0]


def test_the_suite_chooses_and_the_flag_overrides() -> None:
    """Backend and model, each from the flag, the suite, or the backend's default, in that order."""
    both = {**ANTHROPIC, **OPENAI}

    assert seats("auto", both, backend="openai", model="m")[0] == [("openai", "m")]
    assert seats("auto", both, "flag", backend="openai", model="m")[0] == [("openai", "flag")]
    assert seats("anthropic", both, backend="openai", model="m")[0] == [("anthropic", "claude-sonnet-5-5")]
    assert seats("anthropic", both, model="m")[0] == [("anthropic", "m")]
    assert seats("none", both, backend="openai")[0] == []
    assert seats("auto", both, backend="none")[0] == []
    assert seats("canned", both, judges=[{"type": "openai"}, {"type": "anthropic"}])[0] == [("canned", "canned")]


def test_a_panel_goes_without_members_that_are_not_there() -> None:
    """They are named; the others judge."""
    chosen, notes = seats("auto", OPENAI, judges=[{"type": "openai", "model": "m"}, {"type": "anthropic"}])

    assert chosen == [("openai", "m")]
    assert notes == ["the judge anthropic is left out: ANTHROPIC_API_KEY is not set; export it"]


def test_a_suites_judge_that_is_not_there_is_left_out() -> None:
    """The runs go on without."""
    chosen, notes = seats("auto", {}, backend="openai")

    assert chosen == []
    assert "the judge openai is left out" in notes[0]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gpt", "--judge gpt: there is no such judge; allowed: auto, none, anthropic, claude-cli, openai, canned"),
        ("anthropic", "--judge anthropic: ANTHROPIC_API_KEY is not set; export it; or run with --judge none"),
        ("openai", "--judge openai: OPENAI_API_KEY is not set"),
        ("claude-cli", "--judge claude-cli: 'claude' is not on the PATH"),
    ],
)
def test_a_wrong_flag_is_refused(name: str, said: str) -> None:
    """Before anything runs, in one line."""
    with pytest.raises(InputError) as error:
        Choice(name, None, {"PATH": "/nowhere"}, lambda _: None)
    assert str(error.value).startswith(said)


def test_a_model_for_a_panel_is_refused() -> None:
    """It would not be clear which of the judges should take it."""
    with pytest.raises(InputError, match="--judge-model"):
        seats("auto", OPENAI, "m", judges=[{"type": "openai"}])


def test_a_disabled_judge_is_not_looked_for() -> None:
    """Nothing is said of a judge that nobody wants."""
    notes: list[str] = []
    choice = Choice("auto", None, {"PATH": "/nowhere"}, notes.append)

    assert choice.look([JudgeSpec(enabled=False)]) is False
    assert notes == []
    assert choice.look([JudgeSpec(enabled=False), JudgeSpec(backend="canned")]) is True
