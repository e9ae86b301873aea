# ruff: noqa: E501  # one sample is one line, so that they can be compared
"""Changes that hide what bends the runner: in bytecode, behind links, by an encoding, by size: (name, rule, before, after)."""

from tests.scorers.harness.hostile import Sample
from tests.scorers.harness.support import Link

BINARY = b"\x7fELF\0\0\0"

MODULES: list[Sample] = [
    ("bytecode for unittest", "shadowed-runner", {}, {"unittest.pyc": BINARY}),
    ("bytecode for pytest below src", "shadowed-runner", {}, {"src/pytest.pyc": BINARY}),
    ("a native pytest", "shadowed-runner", {}, {"pytest.so": BINARY}),
    ("a native pytest with a tag", "shadowed-runner", {}, {"pytest.cpython-312-x86_64-linux-gnu.so": BINARY}),
    ("a native pytest for Windows", "shadowed-runner", {}, {"pytest.cp312-win_amd64.pyd": BINARY}),
    ("a package of bytecode", "shadowed-runner", {}, {"_pytest/__init__.pyc": BINARY}),
    ("a native module of Python's own name", "shadowed-runner", {}, {"shlex.abi3.so": BINARY}),
    ("a native conftest", "loaded-unasked", {}, {"tests/conftest.so": BINARY}),
    ("bytecode for sitecustomize", "loaded-unasked", {}, {"sitecustomize.pyc": BINARY}),
    ("a package for sitecustomize", "loaded-unasked", {}, {"src/sitecustomize/__init__.py": "\n"}),
    ("a native module in place of a test", "shadowed-runner", {}, {"tests/test_calc.cpython-312-x86_64-linux-gnu.so": BINARY}),
]  # fmt: skip

PLUGIN = "[pytest11]\nquiet = calc\n"
HOOK = "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"

LINKS: list[Sample] = [
    ("a plugin in capital letters", "loaded-unasked", {}, {"Foo-1.0.DIST-INFO/entry_points.txt": PLUGIN}),
    ("a plugin in an egg", "loaded-unasked", {}, {"foo.egg/EGG-INFO/entry_points.txt": PLUGIN}),
    ("a plugin behind a link", "linked-runner-file", {}, {"foo-1.0.dist-info": Link("data"), "data/entry_points.txt": PLUGIN}),
    ("a plugin behind two links", "linked-runner-file", {}, {"foo-1.0.dist-info": Link("./b/x"), "b": Link("data"), "data/x/entry_points.txt": PLUGIN}),
    ("a plugin out of the tree", "linked-runner-file", {}, {"foo-1.0.dist-info": Link("/opt/data")}),
    ("a list of plugins that is a link", "loaded-unasked", {}, {"foo-1.0.dist-info/entry_points.txt": Link("../x.txt"), "x.txt": PLUGIN}),
    ("a conftest that is a link", "linked-runner-file", {}, {"conftest.py": Link("pkg/hooks.txt"), "pkg/hooks.txt": HOOK}),
    ("a conftest that becomes a link", "linked-runner-file", {"conftest.py": "\n"}, {"conftest.py": Link("pkg/hooks.txt"), "pkg/hooks.txt": HOOK}),
    ("settings that are a link", "linked-runner-file", {}, {"pytest.ini": Link("pkg/opts.txt"), "pkg/opts.txt": "[pytest]\naddopts = --co\n"}),
    ("a directory taken for unittest", "linked-runner-file", {}, {"unittest": Link("lib2"), "lib2/__main__.py": "\n"}),
    ("unittest out of the tree", "linked-runner-file", {}, {"unittest": Link("../lib2")}),
    ("a directory taken for node_modules", "linked-runner-file", {}, {"node_modules": Link("deps"), "deps/.bin/jest": "exit 0\n"}),
    ("a directory taken for workflows", "linked-runner-file", {}, {".github/workflows": Link("../ci"), "ci/a.yml": "x: 1\n"}),
    ("a link that loops", "linked-runner-file", {}, {"unittest": Link("other"), "other": Link("unittest")}),
    ("code that is a link to a text", "exit-at-import", {}, {"calc.py": Link("calc.txt"), "calc.txt": "import os\nos._exit(0)\n"}),
]  # fmt: skip

HIDDEN = MODULES + LINKS
