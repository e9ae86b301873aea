"""Early stopping: how often it is wrong at any stopping time, what it saves: `python -m benchmarks sequential [N]`."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steelyard.compare.power import pilot_from, plan_repeats
from steelyard.compare.sequential import ALPHA, MARGIN, SHARES, log_capital

EXPERIMENTS = 2000
TASKS = 10
WAVES = 150
MOST_WAVES = 500  # where savings are measured: enough that nearly all experiments decide
EFFECTS = (0.05, 0.1, 0.2, 0.4)
Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class Ends:
    """How simulated experiments ended: the wave of the decision (or the last), and which it was (0: none)."""

    waves: np.ndarray
    improved: np.ndarray
    regressed: np.ndarray
    alike: np.ndarray


def binary(rng: np.random.Generator, count: int, effect: float = 0.0, waves: int = WAVES) -> np.ndarray:
    """Pass deltas; each task has its own rate, and the candidate's is higher by the effect everywhere."""
    rate = effect / 2 + (1 - effect) * rng.beta(2, 2, (count, 1, TASKS))
    size = (count, waves, TASKS)
    return (rng.random(size) < rate + effect / 2).astype(float) - (rng.random(size) < rate - effect / 2)


def scores(rng: np.random.Generator, count: int) -> np.ndarray:
    """Composite deltas: mostly small, sometimes a failed check."""
    size = (count, WAVES, TASKS)
    failed = (rng.random(size) < 0.2).astype(float) - (rng.random(size) < 0.2)
    return np.clip(0.6 * failed + rng.normal(0, 0.05, size), -1, 1)


def opposed(rng: np.random.Generator, count: int) -> np.ndarray:
    """Half of the tasks gain 40 points, half lose them: no difference on the whole."""
    push = np.repeat([0.4, -0.4], TASKS // 2)
    return push + rng.uniform(-0.6, 0.6, (count, WAVES, TASKS))


def rare(rng: np.random.Generator, count: int) -> np.ndarray:
    """Skewed: a loss of 2 points nearly always, a gain of 98 points in one pair of fifty."""
    return np.where(rng.random((count, WAVES, TASKS)) < 0.02, 0.98, -0.02)


def quiet(rng: np.random.Generator, count: int) -> np.ndarray:
    """Always equal but for a little noise of cost."""
    return rng.uniform(-0.02, 0.02, (count, WAVES, TASKS))


def shaken(rng: np.random.Generator, count: int) -> np.ndarray:
    """What the test assumes not to be: a bad hour that moves all tasks of a wave together."""
    return np.clip(scores(rng, count) + rng.normal(0, 0.05, (count, WAVES, 1)), -1, 1)


NULLS: dict[str, Draw] = {
    "pass/fail, equal rates": binary,
    "composites, equal": scores,
    "tasks that gain and lose alike": opposed,
    "rare large gains, small losses": rare,
    "equal but for cost noise": quiet,
    "(assumption broken) waves shaken as a whole": shaken,
}


def paths(deltas: np.ndarray, bound: float) -> np.ndarray:
    """The logarithm of the capital after every wave, for many experiments at once."""
    logs = np.stack([np.log1p(share / (1 + bound) * (deltas - bound)).sum(axis=2).cumsum(axis=1) for share in SHARES])
    top = logs.max(axis=0)
    found: np.ndarray = top + np.log(np.exp(logs - top).mean(axis=0))
    return found


def ends(deltas: np.ndarray) -> Ends:
    """Where each experiment stops, looked at after every wave."""
    needed = np.log(2 / ALPHA)
    found = paths(deltas, 0.0)
    exact = log_capital(deltas[0].ravel(), 0.0)
    assert abs(found[0, -1] - exact) < 1e-6 * max(1, abs(exact))  # the same maths as the product's
    better, worse = found >= needed, paths(-deltas, 0.0) >= needed
    alike = (paths(deltas, -MARGIN) >= needed) & (paths(-deltas, -MARGIN) >= needed)
    any_of = better | worse | alike
    stop = np.where(any_of.any(axis=1), any_of.argmax(axis=1), deltas.shape[1] - 1)
    at = (np.arange(len(deltas)), stop)
    return Ends(stop + 1, better[at], worse[at] & ~better[at], alike[at] & ~better[at] & ~worse[at])


def in_parts(draw: Draw, count: int, seed: int) -> Ends:
    """Many experiments, fifty at a time, so that memory stays small."""
    rng = np.random.default_rng(seed)
    parts = [ends(draw(rng, min(50, count - start))) for start in range(0, count, 50)]
    return Ends(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("waves", "improved", "regressed", "alike")
        )
    )


