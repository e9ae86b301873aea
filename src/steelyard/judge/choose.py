"""Who judges: the command line's word first, then the suite's, then the first backend that is available."""

import threading
from collections.abc import Callable, Mapping, Sequence

from steelyard import plugins
from steelyard.domain.suite import JudgeSpec
from steelyard.errors import InputError
from steelyard.judge.base import Judge

AUTO = ("anthropic", "claude-cli", "openai")
NOBODY = "none"


class Choice:
    """Chooses judges for tasks. `name` is auto, none or a backend; `model` overrides the suite's.

    A backend that the command line names must be available (`InputError`). One that only the suite names, or that was
    looked for, is left out when it is not, and `note` hears once why.
    """

    def __init__(self, name: str, model: str | None, env: Mapping[str, str], note: Callable[[str], None]) -> None:
        self._name, self._model, self._env, self._note = name, model, env, note
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self._auto: str | None = None
        if name not in ("auto", NOBODY):
            if name not in plugins.names("judges"):
                allowed = ", ".join(["auto", NOBODY, *plugins.names("judges")])
                raise InputError(f"--judge {name}: there is no such judge; allowed: {allowed}")
            missing = self._built(name, model).check(env)
            if missing is not None:
                raise InputError(f"--judge {name}: {missing}; or run with --judge none")

    def look(self, specs: Sequence[JudgeSpec]) -> bool:
        """Whether anybody will judge any of these tasks: says now what is missing, before a run is under way."""
        return bool([spec for spec in specs if spec.enabled and self.seats(spec)])

    def seats(self, spec: JudgeSpec) -> tuple[Judge, ...]:
        """The judges of a task; empty when nobody judges it."""
        named = self._name if self._name != "auto" else spec.backend or "auto"
        if self._name == NOBODY or (named == NOBODY and not spec.judges):
            return ()
        if self._name == "auto" and spec.judges:
            return self._panel(spec)
        if named == "auto":
            return self._first(spec)
        model = self._model or (spec.model if spec.backend in (None, "auto", named) else None)
        return self._available([self._built(named, model)])

    def _panel(self, spec: JudgeSpec) -> tuple[Judge, ...]:
        if self._model is not None:
            raise InputError("--judge-model: the suite names judges of its own; choose one with --judge NAME")
        return self._available([plugins.build("judges", member) for member in spec.judges])

    def _first(self, spec: JudgeSpec) -> tuple[Judge, ...]:
        for name in AUTO:
            judge = self._built(name, self._model or spec.model)
            if judge.check(self._env) is None:
                return (judge,)
        self._say(
            "nobody judges: no judge is available; set ANTHROPIC_API_KEY or OPENAI_API_KEY, or install and sign in to "
            "claude (docs/judging.md); --judge none says nothing of it"
        )
        return ()

    def _available(self, judges: Sequence[Judge]) -> tuple[Judge, ...]:
        ready = []
        for judge in judges:
            missing = judge.check(self._env)
            if missing is None:
                ready.append(judge)
            else:
                self._say(f"the judge {judge.type} is left out: {missing}")
        return tuple(ready)

    def _built(self, name: str, model: str | None) -> Judge:
        spec = {"type": name} if model is None else {"type": name, "model": model}
        judge: Judge = plugins.build("judges", spec)
        return judge

    def _say(self, text: str) -> None:
        with self._lock:
            new = text not in self._said
            self._said.add(text)
        if new:
            self._note(text)
