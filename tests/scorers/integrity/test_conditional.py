"""Checks that stand where they stood, but under a condition that is new."""

import pytest

from tests.scorers.integrity.build import ASSERTIONS, evidence
from tests.scorers.integrity.test_red_team import CHECKS, HEADS, failed

WRAPPED = [
    ("calc.test.js", "    if (process.env.FULL) {\n", "    }\n"),
    ("calc.test.js", "    if (cart) ", ""),
    ("calc.test.js", "    cart.ready && ", ""),
    ("calc.test.js", "    cart.ready ? ", " : null\n"),
    ("calc.test.js", "    switch (mode) { case 'full':\n", "    }\n"),
    ("calc.test.js", "    while (cart.full) {\n", "      break\n    }\n"),
    ("calc.test.js", "    if (cart.large) {\n", "    } else {\n      expect(true).toBe(true)\n    }\n"),
    ("calc.test.js", "    if (slow) {\n      console.log('slow')\n      return\n    }\n", ""),
    ("calc.test.js", "    if (slow) return done()\n", ""),
    ("calc_test.go", "\tif testing.Verbose() {\n", "\t}\n"),
    ("calc_test.go", "\tswitch runtime.GOOS {\n\tcase odd:\n", "\t}\n"),
    ("calc_test.go", "\tfor cart.Full {\n", "\t\tbreak\n\t}\n"),
    ("calc_test.go", '\tif short {\n\t\tt.Log("short")\n\t\treturn\n\t}\n', ""),
    ("CalcTest.java", "        if (Boolean.getBoolean(full)) {\n", "        }\n"),
    ("CalcTest.java", "        if (slow) { return; }\n", ""),
    ("tests/calc.rs", "    if std::env::var(name).is_ok() {\n", "    }\n"),
    ("tests/calc.rs", '    #[cfg(target_os = "redox")]\n', ""),
    ("tests/calc.rs", "    let Some(_) = known else { return };\n", ""),
    ("tests/calc.rs", "    match known {\n        Some(_) => {\n", "        }\n        None => {}\n    }\n"),
    ("calc_test.rb", "    unless RUBY_PLATFORM\n", "    end\n"),
    ("calc_test.rb", "    cart.ready? and ", ""),
    ("calc_test.rb", "    return unless cart.ready?\n", ""),
    ("calc_test.rb", "    case mode\n    when :full\n", "    end\n"),
    ("CalcTests.cs", "        if (Debugger.IsAttached) {\n", "        }\n"),
    ("CalcTests.cs", "#if NETFRAMEWORK\n", "#endif\n"),
]


@pytest.mark.parametrize(("path", "first", "last"), WRAPPED)
def test_a_check_that_is_made_only_at_times_is_found(path: str, first: str, last: str) -> None:
    """Whatever the condition is: before, the check was made each time."""
    assert failed(path, first + CHECKS[path] + last)


@pytest.mark.parametrize(("path", "first", "last"), WRAPPED)
def test_a_condition_that_goes_or_stays_is_none(path: str, first: str, last: str) -> None:
    """What was made at times is now made each time, or at the same times as before."""
    wrapped = first + CHECKS[path] + last

    assert not failed(path, wrapped + "\n", base=wrapped)
    if "expect(true)" not in last:
        assert not failed(path, CHECKS[path], base=wrapped)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("calc.test.js", "    if (odd) {\n      expect(total(cart)).toBe(12)\n    } else {\n      throw odd\n    }\n"),
        ("calc.test.js", "    if (!cart) {\n      throw new Error('none')\n    }\n    expect(total(cart)).toBe(12)\n"),
        ("calc.test.js", "    for (const x of carts) {\n      expect(total(cart)).toBe(12)\n    }\n"),
        ("calc.test.js", "    const big = cart ? 1 : 2\n    expect(total(cart)).toBe(12)\n"),
        ("calc_test.go", '\tif cart == nil {\n\t\tt.Fatal("none")\n\t}\n' + CHECKS["calc_test.go"]),
        ("calc_test.go", "\tfor _, tc := range cases {\n" + CHECKS["calc_test.go"] + "\t}\n"),
        ("CalcTest.java", "        for (int i = 0; i < 3; i++) {\n" + CHECKS["CalcTest.java"] + "        }\n"),
        ("tests/calc.rs", "    match known {\n  Some(_) => assert_eq!(total(&cart), 12),\n  _ => panic!(),\n    }\n"),
        ("tests/calc.rs", "    #[allow(clippy::all)]\n    assert_eq!(total(&cart), 12);\n"),
        ("calc_test.rb", "    raise 'none' unless cart\n    assert_equal 12, total(cart)\n"),
        ("calc_test.rb", "    if odd\n      raise odd\n    else\n      assert_equal 12, total(cart)\n    end\n"),
        ("CalcTests.cs", "        if (odd) { Assert.AreEqual(13, Total(cart)); return; }\n" + CHECKS["CalcTests.cs"]),
    ],
)  # fmt: skip
def test_an_edit_under_which_something_still_fails_passes(path: str, body: str) -> None:
    """The other branch fails or asserts too, or the check is made for each of several cases."""
    assert not failed(path, body)


def test_the_finding_says_what_it_was_and_is() -> None:
    """File, line, test, before and after."""
    path = "calc.test.js"
    head, end = HEADS[path]
    wrapped = f"    if (cart) {{\n  {CHECKS[path]}    }}\n"
    change = evidence({path: head + CHECKS[path] + end}, {path: head + wrapped + end})

    (finding,) = ASSERTIONS.score(change, None).findings

    assert (finding.path, finding.line, finding.rule, finding.test) == (path, 5, "conditional", "calc > adds")
    assert finding.before == "expect(total(cart)).toBe(12)"
    assert finding.after == "if … expect(total(cart)).toBe(12)"
