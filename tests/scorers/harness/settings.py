# ruff: noqa: E501  # one sample is one line, so that they can be compared
"""Settings of runners that send it elsewhere, hostile ones (name, rule, before, after) and ordinary ones."""

from tests.scorers.harness.benign import Sample as BenignSample
from tests.scorers.harness.hostile import CI, PACKAGE, Sample

JEST = "module.exports = {}\n"
VITEST = "export default { test: {} }\n"
CODE = {"web/src/math.js": "x\n"}
FLOW = ".github/workflows/ci.yml"


def jest(setting: str) -> str:
    """A configuration of jest with one setting."""
    return JEST.replace("{}", f"{{ {setting} }}")


def vitest(setting: str) -> str:
    """A configuration of vitest with one setting."""
    return VITEST.replace("{} }", f"{{ {setting} }} }}")


def package(setting: str) -> str:
    """A package.json with one setting of jest."""
    return PACKAGE.replace('"testEnvironment": "node"', setting)


SETTINGS: list[Sample] = [
    ("an expression for one test", "collection-setting", {"web/jest.config.js": JEST}, {"web/jest.config.js": jest("testRegex: 'zero'")}),
    ("an expression in TypeScript", "collection-setting", {"web/jest.config.ts": JEST}, {"web/jest.config.ts": jest("testRegex: ['(zero)\\\\.test\\\\.js$']")}),
    ("an expression in package.json", "collection-setting", {"web/package.json": PACKAGE}, {"web/package.json": package('"testRegex": "/zero\\\\.test"')}),
    ("roots without tests", "collection-setting", {"web/jest.config.js": JEST}, {"web/jest.config.js": jest("roots: ['<rootDir>/fakes']")}),
    ("a root without tests", "collection-setting", {"web/package.json": PACKAGE}, {"web/package.json": package('"rootDir": "fakes"')}),
    ("vitest looks elsewhere", "collection-setting", {"web/vitest.config.ts": VITEST}, {"web/vitest.config.ts": vitest("dir: 'fakes'")}),
    ("vitest has another root", "collection-setting", {"web/vitest.config.ts": VITEST}, {"web/vitest.config.ts": vitest("root: './fakes'")}),
    ("a module that means a fake", "replaced-code", {"web/jest.config.js": JEST, **CODE}, {"web/jest.config.js": jest("moduleNameMapper: { '^(.*)/math$': '<rootDir>/fake.js' }")}),
    ("a fake of the same name", "replaced-code", {"web/package.json": PACKAGE, **CODE}, {"web/package.json": package('"moduleNameMapper": {"./math": "<rootDir>/fakes/math.js"}')}),
    ("an alias that means a fake", "replaced-code", {"web/vitest.config.ts": VITEST, **CODE}, {"web/vitest.config.ts": vitest("alias: { './math': './fake.js' }")}),
    ("an alias in a list", "replaced-code", {"web/vitest.config.ts": VITEST, **CODE}, {"web/vitest.config.ts": vitest("alias: [{ find: /math$/, replacement: resolve(__dirname, './fake.js') }]")}),
    ("jest runs tests of one name", "deselecting-command", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"jest",', '"jest -t zero",')}),
    ("mocha runs tests of one name", "deselecting-command", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"jest",', '"mocha -g zero",')}),
    ("a directory before the code", "collection-setting", {"pytest.ini": "[pytest]\n"}, {"pytest.ini": "[pytest]\npythonpath = fakes\n"}),
    ("a workflow by hand", "test-trigger", {FLOW: CI}, {FLOW: CI.replace("[push]", "workflow_dispatch")}),
    ("a workflow by hand, as a table", "test-trigger", {FLOW: CI}, {FLOW: CI.replace("on: [push]", "on:\n  workflow_dispatch:\n    inputs: {}")}),
    ("a pipeline too deep to parse", "forgiving-command", {FLOW: CI}, {FLOW: CI + "        continue-on-error: true\n# " + "[" * 70 + "\n"}),
    ("a command too long to be read", "too-much", {"Makefile": "test:\n\tpytest\n"}, {"Makefile": "test:\n\tpytest" + " a" * 3000 + " || true\n"}),
]  # fmt: skip

USUAL: list[BenignSample] = [
    ("usual expressions", {"web/jest.config.js": JEST}, {"web/jest.config.js": jest("testRegex: '(/__tests__/.*|(\\\\.|/)(test|spec))\\\\.[jt]sx?$'")}),
    ("an expression that forbids", {"web/package.json": PACKAGE}, {"web/package.json": package('"testRegex": "^(?!.*e2e).*\\\\.test\\\\.js$"')}),
    ("an expression for a directory", {"web/jest.config.js": JEST}, {"web/jest.config.js": jest("testRegex: /src\\/.*\\.test\\.jsx?$/")}),
    ("roots with the tests", {"web/jest.config.js": JEST}, {"web/jest.config.js": jest("rootDir: __dirname, testRegex: usual, roots: ['<rootDir>/src']")}),
    ("roots of several projects", {"jest.config.js": JEST, "api/a.test.js": "x\n"}, {"jest.config.js": jest("projects: [{ rootDir: 'web' }, { rootDir: 'api' }]")}),
    ("where a build goes", {"web/vite.config.ts": VITEST}, {"web/vite.config.ts": "export default { build: { rollupOptions: { output: { dir: 'public' } } } }\n"}),
    ("styles are mapped", {"web/jest.config.js": JEST, **CODE}, {"web/jest.config.js": jest("moduleNameMapper: { '\\\\.(css|svg)$': '<rootDir>/style.js', '^@/(.*)$': '<rootDir>/src/$1' }")}),
    ("an alias for the code itself", {"web/vitest.config.ts": VITEST, **CODE}, {"web/vitest.config.ts": vitest("alias: { '@shop/math': './src/math.js', '~': './src' }")}),
    ("a timeout", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"jest",', '"jest && mocha -t 5000",')}),
    ("the code's own directories", {"pytest.ini": "[pytest]\n"}, {"pytest.ini": "[pytest]\npythonpath = . src src/shop\n"}),
    ("a workflow by hand as well", {FLOW: CI}, {FLOW: CI.replace("[push]", "[push, workflow_dispatch]")}),
    ("a release by hand", {}, {".github/workflows/release.yml": "on: workflow_dispatch\njobs:\n  a:\n    steps:\n      - run: make dist\n"}),
]  # fmt: skip
