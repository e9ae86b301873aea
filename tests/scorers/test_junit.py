"""Reports of test runners, read within bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.scorers.junit import MAX_BYTES, ReportError, read_go, read_junit, read_libtest

PYTEST = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4" time="0.1">
<testcase classname="tests.test_a" name="test_good" time="0.001" />
<testcase classname="tests.test_a.TestB" name="test_bad[1]"><failure message="no">trace</failure></testcase>
<testcase classname="tests.test_a" name="test_broken"><error message="oops"/></testcase>
<testcase classname="tests.test_a" name="test_later"><skipped type="pytest.skip" message="x"/></testcase>
</testsuite></testsuites>"""
VITEST = b"""<testsuites name="vitest"><testsuite name="src/app.test.ts" tests="2">
<testcase classname="src/app.test.ts" name="cart &gt; adds"/>
<testcase classname="src/app.test.ts" name="cart &gt; later"><skipped/></testcase>
</testsuite></testsuites>"""
JEST = b"""<testsuites name="jest"><testsuite name="app"><testcase classname="app adds" name="app adds" time="0"/>
<testcase classname="app breaks" name="app breaks"><failure>Error</failure></testcase></testsuite></testsuites>"""
NODE = b"""<testsuites><testsuite name="cart"><testcase name="adds" time="0.1" classname="test"/></testsuite>
<testcase name="alone" classname="test" failure="x">
<failure type="testCodeFailure" message="x"/></testcase></testsuites>"""
SUREFIRE = b"""<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="com.shop.CartTest" tests="3">
<properties><property name="java.version" value="21"/></properties>
<testcase name="adds" classname="com.shop.CartTest"/>
<testcase name="flaky" classname="com.shop.CartTest"><flakyFailure/></testcase>
<testcase name="breaks" classname="com.shop.CartTest">
<rerunFailure/><failure/><system-out>x</system-out></testcase></testsuite>"""
GTEST = b"""<testsuites><testsuite name="Cart"><testcase name="Adds" classname="Cart" status="run" result="completed"/>
<testcase name="Off" classname="Cart" status="notrun" result="suppressed"/></testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (PYTEST, {"tests.test_a::test_good": ["passed"], "tests.test_a.TestB::test_bad[1]": ["failed"],
                  "tests.test_a::test_broken": ["failed"], "tests.test_a::test_later": ["skipped"]}),
        (VITEST, {"src/app.test.ts::cart > adds": ["passed"], "src/app.test.ts::cart > later": ["skipped"]}),
        (JEST, {"app adds::app adds": ["passed"], "app breaks::app breaks": ["failed"]}),
        (NODE, {"test::adds": ["passed"], "test::alone": ["failed"]}),
        (SUREFIRE, {"com.shop.CartTest::adds": ["passed"], "com.shop.CartTest::flaky": ["passed"],
                    "com.shop.CartTest::breaks": ["failed"]}),
        (GTEST, {"Cart::Adds": ["passed"], "Cart::Off": ["skipped"]}),
    ],
    ids=["pytest", "vitest", "jest", "node", "surefire", "gtest"],
)  # fmt: skip
def test_each_runners_dialect(report: bytes, expected: dict[str, list[str]]) -> None:
    """The same three outcomes, whoever wrote the file."""
    assert read_junit(report) == expected


def test_a_test_reported_twice_has_two_outcomes() -> None:
    """Nothing is overwritten: what is reported twice can be seen."""
    text = b'<testsuite><testcase name="a"/><testcase name="a"><failure/></testcase></testsuite>'

    assert read_junit(text) == {"a": ["passed", "failed"]}


def test_further_reports_are_added() -> None:
    """Maven writes a file a class."""
    cases = read_junit(b'<testsuite><testcase name="a"/></testsuite>')

    assert read_junit(b'<testsuite><testcase name="b"/></testsuite>', cases) == {"a": ["passed"], "b": ["passed"]}


def test_a_failure_in_the_output_is_no_failure() -> None:
    """Only a direct child of a test case counts; what was printed is text."""
    text = b'<testsuite><testcase name="a"><system-out><failure/>&lt;failure/&gt;</system-out></testcase></testsuite>'

    assert read_junit(text) == {"a": ["passed"]}


@pytest.mark.parametrize(
    ("report", "why"),
    [
        (b"", "no whole XML"),
        (b"<testsuite><testcase", "no whole XML"),
        (b"<html/>", "no JUnit XML"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><testsuite>&a;</testsuite>', "document type"),
        (b"<testsuite>" + b"<a>" * 200 + b"</a>" * 200 + b"</testsuite>", "nested deeper"),
        (b" " * MAX_BYTES, "larger than"),
        ("<!DOCTYPE x><testsuite/>".encode("utf-16"), "document type"),
    ],
    ids=["empty", "cut", "html", "entities", "deep", "large", "utf-16"],
)
def test_what_cannot_be_read_says_why(report: bytes, why: str) -> None:
    """One line, never half a result."""
    with pytest.raises(ReportError, match=why):
        read_junit(report)


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    """Whatever stands there, it is a result or a reason."""
    try:
        answer: object = read_junit(data)
    except ReportError as error:
        answer = str(error)
    assert answer or answer == {}


def test_go_events() -> None:
    """Tests and subtests by package; its own line and printed text are no tests, but without that line none passed."""
    lines = [
        '{"Action":"run","Package":"shop","Test":"TestAdd"}',
        '{"Action":"output","Package":"shop","Test":"TestAdd","Output":"{\\"Action\\":\\"pass\\"}"}',
        '{"Action":"pass","Package":"shop","Test":"TestAdd"}',
        '{"Action":"fail","Package":"shop","Test":"TestSub/case_1"}',
        '{"Action":"skip","Package":"shop/x","Test":"TestLater"}',
        '{"Action":"fail","Package":"shop"}',
        '{"Action":"pass","Package":"left","Test":"TestEarly"}',
        "# shop [build failed]",
        "{" * 5000,
        '["pass"]',
    ]

    assert read_go(lines) == {
        "shop::TestAdd": ["passed"],
        "shop::TestSub/case_1": ["failed"],
        "shop/x::TestLater": ["skipped"],
        "left::TestEarly": ["failed"],
    }


def test_libtest_lines() -> None:
    """By target, so that two targets may have tests of one name; documentation tests without their line."""
    text = """     Running unittests src/lib.rs (target/debug/deps/kit-1a2b3c)

