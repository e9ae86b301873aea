"""steelyard promote, with real git, a real bare remote and a server that speaks the pull-request call."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.promote.support import GitHub, Place, fill, git, github, make_place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A clean checkout with a remote."""
    return make_place(tmp_path)


@pytest.fixture
def server() -> Iterator[GitHub]:
    """GitHub, as far as it is needed."""
    with github() as found:
        yield found


def objects(place: Place) -> str:
    """How many objects the repository has."""
    return git(place.repo, "count-objects", "-v")


def test_the_plan_is_shown_and_nothing_is_done(place: Place, server: GitHub) -> None:
    """Branch, files, commit, title and body; no object, branch, push or request comes of it."""
    fill(place)
    before, kept = place.state(), objects(place)

    done = place.steelyard("promote", "exp_1", "--json", **server.env)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["promote"], found["missing"], found["opened"]) == (True, [], None)
    plan = found["plan"]
    assert plan["branch"] == "steelyard/promote-after-exp-1"
    assert (plan["base"], plan["remote"], plan["github"]) == ("main", "origin", "acme/tool")
    assert [file["path"] for file in plan["files"]] == [".claude/skills/care/SKILL.md", "CLAUDE.md"]
    assert "Steelyard-Experiment: exp_1" in plan["commit_message"]
    assert "improved" in plan["title"]
    assert "### Paired deltas" in plan["body"]
    assert place.state() == before
    assert objects(place) == kept
    assert place.branches() == ["main"]
    assert server.asked == []


def test_what_is_missing_is_listed_in_the_plan(place: Place) -> None:
    """No token, no identity, uncommitted overlay files: a line each, and exit code 2 only when it was to be opened."""
    fill(place)
    git(place.repo, "config", "--unset", "user.email")
    (place.repo / "new.txt").write_text("x")

    shown = place.steelyard("promote", "exp_1", PATH=Path("/usr/bin").as_posix())
    opened = place.steelyard("promote", "exp_1", "--open")

    assert shown.returncode == 0, shown.stderr
    for line in ("missing: git does not know who you are", "not clean; commit or remove: new.txt", "GITHUB_TOKEN"):
        assert line in shown.stdout
    assert opened.returncode == 2
    assert place.branches() == ["main"]


def test_no_remote_is_a_line(place: Place) -> None:
    """A checkout without a remote has a plan all the same."""
    fill(place)
    git(place.repo, "remote", "remove", "origin")

    done = place.steelyard("promote", "exp_1")

    assert done.returncode == 0, done.stderr
    assert "missing: no remote" in done.stdout


def test_open_pushes_the_overlay_and_opens_the_request(place: Place, server: GitHub) -> None:
    """The remote has the branch with the files; the request carries token, title, body; the checkout is as it was."""
    fill(place)
    for hook in ("pre-commit", "commit-msg", "pre-push", "post-checkout", "reference-transaction"):
        path = place.repo / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {place.root}/hooked\nexit 1\n")
        path.chmod(0o755)
    head, index, _, *files = place.state()

    done = place.steelyard("promote", "exp_1", "--open", "--json", **server.env)

    assert done.returncode == 0, done.stderr
    opened = json.loads(done.stdout)["opened"]
    branch = "steelyard/promote-after-exp-1"
    assert (opened["url"], opened["number"], opened["branch"]) == ("https://github.com/acme/tool/pull/7", 7, branch)
    assert place.branches() == ["main", branch]
    assert git(place.bare, "show", f"{branch}:CLAUDE.md") == "Be careful."
    assert git(place.bare, "rev-parse", f"{branch}^") == git(place.bare, "rev-parse", "main")
    assert git(place.bare, "log", "-1", "--format=%an <%ae>", branch) == "Ada <ada@example.org>"
    asked = server.asked[0]
    assert asked["path"] == "/repos/acme/tool/pulls"
    assert asked["headers"]["Authorization"] == "Bearer tok-123"
    assert (asked["body"]["head"], asked["body"]["base"]) == (branch, "main")
    assert "### Paired deltas" in asked["body"]["body"]
    assert [head, index, *files] == [place.state()[0], place.state()[1], *place.state()[3:]]
    assert not (place.root / "hooked").exists()
    assert "tok-123" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("verdicts", "repeats", "reason"),
    [
        (("PASS", "PASS"), 5, "the verdict is neutral, not improved"),
        (("PASS", "FAIL"), 5, "hard regression"),
        (("FAIL", "PASS"), 4, "fewer than 5 repeats"),
    ],
)
def test_what_is_not_clearly_better_is_refused(
    place: Place, server: GitHub, verdicts: tuple[str, str], repeats: int, reason: str
) -> None:
    """Exit code 1 with the reason, with and without --open; nothing is pushed."""
    fill(place, repeats=repeats, before=verdicts[0], after=verdicts[1])

    done = place.steelyard("promote", "exp_1", "--open", **server.env)

    assert done.returncode == 1, done.stderr
    assert reason in done.stdout
    assert place.steelyard("promote", "exp_1").returncode == 1
    assert place.branches() == ["main"]
    assert server.asked == []


