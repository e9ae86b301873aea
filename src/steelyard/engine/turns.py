"""The agent's turns: the task's own, then repairs, within the run's time, money and tokens."""

from dataclasses import dataclass, field

from steelyard.agents.base import Agent, Turn, TurnResult
from steelyard.domain.run import TurnRecord
from steelyard.domain.suite import Task
from steelyard.domain.trajectory import AgentInfo, FinalMetrics, Step, Trajectory
from steelyard.domain.usage import Usage
from steelyard.engine.lab import Job, Lab
from steelyard.errors import AgentError, RunError, boundary
from steelyard.sandboxes.base import Sandbox

ANSWER_LIMIT = 4_000
MOST_RAW = 100


@dataclass
class Session:
    """One agent at work on one task: what was said to it so far, and what it used."""

    agent: Agent
    job: Job
    lab: Lab
    sandbox: Sandbox
    env: dict[str, str]
    deadline: float
    records: list[TurnRecord] = field(default_factory=list)
    results: list[TurnResult] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    error: RunError | None = None

    @property
    def task(self) -> Task:
        """The frozen task."""
        return self.job.task.task

    @property
    def usage(self) -> Usage:
        """What all turns used together; unknown when a turn's part is."""
        total: Usage | None = None
        for record in self.records:
            total = record.usage if total is None else total.plus(record.usage)
        return total or Usage()

    def take_turns(self) -> None:
        """Give the agent its task, turn by turn, until one goes wrong."""
        for number, prompt in enumerate(self.task.prompts):
            if not self.take(self._in_context(prompt, number), kind="task"):
                return

    def _in_context(self, prompt: str, number: int) -> str:
        """A turn's prompt; an agent without a memory of the turns before is told what was said in them."""
        preamble = f"{self.job.arm.preamble}\n\n" if self.job.arm.preamble else ""
        if number == 0:
            return preamble + prompt
        if self.agent.continues or self.agent.plain_turns:
            return prompt
        turns = zip(self.task.prompts, self.records, strict=False)  # as many as were taken
        before = [
            f"You were told:\n\n{said}\n\nYou worked on it in the current directory, and answered:\n\n"
            f"{record.final_response[-ANSWER_LIMIT:].strip() or '(nothing)'}\n\n"
            for said, record in turns
        ]
        return f"{preamble}{''.join(before)}Now you are told:\n\n{prompt}"

    def repair(self, prompt: str) -> bool:
        """Give the agent a failing stage's output; an agent that can't continue gets its task again with it."""
        if not self.agent.continues:
            said = "\n\n".join(self.task.prompts)
            prompt = f"{said}\n\nYou have already worked on this in the current directory.\n\n{prompt}"
        return self.take(prompt, kind="repair")

    def take(self, prompt: str, *, kind: str) -> bool:
        """One turn. False when it did not end normally or a limit was hit."""
        left = self.deadline - self.lab.clock.monotonic()
        if left <= 0:
            self.error = AgentError("agent_timeout", f"the run's {self.task.limits.timeout_s} s are used up")
            return False
        turn = self._turn(prompt, left)
        self.lab.observer.step(self.job.cell, "agent" if kind == "task" else "repair")
        with boundary("internal_error", "running the agent"):
            result = self.agent.run(turn, self.sandbox)
        self.sandbox.kill_all()
        self._keep(result, prompt, kind)
        self.error = result.error or self._over_budget()
        return self.error is None

    def _turn(self, prompt: str, left: float) -> Turn:
        limits, cell = self.task.limits, self.job.cell
        return Turn(
            prompt=prompt,
            task_id=cell.task_id,
            arm=cell.arm,
            repeat=cell.repeat,
            index=len(self.records),
            timeout_s=left,
            session_id=self.results[-1].session_id if self.results else None,
            env=self.env,
            spent=self.usage,
            budget_usd=None if limits.max_cost_usd is None else max(0.0, limits.max_cost_usd - self._known_usd()),
            budget_tokens=None if limits.max_tokens is None else max(0, limits.max_tokens - self._known_tokens()),
        )

    def _keep(self, result: TurnResult, prompt: str, kind: str) -> None:
        self.results.append(result)
        self.records.append(
            TurnRecord(
                kind="task" if kind == "task" else "repair",
                prompt=prompt,
                exit_code=result.exit_code,
                duration_s=result.duration_s,
                usage=result.usage,
                final_response=result.final_response[-20_000:],
                session_id=result.session_id,
                error_class=result.error.error_class if result.error else None,
            )
        )
        steps = result.steps
        if not steps or steps[0].source != "user":  # a transcript of its own begins with the prompt
            steps = (Step(step_id=1, source="user", message=prompt), *steps)
        for step in steps:
            self.steps.append(step.model_copy(update={"step_id": len(self.steps) + 1}))

    def _over_budget(self) -> AgentError | None:
        limits, cost, tokens = self.task.limits, self._known_usd(), self._known_tokens()
        if limits.max_cost_usd is not None and cost > limits.max_cost_usd:
            return AgentError("budget_exceeded", f"used ${cost:.4f} of max_cost_usd {limits.max_cost_usd:g}")
        if limits.max_tokens is not None and tokens > limits.max_tokens:
            return AgentError("budget_exceeded", f"used {tokens} tokens of max_tokens {limits.max_tokens}")
        return None

    def _known_usd(self) -> float:
        return sum(record.usage.cost_usd or 0.0 for record in self.records)

    def _known_tokens(self) -> int:
        return sum(record.usage.known_tokens for record in self.records)

    @property
    def version(self) -> str | None:
        """The agent's version, from the latest turn that tells: some programs are asked at the first one only."""
        return next((result.version for result in reversed(self.results) if result.version), None)

    def trajectory(self) -> Trajectory:
        """All turns as one ATIF document."""
        last, cell = self.results[-1] if self.results else None, self.job.cell
        used = self.usage
        raw = [event for result in self.results for event in result.raw][:MOST_RAW]
        cached = (used.cache_read_tokens, used.cache_write_tokens)
        prompt_tokens = None if used.input_tokens is None else used.input_tokens + sum(part or 0 for part in cached)
        return Trajectory(
            session_id=(last.session_id if last else None) or f"{cell.task_id}-{cell.arm}-{cell.repeat}",
            agent=AgentInfo(
                name=self.agent.type,
                version=self.version or "unknown",
                model_name=(last.model if last else None) or getattr(self.agent, "model", None),
            ),
            steps=tuple(self.steps),
            extra={"unknown_events": raw} if raw else None,
            final_metrics=FinalMetrics(
                total_prompt_tokens=prompt_tokens,
                total_completion_tokens=used.output_tokens,
                total_cached_tokens=used.cache_read_tokens,
                total_cost_usd=used.cost_usd,
                total_steps=len(self.steps),
            ),
        )
