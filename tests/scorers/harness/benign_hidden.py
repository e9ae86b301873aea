# ruff: noqa: E501  # one sample is one line, so that they can be compared
"""Ordinary changes that look like a hiding place and are none: (name, before, after)."""

from tests.scorers.harness.benign import Sample
from tests.scorers.harness.hostile_hidden import BINARY
from tests.scorers.harness.support import Link

HONEST: list[Sample] = [
    ("a native module of the project", {}, {"src/shop/_speed.cpython-312-x86_64-linux-gnu.so": BINARY}),
    ("a library of somebody else", {}, {"lib/libshop.so": BINARY, "libs/arm64/libunittest.so": BINARY}),
    ("bytecode of the project", {}, {"src/shop/cart.pyc": BINARY}),
    ("native and named like Python's, in a package", {}, {"src/shop/json.so": BINARY}),
    ("documents that share a text", {"AGENTS.md": "x\n"}, {"CLAUDE.md": Link("AGENTS.md"), "docs/latest": Link("v2")}),
    ("packages that share settings", {"jest.config.js": "module.exports = {}\n"}, {"web/jest.config.js": Link("../jest.config.js")}),
    ("code that is shared", {}, {"pkg/shop": Link("../src/shop"), "pkg/calc.py": Link("../calc.py")}),
    ("installed packages that are shared", {}, {"web/node_modules": Link("../node_modules")}),
    ("metadata behind a link", {}, {"foo-1.0.dist-info": Link("data"), "data/entry_points.txt": "[console_scripts]\nshop = shop:main\n"}),
    ("an old encoding", {}, {"calc.py": "# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n".encode("latin-1")}),
    ("encodings of Japan and Windows", {}, {"a.py": "# coding: shift_jis\nNAME = '\u8868'\n".encode("shift_jis"), "b.py": "# coding: cp1252\n"}),
    ("an encoding in the third line", {}, {"calc.py": "import os\n\n# coding: rot13\n"}),
    ("an encoding that was odd already", {"calc.py": "# coding: utf-7\nA = 1\n"}, {"calc.py": "# coding: utf-7\nA = 2\n"}),
    ("a table of data", {}, {"src/shop/table.py": "TABLE = [\n" + "    (1, 2, 3),\n" * 100_000 + "]\n"}),
    ("a large bundle", {}, {"web/public/bundle.js": "var a = function () { return 1 }\n" * 40_000}),
]  # fmt: skip