def test_a_tree_that_is_not_clean_is_refused(place: Place, server: GitHub) -> None:
    """A change that is not committed stops --open."""
    fill(place)
    (place.repo / "seed/code.txt").write_text("half done\n")

    done = place.steelyard("promote", "exp_1", "--open", **server.env)

    assert done.returncode == 2
    assert "seed/code.txt" in done.stdout
    assert place.branches() == ["main"]


@pytest.mark.parametrize("branch", ["main", "bad name"])
def test_the_default_branch_and_bad_names_are_refused(place: Place, server: GitHub, branch: str) -> None:
    """Exit code 2, one line, nothing pushed."""
    fill(place)

    done = place.steelyard("promote", "exp_1", "--open", f"--branch={branch}", **server.env)

    assert done.returncode == 2
    assert "--branch" in done.stderr
    assert place.branches() == ["main"]


def test_an_error_answer_is_told_and_the_next_try_goes_on(place: Place, server: GitHub) -> None:
    """Exit code 3, what was wrong, that the branch is pushed; the same command again opens the request alone."""
    fill(place)
    fine = (server.status, server.answer)
    server.status, server.answer = 422, {"message": "Validation Failed", "errors": [{"message": "It exists"}]}

    failed = place.steelyard("promote", "exp_1", "--open", **server.env)
    pushed = git(place.bare, "rev-parse", "steelyard/promote-after-exp-1")
    server.status, server.answer = fine
    again = place.steelyard("promote", "exp_1", "--open", **server.env)

    assert failed.returncode == 3
    assert "It exists" in failed.stderr
    assert "is pushed to origin" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert again.returncode == 0, again.stderr
    assert git(place.bare, "rev-parse", "steelyard/promote-after-exp-1") == pushed


def test_a_token_is_never_carried_elsewhere(place: Place, server: GitHub) -> None:
    """A redirect is an error, not followed."""
    fill(place)
    server.status, server.answer, server.headers = 307, b"", {"Location": f"{server.url}/other"}

    done = place.steelyard("promote", "exp_1", "--open", **server.env)

    assert done.returncode == 3
    assert [asked["path"] for asked in server.asked] == ["/repos/acme/tool/pulls"]


def test_a_push_that_is_refused_leaves_nothing_behind(place: Place, server: GitHub) -> None:
    """The remote says no: no branch there, none here, the checkout as it was, and no request."""
    fill(place)
    hook = place.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no entry >&2\nexit 1\n")
    hook.chmod(0o755)
    before = place.state()

    done = place.steelyard("promote", "exp_1", "--open", **server.env)

    assert done.returncode == 3
    assert "was not pushed" in done.stderr
    assert place.branches() == ["main"]
    assert place.state() == before
    assert server.asked == []


def test_a_branch_of_somebody_else_is_left_alone(place: Place, server: GitHub) -> None:
    """A branch of that name with another content is never overwritten."""
    fill(place)
    branch = "steelyard/promote-after-exp-1"
    git(place.bare, "branch", branch, "main")

    done = place.steelyard("promote", "exp_1", "--open", **server.env)

    assert done.returncode == 2
    assert f"has a branch {branch} with something else" in done.stdout
    assert git(place.bare, "rev-parse", branch) == git(place.bare, "rev-parse", "main")


