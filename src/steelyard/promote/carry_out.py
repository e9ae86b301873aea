"""Doing what a plan says: commit, push, pull request. A failure leaves the checkout and its branches as they were."""

from dataclasses import dataclass

from steelyard.errors import MeasureError
from steelyard.promote.plan import Plan, build
from steelyard.promote.pull_request import Opened, Request, fitting, open_request
from steelyard.promote.repo import GitError, Repo


@dataclass(frozen=True)
class Done:
    """A promotion that is proposed."""

    branch: str
    commit: str
    opened: Opened
    notes: tuple[str, ...] = ()


def carry_out(plan: Plan) -> Done:
    """Push the branch and open the pull request; `MeasureError` says how far it came."""
    base, remote, slug = plan.base, plan.remote, plan.slug
    if plan.missing or plan.base_commit is None or base is None or remote is None or slug is None:
        raise MeasureError("; ".join(plan.missing) or "the plan is not complete")
    repo = Repo(plan.wishes.repo)
    commit, notes = plan.pushed, []
    if commit is None:
        commit = _pushed(repo, plan, remote, plan.base_commit)
        try:
            repo.make_branch(plan.branch, commit)
        except GitError as error:
            notes.append(f"the branch {plan.branch} was pushed, but not made here: {error}")
    else:
        notes.append(f"the branch {plan.branch} was pushed before; only the pull request was missing")
    request = Request(slug, plan.branch, base, plan.proposal.title, fitting(plan.proposal.body))
    try:
        opened = open_request(request, plan.way, repo.top)
    except MeasureError as error:
        state = f"the branch {plan.branch} is pushed to {remote} (commit {commit[:12]})"
        raise MeasureError(f"{error}; {state}: mend this and use --open again, or open it by hand") from None
    return Done(plan.branch, commit, opened, tuple(notes))


def _pushed(repo: Repo, plan: Plan, remote: str, base: str) -> str:
    try:
        if repo.commit_id(base) is None and plan.base is not None:
            repo.fetch(remote, plan.base)
        commit = repo.commit(build(repo, plan.proposal, base), base, plan.proposal.message)
        repo.push(remote, commit, plan.branch)
    except GitError as error:
        raise MeasureError(f"the branch was not pushed: {error}; no branch was made, here or there") from None
    return commit
