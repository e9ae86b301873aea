"""The plan of a promotion: what would be committed and where, and everything that is missing for it."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from steelyard.errors import InputError
from steelyard.promote.pull_request import Way, choose_way, is_slug, slug_of
from steelyard.promote.repo import GitError, NewFile, Remote, Repo

USUAL_DEFAULTS = ("main", "master")
MOST_NAMED = 5


@dataclass(frozen=True)
class Proposal:
    """What is brought to the repository (files, or a patch below `into`) and its words; `reasons` are against it."""

    branch: str
    title: str
    message: str
    body: str
    files: tuple[NewFile, ...] = ()
    patch: bytes = b""
    into: str = ""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wishes:
    """What the user chose; None is left to us. `home` is where our own store stands."""

    repo: Path
    home: Path
    environ: Mapping[str, str]
    remote: str | None = None
    branch: str | None = None
    base: str | None = None
    github: str | None = None


@dataclass
class Plan:
    """What would be done. `missing` are lines that keep it from being done; with none of them it can be."""

    proposal: Proposal
    wishes: Wishes
    branch: str
    base: str | None = None
    base_commit: str | None = None
    remote: str | None = None
    slug: str | None = None
    way: Way = field(default_factory=Way)
    tree: str | None = None
    pushed: str | None = None  # the commit of an earlier try whose pull request did not open
    changes: list[tuple[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def make_plan(proposal: Proposal, wishes: Wishes) -> Plan:
    """Look at everything and change nothing; `InputError` for a wish that can't be."""
    plan = Plan(proposal, wishes, wishes.branch or proposal.branch, wishes.base)
    check_inside(proposal.into)
    with tempfile.TemporaryDirectory(prefix="steelyard-") as scratch:
        try:
            repo = Repo(wishes.repo, Path(scratch))
        except InputError as error:
            plan.missing.append(str(error))
            return plan
        if not repo.is_branch_name(plan.branch):
            raise InputError(f"--branch {plan.branch!r} is no name that git takes for a branch")
        _identity_and_tree(repo, plan)
        known = _remote(repo, plan)
        _refuse_default(plan, known)
        if known is not None:
            _base(repo, plan, known)
            _way(repo, plan)
            _content(repo, plan, known)
    return plan


def check_inside(into: str) -> None:
    """`InputError` for a directory that is not inside the repository."""
    parts = PurePosixPath(into).parts
    if into.startswith("/") or ".." in parts or any(part.lower() == ".git" for part in parts):
        raise InputError(f"--into {into!r}: a directory inside the repository is expected, without ..")


def _identity_and_tree(repo: Repo, plan: Plan) -> None:
    for name in ("user.name", "user.email"):
        if repo.setting(name) is None:
            plan.missing.append(f"git does not know who you are: git config {name} …")
    try:
        dirty = repo.dirty(plan.wishes.home)
    except GitError as error:
        plan.missing.append(f"the working tree can't be looked at: {error}")
        return
    if dirty:
        more = f" and {len(dirty) - MOST_NAMED} more" if len(dirty) > MOST_NAMED else ""
        plan.missing.append(f"the working tree is not clean; commit or remove: {', '.join(dirty[:MOST_NAMED])}{more}")


def _remote(repo: Repo, plan: Plan) -> Remote | None:
    names = repo.remotes()
    wanted = plan.wishes.remote
    if wanted is not None and wanted not in names:
        raise InputError(f"--remote {wanted}: there is no such remote; there are: {', '.join(names) or 'none'}")
    chosen = wanted or ("origin" if "origin" in names else names[0] if len(names) == 1 else None)
    if chosen is None:
        many = f"several remotes ({', '.join(names)}): choose with --remote" if names else "no remote: git remote add …"
        plan.missing.append(many)
        return None
    plan.remote = chosen
    try:
        return repo.ask(chosen)
    except GitError as error:
        plan.missing.append(f"the remote {chosen} can't be reached: {error}")
        return None


