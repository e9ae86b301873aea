"""The one path of a run: seed, snapshot, agent, stages, diff, scorers, judge, and what is handed over to be stored."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard import plugins
from steelyard.agents.base import Agent
from steelyard.domain.diff import printable
from steelyard.domain.evidence import Evidence
from steelyard.domain.experiment import Finished
from steelyard.domain.grade import JudgeResult, ScorerResult
from steelyard.domain.run import Run, StageAttempt
from steelyard.domain.usage import Resources, Usage
from steelyard.engine.boxes import open_sandbox, run_setup
from steelyard.engine.grading import grade_tree
from steelyard.engine.lab import Job, Lab, instant
from steelyard.engine.parity import parity_of
from steelyard.engine.stages import INTERRUPTED, all_pass, run_stages
from steelyard.engine.turns import Session
from steelyard.errors import AgentError, InfraError, InputError, RunError, boundary
from steelyard.formulas.outcome import Ending, outcome
from steelyard.sandboxes.base import Sandbox
from steelyard.scorers.panel import ungraded
from steelyard.worktree.diff import CapturedChange, capture
from steelyard.worktree.remove import remove_tree
from steelyard.worktree.snapshot import Baseline, take_baseline


@dataclass
class Book:
    """What is known of a run while it goes on; whatever step fails, this is what is stored."""

    job: Job
    run_id: str
    started_at: str
    timings: dict[str, float] = field(default_factory=dict)
    session: Session | None = None
    stages: tuple[StageAttempt, ...] = ()
    change: CapturedChange | None = None
    baseline: Baseline | None = None
    scorers: tuple[ScorerResult, ...] = ()
    judge: JudgeResult | None = None
    resources: Resources = Resources()
    error: RunError | None = None
    notes: list[str] = field(default_factory=list)


def execute(job: Job, lab: Lab) -> Finished:
    """Run one cell to its end. A failure at any step is a recorded state, never an exception."""
    lab.observer.started(job.cell)
    book = Book(job, lab.new_id(), instant(lab.clock.now()))
    scratch = lab.scratch / book.run_id
    try:
        with boundary("internal_error", "running"), ExitStack() as stack:
            _follow_the_path(book, lab, scratch, stack)
    except InputError as error:  # a seed that can't be planted, say: this cell has no run, the others go on
        book.error = InfraError("setup_failed", str(error))
    except RunError as error:
        book.error = error
        if isinstance(error, AgentError) and book.baseline is not None and not book.scorers:
            # A tree that can't be read or graded fails its checks: without them it would look like a perfect run.
            scorers = [plugins.build("scorers", spec) for spec in job.task.task.scorers]
            book.scorers = ungraded(scorers, f"not graded: {error}", job.task.task)
    finally:
        remove_tree(scratch)
    return close(book, lab)


def _follow_the_path(book: Book, lab: Lab, scratch: Path, stack: ExitStack) -> None:
    task = book.job.task.task
    agent: Agent = plugins.build(book.job.shelf, book.job.arm.agent)
    env = _named_variables(book.job, lab)
    if lab.provider.type != "docker" and (missing := agent.check(env)) is not None:
        raise InfraError("agent_unavailable", missing)
    with timed(book, lab, "seed"):
        sandbox = _seeded(book, lab, scratch, stack)
    deadline = lab.clock.monotonic() + task.limits.timeout_s
    session = book.session = Session(agent, book.job, lab, sandbox, env, deadline)
    with timed(book, lab, "agent"):
        session.take_turns()
    if session.error is None and task.gates:
        with timed(book, lab, "stages"):
            lab.observer.step(book.job.cell, "stages")
            book.stages = run_stages(task.gates, task.max_repair_loops, sandbox, session.repair)
    book.error = session.error or _interruption(book.stages)
    book.resources = sandbox.meter()  # whatever a turn or a stage left running was killed at its end
    book.notes += sandbox.notes
    if task.is_ledger:
        if book.error is None or isinstance(book.error, AgentError):
            _judge(book, lab, Evidence(task=task))
        return
    with timed(book, lab, "diff"), boundary("sandbox_error", "reading the tree"):
        assert book.baseline is not None  # noqa: S101  # a coding run always has one by now
        book.change = capture(sandbox.collect_tree(), book.baseline, scratch / "kept", lab.patches)
    if book.error is not None and not isinstance(book.error, AgentError):
        return
    _grade(book, lab, scratch, sandbox)


def _seeded(book: Book, lab: Lab, scratch: Path, stack: ExitStack) -> Sandbox:
    """The tree, its sandbox, the user's set-up, and the baseline that everything is measured against."""
    task, arm = book.job.task.task, book.job.arm
    tree = scratch / "tree"
    template = None
    with boundary("sandbox_error", "preparing the tree"):
        scratch.mkdir(parents=True, mode=0o700)
        if task.seed is not None:
            overlay = lab.suite_root / arm.overlay if arm.overlay else None
            template = lab.templates.get(task.seed, lab.suite_root, overlay)
            template.copy_to(tree)
        else:
            tree.mkdir()
    sandbox = open_sandbox(book.job, lab, tree, scratch / "box", stack)
    run_setup(task.setup, task.limits.timeout_s, sandbox)
    if template is not None:
        with boundary("sandbox_error", "taking the baseline"):
            book.baseline = template.baseline
            if task.setup:
                book.baseline = take_baseline(sandbox.collect_tree(), scratch / "base", over=template.baseline)
    return sandbox