running 3 tests
test tests::adds ... ok
test tests::breaks ... FAILED
test tests::later ... ignored, takes long
test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
     Running tests/all.rs (target/debug/deps/all-4d5e6f)
test adds ... ok
test panics - should panic ... ok
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
   Doc-tests kit
test src/lib.rs - add (line 7) ... ok
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: FAILED. 1 passed; 1 failed
"""

    assert read_libtest(text.split("\n")) == {
        "src/lib.rs::tests::adds": ["passed"],
        "src/lib.rs::tests::breaks": ["failed"],
        "src/lib.rs::tests::later": ["skipped"],
        "tests/all.rs::adds": ["passed"],
        "tests/all.rs::panics": ["passed"],
        "doc:kit::src/lib.rs - add": ["passed"],
    }


def test_libtest_that_was_left_early_is_no_result() -> None:
    """A test that prints its own line and ends the process leaves no sum behind it."""
    text = "     Running tests/all.rs (target/debug/deps/all-4d5e6f)\nrunning 1 test\ntest adds ... ok\n"

    with pytest.raises(ReportError, match="left early"):
        read_libtest(text.split("\n"))


def test_libtest_counts_what_was_told() -> None:
    """Code that prints a line of its own, and half of another to hide the true one, can't change the sum."""
    text = "     Running tests/all.rs (x)\ntest adds ... ok\n.test adds ... FAILED\ntest subs ... FAILED\n"
    text += "test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"

    with pytest.raises(ReportError, match=r"more tests of tests/all\.rs are said to pass than their sum counts"):
        read_libtest(text.split("\n"))


def test_the_files_of_tests() -> None:
    """Named at a test or at the suite around it; a suite without one says nothing."""
    places: dict[str, set[str]] = {}
    text = (
        b'<testsuites><testsuite file="a.js"><testcase name="x"/><testcase name="y" file="b.js"/></testsuite>'
        b'<testsuite><testcase name="z"/></testsuite></testsuites>'
    )

    read_junit(text, {}, places)

    assert places == {"x": {"a.js"}, "b.js::y": {"b.js"}}
