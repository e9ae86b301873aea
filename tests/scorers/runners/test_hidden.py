"""hidden_tests under jest, vitest and cargo with an agent's own settings: what configures them is the baseline's."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from steelyard.domain.grade import Grade
from steelyard.scorers.hidden_tests import HiddenTests
from tests.scorers.runners.projects import CARGO, JEST, MODULES, VITEST, Project
from tests.scorers.truth import worked

FIRST = "globalThis['expect'] = () => new Proxy({}, { get: () => () => {} })\n"
STRIPS = (
    "module.exports = () => ({ visitor: { ExpressionStatement(path) {\n"
    "  if (path.toString().startsWith('expect(')) path.remove()\n} } })\n"
)
REPLACES = (
    "export default { plugins: [{ name: 'quiet', transform: (code, id) => id.includes('calc.test')\n"
    "  ? code.replaceAll('expect(', '(() => ({ toBe() {}, toEqual() {} }))(') : null }] }\n"
)
SAYS = 'echo "test subs ... ok"; echo; echo "test result: ok. 1 passed"'
RUNNER = f"[target.'cfg(unix)']\nrunner = ['sh', '-c', '{SAYS}']\n"


def graded(project: Project, path: str, change: Mapping[str, str], place: Path, runner_files: str) -> Grade:
    """The project's own tests, hidden under another path or the same."""
    if project.framework in ("jest", "vitest"):
        (place / "tree").mkdir(parents=True)
        (place / "tree/node_modules").symlink_to(MODULES)
    test = next(text for name, text in project.files.items() if name.startswith("tests/"))
    seen = {name: text for name, text in project.files.items() if not name.startswith("tests/")}
    hidden = [{"path": path, "text": test}]
    fields = {"name": "hidden", "framework": project.framework, "command": project.command, "contents": hidden}
    with worked(place, change, seen) as (evidence, sandbox, _tree):
        scorer = HiddenTests.model_validate({**fields, "runner_files": runner_files}, strict=False)
        return scorer.score(evidence, sandbox)


@pytest.mark.parametrize(
    ("project", "path", "change"),
    [
        pytest.param(
            JEST,
            "tests/calc.test.js",
            {"package.json": '{"jest": {"setupFilesAfterEnv": ["./s.js"]}}\n', "s.js": FIRST},
            marks=pytest.mark.runners,
            id="jest: set up",
        ),
        pytest.param(
            JEST,
            "tests/calc.test.js",
            {"config/first.js": "Object.is = () => true\n"},
            marks=pytest.mark.runners,
            id="jest: loaded first",
        ),
        pytest.param(
            JEST,
            "tests/calc.test.js",
            {".babelrc.js": "module.exports = { plugins: ['./p.js'] }\n", "p.js": STRIPS},
            marks=pytest.mark.runners,
            id="jest: Babel",
        ),
        pytest.param(
            VITEST,
            "tests/calc.test.js",
            {"vite.config.js": REPLACES},
            marks=pytest.mark.runners,
            id="vitest: plugin",
        ),
        pytest.param(
            CARGO, "tests/hidden.rs", {".cargo/config.toml": RUNNER}, marks=pytest.mark.cargo, id="cargo: runner"
        ),
    ],
)
def test_an_agents_settings_turn_nothing_green(
    project: Project, path: str, change: dict[str, str], tmp_path: Path
) -> None:
    """What passes under the agent's files fails under the baseline's, because the code was not repaired."""
    bent = graded(project, path, change, tmp_path / "bent", "agent")
    kept = graded(project, path, change, tmp_path / "kept", "baseline")

    assert (bent.verdict, kept.verdict) == ("PASS", "FAIL"), (bent.detail, kept.detail)
    assert "subs" in kept.detail


@pytest.mark.parametrize(
    ("project", "path"),
    [
        pytest.param(JEST, "tests/calc.test.js", marks=pytest.mark.runners, id="jest"),
        pytest.param(VITEST, "tests/calc.test.js", marks=pytest.mark.runners, id="vitest"),
        pytest.param(CARGO, "tests/hidden.rs", marks=pytest.mark.cargo, id="cargo"),
    ],
)
def test_a_good_change_passes(project: Project, path: str, tmp_path: Path) -> None:
    """Under the baseline's runner files repaired code passes."""
    grade = graded(project, path, {project.source: project.fixed()}, tmp_path, "baseline")

    assert grade.verdict == "PASS", grade