def _named_variables(job: Job, lab: Lab) -> dict[str, str]:
    missing = [name for name in job.arm.env if name not in lab.environ]
    if missing:
        raise InfraError(
            "auth_failed", f"the arm's env names {', '.join(missing)}, not set here; export it and --resume"
        )
    return {name: lab.environ[name] for name in job.arm.env}


def _interruption(stages: tuple[StageAttempt, ...]) -> RunError | None:
    stopped = any(attempt.exit_code == INTERRUPTED for attempt in stages)
    return InfraError("interrupted", "stopped during the stages") if stopped else None


def _grade(book: Book, lab: Lab, scratch: Path, sandbox: Sandbox) -> None:
    task, session, change = book.job.task.task, book.session, book.change
    assert session is not None and change is not None and book.baseline is not None  # noqa: S101, PT018  # set before
    evidence = Evidence(
        task=task,
        diff=change.diff,
        before=change.before,
        after=change.after,
        baseline_files=change.baseline_files,
        trajectory=session.trajectory(),
        final_response=session.records[-1].final_response if session.records else "",
        stages=book.stages,
        command_output=session.results[-1].stderr.text()[-20_000:] if session.results else "",
        exit_code=session.results[-1].exit_code if session.results else None,
    )
    with timed(book, lab, "scorers"):
        lab.observer.step(book.job.cell, "scorers")
        book.scorers = grade_tree(evidence, change, book.job, lab, sandbox, scratch / "fresh")
    crashed = [result.name for result in book.scorers if result.crashed and not result.quarantined]
    if crashed and book.error is None:
        book.error = InfraError("internal_error", f"a scorer broke: {', '.join(crashed)}; its detail says how")
    _judge(book, lab, replace(evidence, scorers=book.scorers))


def _judge(book: Book, lab: Lab, evidence: Evidence) -> None:
    if lab.judge is None or not book.job.task.task.judge.enabled or book.session is None:
        return
    if evidence.trajectory is None:
        last = book.session.records[-1] if book.session.records else None
        evidence = replace(
            evidence,
            trajectory=book.session.trajectory(),
            final_response=last.final_response if last else "",
            exit_code=last.exit_code if last else None,
        )
    with timed(book, lab, "judge"):
        lab.observer.step(book.job.cell, "judge")
        book.judge = lab.judge(evidence, book.job)


@contextmanager
def timed(book: Book, lab: Lab, name: str) -> Iterator[None]:
    """How long a step took, also when it failed."""
    started = lab.clock.monotonic()
    try:
        yield
    finally:
        book.timings[name] = round(lab.clock.monotonic() - started, 6)


def close(book: Book, lab: Lab) -> Finished:
    """The run as it is stored, from what the book knows."""
    job, session, change, error = book.job, book.session, book.change, book.error
    task = job.task.task
    records = tuple(session.records) if session else ()
    files = change.diff.changed_files if change else ()
    response = records[-1].final_response if records else ""
    if error is None and records and not files and not response.strip():
        what = "saying anything" if task.is_ledger else "changing a file or saying anything"
        error = AgentError("agent_no_output", f"the agent ended without {what}")
    interrupted = error is not None and error.error_class == "interrupted"
    usable = bool(response.strip()) if task.is_ledger else bool(files)
    passing = all_pass(task.gates, book.stages) if task.gates else None
    run = Run(
        run_id=book.run_id,
        experiment=job.experiment,
        workspace=job.workspace,
        task_id=job.cell.task_id,
        arm=job.cell.arm,
        repeat=job.cell.repeat,
        task_sha256=job.task.sha256,
        status="interrupted" if interrupted else "failed" if error is not None else "completed",
        outcome=outcome(Ending(usable, error is None, passing, book.scorers)),
        error_class=error.error_class if error else None,
        error_detail=str(error) if error else None,
        started_at=book.started_at,
        finished_at=instant(lab.clock.now()),
        wall_s=sum(turn.duration_s for turn in records) + sum(stage.duration_s for stage in book.stages),
        timings=book.timings,
        attempt=job.attempt,
        is_ledger=task.is_ledger,
        final_response=response,
        turns=records,
        stages=book.stages,
        scorers=book.scorers,
        judge=book.judge,
        changed_files=tuple(printable(path) for path in files),
        added_lines=sum(len(one.added) for one in change.diff.files) if change else None,
        removed_lines=sum(len(one.removed) for one in change.diff.files) if change else None,
        usage=session.usage if session else _nothing_used(),
        resources=book.resources,
        parity=parity_of(job, lab, session),
        baseline_tree=book.baseline.tree_id if book.baseline else None,
        notes=tuple(book.notes) + tuple(note for one in (session.results if session else ()) for note in one.notes),
    )
    return Finished(run=run, blobs=_blobs(book), secrets=tuple(session.env.values()) if session else ())


def _nothing_used() -> Usage:
    return Usage(
        input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0, cost_usd=0.0, steps=0, tool_calls=0
    )


def _blobs(book: Book) -> dict[str, bytes]:
    """What is kept beside the record, by name."""
    blobs: dict[str, bytes] = {}
    if book.change is not None:
        blobs["diff"] = book.change.diff.patch
    if book.session is not None:
        blobs["trajectory"] = book.session.trajectory().model_dump_json(exclude_none=True).encode()
        blobs["stdout"] = "".join(result.stdout.text() for result in book.session.results).encode()
        blobs["stderr"] = "".join(result.stderr.text() for result in book.session.results).encode()
    return {name: data for name, data in blobs.items() if data}
