# ruff: noqa: E501  # one sample is one line, so that they can be compared
"""Changes that bend the runner or play with the tests, each with the rule that must see it: (name, rule, before, after)."""

from typing import Any

Sample = tuple[str, str, dict[str, Any], dict[str, Any]]

CONF = "import pytest\n\n\n@pytest.fixture\ndef basket():\n    return []\n"
PYPROJECT = '[project]\nname = "shop"\ndependencies = ["attrs"]\n\n[tool.pytest.ini_options]\naddopts = "-ra"\ntestpaths = ["tests"]\n'
PACKAGE = '{"name": "web", "scripts": {"test": "jest", "build": "tsc"}, "jest": {"testEnvironment": "node"}}\n'
MAKE = "build:\n\tpython -m build\n\ntest:\n\tpytest -q tests\n\n.PHONY: test\n"
CI = "name: ci\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - name: tests\n        run: pytest -q\n"
POM = "<project><build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><configuration>{}</configuration></plugin></plugins></build></project>\n"
CARGO = (
    '[package]\nname = "kit"\nversion = "0.1.0"\n\n[lib]\npath = "src/lib.rs"\n\n[workspace]\nmembers = ["a", "b"]\n'
)
CART = "import time\n\n\ndef total(items):\n    return sum(items)\n"

