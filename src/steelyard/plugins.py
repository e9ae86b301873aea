"""Interchangeable parts by kind and type: the built-in ones and those of installed packages (entry points).

A part is a class that is its own configuration (a pydantic model with a literal `type`). Built-in parts are listed
by name only, so that a command loads the modules of the parts it uses and no others. An outside package adds a part
with an entry point of the group `steelyard.<kind>`, for example `steelyard.scorers`; built-in names win.
"""

from functools import cache
from importlib import import_module
from typing import Any

from steelyard.errors import InputError

BUILT_IN: dict[str, dict[str, str]] = {
    "agents": {
        "command": "steelyard.agents.command:CommandAgent",
        "scripted": "steelyard.agents.scripted:ScriptedAgent",
        "claude-code": "steelyard.agents.claude_code:ClaudeCode",
        "codex": "steelyard.agents.codex:Codex",
        "opencode": "steelyard.agents.opencode:OpenCode",
        "mini-swe-agent": "steelyard.agents.mini_swe:MiniSweAgent",
    },
    "scorers": {
        "command": "steelyard.scorers.command:Command",
        "allowed_paths": "steelyard.scorers.allowed_paths:AllowedPaths",
        "forbid_paths": "steelyard.scorers.forbid_paths:ForbidPaths",
        "max_files_changed": "steelyard.scorers.max_files_changed:MaxFilesChanged",
        "forbid_secrets": "steelyard.scorers.forbid_secrets:ForbidSecrets",
        "file_exists": "steelyard.scorers.file_exists:FileExists",
        "tests_unmodified": "steelyard.scorers.tests_unmodified:TestsUnmodified",
        "baseline_unmodified": "steelyard.scorers.baseline_unmodified:BaselineUnmodified",
        "no_new_skips": "steelyard.scorers.no_new_skips:NoNewSkips",
        "assertions_not_weakened": "steelyard.scorers.assertions_not_weakened:AssertionsNotWeakened",
        "llm_judge": "steelyard.scorers.llm_judge:LlmJudge",
        "trajectory_rules": "steelyard.scorers.trajectory_rules:TrajectoryRules",
        "harness_unmodified": "steelyard.scorers.harness_unmodified:HarnessUnmodified",
        "baseline_tests_pass": "steelyard.scorers.baseline_tests_pass:BaselineTestsPass",
        "hidden_tests": "steelyard.scorers.hidden_tests:HiddenTests",
    },
    "cheats": {
        "nop": "steelyard.audit.cheats.nop:Nop",
        "reference": "steelyard.audit.cheats.reference:ReferenceSolution",
        "preseeded-results": "steelyard.audit.cheats.preseeded_results:PreseededResults",
        "poisoned-cache": "steelyard.audit.cheats.poisoned_cache:PoisonedCache",
        "conftest-hook": "steelyard.audit.cheats.conftest_hook:ConftestHook",
        "bent-config": "steelyard.audit.cheats.bent_config:BentConfig",
        "always-equal": "steelyard.audit.cheats.always_equal:AlwaysEqual",
        "exit-at-import": "steelyard.audit.cheats.exit_at_import:ExitAtImport",
        "skip-tests": "steelyard.audit.cheats.skip_tests:SkipTests",
        "delete-tests": "steelyard.audit.cheats.delete_tests:DeleteTests",
        "weaken-tests": "steelyard.audit.cheats.weaken_tests:WeakenTests",
        "hard-coded": "steelyard.audit.cheats.hard_coded:HardCoded",
        "git-history": "steelyard.audit.cheats.git_history:GitHistory",
        "fake-runner": "steelyard.audit.cheats.fake_runner:FakeRunner",
        "shadow-runner": "steelyard.audit.cheats.shadow_runner:ShadowRunner",
        "daemon": "steelyard.audit.cheats.daemon:Daemon",
    },
    "sandboxes": {
        "local": "steelyard.sandboxes.local:LocalProvider",
        "bwrap": "steelyard.sandboxes.bwrap:BwrapProvider",
        "docker": "steelyard.sandboxes.docker:DockerProvider",
    },
    "judges": {
        "anthropic": "steelyard.judge.anthropic:AnthropicJudge",
        "claude-cli": "steelyard.judge.claude_cli:ClaudeCliJudge",
        "openai": "steelyard.judge.openai:OpenAIJudge",
        "canned": "steelyard.judge.canned:CannedJudge",
    },
}


@cache
def _outside(kind: str) -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=f"steelyard.{kind}")}


def names(kind: str) -> list[str]:
    """Every part type of a kind that is installed here: built-in ones first, in their documented order."""
    return [*BUILT_IN[kind], *sorted(set(_outside(kind)) - set(BUILT_IN[kind]))]


def load(kind: str, name: str) -> Any:
    """The class of a part; `InputError` when no such part is installed."""
    target = BUILT_IN[kind].get(name)
    if target is not None:
        module, _, attribute = target.partition(":")
        return getattr(import_module(module), attribute)
    point = _outside(kind).get(name)
    if point is None:
        raise InputError(f"unknown {kind.removesuffix('s')} type '{name}'; installed: {', '.join(names(kind))}")
    return point.load()


def build(kind: str, spec: dict[str, Any]) -> Any:
    """A part from its frozen configuration, a JSON object that names its `type`."""
    return load(kind, spec["type"]).model_validate(spec, strict=False)
