"""What `promote` proposes: the candidate's overlay, or the change of the best run on one task."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import InputError

if TYPE_CHECKING:
    from steelyard.domain.comparison import Comparison
    from steelyard.domain.experiment import Experiment
    from steelyard.domain.run import Run
    from steelyard.promote.plan import Proposal
    from steelyard.promote.ranking import Entrant
    from steelyard.promote.repo import NewFile
    from steelyard.store.database import Store

_REDACTED = re.compile(rb"^[+ ].*\[redacted(:[\w.-]+)?\]", re.MULTILINE)


def proposal_of(args: argparse.Namespace) -> "tuple[Proposal, list[Entrant]]":
    """The proposal, and the ranking it comes from where runs compete."""
    from steelyard.cli.stored import open_existing

    with open_existing() as store:
        experiment = store.experiment(args.experiment)
        if args.winner:
            return _winner(store, experiment, args)
        return _candidate(store, experiment, args), []


def _candidate(store: "Store", experiment: "Experiment", args: argparse.Namespace) -> "Proposal":
    from steelyard.promote import texts
    from steelyard.promote.plan import Proposal

    runs = list(store.iter_runs(experiment.id))
    comparison = _weighed(runs, experiment, args)
    files, against = _overlay(experiment, comparison.candidate, runs, args.into or "")
    reasons = () if comparison.promote else comparison.promote_reasons or ("the comparison does not promote it",)
    return Proposal(
        branch=texts.branch_name("promote", comparison.candidate, experiment.id[-8:].lower()),
        title=texts.candidate_title(comparison),
        message=texts.candidate_message(comparison, experiment.id),
        body=texts.candidate_body(comparison, experiment.id),
        files=tuple(files),
        into=args.into or "",
        reasons=(*reasons, *against),
    )


def _weighed(runs: "list[Run]", experiment: "Experiment", args: argparse.Namespace) -> "Comparison":
    from steelyard.compare.runs import material_of, weigh_runs

    if not runs:
        raise InputError(f"experiment {experiment.id} has no finished runs yet")
    material = material_of(runs, experiment.arms)
    chosen = {side: getattr(experiment.compare, side) for side in ("baseline", "candidate")}
    known = {side: arm if arm in material.facts else None for side, arm in chosen.items()}
    spec = experiment.compare.model_copy(update=known)
    return weigh_runs(material, args.baseline, args.candidate, spec, args.min_repeats)


def _overlay(
    experiment: "Experiment", candidate: str, runs: "list[Run]", into: str
) -> "tuple[list[NewFile], list[str]]":
    """The candidate's files as they are now, and what speaks against them: they must be the ones that were weighed."""
    from steelyard.domain.record import canonical_json, sha256
    from steelyard.engine.parity import overlay_files
    from steelyard.promote.overlay import read_overlay

    arm = next((arm for arm in experiment.arms if arm.name == candidate), None)
    if arm is None or arm.overlay is None:
        return [], [f"{candidate} has no overlay: there are no files that could be proposed"]
    folder = suite_root(experiment) / arm.overlay
    try:
        files = read_overlay(folder, into.strip("/"))
    except InputError as error:
        return [], [str(error)]
    weighed = {run.parity.overlay_sha256 for run in runs if run.arm == candidate and not run.is_infrastructure}
    found = overlay_files(folder)
    if weighed != {sha256(canonical_json(found)) if found else None}:
        return files, [f"the overlay {arm.overlay} is not what was weighed: it has changed since; run the suite again"]
    return files, []


def suite_root(experiment: "Experiment") -> Path:
    """The directory that the paths of a suite are relative to."""
    path = Path(experiment.suite_path or ".")
    return path if path.is_dir() else path.parent


def _winner(store: "Store", experiment: "Experiment", args: argparse.Namespace) -> "tuple[Proposal, list[Entrant]]":
    from steelyard.cli.summary import rate
    from steelyard.promote import texts
    from steelyard.promote.plan import Proposal
    from steelyard.promote.ranking import Entrant, ranked, winner

    rated = list(rate(store, experiment))
    task = _task(experiment, [one.run.task_id for one in rated], args.task)
    entrants = [Entrant(one.run, one.score, one.tier, one.composite) for one in rated if one.run.task_id == task]
    ranking = ranked(entrants)
    best = winner(ranking)
    if best is None:
        why = (f"no run on {task} passed its objective and run gates with a change to propose",)
        return Proposal(texts.branch_name("winner", task), "no winner", "", "", reasons=why), ranking
    patch = store.artifact(best.run.artifacts["diff"])
    hidden = "its diff held what looks like a secret, which was taken out before it was stored: it can't be proposed"
    proposal = Proposal(
        branch=texts.branch_name("winner", task, best.run.run_id[-8:].lower()),
        title=texts.winner_title(best),
        message=texts.winner_message(best, len(ranking), experiment.id),
        body=texts.winner_body(ranking, best, experiment.id),
        patch=patch,
        into=_seed_place(experiment, store, best.run, args),
        reasons=(hidden,) if _REDACTED.search(patch) else (),
    )
    return proposal, ranking


def _task(experiment: "Experiment", found: list[str], wanted: str | None) -> str:
    known = sorted(set(found))
    if not known:
        raise InputError(f"experiment {experiment.id} has no finished runs yet")
    if wanted is None and len(known) > 1:
        raise InputError(f"--winner needs --task: the experiment has {', '.join(known[:20])}")
    if wanted is not None and wanted not in known:
        raise InputError(f"--task {wanted}: the experiment has no runs on it; it has: {', '.join(known[:20])}")
    return wanted or known[0]


def _seed_place(experiment: "Experiment", store: "Store", run: "Run", args: argparse.Namespace) -> str:
    """Where in the repository the run's tree stands: a seed directory inside it, else its top."""
    if args.into is not None:
        return str(args.into).strip("/")
    seed = store.task(run.task_sha256).task.seed
    if seed is None or seed.directory is None:
        return ""
    place = (suite_root(experiment) / seed.directory).resolve()
    top = next((at for at in (args.repo.resolve(), *args.repo.resolve().parents) if (at / ".git").exists()), None)
    return place.relative_to(top).as_posix() if top is not None and place.is_relative_to(top) and place != top else ""