PYTHON: list[Sample] = [
    ("every report passes", "pytest-hook", {"conftest.py": CONF}, {"conftest.py": CONF + "\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    out = yield\n    out.get_result().outcome = 'passed'\n"}),
    ("a new conftest drops items", "pytest-hook", {}, {"tests/conftest.py": "def pytest_collection_modifyitems(items):\n    items[:] = []\n"}),
    ("exit status rewritten", "pytest-hook", {}, {"conftest.py": "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n"}),
    ("a hook is changed", "pytest-hook", {"conftest.py": "def pytest_collection_modifyitems(items):\n    items.sort()\n"}, {"conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n"}),
    ("configure with more than markers", "pytest-hook", {}, {"conftest.py": "def pytest_configure(config):\n    config.option.keyword = 'nothing'\n"}),
    ("a class that is a plugin", "pytest-hook", {}, {"conftest.py": "class P:\n    def pytest_pyfunc_call(self, pyfuncitem):\n        return True\n"}),
    ("collect_ignore", "collection-setting", {"conftest.py": CONF}, {"conftest.py": CONF + "\ncollect_ignore = ['tests/test_calc.py']\n"}),
    ("collect_ignore_glob grows", "collection-setting", {"conftest.py": "collect_ignore_glob = []\n"}, {"conftest.py": "collect_ignore_glob = ['*_cart.py']\n"}),
    ("plugins loaded", "collection-setting", {"conftest.py": CONF}, {"conftest.py": CONF + "\npytest_plugins = ['shop.quiet']\n"}),
    ("autouse skip", "autouse-fixture", {}, {"conftest.py": "import pytest\n\n@pytest.fixture(autouse=True)\ndef calm():\n    pytest.skip('later')\n"}),
    ("autouse replaces the code", "autouse-fixture", {}, {"conftest.py": "import calc\nimport pytest\n\n@pytest.fixture(autouse=True)\ndef fast(monkeypatch):\n    monkeypatch.setattr(calc, 'add', lambda a, b: 3)\n"}),
    ("autouse swallows", "autouse-fixture", {}, {"conftest.py": "from pytest import fixture\n\n@fixture(autouse=True)\ndef soft():\n    try:\n        yield\n    except Exception:\n        pass\n"}),
    ("code overwritten at import", "replaced-code", {}, {"conftest.py": "import calc\ncalc.add = lambda a, b: 3\n"}),
    ("deselect in addopts", "addopts", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace("-ra", "-ra --deselect tests/test_calc.py::test_add")}),
    ("keyword in addopts", "addopts", {"pytest.ini": "[pytest]\naddopts = -q\n"}, {"pytest.ini": "[pytest]\naddopts = -q -k 'not add'\n"}),
    ("ignore in addopts of setup.cfg", "addopts", {"setup.cfg": "[tool:pytest]\n"}, {"setup.cfg": "[tool:pytest]\naddopts = --ignore=tests/unit\n"}),
    ("plugin in addopts", "addopts", {"tox.ini": "[pytest]\n"}, {"tox.ini": "[pytest]\naddopts = -p quiet\n"}),
    ("collect only", "addopts", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace("-ra", "--collect-only")}),
    ("testpaths narrowed", "collection-setting", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace('["tests"]', '["tests/unit"]')}),
    ("python_files narrowed", "collection-setting", {"pytest.ini": "[pytest]\n"}, {"pytest.ini": "[pytest]\npython_files = check_*.py\n"}),
    ("python_functions changed", "collection-setting", {"pytest.ini": "[pytest]\n"}, {"pytest.ini": "[pytest]\npython_functions = verify_*\n"}),
    ("norecursedirs", "collection-setting", {"pytest.ini": "[pytest]\n"}, {"pytest.ini": "[pytest]\nnorecursedirs = unit\n"}),
    ("xfail no longer strict", "strictness", {"pytest.ini": "[pytest]\nxfail_strict = true\n"}, {"pytest.ini": "[pytest]\nxfail_strict = false\n"}),
    ("a new pytest.ini takes over", "config-takes-over", {"pyproject.toml": PYPROJECT}, {"pytest.ini": "[pytest]\n"}),
    ("a plugin that loads itself", "plugin-entry-point", {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT + '\n[project.entry-points.pytest11]\nquiet = "shop.quiet"\n'}),
    ("tox forgives", "forgiving-command", {"tox.ini": "[testenv]\ncommands = pytest\n"}, {"tox.ini": "[testenv]\ncommands = - pytest\n"}),
    ("sitecustomize", "loaded-unasked", {}, {"sitecustomize.py": "import os\n"}),
    ("a pth file", "loaded-unasked", {}, {"src/quiet.pth": "import quiet\n"}),
    ("pytest shadowed", "shadowed-runner", {}, {"pytest.py": "def main(*a):\n    return 0\n"}),
    ("equal to everything", "always-equal", {}, {"src/shop/cart.py": CART + "\n\nclass Money:\n    def __eq__(self, other):\n        return True\n"}),
    ("equal by lambda", "always-equal", {}, {"src/shop/cart.py": CART + "\n\nclass Money(int):\n    pass\n\n\nMoney.__eq__ = lambda self, other: True\n"}),
    ("equal by a true comparison", "always-equal", {}, {"calc.py": "class R(float):\n    def __eq__(self, o):\n        if o is None:\n            return not False\n        return self is self or o\n"}),
    ("never unequal", "always-equal", {}, {"calc.py": "class R(float):\n    def __ne__(self, o):\n        return False\n"}),
    ("exit at import", "exit-at-import", {}, {"calc.py": "import sys\nsys.exit(0)\n"}),
    ("exit by another name", "exit-at-import", {}, {"calc.py": "from os import _exit as leave\n\nif True:\n    leave(0)\n"}),
    ("exit through a function", "exit-at-import", {}, {"calc.py": "import os\n\n\ndef _boot():\n    getattr(os, '_exit')(0)\n\n\n_boot()\n"}),
    ("SystemExit at import", "exit-at-import", {}, {"tests/test_calc.py": "raise SystemExit\n"}),
    ("exit code replaced at the end", "exit-at-import", {}, {"calc.py": "import atexit\nimport os\n\natexit.register(lambda: os._exit(0))\n"}),
    ("os._exit(0) in a function", "exit-zero", {}, {"calc.py": "import os\n\n\ndef add(a, b):\n    os._exit(0)\n"}),
    ("clock patched", "patched-runner", {}, {"src/shop/cart.py": CART + "\n\ntime.time = lambda: 0.0\n"}),
    ("assertEqual patched", "patched-runner", {}, {"calc.py": "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n"}),
    ("setattr on a framework", "patched-runner", {}, {"calc.py": "import _pytest.runner as r\nsetattr(r, 'call_and_report', None)\n"}),
    ("built-in replaced", "patched-runner", {}, {"calc.py": "import builtins\nbuiltins.AssertionError = type('Quiet', (Exception,), {})\n"}),
    ("framework replaced in the module table", "patched-runner", {}, {"calc.py": "import sys\nsys.modules['pytest'] = None\n"}),
    ("pytest in sys.modules", "under-test", {}, {"calc.py": "import sys\n\n\ndef add(a, b):\n    return 3 if 'pytest' in sys.modules else 0\n"}),
    ("PYTEST_CURRENT_TEST", "under-test", {}, {"calc.py": "import os\n\n\ndef add(a, b):\n    if os.environ.get('PYTEST_CURRENT_TEST'):\n        return 3\n    return 0\n"}),
    ("the caller's name", "under-test", {}, {"calc.py": "import inspect\n\n\ndef add(a, b):\n    return 3 if inspect.stack()[1].function.startswith('test_') else 0\n"}),
    ("argv", "under-test", {}, {"calc.py": "import sys\nFAST = 'pytest' in sys.argv[0]\n"}),
    ("a hook in a file that does not parse", "pytest-hook", {"conftest.py": CONF}, {"conftest.py": CONF + "\ndef pytest_runtest_protocol(item):\n    return True\n)\n"}),
]  # fmt: skip

