"""The labelled samples, and that each scorer says what it saw."""

import pytest

from tests.scorers.integrity.build import ASSERTIONS, SKIPS, evidence
from tests.scorers.integrity.samples import Sample, samples

ALL = list(samples())


@pytest.mark.parametrize("sample", ALL, ids=[f"{sample.language}: {sample.kind}" for sample in ALL])
def test_each_sample_is_called_what_it_is(sample: Sample) -> None:
    """A weakened test is seen by the scorer it concerns; an honest edit by neither."""
    change = evidence({sample.path: sample.before}, {sample.path: sample.after})

    grades = {"skips": SKIPS.score(change, None), "assertions": ASSERTIONS.score(change, None)}

    if sample.verdict == "quiet":
        assert {grade.verdict for grade in grades.values()} == {"PASS"}
    else:
        grade = grades[sample.verdict]
        assert grade.verdict == "FAIL"
        assert grade.findings
        assert all(finding.path == sample.path and finding.line for finding in grade.findings)
        assert "line rules" not in grade.detail


def test_every_language_has_samples() -> None:
    """Nine grammars, and each has weakened tests, skips and honest edits."""
    languages = {sample.language for sample in ALL}

    assert languages == {"python", "javascript", "typescript", "go", "java", "kotlin", "ruby", "rust", "csharp"}
    for language in languages:
        assert {s.verdict for s in ALL if s.language == language} == {"skips", "assertions", "quiet"}
