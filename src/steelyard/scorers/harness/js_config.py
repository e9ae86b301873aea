"""The configuration of JavaScript test runners: package.json, jest, vitest, mocha, and the files they load first."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from steelyard.scorers.harness.commands import command_signs
from steelyard.scorers.harness.js_places import (
    PLACES,
    expression_signs,
    expressions,
    fake_signs,
    part_signs,
    place_signs,
)
from steelyard.scorers.harness.meter import spend
from steelyard.scorers.harness.model import Bend, Context, Sign, line_of
from steelyard.scorers.harness.pytest_config import UnparsedError

LEAVES_OUT = (
    "testPathIgnorePatterns", "modulePathIgnorePatterns", "exclude", "ignore", "ignored", "testIgnore",
    "excludeSpecPattern",
)  # fmt: skip
COLLECTS = ("testMatch", "include", "spec", "specPattern", "files")
LOADS = (
    "setupFiles", "setupFilesAfterEnv", "globalSetup", "globalTeardown", "runner", "testRunner", "snapshotResolver",
    "require", "transform", "resolver", "testEnvironment", "automock", "import", "loader", "supportFile",
)  # fmt: skip
# Of these, what a package brings is nobody's business; a file of the tree is the agent's own.
LOADS_TOO = (
    "reporters", "reporter", "preset", "testResultsProcessor", "snapshotSerializers", "snapshotEnvironment",
    "dependencyExtractor", "environment", "pool",
)  # fmt: skip
CONFIG_FILES = tuple(
    glob
    for name in ("package.json", "jest.config.*", "vitest.config.*", "vitest.workspace.*", "vite.config.*", ".mocharc*")
    for glob in (name, f"*/{name}")
)
SWITCHES = (
    "passWithNoTests", "testNamePattern", "dangerouslyIgnoreUnhandledErrors", "retryTimes", "retries", "retry", "grep",
    "fgrep", "grepInvert", "invert", "allowOnly", "onlyChanged", "failZero", "dry-run", "dryRun", "bailOnNothing",
)  # fmt: skip
GUARDS = ("failOnEmptyTestSuite", "failWithoutAssertions")  # on by themselves
_HARMLESS_LOADS = re.compile(
    r"^(?:node|jsdom|happy-dom|edge-runtime|jest-environment-[\w-]+|ts-node(?:/\w+)*|tsx(?:/\w+)*|@babel/[\w-]+"
    r"|esm|source-map-support/register"
    r"|@testing-library/[\w/-]+|jest-extended(?:/\w+)*|dotenv/config|ts-jest\S*|babel-jest|@swc/jest|esbuild-jest"
    r"|jest-circus\S*|chai\S*|sinon\S*"
    r"|should|esbuild-register|jest-fetch-mock|cross-fetch/polyfill|whatwg-fetch|reflect-metadata|false|true|null|\d+)$"
)
_STANDARD_OUT = re.compile(
    r"node_modules|dist|build|coverage|\.git\b|\.next|\.nuxt|\.cache|\.idea|cypress|lib\b|out\b|fixtures?"
    r"|\.svelte-kit|storybook"
)
_LITERAL = re.compile(r"'([^'\n]{0,300})'|\"([^\"\n]{0,300})\"|`([^`\n]{0,300})`|/((?:\\.|[^/\n*]){1,300})/")
RUNNER_KEYS = ("jest", "vitest", "mocha", "ava", "tap", "nyc", "c8")


def package_signs(text: str, context: Context) -> Iterator[Sign]:
    """The test scripts and runner settings of package.json; its dependencies are nobody's business here."""
    data = parse_json(text)
    scripts = data.get("scripts")
    for name, command in scripts.items() if isinstance(scripts, dict) else ():
        if not isinstance(command, str):
            continue
        line = line_of(text, json.dumps(name) + ":")
        yield from command_signs(f"script '{name}'", command, line, context)
        if re.fullmatch(r"(?:pre|post)test", name) and re.search(r"process\.exit|kill|rm\s++-|exit\s++0", command):
            yield Sign("test-hook-script", name, command, line, f"'{name}' runs around the tests")
    yield from mapped_signs(text)
    yield from fake_signs(text, context)
    for key in RUNNER_KEYS:
        if isinstance(data.get(key), dict):
            yield from value_signs(data[key], text, context)


