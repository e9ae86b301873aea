"""The gate loop: stages in order; a failure goes back to the agent until its repair turns are used up."""

from collections.abc import Callable

from steelyard.domain.run import StageAttempt
from steelyard.domain.suite import Stage
from steelyard.sandboxes.base import Sandbox, shell

Repair = Callable[[str], bool]  # gives the agent a prompt; False when it could not take the turn


def run_stages(stages: tuple[Stage, ...], repairs: int, sandbox: Sandbox, repair: Repair) -> tuple[StageAttempt, ...]:
    """Run all stages; on the first failure ask for a repair and start over at the first stage."""
    attempts: list[StageAttempt] = []
    left = repairs
    while True:
        failed = _first_failure(stages, sandbox, attempts)
        if failed is None or left == 0 or failed.exit_code == INTERRUPTED:
            return tuple(attempts)
        left -= 1
        command = next(stage.command for stage in stages if stage.name == failed.name)
        if not repair(repair_prompt(failed, command)):
            return tuple(attempts)


INTERRUPTED = -1


def _first_failure(stages: tuple[Stage, ...], sandbox: Sandbox, attempts: list[StageAttempt]) -> StageAttempt | None:
    for stage in stages:
        result = sandbox.exec(shell(stage.command, stage.timeout_s))
        sandbox.kill_all()
        attempt = StageAttempt(
            name=stage.name,
            attempt=1 + sum(one.name == stage.name for one in attempts),
            exit_code=INTERRUPTED if result.interrupted else result.exit_code,
            passed=result.exit_code == 0 and not result.interrupted,
            duration_s=result.duration_s,
            output_tail=result.tail(),
            timed_out=result.timed_out,
        )
        attempts.append(attempt)
        if not attempt.passed:
            return attempt
    return None


def repair_prompt(failed: StageAttempt, command: str) -> str:
    """What the agent is told about a stage that failed."""
    how = "ran out of time" if failed.timed_out else f"exited with code {failed.exit_code}"
    return (
        f"The stage '{failed.name}' failed: `{command}` {how}. Fix the cause in the code, "
        f"not by changing the check.\n\nThe end of its output:\n\n{failed.output_tail}\n"
    )


def all_pass(stages: tuple[Stage, ...], attempts: tuple[StageAttempt, ...]) -> bool:
    """Whether every stage passed in the last round."""
    last = {attempt.name: attempt.passed for attempt in attempts}
    return all(last.get(stage.name, False) for stage in stages)