def _refuse_default(plan: Plan, known: Remote | None) -> None:
    default = known.default if known else None
    if plan.branch == default or (default is None and plan.branch in USUAL_DEFAULTS):
        raise InputError(f"--branch {plan.branch}: is the default branch; nothing is ever pushed onto it")
    if plan.branch == plan.base:
        raise InputError(f"--branch {plan.branch}: is the base itself; name another one")


def _base(repo: Repo, plan: Plan, known: Remote) -> None:
    plan.base = plan.base or known.default
    if plan.base is None:
        plan.missing.append(f"{plan.remote} names no default branch: choose the base with --base")
        return
    tip = known.branches.get(plan.base)
    if tip is None and plan.wishes.base is not None:
        raise InputError(f"--base {plan.base}: {plan.remote} has no such branch")
    if tip is None:
        plan.missing.append(f"{plan.remote} has no branch {plan.base} yet: push it first")
        return
    try:
        if repo.commit_id(tip) is None:
            repo.fetch(plan.remote or "", plan.base)
        plan.base_commit = repo.commit_id(tip)
    except GitError as error:
        plan.missing.append(f"{plan.base} can't be fetched from {plan.remote}: {error}")


def _way(repo: Repo, plan: Plan) -> None:
    """Who opens the pull request, and in which repository of GitHub's."""
    url = repo.setting(f"remote.{plan.remote}.url") or ""
    found = slug_of(url)
    environ = plan.wishes.environ
    plan.slug = plan.wishes.github or (found[1] if found else environ.get("GITHUB_REPOSITORY") or None)
    if plan.slug is None:
        plan.missing.append(f"the remote {plan.remote} is not on GitHub: say which repository with --github OWNER/NAME")
    elif not is_slug(plan.slug):
        raise InputError(f"--github {plan.slug[:80]!r}: OWNER/NAME is expected")
    plan.way = choose_way(environ, found[0] if found else "github.com", repo.top)
    if plan.way.missing:
        plan.missing.append(plan.way.missing)


def _content(repo: Repo, plan: Plan, known: Remote) -> None:
    if plan.base_commit is None:
        return
    if not plan.proposal.files and not plan.proposal.patch:
        plan.missing.append("there is nothing to commit")
        return
    try:
        plan.tree = build(repo, plan.proposal, plan.base_commit)
        plan.changes = repo.changed(plan.base_commit, plan.tree)
    except GitError as error:
        plan.missing.append(f"the change does not fit {plan.base}: {error}")
        return
    if not plan.changes:
        plan.missing.append(f"{plan.base} has it already: there is nothing to commit")
    _taken(repo, plan, known)


def _taken(repo: Repo, plan: Plan, known: Remote) -> None:
    """A branch of that name that is there already: ours from an earlier try, or somebody's."""
    there = known.branches.get(plan.branch)
    here = repo.commit_id(f"refs/heads/{plan.branch}")
    if there is not None and _is_ours(repo, plan, there):
        plan.pushed = there
    elif there is not None:
        plan.missing.append(f"{plan.remote} has a branch {plan.branch} with something else: choose another --branch")
    if here is not None and here != plan.pushed:
        plan.missing.append(f"there is a local branch {plan.branch} already: choose another --branch, or delete it")


def _is_ours(repo: Repo, plan: Plan, commit: str) -> bool:
    try:
        if repo.commit_id(commit) is None:
            repo.fetch(plan.remote or "", plan.branch)
        parents = repo.git("rev-list", "--parents", "-n", "1", commit).decode().split()[1:]
        return parents == [plan.base_commit] and repo.tree_of(commit) == plan.tree
    except GitError:
        return False


def build(repo: Repo, proposal: Proposal, base: str) -> str:
    """The tree that would be committed."""
    if proposal.patch:
        return repo.tree_patched(base, proposal.patch, proposal.into)
    return repo.tree_with(base, proposal.files)
