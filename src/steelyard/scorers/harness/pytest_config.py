"""pytest's own settings, wherever they stand: pytest.ini, tox.ini, setup.cfg, pyproject.toml."""

import configparser
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from steelyard.scorers.harness.commands import USUAL_PLUGINS, command_signs, covers, variable_signs
from steelyard.scorers.harness.meter import spend
from steelyard.scorers.harness.model import Context, Sign, line_of
from steelyard.scorers.harness.pytest_places import narrows

INI_NAMES = ("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg")
_HARMFUL = re.compile(
    r"-k|-m|--deselect|--ignore(?:-glob)?|-p|--collect-only|--co|--noconftest|-c|--config-file|--rootdir"
    r"|--confcutdir|-o"
    r"|--override-ini|--lf|--last-failed|--sw|--stepwise|--sw-skip|--stepwise-skip|--pyargs|--reruns|--only-rerun"
    r"|--setup-only"
    r"|--setup-plan|--fixtures|--markers|--version|-V|-h|--help|--suppress-no-test-exit-code|--disable-plugin-autoload"
    r"|--nf-only|--testmon|--picked|--skip-\w+|--no-\w*test\w*"
)
_NOSE = frozenset(
    {"exclude", "exclude-dir", "exclude-test", "ignore-files", "attr", "eval-attr", "testmatch", "match", "tests"}
)
_USUAL_PLUGIN = re.compile("|".join(USUAL_PLUGINS))
_VALUED = frozenset(
    {
        "-k",
        "-m",
        "-p",
        "-c",
        "-o",
        "-n",
        "-W",
        "-r",
        "--deselect",
        "--ignore",
        "--ignore-glob",
        "--reruns",
        "--tb",
        "--cov",
        "--cov-report",
        "--cov-config",
        "--durations",
        "--maxfail",
        "--dist",
        "--import-mode",
        "--rootdir",
        "--timeout",
        "--log-level",
        "--log-cli-level",
        "--color",
        "--junitxml",
        "--html",
        "--override-ini",
        "--capture",
    }
)


class UnparsedError(ValueError):
    """A file that does not parse: the line rules read it instead."""


def ini_signs(text: str, context: Context) -> Iterator[Sign]:
    """The settings of an INI file that reach pytest, and the commands of tox."""
    spend(len(text))
    parser = configparser.RawConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        parser.read_string(text)
    except (configparser.Error, ValueError) as error:
        raise UnparsedError(str(error).split("\n")[0]) from error
    for section in parser.sections():
        values = {key: value or "" for key, value in parser.items(section)}
        if section == "tool:pytest" or (section == "pytest" and context.name != "setup.cfg"):
            yield from setting_signs(dict(values), text, context)
        elif section.startswith("testenv"):
            for key in ("commands", "commands_pre", "commands_post"):
                for line in values.get(key, "").split("\n"):
                    prefix = line[: len(line) - len(line.lstrip("-! "))]
                    command = line[len(prefix) :].replace("{posargs}", "")
                    yield from command_signs(f"{section}.{key}", command, line_of(text, line), context, prefix)
            for key in ("ignore_outcome", "ignore_errors"):
                if values.get(key, "").lower() in ("true", "1", "yes"):
                    yield Sign(
                        "forgiving-command",
                        f"{section}.{key}",
                        values[key],
                        line_of(text, key),
                        "tox forgives failures",
                    )
            yield from variable_signs(values.get("setenv", "") + "\n" + values.get("set_env", ""))
        elif section == "nosetests":
            for key in _NOSE.intersection(values):
                said = f"nose's {key} leaves tests out"
                yield Sign("collection-setting", key, f"{key} = {values[key]}", line_of(text, key), said)
        elif section in ("options.entry_points", "aliases"):
            yield from _pieces(section, values, text)


def _pieces(section: str, values: dict[str, str], text: str) -> Iterator[Sign]:
    if section == "options.entry_points" and "pytest11" in values:
        yield Sign(
            "plugin-entry-point",
            "pytest11",
            values["pytest11"],
            line_of(text, "pytest11"),
            "a pytest plugin loads itself",
        )
    if section == "aliases" and "test" in values:
        yield Sign("test-alias", "test", values["test"], line_of(text, "test"), "the test command means another one")


def toml_signs(text: str, context: Context) -> Iterator[Sign]:
    """The settings of pyproject.toml (or pytest.toml) that reach pytest, and the task runners' test commands."""
    data = parse_toml(text)
    tool = _table(data, "tool")
    pytest = _table(data, "pytest") if context.name.endswith("pytest.toml") else _table(tool, "pytest")
    options = _table(pytest, "ini_options") or {k: v for k, v in pytest.items() if k != "ini_options"}
    yield from setting_signs({str(key): value for key, value in options.items()}, text, context)
    for table in (_table(_table(data, "project"), "entry-points"), _table(_table(tool, "poetry"), "plugins")):
        for plugin, target in _table(table, "pytest11").items():
            yield Sign(
                "plugin-entry-point",
                str(plugin),
                f"{plugin} = {target}",
                line_of(text, "pytest11"),
                "a pytest plugin loads itself",
            )
    for place, command in _tasks(tool):
        yield from command_signs(place, command, line_of(text, command.split("\n")[0][:60]), context)
    tox = _table(tool, "tox") if context.name != "tox.toml" else data
    for name, env in {"testenv": tox.get("env_run_base"), **_table(tox, "env")}.items():
        for key in ("commands", "commands_pre", "commands_post"):
            for command in env.get(key, ()) if isinstance(env, dict) and isinstance(env.get(key, ()), list) else ():
                words = [str(word) for word in command] if isinstance(command, list) else []
                prefix = words.pop(0) if words[:1] == ["-"] else ""
                yield from command_signs(f"{name}.{key}", " ".join(words), line_of(text, "commands"), context, prefix)
    legacy = _table(tool, "tox").get("legacy_tox_ini")
    if isinstance(legacy, str):
        yield from ini_signs(legacy, replace(context, path=context.folder + "tox.ini"))