_GONE = re.compile(r"script '(.{1,200})' ran the tests")


def is_spare(bend: Bend, now: Iterable[Sign], text: str) -> bool:
    """Whether a script is gone as a whole, which npm would complain of, while `test` still runs the tests."""
    gone = _GONE.match(bend.message) if bend.rule == "test-command" and bend.after is None else None
    if gone is None or gone[1] == "test" or json.dumps(gone[1]) in text:
        return False
    return any(sign.wanted and sign.name == "script 'test'" for sign in now)


def json_signs(text: str, context: Context) -> Iterator[Sign]:
    """A runner's configuration as JSON (comments are allowed there)."""
    data = parse_json(re.sub(r"(?m)^[^\S\n]*+//[^\n]*", "", text))
    yield from mapped_signs(text)
    yield from fake_signs(text, context)
    yield from value_signs(data, text, context)


def parse_json(text: str) -> dict[str, Any]:
    """The object; `UnparsedError` when it is none or nests too deep."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnparsedError(str(error).split("\n")[0]) from error
    if not isinstance(data, dict):
        raise UnparsedError("it is no JSON object")
    return data


KEYS = frozenset({*LEAVES_OUT, *COLLECTS, *PLACES, "testRegex", "testDir", *LOADS, *LOADS_TOO, *SWITCHES, *GUARDS})


MAX_VALUE = 4000
TOGETHER = (*PLACES, "testRegex")


def value_signs(data: dict[str, Any], text: str, context: Context) -> Iterator[Sign]:
    """The settings of a parsed configuration, at any depth within reason."""
    stack: list[tuple[dict[str, Any], int]] = [(data, 0)]
    places: dict[str, list[str]] = {}
    while stack:
        table, depth = stack.pop()
        for key, value in table.items():
            if isinstance(value, dict) and key not in LOADS and depth < 6:
                stack.append((value, depth + 1))
            elif key in TOGETHER:
                places.setdefault(key, []).extend(_strings(value))
            elif key in KEYS:
                yield from _judged(str(key), _strings(value), value, line_of(text, str(key)), context)
    yield from _together(places, text, context)


def _together(places: dict[str, list[str]], text: str, context: Context) -> Iterator[Sign]:
    """Where a runner looks, over all of its projects: one may have the tests that another leaves out."""
    for key, words in places.items():
        yield from _judged(key, words, " ".join(words), line_of(text, key), context)


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    items = value if isinstance(value, list) else [value]
    return [str(item[0] if isinstance(item, list) and item else item) for item in items]


_KEY = re.compile(r"(?<![\w.$])[\"']?(" + "|".join(sorted(KEYS, key=len, reverse=True)) + r")[\"']?\s*:\s*")


_LOADED = re.compile(
    r"(?<![\w.$])[\"']?(" + "|".join(sorted((*LOADS, *LOADS_TOO), key=len, reverse=True)) + r")[\"']?\s*:\s*"
)


def loaded_files(text: str) -> Iterator[str]:
    """The files of the tree that a configuration names to be loaded before the tests, relative to its own place."""
    for match in _LOADED.finditer(text):
        for found in _LITERAL.findall(_value(text, match.end())):
            word = next(filter(None, found), "")
            if is_file(word):
                yield word.replace("<rootDir>", ".")


def is_file(word: str) -> bool:
    """Whether a setting names a file of the tree rather than a package."""
    return word.startswith(("./", "../", "<rootDir>")) or re.fullmatch(r"[\w./-]+\.[cm]?[jt]sx?", word) is not None


def source_signs(text: str, context: Context) -> Iterator[Sign]:
    """A configuration written as a program: its settings by key, with the literals that stand in their values."""
    places: dict[str, list[str]] = {}
    for match in _KEY.finditer(text):
        value = _value(text, match.end())
        spend(2 + match.start() // 10_000)
        if len(value) >= MAX_VALUE:
            said = f"{match[1]} is too long to be read"
            yield Sign("too-much", match[1], f"{match[1]}: {value[:200]}", line_of(text, match[0]), said)
        if match[1] in TOGETHER:
            places.setdefault(match[1], []).extend(expressions(value) or ["?"])  # a variable can mean anything
            continue
        line = text.count("\n", 0, match.start()) + 1
        literals = [next(filter(None, found), "") for found in _LITERAL.findall(value)]
        yield from _judged(match[1], literals or [value.strip()], value.strip(), line, context)
    yield from _together(places, text, context)
    spend(20 * len(re.findall(r"\b(?:transform|load|process)\b", text)))
    for match in _REWRITES.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Sign("rewritten-tests", "transform", " ".join(match[0].split()), line, "a plugin rewrites the tests")
    yield from setup_signs(text, context)
    yield from mapped_signs(text)
    yield from fake_signs(text, context)


_REWRITES = re.compile(
    r"\b(?:transform|load|process)\s*+(?::\s*+(?:async\s*+)?(?:function\s*+)?)?\(\s*+\w+[^)]{0,80}\)[^;]{0,400}?"
    r"(?:\.test\b|\.spec\b|__tests__|\bexpect\b)[^;]{0,200}?\breplace(?:All)?\("
)


_MAPPED = re.compile(
    r"[\"']?(?:moduleNameMapper|alias)[\"']?\s*+:\s*+\{(?:[^}]{0,600}?[\"'`]\^?(?:node:)?"
    r"(assert|expect|chai|vitest|@jest/[\w-]{1,40}|@vitest/[\w-]{1,40}|jest-circus|mocha)\b[^\"'`\n]{0,60}[\"'`]"
    r"|(?:[^}]{0,600}?[\s,])?(assert|expect|chai|vitest|mocha))\s*+:[^,}\n]{0,200}"
)


def mapped_signs(text: str) -> Iterator[Sign]:
    """A test library whose name is made to mean another file."""
    spend(20 * len(re.findall("moduleNameMapper|alias", text)))
    for match in _MAPPED.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        name = match[1] or match[2]
        yield Sign("shadowed-runner", name, " ".join(match[0].split()), line, f"{name} is replaced by a file")


def _value(text: str, start: int) -> str:
    """The text of a value: to the comma or bracket that ends it."""
    depth, at = 0, start
    for at in range(start, min(len(text), start + MAX_VALUE)):
        char = text[at]
        if char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and char in ",\n;":
            break
    else:
        at = start + MAX_VALUE
    spend(1 + (at - start) // 10)
    return text[start:at]


def _judged(key: str, words: list[str], value: Any, line: int, context: Context) -> Iterator[Sign]:
    spend((1 + len(context.tests) // 4) * len(words) if key in LEAVES_OUT or key in COLLECTS else len(words))
    shown = f"{key}: {value}"[:4000]
    if key in SWITCHES:
        if str(value).lower() not in ("false", "0", "none", "null", "undefined", ""):
            yield Sign("runner-switch", f"{key} {value}", shown, line, f"{key} changes what counts as a failure")
    elif key in GUARDS:
        if str(value).lower() == "false":
            yield Sign("runner-switch", f"{key} {value}", shown, line, f"{key} changes what counts as a failure")
    elif key in LEAVES_OUT:
        hit = [word for word in words if _leaves_out(word, context)]
        if hit:
            yield Sign("collection-setting", f"{key} {' '.join(hit)}", shown, line, f"{key} leaves out tests: {hit[0]}")
    elif key in LOADS:
        for word in words:
            if not _HARMLESS_LOADS.match(word) and not word.startswith("^"):
                yield Sign("loaded-first", f"{key} {word}", shown, line, f"{key} loads {word} before the tests")
    elif key in LOADS_TOO:
        for word in filter(is_file, words):
            yield Sign("loaded-first", f"{key} {word}", shown, line, f"{key} loads {word}, a file of the tree")
    elif key in PLACES:
        yield from place_signs(key, words, shown, line, context)
    elif key == "testDir":
        yield from part_signs(key, words, shown, line, context)
    elif key == "testRegex":
        yield from expression_signs(key, words, shown, line, context)
    elif any(word.startswith("!") and _leaves_out(word[1:], context) for word in words):
        yield Sign("collection-setting", f"{key} {' '.join(words)}", shown, line, f"{key} leaves out tests")
    elif context.tests and words and not any(_collects_much(word, context) for word in words):
        yield Sign("collection-setting", f"{key} {' '.join(words)}", shown, line, f"{key} collects only {words[0]}")


def _core(word: str) -> str:
    """What a pattern says in plain letters, without the marks of globs and expressions."""
    return re.sub(
        r"^[\W_]+|[\W_]+$", "", word.replace("<rootDir>", "").replace("\\", "").replace("**", "*").strip("^$*/.")
    )


def _leaves_out(word: str, context: Context) -> bool:
    core = _core(word)
    if not core:
        return bool(context.tests)
    if _STANDARD_OUT.search(core):
        return False
    pieces = [piece for piece in re.split(r"[*()|\[\]{}?+]+", core) if piece.strip("./")]
    return any(all(piece in test for piece in pieces) for test in context.tests)


def _collects_much(word: str, context: Context) -> bool:
    """Whether a pattern is one of the usual ones rather than one file, or than none."""
    scripts = context.script_tests
    if scripts and re.fullmatch(r"[\w./*-]+", word) and "*" in word:
        pieces = [re.escape(piece) for piece in word.replace("**/", "*").split("*")]
        return any(re.search(".*".join(pieces) + "$", test) for test in scripts)
    if scripts and re.fullmatch(r"[\w./-]+\.[cm]?[jt]sx?", word):
        return False
    return "*" in word or "(" in word or re.search(r"\.(?:test|spec)\.\w+$", word) is None


_SETUP = re.compile(
    r"(?<![\w.])(?:(?:global|globalThis|window)\s*+\[\s*+[\"'`](?:expect|it|test|describe|assert)[\"'`]\s*+\]\s*+=(?!=)"
    r"|Object\.(?:defineProperty|assign)\(\s*+(?:global|globalThis|window)\s*+,\s*+(?:\{[^}]{0,200}?\b|[\"'`])"
    r"(?:expect|it|test|describe|assert)\b"
    r"|(?:global|globalThis|window)\s*+\.\s*+(?:expect|it|test|describe|beforeEach|afterEach|assert)\s*+=(?!=)"
    r"|(?:expect|it|test|describe|assert)(?:\s*+\.\s*+\w{1,40})?\s*+=(?!=)|jest\.retryTimes\b|process\.exit\b"
    r"|process\.exitCode\s*+=\s*+0\b"
    r"|process\.reallyExit\b|process\.on\(\s*+[\"'`](?:exit|beforeExit|uncaughtException)"
    r"|expect\.extend\s*+\(\s*+\{[^}]{0,400}?\b(?:toBe|toEqual|toStrictEqual|toMatch|toThrow|toContain"
    r"|toMatchObject|toBeTruthy|toHaveBeenCalled)\b"
    r"|(?:Date\.now|Math\.random|performance\.now|(?:global|globalThis|window)\.Date)\s*+=(?!=)"
    r"|assert\.\w{1,40}\s*+=(?!=)|jasmine\.\w{1,40}\s*+=(?!=)|currentTest\.\w{1,20}\s*+=(?!=)"
    r"|Cypress\.on\(\s*+[\"'`]fail[\"'`])"
)


def setup_signs(text: str, context: Context) -> Iterator[Sign]:
    """A file that is loaded before the tests, and what in it changes the tests' own functions or the exit code."""
    del context
    for match in _SETUP.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Sign(
            "setup-file",
            match[0],
            match[0],
            line,
            "a setup file changes the test functions, the clock or the exit code",
        )
