"""Reporting to a team's server besides the local store, beside the runs and never in their way."""

import queue
import threading
from typing import TYPE_CHECKING

from steelyard.cli.output import note
from steelyard.domain.experiment import Experiment
from steelyard.errors import SteelyardError

if TYPE_CHECKING:
    from steelyard.client import Client
    from steelyard.store.database import Store


class Reporter:
    """Sends stored (so redacted) runs to a server, in a thread of its own; what fails is tried again at the end."""

    def __init__(self, client: "Client", store: "Store", experiment: Experiment, *, named: bool) -> None:
        self.client = client
        self.store = store
        self.experiment = experiment
        self.named = named  # whether to name the workspace: a token has its own
        self.reported: set[str] = set()
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="reporter", daemon=True)
        self._thread.start()

    def report(self, run_id: str) -> None:
        """Send a run soon."""
        self._waiting.put(run_id)

    def finish(self) -> int:
        """Send what is left, earlier runs of a resumed experiment included; how many the server does not have."""
        self._waiting.put(None)
        self._thread.join()
        stored = [run.run_id for run in self.store.iter_runs(self.experiment.id, replaced=True)]
        missing = [run_id for run_id in stored if run_id not in self.reported]
        try:
            if missing:
                announce(self.client, self.experiment, named=self.named)
            for run_id in missing:
                self._send(run_id)
        except SteelyardError as error:
            failed = sum(run_id not in self.reported for run_id in missing)
            note(f"{failed} runs are stored here but not reported: {error}")
            note("the same command with --resume reports them")
            return failed
        finally:
            self.client.close()
        return 0

    def _work(self) -> None:
        """Send runs as they come, until one fails: then the rest waits for the end."""
        try:
            while (run_id := self._waiting.get()) is not None:
                self._send(run_id)
        except SteelyardError as error:
            note(f"reporting to {self.client.url}: {error}; it is tried again at the end")

    def _send(self, run_id: str) -> None:
        from steelyard.client import run_body

        run = self.store.run(run_id).run
        blobs = {name: self.store.artifact(sha) for name, sha in run.artifacts.items()}
        body = run_body(run, blobs)
        if self.named:
            body["workspace"] = run.workspace
        self.client.add_run(body)
        self.reported.add(run_id)


def open_reporter(server: str | None, token: str | None, store: "Store", experiment: Experiment) -> Reporter | None:
    """A reporter to the server that the command line names; None when it names none.

    A server that refuses us is said before anything runs; one that does not answer yet is not waited for.
    """
    if server is None:
        return None
    from steelyard.client import Client, ServerError

    client = Client(server, token)
    try:
        announce(client, experiment, named=not token)
    except ServerError as error:
        note(f"{error}; runs are stored here and reported at the end")
    return Reporter(client, store, experiment, named=not token)


def announce(client: "Client", experiment: Experiment, *, named: bool) -> None:
    """Tell the server what was planned; that it knows the experiment with fewer repeats is fine."""
    from steelyard.client import RefusedByServer

    try:
        client.add_experiment(experiment, workspace=experiment.workspace if named else None)
    except RefusedByServer as error:
        if error.status != 409:
            raise
