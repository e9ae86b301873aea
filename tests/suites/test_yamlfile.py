"""YAML files within bounds: values, places, and files that are made to break readers."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import InputError
from steelyard.suites.problems import SuiteError
from steelyard.suites.yamlfile import MAX_BYTES, read_yaml


def read(directory: Path, text: str | bytes) -> Any:
    """The plain values of a file, when nothing is wrong with it."""
    file = directory / "file.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    node, problems = read_yaml(file)
    problems.stop()
    return node.plain()


def refused(directory: Path, text: str | bytes) -> str:
    """What is said of a file that is refused."""
    with pytest.raises(SuiteError) as caught:
        read(directory, text)
    return str(caught.value).replace(f"{directory}/", "")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("Yes", "Yes"),
        ("on", "on"),
        ("true", True),
        ("FALSE", False),
        ("'true'", "true"),
        ("~", None),
        ("null", None),
        ("''", ""),
        ("2024-01-01", "2024-01-01"),
        ("12:30:45", "12:30:45"),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("+7", 7),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("9223372036854775807", 9223372036854775807),
        ("-9223372036854775807", -9223372036854775807),
        ("0b11", "0b11"),
        ("1.2.3", "1.2.3"),
        ("!!str 12", "12"),
        ("! 12", "12"),
        ("=", "="),
    ],
)
def test_values_follow_the_core_schema(tmp_path: Path, text: str, value: object) -> None:
    """Words and dates are text; only what JSON would know is anything else."""
    found = read(tmp_path, f"- {text}\n")[0]

    assert found == value
    assert type(found) is type(value)


def test_every_value_knows_its_place(tmp_path: Path) -> None:
    """Lines and columns count from 1, in characters, also after other alphabets."""
    file = tmp_path / "file.yaml"
    file.write_text("a:\n  - {ü: 1, b: [x, 😀, y]}\n", encoding="utf-8")

    root, _ = read_yaml(file)

    item = root.value["a"].value[0]
    assert item.at == (2, 5)
    assert item.key_at("b") == (2, 12)
    assert [node.at for node in item.value["b"].value] == [(2, 16), (2, 19), (2, 22)]


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    """Some editors write one."""
    assert read(tmp_path, b"\xef\xbb\xbfa: 1\n") == {"a": 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "file.yaml:1:1: the file is empty"),
        ("# only a remark\n", "file.yaml:1:1: the file is empty"),
        ("a: 1\n---\nb: 2\n", "file.yaml:2:1: a second document starts here"),
        (b"a: 1\nb: caf\xe9\n", "file.yaml:2:7: byte 0xe9 is not UTF-8"),
        ("a: b".encode("utf-16"), "file.yaml:1:1: byte 0xff is not UTF-8"),
        ("a:\n\tb: 1\n", "file.yaml:2:1: not valid YAML: "),
        ("a:\n\tb: 1\n", "; YAML is indented with spaces, never with tabs"),
        ("a:\r\r\tb: [\r", "file.yaml:3:1: not valid YAML: "),
        ("a: 'x\n", "not valid YAML: "),
        ("a: \x00\n", "file.yaml:1:4: not valid YAML: character #x0000 is not allowed"),
        ("ü: \x1b[31m\n", "file.yaml:1:4: not valid YAML: character #x001b is not allowed"),
        ('a: "\\0"\n', "file.yaml:1:4: a: holds a NUL character"),
        ("a: *b\n", "file.yaml:1:4: there is no anchor 'b' before this"),
        ("a: &a [1, *a]\n", "file.yaml:1:11: anchor 'a' holds itself"),
        ("a: &a {b: {<<: *a}}\n", "file.yaml:1:16: anchor 'a' holds itself"),
        ("a: {<<: 3}\n", "must be a mapping or a list of mappings, not 3"),
        ("a: {b: 1, b: 2}\n", "file.yaml:1:11: a.b: this key was given before, at line 1"),
        ("a: [{}, {b: 1, b: 2}]\n", "file.yaml:1:16: a[1].b: this key was given before"),
        ("1: x\n", "file.yaml:1:1: a key must be text, not 1; put it in quotes"),
        ("true: x\n", "a key must be text, not true; put it in quotes"),
        ("? [a, b]\n: x\n", "a key must be text, not a list"),
        ("a: !!python/object/apply:os.system [ls]\n", "is not used in this file; leave it out"),
        ("a: !include other.yaml\n", "tag !include is not used in this file"),
        ("a: .inf\n", "file.yaml:1:4: a: must be a finite number"),
        ("a: -.INF\n", "must be a finite number"),
        ("a: .nan\n", "must be a finite number"),
        ("a: 1e999\n", "must be a finite number"),
        ("a: " + "9" * 5000 + "\n", "a: is a number of more than 63 bits"),
        ("a: 9223372036854775808\n", "a: is a number of more than 63 bits"),
        ("[" * 100_000, "nested more than 50 levels deep"),
        ("{a: " * 100_000, "nested more than 50 levels deep"),
        ("- " * 100_000, "nested more than 50 levels deep"),
    ],
)
def test_a_file_that_cannot_be_read_says_why_and_where(tmp_path: Path, text: str | bytes, expected: str) -> None:
    """One line for each kind of bad file, whatever its author meant."""
    found = refused(tmp_path, text)

    assert expected in found
    assert len(found.splitlines()) == 1


def test_aliases_count_with_all_they_stand_for(tmp_path: Path) -> None:
    """A billion laughs is refused before anything is multiplied."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]

    assert "more than 500,000 values" in refused(tmp_path, "\n".join(lines))


def test_merge_keys_cannot_multiply_either(tmp_path: Path) -> None:
    """The same trick through `<<` meets the same bound."""
    lines = ["a0: &a0 {" + ", ".join(f"k{n}: x" for n in range(100)) + "}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 100)}]}}" for n in range(1, 10)]

    assert "more than 500,000 values" in refused(tmp_path, "\n".join(lines))


def test_more_than_ten_megabytes_are_refused_unread(tmp_path: Path) -> None:
    """The size alone decides; the message says what to do."""
    found = refused(tmp_path, b"a: " + b"x" * MAX_BYTES)

    assert found == "file.yaml: is larger than 10 MB; split it into several files"


def test_a_device_is_not_a_file() -> None:
    """An endless one is not read at all."""
    with pytest.raises(InputError, match="/dev/zero: is not a file"):
        read_yaml(Path("/dev/zero"))


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"#%,?\n\t <~1.e"), max_size=60))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """No text makes anything but a value or a list of mistakes."""
    directory = tmp_path_factory.getbasetemp() / "any"
    directory.mkdir(exist_ok=True)
    try:
        value = read(directory, text)
    except SuiteError as error:
        assert error.problems  # noqa: PT017  # either end is fine, and this one must say something
    else:
        assert isinstance(value, dict | list | str | int | float | bool | None)
