# ruff: noqa: E501  # one sample is one line, so that they can be compared
"""Changes as releases of packages bring them, which bend nothing: name, before, after."""

from tests.scorers.harness.benign import Sample
from tests.scorers.harness.hostile import MAKE

FLOW = ".github/workflows/ci.yml"
STEP = "on: push\njobs:\n  t:\n    steps:\n      - run: go test ./...\n"
HOOK = "def pytest_collection_modifyitems(config, items):\n    a = []\n    items.sort()\n"
SCRIPTS = '{"scripts": {"test": "mocha", "test-travis": "nyc mocha", "coveralls": "nyc report | coveralls"}}\n'
MAIN = 'package a\n\nimport (\n\t"testing"\n\n\t"go.uber.org/goleak"\n)\n\nfunc TestMain(m *testing.M) {\n\tgoleak.VerifyTestMain(m)\n}\n'
CHECK = "x:\n\tpython setup.py check -rms\n\nisort-check:\n\tisort -c .\n\ncoverage:\n\tsphinx-build -b coverage .\n"

RELEASES: list[Sample] = [
    ("one more pipeline runs a part", {FLOW: STEP}, {".github/workflows/nightly.yml": STEP.replace("go test ./...", "pytest -k 'not slow' || true")}),
    ("one more script runs a part", {}, {"ci/run-tests-cpp.sh": "#!/bin/sh\nmvn -Dtest=cpp.* test\nexit 0\n"}),
    ("sending the coverage may fail", {FLOW: STEP}, {FLOW: STEP + "      - uses: codecov/codecov-action@v4\n        continue-on-error: true\n"}),
    ("a benchmark beside the tests", {FLOW: STEP}, {FLOW: STEP + "      - run: go test -run=^$ -benchtime 0.5s -bench=. ./...\n"}),
    ("packages are tested two at once", {FLOW: STEP}, {FLOW: STEP.replace("go test", "go test -p 2")}),
    ("what is installed has changed", {FLOW: STEP + "      - run: pip install pytest pytest-cov\n"}, {FLOW: STEP + "      - run: pip install -r requirements.txt\n"}),
    ("a directory is made for tests", {"Makefile": MAKE}, {"Makefile": MAKE + "\nunittest/.directory:\n\tmkdir -p unittest || exists unittest\n"}),
    ("checks of style are gone", {"Makefile": MAKE + CHECK}, {"Makefile": MAKE}),
    ("a program whose name holds the word", {"Makefile": MAKE}, {"Makefile": MAKE + "\nlibprivatetestgen_la_LINK = libtool --tag=CXX --mode=link\n"}),
    ("a file is looked for in backticks", {"Makefile": MAKE + "\ncheck-x:\n\tpytest x\n"}, {"Makefile": MAKE + "\ncheck-x:\n\td=`test -f x || echo ./`; pytest x\n"}),
    ("spare scripts are gone", {"package.json": SCRIPTS}, {"package.json": '{"scripts": {"test": "mocha"}}\n'}),
    ("a script that only checks the format is gone", {"package.json": '{"scripts": {"prepublishOnly": "npm run format:check"}}\n'}, {"package.json": '{"scripts": {}}\n'}),
    ("tox with other Pythons", {"tox.ini": "[testenv:py{37,38, 39}]\ncommands = pytest\n"}, {"tox.ini": "[testenv:py{310-314}]\ncommands = pytest\n"}),
    ("tox in TOML", {"pyproject.toml": "[tool.tox]\nlegacy_tox_ini = '''\n[testenv]\ncommands = python -m pytest\n'''\n"}, {"pyproject.toml": '[tool.tox.env_run_base]\ncommands = [["python", "-m", "pytest"]]\n'}),
    ("a hook gets types", {"conftest.py": HOOK}, {"conftest.py": HOOK.replace("items)", "items: list[object]) -> None").replace("a =", "a: list[str] =")}),
    ("an option that says it deselects", {}, {"conftest.py": 'def pytest_addoption(parser):\n    """Let the caller deselect tests."""\n    parser.addoption("--quick")\n'}),
    ("a plugin of pytest's own is kept out", {"pytest.ini": "[pytest]\n"}, {"pytest.ini": "[pytest]\naddopts = -p no:legacypath -p pytest_cov\n"}),
    ("the usual name of test functions", {"pytest.ini": "[pytest]\n"}, {"pytest.ini": "[pytest]\npython_functions = test_*\n"}),
    ("a guard with a second condition", {}, {"tests/test_run.py": 'import sys\n\nif __name__ == "__main__" and len(sys.argv) > 2:\n    sys.exit()\n'}),
    ("a test that does not wait", {}, {"tests/test_wait.py": "import time\nfrom unittest import mock\n\n\ndef test_wait():\n    time.sleep = mock.MagicMock()\n"}),
    ("load_tests adds doctests", {}, {"tests/test_docs.py": "import doctest\n\n\ndef load_tests(loader, tests, pattern):\n    tests.addTests(doctest.DocTestSuite('calc'))\n    return tests\n"}),
    ("equality of things without a state", {}, {"src/shop/missing.py": "class Missing:\n    def __eq__(self, other):\n        return isinstance(other, Missing)\n"}),
    ("declared types of a test library", {}, {"src/matchers.d.ts": "import { Assertion } from '@vitest/expect';\nexport { Assertion };\n"}),
    ("a library's own assert", {"lib/check.js": "export function assert(a) {}\n"}, {"lib/check.js": "export function assert(a) {}\nassert.isNumeric = function (a) {};\n"}),
    ("styles are loaded as nothing", {}, {"src/load.js": "require.extensions['.css'] = () => ({});\n"}),
    ("a minified variable of two letters", {}, {"assets/app.js": "a" * 1200 + ";typeof it==1;" + "b" * 1200}),
    ("leaks are looked for after the tests", {}, {"main_test.go": MAIN}),
    ("targets for fuzzing", {}, {"fuzz/Cargo.toml": '[package]\nname = "x-fuzz"\n\n[package.metadata]\ncargo-fuzz = true\n\n[[bin]]\nname = "parse"\ntest = false\n'}),
    ("settings of Rails for tests", {}, {"config/initializers/mail.rb": "Mail.off if Rails.env.test?\n"}),
    ("a Python to come may fail", {".travis.yml": "script: make test\n"}, {".travis.yml": "script: make test\njobs:\n  allow_failures:\n    - python: 3.15-dev\n"}),
    ("a new project of .NET that names its files", {}, {"tests/Fuzz.csproj": "<Project>\n  <EnableDefaultCompileItems>false</EnableDefaultCompileItems>\n</Project>\n"}),
    ("a part of the tests runs on another image", {FLOW: STEP + "      - run: go test -run TestA -exec 'in bash:5.1' ./a\n"}, {FLOW: STEP + "      - run: go test -run TestA -exec 'in bash:5.2' ./a\n"}),
    ("pytest's own plugin for tests of plugins", {"conftest.py": "import os\n"}, {"conftest.py": 'import os\n\npytest_plugins = ["pytester"]\n'}),
    ("a test that chooses its day", {}, {"tests/test_day.py": "import time\n\n\ndef test_day():\n    time.time = lambda: 0\n"}),
    ("strictness by its new name", {"pytest.ini": "[pytest]\nxfail_strict = true\n"}, {"pytest.ini": "[pytest]\nstrict = true\n"}),
    ("a release of a plugin starts by hand", {FLOW: "on: push\njobs:\n  a:\n    if: github.repository == 'a/pytest-a'\n"}, {FLOW: "on: workflow_dispatch\njobs:\n  a:\n    if: github.repository == 'a/pytest-a'\n"}),
]  # fmt: skip