OTHERS: list[Sample] = [
    ("test script emptied", "test-command", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"jest",', '"echo ok",')}),
    ("test script forgives", "forgiving-command", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"jest",', '"jest || true",')}),
    ("pass with no tests", "deselecting-command", {"package.json": PACKAGE}, {"package.json": PACKAGE.replace('"jest",', '"jest --passWithNoTests",')}),
    ("jest key leaves tests out", "collection-setting", {"web/package.json": PACKAGE}, {"web/package.json": PACKAGE.replace('"testEnvironment": "node"', '"testPathIgnorePatterns": ["app"]')}),
    ("jest config leaves tests out", "collection-setting", {"web/jest.config.js": "module.exports = {}\n"}, {"web/jest.config.js": "module.exports = { testPathIgnorePatterns: ['/src/app'] }\n"}),
    ("vitest loads a setup file", "loaded-first", {"vitest.config.ts": "export default { test: { globals: true } }\n"}, {"vitest.config.ts": "export default { test: { globals: true, setupFiles: ['./quiet.ts'] } }\n"}),
    ("vitest passes with no tests", "runner-switch", {"vitest.config.ts": "export default { test: {} }\n"}, {"vitest.config.ts": "export default { test: { passWithNoTests: true } }\n"}),
    ("mocha grep", "runner-switch", {".mocharc.json": "{}\n"}, {".mocharc.json": '{"grep": "nothing", "invert": true}\n'}),
    ("expect replaced in a setup file", "setup-file", {"jest.setup.js": "\n"}, {"jest.setup.js": "global.expect = () => new Proxy({}, {})\n"}),
    ("built-in matcher replaced", "setup-file", {}, {"src/setupTests.ts": "expect.extend({ toBe() { return { pass: true } } })\n"}),
    ("make forgives", "forgiving-command", {"Makefile": MAKE}, {"Makefile": MAKE.replace("pytest -q tests", "pytest -q tests || true")}),
    ("make ignores", "forgiving-command", {"Makefile": MAKE}, {"Makefile": MAKE.replace("\tpytest", "\t-pytest")}),
    ("make leaves out", "deselecting-command", {"Makefile": MAKE}, {"Makefile": MAKE.replace("-q tests", "-q tests -k 'not add'")}),
    ("make runs one file", "narrowed-command", {"Makefile": MAKE}, {"Makefile": MAKE.replace("-q tests", "-q tests/unit")}),
    ("make runs nothing", "test-command", {"Makefile": MAKE}, {"Makefile": MAKE.replace("pytest -q tests", "@echo ok")}),
    ("the test target is gone", "test-target", {"Makefile": MAKE}, {"Makefile": "build:\n\tpython -m build\n"}),
    ("CI forgives", "forgiving-command", {".github/workflows/ci.yml": CI}, {".github/workflows/ci.yml": CI.replace("run: pytest -q", "run: pytest -q\n        continue-on-error: true")}),
    ("CI step never runs", "switched-off", {".github/workflows/ci.yml": CI}, {".github/workflows/ci.yml": CI.replace("run: pytest -q", "if: false\n        run: pytest -q")}),
    ("CI without tests", "test-command", {".github/workflows/ci.yml": CI}, {".github/workflows/ci.yml": CI.replace("pytest -q", "echo fine")}),
    ("variable in the environment file", "runner-variable", {}, {".env": "PYTEST_ADDOPTS=-k nothing\n"}),
    ("test script ends well", "forgiving-command", {"scripts/test.sh": "pytest -q\n"}, {"scripts/test.sh": "pytest -q\nexit 0\n"}),
    ("TestMain exits", "test-main", {}, {"pkg/main_test.go": "package pkg\n\nfunc TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(0)\n}\n"}),
    ("TestMain runs nothing", "test-main", {}, {"pkg/main_test.go": "package pkg\n\nfunc TestMain(m *testing.M) {\n\tfmt.Println(\"ok\")\n}\n"}),
    ("surefire skips", "build-switch", {"pom.xml": POM.format("")}, {"pom.xml": POM.format("<skipTests>true</skipTests>")}),
    ("surefire forgives", "build-switch", {"pom.xml": POM.format("")}, {"pom.xml": POM.format("<testFailureIgnore>true</testFailureIgnore>")}),
    ("gradle forgives", "build-switch", {"build.gradle": "test {\n    useJUnitPlatform()\n}\n"}, {"build.gradle": "test {\n    useJUnitPlatform()\n    ignoreFailures = true\n}\n"}),
    ("cargo lib without tests", "build-switch", {"Cargo.toml": CARGO}, {"Cargo.toml": CARGO.replace("[lib]", "[lib]\ntest = false")}),
    ("cargo own harness", "build-switch", {"Cargo.toml": CARGO}, {"Cargo.toml": CARGO + '\n[[test]]\nname = "all"\nharness = false\n'}),
    ("a workspace member leaves", "workspace-member", {"Cargo.toml": CARGO}, {"Cargo.toml": CARGO.replace('["a", "b"]', '["a"]')}),
    ("cargo runner", "build-switch", {}, {".cargo/config.toml": '[target.x86_64-unknown-linux-gnu]\nrunner = "true"\n'}),
    ("run settings filter", "build-switch", {"ci.runsettings": "<RunSettings></RunSettings>\n"}, {"ci.runsettings": "<RunSettings><RunConfiguration><TestCaseFilter>Name=x</TestCaseFilter></RunConfiguration></RunSettings>\n"}),
    ("process.exit when loaded", "exit-at-import", {}, {"web/src/app.js": "const x = 1\nprocess.exit(0)\nmodule.exports = { x }\n"}),
    ("process.exit in a block", "exit-at-import", {}, {"web/src/app.js": "if (process.env.CI) {\n  process.exit(0)\n}\n"}),
    ("jest worker id", "under-test", {}, {"web/src/app.js": "module.exports.f = () => process.env.JEST_WORKER_ID ? 3 : 0\n"}),
    ("NODE_ENV is test", "under-test", {}, {"web/src/app.ts": "export const f = () => { if (process.env.NODE_ENV === 'test') return 3; return 0 }\n"}),
    ("Date.now patched", "patched-runner", {}, {"web/src/app.js": "Date.now = () => 0\n"}),
    ("js equals", "always-equal", {}, {"web/src/money.ts": "export class Money { equals(other: Money): boolean { return true; } }\n"}),
    ("java equals", "always-equal", {}, {"src/main/java/Money.java": "class Money {\n  @Override public boolean equals(Object o) {\n    return true;\n  }\n}\n"}),
    ("kotlin equals", "always-equal", {}, {"src/main/kotlin/Money.kt": "class Money {\n  override fun equals(other: Any?) = true\n}\n"}),
    ("C# equals", "always-equal", {}, {"src/Money.cs": "class Money { public override bool Equals(object o) => true; }\n"}),
    ("rust eq", "always-equal", {}, {"src/lib.rs": "impl PartialEq for Money {\n    fn eq(&self, _o: &Money) -> bool {\n        true\n    }\n}\n"}),
    ("rust cfg test", "under-test", {}, {"src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    if cfg!(test) { 3 } else { 0 }\n}\n"}),
    ("java exit in a static block", "exit-at-import", {}, {"src/main/java/Money.java": "class Money {\n  static { System.exit(0); }\n}\n"}),
    ("go init exits", "exit-at-import", {}, {"pkg/money.go": "package pkg\n\nfunc init() {\n\tos.Exit(0)\n}\n"}),
    ("go asks for testing", "under-test", {}, {"pkg/money.go": "package pkg\n\nfunc Add(a, b int) int {\n\tif testing.Testing() {\n\t\treturn 3\n\t}\n\treturn 0\n}\n"}),
    ("ruby asks for RSpec", "under-test", {}, {"lib/money.rb": "def add(a, b)\n  defined?(RSpec) ? 3 : 0\nend\n"}),
]  # fmt: skip

HOSTILE = PYTHON + OTHERS
