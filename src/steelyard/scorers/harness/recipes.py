"""Makefiles, CI pipelines, test scripts and tox: the commands that people and machines run the tests by."""

import re
from collections.abc import Iterator
from typing import Any

from steelyard.scorers.harness.commands import RUNNER, command_signs, ran, variable_signs
from steelyard.scorers.harness.meter import TooMuchError, spend
from steelyard.scorers.harness.model import Context, Sign, line_of

_TARGET = re.compile(r"([A-Za-z0-9_./%$(){}-][^:=#\t]{0,200}?)\s*+::?(?!=)([^=\n]*)$")
_TEST_NAME = re.compile(
    r"(?:^|[-_:./])(?:tests?|specs?|unit|e2e|integration|pytest|jest)(?:$|[-_:./])|^(?:checks?|ci|verify)$"
)
_TEST_VARIABLE = re.compile(r"(?:^|[_.])(?:py|go|unit)?(?:tests?|jest|specs?|check)", re.IGNORECASE)
_ASSIGN = re.compile(r"(?:export\s++|override\s++)?([\w.]+)\s*+(?:[:+?!]|::)?=\s*(.*)")
_SHELL = re.compile(r"(?:SHELL|\.SHELLFLAGS)$")
MAX_YAML = 200_000
MAX_NODES = 20_000


def makefile_signs(text: str, context: Context) -> Iterator[Sign]:
    """Recipes of all targets, variables, and the switches by which make forgives everything."""
    target, number = "", 0
    recipes: dict[str, list[tuple[int, str]]] = {}
    needs: dict[str, list[str]] = {}
    for number, line in enumerate(text.replace("\\\n", "  ").split("\n"), 1):
        if line.startswith("\t") or (line.startswith("    ") and target and context.name.lower() == "justfile"):
            recipes.setdefault(target, []).append((number, line.strip()))
            continue
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        assigned = _ASSIGN.match(line)
        opened = None if assigned else _TARGET.match(line.split(" ;")[0])
        if assigned:
            yield from _assigned(assigned[1], assigned[2], number, context)
        elif opened:
            target = opened[1].strip()
            if not re.match(r"\.[A-Z]+$", target):  # `.PHONY` and the like make nothing
                needs.setdefault(target, []).extend(opened[2].split())
            if target == ".IGNORE":
                yield Sign("forgiving-command", ".IGNORE", line, number, "make ignores every failure")
            if _TEST_NAME.search(target):
                yield Sign(
                    "test-target",
                    target,
                    f"{target}:{opened[2]}",
                    number,
                    f"the target '{target}' is gone",
                    wanted=True,
                )
            if " ;" in line:
                recipes.setdefault(target, []).append((number, line.partition(" ;")[2]))
    running: set[str] = set()
    for name, lines in recipes.items():
        for sign in _recipe(name, lines, context):
            running |= {name} if sign.wanted else set()
            yield sign
    # A target that hands the tests on to another one still runs them.
    for name, others in needs.items():
        for other in running.intersection(others) if _TEST_NAME.search(name) else ():
            said = f"'{name}' makes '{other}' no more, which runs tests"
            yield Sign("test-target", f"{name} needs {other}", f"{name}: {other}", 1, said, wanted=True)
        if name not in running and not running.isdisjoint(others):
            yield ran(f"target '{name}'", " ".join(others), 1)


def _recipe(name: str, lines: list[tuple[int, str]], context: Context) -> Iterator[Sign]:
    for number, line in lines:
        prefix = line[: len(line) - len(line.lstrip("@-+"))]
        yield from command_signs(f"target '{name}'", line[len(prefix) :], number, context, prefix)


def _assigned(name: str, value: str, number: int, context: Context) -> Iterator[Sign]:
    if name == "MAKEFLAGS" and re.search(
        r"(?:^|\s)(?:-?\w*[ink]\w*|--ignore-errors|--dry-run|--just-print)(?:\s|$)", value
    ):
        yield Sign("forgiving-command", name, value, number, "make ignores every failure, or runs nothing")
    elif _SHELL.match(name) and "bash" not in value and not re.search(r"/sh\b|^-\w*c$", value):
        yield Sign("replaced-shell", name, value, number, "recipes run in another program than a shell")
    elif _TEST_VARIABLE.search(name):
        # A variable holds a command or its options: both are read as what a runner is given.
        for sign in command_signs(f"variable '{name}'", f"pytest {value}", number, context):
            if not sign.wanted and sign.rule != "narrowed-command":
                yield sign
    yield from variable_signs(f"{name}={value}")


def script_signs(text: str, context: Context) -> Iterator[Sign]:
    """A shell script that runs tests, line by line."""
    lines = text.replace("\\\n", "  ").split("\n")
    runs = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("#"):
            continue
        found = list(command_signs(context.name, line, number, context))
        runs = runs or bool(found)
        yield from found
        if re.match(r"\s*+(?:set\s++\+e|trap\s+.*\bexit\s++0\b|exit\s++0)\b", line):
            yield Sign("forgiving-command", line.strip(), line, number, "the script ends well whatever the tests say")
    yield from variable_signs(text)


