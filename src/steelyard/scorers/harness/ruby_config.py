"""The files that RSpec and Minitest read before the tests."""

import re
from collections.abc import Iterator

from steelyard.scorers.harness.commands import variable_signs
from steelyard.scorers.harness.model import Context, Sign
from steelyard.scorers.harness.other_code import other_signs

_RSPEC = re.compile(
    r"(?m)\b(?:failure_exit_code|error_exit_code)[ \t]*+="
    r"|\b(?:filter_run_excluding|exclusion_filter|filter_run)\b[^\n]{0,200}"
    r"|\bdry_run[ \t]*+=[ \t]*+true|--(?:failure-exit-code|exclude-pattern|pattern|dry-run|example)\b[^\n]{0,100}"
    r"|--tag[ \t]++~[^\n]{0,60}|\bat_exit\b[^\n]{0,100}"
    r"|\bafter_run\b[^\n]{0,60}\bexit[^\n]{0,20}|\.run[ \t]++rescue\b[^\n]{0,60}|:@exception\b|\bset_exception\b"
)


_REQUIRED = re.compile(r"(?m)(?:--require|(?<!\S)-r)[ \t=]*((?:\./|lib/|\.\./)\S*)")
_RAKE = re.compile(r"\b\w+\.(?:pattern|test_files)[ \t]*+=[ \t]*([^\n]{1,200})")


def rakefile_signs(text: str, context: Context) -> Iterator[Sign]:
    """A Rakefile's test task that names single files."""
    del context
    for match in re.finditer(r"\bfail_on_error[ \t]*+=[ \t]*+(?:false|nil)\b", text):
        line = text.count("\n", 0, match.start()) + 1
        yield Sign("forgiving-command", "fail_on_error", match[0], line, "rake forgives failing examples")
    for match in _RAKE.finditer(text):
        if "*" not in match[1] and re.search(r"[\"']", match[1]):
            line = text.count("\n", 0, match.start()) + 1
            yield Sign("collection-setting", "pattern", " ".join(match[0].split()), line, "rake runs fewer tests")


def ruby_helper_signs(text: str, context: Context) -> Iterator[Sign]:
    """What spec_helper.rb, test_helper.rb and .rspec say about which examples run and what a failure is worth."""
    code = re.sub(r"(?m)^[ \t]*+#[^\n]*", "", text)
    for match in _RSPEC.finditer(code):
        if ":focus" not in match[0]:
            line = code.count("\n", 0, match.start()) + 1
            message = "examples are left out, or a failure is no failure"
            yield Sign("runner-switch", match[0].split()[0], " ".join(match[0].split()), line, message)
    for match in _REQUIRED.finditer(code) if context.name == ".rspec" else ():
        line = code.count("\n", 0, match.start()) + 1
        yield Sign("loaded-first", match[1], match[0], line, f"{match[1]} is loaded before the examples")
    if context.path.endswith(".rb"):
        yield from other_signs(text, "ruby", context)
    else:
        yield from variable_signs(text)
