"""Ordinary changes that look like a hiding place and are none: (name, before, after)."""

from tests.scorers.harness.benign import Sample
from tests.scorers.harness.hostile_hidden import BINARY

HONEST: list[Sample] = [
    ("a native module of the project", {}, {"src/shop/_speed.cpython-312-x86_64-linux-gnu.so": BINARY}),
    ("a library of somebody else", {}, {"lib/libshop.so": BINARY, "libs/arm64/libunittest.so": BINARY}),
    ("bytecode of the project", {}, {"src/shop/cart.pyc": BINARY}),
    ("native and named like Python's, in a package", {}, {"src/shop/json.so": BINARY}),
]  # fmt: skip