def ci_signs(text: str, context: Context) -> Iterator[Sign]:
    """The steps of a pipeline: parsed where it is YAML of a sane shape, else line by line."""
    document = _yaml(text) if context.name.endswith((".yml", ".yaml")) else None
    if document is None:
        yield from script_signs(text, context)
        for match in _FORGIVEN.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            yield Sign("forgiving-command", match[0].strip(), match[0], number, "a failing step is forgiven")
        return
    yield from variable_signs(text)
    yield from _triggers(document, text, context)
    visited = 0
    stack: list[tuple[str, Any, bool]] = [("", document, False)]
    while stack:
        place, node, inside = stack.pop()
        visited += 1
        if visited > MAX_NODES:
            raise TooMuchError("too much to read")
        if isinstance(node, dict):
            tested = inside or _runs_tests(node)
            yield from _switches(place, node, tested, text)
            stack += [(f"{place}.{key}" if place else str(key), value, tested) for key, value in node.items()]
        elif isinstance(node, list):
            stack += [(place, value, inside) for value in node]
        elif isinstance(node, str) and place.rpartition(".")[2] in (
            "run",
            "script",
            "command",
            "before_script",
            "install",
            "bash",
            "powershell",
            "pwsh",
            "entry",
            "cmd",
            "cmds",
        ):
            for line in node.replace("\\\n", "  ").split("\n"):
                yield from command_signs("the pipeline", line, line_of(text, line.strip()), context)


_NAMES = re.compile(r"(?m)^[ \t-]*(?:if|uses|name|url|repository)[ \t]*+:[^\n]*")  # they name a runner, and run none
_UNFINISHED = re.compile(r"dev|nightly|alpha|beta|head|tip|master|pypy|experimental|unstable", re.IGNORECASE)
FORGIVING = ("continue-on-error", "allow_failure", "continueOnError", "ignore_errors", "ignore_error")
_FORGIVEN = re.compile(
    r"\b(?:continue-on-error|allow_failure|continueOnError|ignore_errors?)[\"']?\s*+:\s*(?!false)\w+"
    r"|\bcatchError\s*+[({]|\breturnStatus\s*+:\s*+true\b"
)
_BY_ITSELF = frozenset(
    {"push", "pull_request", "pull_request_target", "merge_group", "schedule", "workflow_call", "workflow_run"}
)


def _triggers(document: Any, text: str, context: Context) -> Iterator[Sign]:
    """That a workflow of GitHub's which runs tests is started by something else than a hand."""
    if (
        not isinstance(document, dict)
        or ".github/workflows/" not in context.path
        or not RUNNER.search(_NAMES.sub("", text))
    ):
        return
    events = document.get("on", document.get(True))  # YAML 1.1 takes the word for a truth value
    named = {str(one) for one in ([events] if isinstance(events, str) else events or ())}
    if not named.isdisjoint(_BY_ITSELF):
        said = "the workflow that runs the tests no longer starts by itself"
        yield Sign("test-trigger", "on", f"on: {' '.join(sorted(named))}", line_of(text, "on"), said, wanted=True)


def _runs_tests(node: dict[Any, Any]) -> bool:
    """Whether a step or job says by its name or its command that it runs tests."""
    words = [str(node.get(key, ""))[:2000] for key in ("name", "run", "script", "command", "bash")]
    return bool(re.search(r"\b(?:py)?tests?\b|\bjest\b|\bvitest\b|\bspec\b", " ".join(words), re.IGNORECASE))


def _switches(place: str, node: dict[Any, Any], tested: bool, text: str) -> Iterator[Sign]:
    steps = node.get("steps")
    tested = tested or any(
        _runs_tests(step) for step in (steps if isinstance(steps, list) else ()) if isinstance(step, dict)
    )
    # Somebody else's action, such as one that sends the coverage away, runs no tests of the tree.
    foreign = not tested and "run" not in node and re.match(r"[\w-]+/", str(node.get("uses", ""))) is not None
    for key in () if foreign else FORGIVING:
        if node.get(key) not in (None, False, "false"):
            yield Sign(
                "forgiving-command",
                f"{place} {key}",
                f"{key}: {node[key]}",
                line_of(text, key),
                "a failing step is forgiven",
            )
    forgiven = node.get("allow_failures")
    for item in forgiven if isinstance(forgiven, list) else ():
        if not _UNFINISHED.search(str(item)):
            said = "a failing job is forgiven"
            yield Sign("forgiving-command", f"{place} {item}", str(item), line_of(text, "allow_failures"), said)
    guard = node.get("if")
    rules = node.get("rules")
    never = [rule.get("when") for rule in (rules if isinstance(rules, list) else [node]) if isinstance(rule, dict)]
    if tested and never and set(map(str, never)) <= {"never", "manual"}:
        said = "a job that runs tests never runs by itself"
        yield Sign("switched-off", f"{place} when", f"when: {never[0]}", line_of(text, "when:"), said)
    if tested and (guard is False or str(guard).strip().strip("${} ").lower() == "false"):
        yield Sign(
            "switched-off", f"{place} if", f"if: {guard}", line_of(text, "if:"), "a step that runs tests never runs"
        )


def _yaml(text: str) -> Any:
    """The document, or None when it is too deep or broken: then it is read line by line."""
    if len(text) > MAX_YAML:
        raise TooMuchError("too much to read")
    if _depth(text) > 60:
        return None
    spend(2 * len(text))
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506  # a safe loader
    except (yaml.YAMLError, RecursionError, ValueError, TypeError):
        return None


def _depth(text: str) -> int:
    """How deep brackets and indentation nest, at most."""
    deepest = depth = 0
    for char in text:
        if char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth = max(0, depth - 1)
    indents = {len(line) - len(line.lstrip(" ")) for line in text.split("\n")}
    dashes = max((len(run) for run in re.findall(r"(?:- ){10,}", text)), default=0)
    return max(deepest, len(indents), dashes // 2)