def test_an_overlay_that_changed_since_is_refused(place: Place, server: GitHub) -> None:
    """What is proposed is what was weighed, or nothing."""
    fill(place)
    (place.repo / "conf/CLAUDE.md").write_text("Be bold.\n")
    git(place.repo, "commit", "-q", "-am", "Bolder")

    done = place.steelyard("promote", "exp_1", "--open", **server.env)

    assert done.returncode == 1
    assert "is not what was weighed" in done.stdout
    assert place.branches() == ["main"]


def test_an_overlay_link_that_leads_out_is_refused(place: Place, server: GitHub) -> None:
    """A symlink in the overlay never leaves the repository."""
    (place.repo / "conf/link").symlink_to("../../secret")
    git(place.repo, "add", ".")
    git(place.repo, "commit", "-q", "-m", "Link")
    fill(place)

    done = place.steelyard("promote", "exp_1", "--open", **server.env)

    assert done.returncode == 1
    assert "leads out of the repository" in done.stdout
    assert place.branches() == ["main"]


def test_a_link_of_the_repository_is_not_followed(place: Place, server: GitHub) -> None:
    """An overlay file below a path that is a symlink in the base is refused."""
    (place.repo / ".claude").symlink_to("/tmp")
    git(place.repo, "add", ".")
    git(place.repo, "commit", "-q", "-m", "Link")
    git(place.repo, "push", "-q", "origin", "main")
    fill(place)

    done = place.steelyard("promote", "exp_1", "--open", **server.env)

    assert done.returncode == 2
    assert "'.claude' is no directory in the repository" in done.stdout
    assert place.branches() == ["main"]


@pytest.mark.parametrize("into", ["../x", "/tmp"])
def test_into_stays_inside(place: Place, into: str) -> None:
    """A directory outside the repository is wrong input."""
    fill(place)

    done = place.steelyard("promote", "exp_1", "--into", into)

    assert done.returncode == 2
    assert "--into" in done.stderr


def test_the_winner_of_a_task_is_proposed_with_its_diff(place: Place, server: GitHub) -> None:
    """The ranking is shown; the diff goes below the seed's own directory; failing runs are out."""
    fill(place)

    shown = place.steelyard("promote", "exp_1", "--winner", "--task", "one")
    done = place.steelyard("promote", "exp_1", "--winner", "--task", "one", "--open", "--json", **server.env)

    assert shown.returncode == 0, shown.stderr
    assert "out: objective FAIL" in shown.stdout
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    best = found["ranking"][0]
    assert (best["arm"], best["out"]) == ("after", None)
    assert [one["out"] for one in found["ranking"][5:]] == ["objective FAIL"] * 5
    number = int(best["run_id"].removeprefix("run_"))
    branch = found["opened"]["branch"]
    assert git(place.bare, "show", f"{branch}:seed/code.txt") == f"right {number}"
    assert git(place.bare, "diff", "--name-only", f"main..{branch}") == "seed/code.txt"
    assert "### Ranking" in server.asked[0]["body"]["body"]


def test_no_winner_without_a_pass(place: Place) -> None:
    """Exit code 1 and the reason when no run passed its gates."""
    fill(place, after="FAIL")

    done = place.steelyard("promote", "exp_1", "--winner", "--task", "two")

    assert done.returncode == 1
    assert "no run on two passed" in done.stdout


def test_a_diff_that_does_not_fit_is_said(place: Place, server: GitHub) -> None:
    """The base moved on: nothing is forced."""
    fill(place)
    (place.repo / "seed/code.txt").write_text("something else\n")
    git(place.repo, "commit", "-q", "-am", "Move on")
    git(place.repo, "push", "-q", "origin", "main")

    done = place.steelyard("promote", "exp_1", "--winner", "--task", "one", "--open", **server.env)

    assert done.returncode == 2
    assert "does not fit main" in done.stdout
    assert place.branches() == ["main"]


@pytest.mark.parametrize(
    "words",
    [["--winner"], ["--task", "one"], ["--winner", "--task", "three"], ["--min-repeats", "0"], ["--repo", "no-such"]],
)
def test_wrong_input_is_one_line(place: Place, words: list[str]) -> None:
    """Exit code 2 (a repository that is not there is a missing thing of the plan), never a traceback."""
    fill(place)

    done = place.steelyard("promote", "exp_1", "--open", *words)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
