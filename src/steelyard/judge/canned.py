"""canned: answers that were written before, for tests, demos and trying things out. It asks nobody."""

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationError

from steelyard.domain.grade import FactCheck, FailureMode
from steelyard.domain.record import Record
from steelyard.domain.usage import Usage
from steelyard.errors import InputError
from steelyard.judge.base import Judge, JudgeRequest, Line, Reply

Rating = Literal[1, 2, 3, 4, 5]
LARGEST_FILE = 1024 * 1024


class Answer(Record):
    """One answer and the runs it is for: `task` and `arm` are globs, `objective` is what the programs said.

    `text` is the whole reply, word for word, whatever it is; without it the reply is made of the other fields.
    `prefer`, a glob of arms, answers which of two runs is better; it is for pairs only.
    """

    task: str = "*"
    arm: str = "*"
    repeat: int | None = None
    objective: Literal["PASS", "FAIL", "N/A"] | None = None
    verdict: Literal["PASS", "FAIL"] = "PASS"
    task_completion: Rating = 5
    instruction_adherence: Rating = 5
    efficiency: Rating = 5
    failure_mode: FailureMode | None = None
    fact_checks: tuple[FactCheck, ...] = ()
    reasoning: str = "A canned answer."
    text: str | None = None
    prefer: str | None = None

    def fits(self, request: JudgeRequest) -> bool:
        """Whether this answer is for that run, or for that pair of runs."""
        about = request.about
        if self.text is None and (self.prefer is None) != (about.rival is None):
            return False
        return (
            fnmatchcase(about.task_id, self.task)
            and fnmatchcase(about.arm, self.arm)
            and self.repeat in (None, about.repeat)
            and self.objective in (None, about.objective)
        )


class CannedJudge(Judge):
    """Gives the first of its `answers` that fits; when none does, it agrees with the programs.

    `file` names a YAML or JSON list of answers beside the suite; it is read when the suite is.
    """

    type: Literal["canned"] = "canned"
    model: str | None = "canned"
    concurrency: int = Field(default=64, ge=1, le=1000, description="how many answers may be given at once")
    answers: tuple[Answer, ...] = Field(default=(), description="what it answers, the first that fits")
    file: str | None = Field(default=None, description="a file with more answers, relative to the suite")

    asks_a_model: ClassVar[bool] = False

    def open(self, env: Mapping[str, str]) -> Line:
        """Nobody is asked."""
        del env
        return _CannedLine(self)

    def resolved(self, root: Path) -> "CannedJudge":
        """This judge with its file read in, ready to freeze."""
        if self.file is None:
            return self
        return self.model_copy(update={"answers": (*self.answers, *_read(root / self.file)), "file": None})


def _read(path: Path) -> tuple[Answer, ...]:
    import yaml

    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise InputError(f"{path}: is larger than {LARGEST_FILE} bytes")
        listed: Any = yaml.safe_load(data)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(listed, list):
        raise InputError(f"{path}: must be a list of answers")
    answers = []
    for index, item in enumerate(listed):
        try:
            answers.append(Answer.model_validate(item, strict=False))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(step) for step in first["loc"]) or "answer"
            raise InputError(f"{path}: [{index}].{where}: {first['msg']}") from error
    return tuple(answers)


class _CannedLine(Line):
    def __init__(self, judge: CannedJudge) -> None:
        self._judge = judge

    def ask(self, request: JudgeRequest) -> Reply:
        """The answer that fits, as a model would write it."""
        usage = Usage(input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0, cost_usd=0.0)
        answer = next((one for one in self._judge.answers if one.fits(request)), None) or _agreeing(request)
        text = answer.text
        if text is None and request.about.rival is not None:
            said = {"case": request.case, "reasoning": answer.reasoning, "better": _better(answer, request)}
            text = json.dumps(said, ensure_ascii=False)
        if text is None:
            fields = answer.model_dump(mode="json", exclude={"task", "arm", "repeat", "objective", "text", "prefer"})
            if answer.verdict == "FAIL" and answer.failure_mode is None:
                fields["failure_mode"] = "other"
            text = json.dumps({"case": request.case, **fields}, ensure_ascii=False)
        return Reply(text.replace("{case}", request.case), None, self._judge.model_name, usage)


def _better(answer: Answer, request: JudgeRequest) -> str:
    """The side whose arm is preferred; a tie when that is neither or both."""
    sides = (("X", request.about.arm), ("Y", request.about.rival or ""))
    liked = [side for side, arm in sides if answer.prefer is not None and fnmatchcase(arm, answer.prefer)]
    return liked[0] if len(liked) == 1 else "tie"


def _agreeing(request: JudgeRequest) -> Answer:
    """What somebody says who has only read the programs' result."""
    if request.about.objective != "FAIL":
        return Answer(reasoning="The programs found nothing wrong.")
    return Answer(
        verdict="FAIL",
        task_completion=2,
        efficiency=3,
        failure_mode="incomplete",
        reasoning="The programs found it wanting.",
    )