def ever_wrong(draw: Draw, count: int, seed: int) -> float:
    """The share of experiments without a difference that at any of their looks show one."""
    rng = np.random.default_rng(seed)
    wrong = 0
    for start in range(0, count, 100):
        deltas = draw(rng, min(100, count - start))
        highest = np.maximum(paths(deltas, 0.0).max(axis=1), paths(-deltas, 0.0).max(axis=1))
        wrong += int((highest >= np.log(2 / ALPHA)).sum())
    return wrong / count


def fixed_repeats(effect: float, wanted: float) -> int | None:
    """What `plan` asks for to see `wanted`, from a large pilot with that effect."""
    deltas = binary(np.random.default_rng(1), 1, effect)[0]
    starts = np.arange(0, deltas.size, WAVES)
    return plan_repeats(pilot_from(deltas.T.ravel(), starts), wanted).repeats


def main(argv: list[str]) -> None:
    """Print two Markdown tables."""
    count = int(argv[0]) if argv else EXPERIMENTS
    print(
        f"{count} experiments a row, {TASKS} tasks, a look after each of {WAVES} waves, alpha {ALPHA:g}. "
        "Wrong: a difference is called at any look though there is none.\n"
    )
    print("| paired deltas | wrong |\n| --- | --- |")
    for seed, (name, draw) in enumerate(NULLS.items()):
        print(f"| {name} | {100 * ever_wrong(draw, count, seed):.1f} % |")
    few = max(100, count // 5)
    edge = in_parts(lambda rng, size: binary(rng, size, MARGIN), few, 99)
    print(
        f'\n"No difference larger than {100 * MARGIN:g} points" called where it is exactly that: '
        f"{100 * edge.alike.mean():.1f} % of {few} experiments.\n"
    )
    print(
        f"Saving on pass/fail, {few} experiments a row. Fixed designs: what `plan` asks for with 80 % power, to see "
        f"{100 * MARGIN:g} points (the margin, as nobody knows the effect before), and to see the true effect (had "
        f"somebody known it). A fixed design finds four of five such effects; here at most {MOST_WAVES} repeats are "
        "allowed, and nearly all are found.\n"
    )
    head = ("effect", "repeats (mean)", "90 % done by", "improved", "wrong", "undecided")
    print("| " + " | ".join((*head, "fixed for 5 points", "saved", "fixed for the effect")) + " |")
    print("| --- |" + " --- |" * 8)
    for effect in EFFECTS:
        print(_saving(effect, few))


def _saving(effect: float, count: int) -> str:
    found = in_parts(lambda rng, size: binary(rng, size, effect, MOST_WAVES), count, round(1000 * effect))
    fixed, knowing = fixed_repeats(effect, MARGIN), fixed_repeats(effect, effect)
    mean = float(found.waves.mean())
    right, wrong = float(found.improved.mean()), float((found.regressed | found.alike & (effect > MARGIN)).mean())
    decided = float((found.improved | found.regressed | found.alike).mean())
    saved = "-" if fixed is None else f"{100 * (1 - mean / fixed):.0f} %"
    return (
        f"| {100 * effect:g} points | {mean:.1f} | {np.quantile(found.waves, 0.9):.0f} "
        f"| {100 * right:.0f} % | {100 * wrong:.1f} % | {100 * (1 - decided):.1f} % "
        f"| {fixed or '-'} | {saved} | {knowing or '-'} |"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