def _tasks(tool: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The commands of poe, pdm, hatch, taskipy and tox that a pyproject.toml may hold, by place."""
    tables = {
        "poe": _table(_table(tool, "poe"), "tasks"),
        "pdm": _table(_table(tool, "pdm"), "scripts"),
        "taskipy": _table(_table(tool, "taskipy"), "tasks"),
    }
    for name, env in _table(_table(tool, "hatch"), "envs").items():
        tables[f"hatch.{name}"] = _table(env, "scripts") if isinstance(env, dict) else {}
    for place, table in tables.items():
        for name, value in table.items():
            inner = value.get("cmd", value.get("shell", "")) if isinstance(value, dict) else value
            for one in inner if isinstance(inner, list) else [inner]:
                if isinstance(one, str):
                    yield f"{place}.{name}", one


def parse_toml(text: str) -> dict[str, Any]:
    """The document; `UnparsedError` when it is none or nests too deep."""
    spend(len(text) // 2)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UnparsedError(str(error).split("\n")[0] or "it nests too deep") from error


def _table(data: Any, key: str) -> dict[str, Any]:
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def setting_signs(values: dict[str, Any], text: str, context: Context) -> Iterator[Sign]:
    """The settings of pytest that decide which tests are collected and what counts as a failure."""
    for key in ("testpaths", "norecursedirs", "python_files", "python_classes", "python_functions"):
        if key in values:
            words = _words(values[key])
            why = narrows(key, words, context)
            if why:
                yield Sign("collection-setting", key, " ".join(words), line_of(text, key), why)
    yield from _imported_first(_words(values.get("pythonpath", "")), line_of(text, "pythonpath"), context)
    line = line_of(text, "addopts")
    yield from addopts_signs(_words(values.get("addopts", "")), line, context)
    for name in ("usefixtures", "collect_ignore", "collect_ignore_glob"):
        if values.get(name):
            said = f"pytest's {name} reaches every test"
            yield Sign("collection-setting", name, " ".join(_words(values[name])), line_of(text, name), said)
    if "true" in (strict := [str(values.get(key, "")).lower() for key in ("xfail_strict", "strict")]) or "1" in strict:
        yield Sign(
            "strictness",
            "xfail_strict",
            "xfail_strict = true",
            line,
            "a test that passes unexpectedly no longer fails",
            True,
        )
    warnings = values.get("filterwarnings", "")
    entries = warnings if isinstance(warnings, list) else str(warnings).split("\n")
    if any(str(entry).strip() == "error" for entry in entries):
        yield Sign("strictness", "filterwarnings", "error", line, "warnings are no longer errors", True)


_USUAL_ROOTS = frozenset({"", ".", "..", "src", "lib", "python", "test", "tests"})


def _imported_first(words: list[str], line: int, context: Context) -> Iterator[Sign]:
    """A directory that the baseline did not have and whose modules come before those of the code under test."""
    for word in words:
        folder = word.strip("./").rstrip("/")
        spend(1 + len(context.baseline_files) // 8)
        place = f"{context.folder}{folder}/"
        if folder not in _USUAL_ROOTS and not any(path.startswith(place) for path in context.baseline_files):
            said = f"pythonpath puts {word} before the code under test"
            yield Sign("collection-setting", f"pythonpath {word}", f"pythonpath = {word}", line, said)


def addopts_signs(words: list[str], line: int, context: Context) -> Iterator[Sign]:
    """Options for every run that leave tests out, load plugins or run nothing."""
    index = 0
    paths = []
    while index < len(words):
        word, value = words[index], ""
        index += 1
        head, equals, rest = word.partition("=")
        if not equals and re.match(r"-[kmpcoW]\S", word) and not word.startswith("--"):
            head, rest, equals = word[:2], word[2:], "="
        if equals:
            value = rest
        elif head in _VALUED and index < len(words):
            value = words[index]
            index += 1
        if not head.startswith("-"):
            paths.append(head.strip("./"))
        elif _HARMFUL.fullmatch(head) and not (head == "-p" and _USUAL_PLUGIN.fullmatch(value)):
            text = f"{head} {value}".strip()
            yield Sign("addopts", text, f"addopts: {text}", line, f"every run gets {text}")
        elif head == "--cov-fail-under":
            yield Sign("coverage-floor", "--cov-fail-under", value, line, "the coverage floor is gone", wanted=True)
    if paths:
        spend(len(context.tests) * len(paths) // 8)
        left = [test for test in context.tests if not any(covers(path, test) for path in paths)]
        if left:
            yield Sign("addopts", "paths", " ".join(paths), line, f"every run names paths that leave out {left[0]}")


def _words(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(item) for item in value]
    try:
        return shlex.split(str(value))
    except ValueError:
        return str(value).split()
