"""Opening a run's sandboxes and setting them up."""

from contextlib import ExitStack
from pathlib import Path

from steelyard.engine.lab import Job, Lab
from steelyard.errors import InfraError, boundary
from steelyard.sandboxes.base import Sandbox, SandboxSpec, shell


def open_sandbox(job: Job, lab: Lab, tree: Path, scratch: Path, stack: ExitStack) -> Sandbox:
    """A sandbox around a tree, closed when the stack is."""
    task = job.task.task
    scratch.mkdir(parents=True, exist_ok=True)
    dockerfile = str(lab.suite_root / task.dockerfile) if task.dockerfile else None
    spec = SandboxSpec(
        run_id=scratch.parent.name,
        tree=tree,
        scratch=scratch,
        limits=task.limits,
        image=task.image,
        dockerfile=dockerfile,
    )
    with boundary("sandbox_error", f"opening the {lab.provider.type} sandbox"):
        sandbox = lab.provider.open(spec)
    stack.callback(sandbox.close)
    return sandbox


def run_setup(commands: tuple[str, ...], timeout_s: float, sandbox: Sandbox) -> None:
    """The scenario's own set-up, before the agent sees anything; its failure is nobody's arm's."""
    for command in commands:
        result = sandbox.exec(shell(command, timeout_s))
        if result.interrupted:
            raise InfraError("interrupted", "stopped during setup")
        if result.exit_code != 0:
            tail = " ".join(result.tail(400).split()) or "it printed nothing"
            raise InfraError("setup_failed", f"setup `{command}` exited with {result.exit_code}: {tail}")
    if commands:
        sandbox.kill_all()
