"""A repository with a bare remote, stored runs, and a server that speaks GitHub's pull-request call."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from steelyard.domain.compare_spec import CompareSpec
from steelyard.domain.experiment import Experiment, Finished
from steelyard.domain.record import canonical_json, sha256
from steelyard.domain.run import Parity
from steelyard.domain.suite import Arm, FrozenTask, Seed, Task
from steelyard.domain.usage import Usage
from steelyard.engine.parity import overlay_files
from steelyard.store.database import open_store
from tests.store.support import AT, run_of, scorer

URL = "https://github.com/acme/tool.git"
TASKS = tuple(FrozenTask.of(Task(id=name, prompt="Fix it.", seed=Seed(directory="seed"))) for name in ("one", "two"))
DIFF = b"""diff --git a/code.txt b/code.txt
index 9f7cd5d8ad7ad2bb3c9bd4bb8a9c9ba6b0ea6c3b..%s 100644
--- a/code.txt
+++ b/code.txt
@@ -1 +1 @@
-wrong
+right %d
"""


def git(place: Path, *words: str) -> str:
    """Run git there as a person would."""
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(["git", "-C", str(place), *who, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@dataclass(frozen=True)
class Place:
    """A checkout whose remote is a bare repository beside it, and a store."""

    root: Path

    @property
    def repo(self) -> Path:
        """The checkout."""
        return self.root / "app"

    @property
    def bare(self) -> Path:
        """The remote."""
        return self.root / "bare.git"

    @property
    def home(self) -> Path:
        """Where the store stands."""
        return self.root / "home"

    def state(self) -> tuple[str, ...]:
        """Everything of the checkout that must not change: branches, what is checked out, and the tree."""
        head = (self.repo / ".git" / "HEAD").read_text()
        index = sha256((self.repo / ".git" / "index").read_bytes())
        local = git(self.repo, "for-each-ref", "refs/heads")
        files = sorted(p.relative_to(self.repo).as_posix() for p in self.repo.rglob("*") if ".git" not in p.parts)
        return head, index, local, *files

    def branches(self) -> list[str]:
        """The remote's branches."""
        return git(self.bare, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()

    def steelyard(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """The command, in the checkout."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("STEELYARD_", "GITHUB_", "GIT_", "GH_"))}
        kept |= {"HOME": str(self.root), "STEELYARD_HOME": str(self.home), "XDG_CONFIG_HOME": str(self.root / "xdg")}
        command = [sys.executable, "-c", "from steelyard.cli.main import main; main()", *words]
        return subprocess.run(
            command, cwd=self.repo, env=kept | env, capture_output=True, text=True, timeout=240, check=False
        )


def make_place(root: Path) -> Place:
    """A committed, pushed and clean checkout with a seed and an overlay in it."""
    place = Place(root)
    for name, text in {
        "seed/code.txt": "wrong\n",
        "conf/CLAUDE.md": "Be careful.\n",
        "conf/.claude/skills/care/SKILL.md": "Care.\n",
    }.items():
        path = place.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(root, "init", "-q", "-b", "main", str(place.repo))
    git(root, "init", "-q", "--bare", "-b", "main", str(place.bare))
    for name, value in {
        "user.name": "Ada",
        "user.email": "ada@example.org",
        "remote.origin.url": URL,
        "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
        f"url.{place.bare}.insteadOf": URL,
    }.items():
        git(place.repo, "config", name, value)
    git(place.repo, "add", ".")
    git(place.repo, "commit", "-q", "-m", "Start")
    git(place.repo, "push", "-q", "origin", "main")
    return place


def fill(place: Place, *, repeats: int = 5, before: str = "FAIL", after: str = "PASS") -> str:
    """Store an experiment of two tasks and two arms; its id."""
    overlay = sha256(canonical_json(overlay_files(place.repo / "conf")))
    arms = (Arm(name="before", agent={"type": "command"}), Arm(name="after", agent={"type": "command"}, overlay="conf"))
    experiment = Experiment(
        id="exp_1",
        workspace="w",
        created_at=AT,
        suite_path=str(place.repo / "suite.yaml"),
        tasks=TASKS,
        arms=arms,
        repeats=repeats,
        compare=CompareSpec(baseline="before", candidate="after"),
    )
    number = 0
    with open_store(f"sqlite:///{place.home / 'steelyard.db'}", place.home / "artifacts") as store:
        store.create_experiment(experiment)
        for frozen in TASKS:
            for arm, verdict in (("before", before), ("after", after)):
                for repeat in range(1, repeats + 1):
                    number += 1
                    changes: dict[str, Any] = {
                        "task_id": frozen.task.id,
                        "task_sha256": frozen.sha256,
                        "arm": arm,
                        "repeat": repeat,
                        "experiment": "exp_1",
                        "workspace": "w",
                        "wall_s": 10.0,
                        "outcome": "COMPLETED" if verdict == "PASS" else "BLOCKED",
                        "scorers": (scorer(verdict),),
                        "usage": Usage(input_tokens=1, output_tokens=1, cache_read_tokens=0, cache_write_tokens=0),
                        "parity": Parity(
                            agent="command", sandbox="local", overlay_sha256=overlay if arm == "after" else None
                        ),
                        "started_at": f"2026-01-01T00:00:{number:02d}Z",
                    }
                    diff = DIFF % (b"%040x" % number, number)
                    store.save(Finished(run_of(number, **changes), {"diff": diff}), scored_at=AT)
    return experiment.id


@dataclass
class GitHub:
    """A server that answers as it is told and remembers what it was asked."""

    url: str = ""
    status: int = 201
    answer: Any = field(default_factory=lambda: {"html_url": "https://github.com/acme/tool/pull/7", "number": 7})
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        """The variables that lead there."""
        return {"GITHUB_API_URL": self.url, "GITHUB_TOKEN": "tok-123"}


@contextmanager
def github() -> Iterator[GitHub]:
    """The server, on a free port of the loopback."""
    found = GitHub()

    class Answers(BaseHTTPRequestHandler):
        """One call."""

        def do_POST(self) -> None:
            """Remember and answer."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.asked.append({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)})
            data = found.answer if isinstance(found.answer, bytes) else json.dumps(found.answer).encode()
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
