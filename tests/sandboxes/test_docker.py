"""What Docker sandboxes promise beyond the contract: no rights, real limits, nothing of the host, nothing left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from steelyard.domain.suite import Limits
from steelyard.errors import InfraError
from steelyard.sandboxes.base import Command, SandboxSpec, shell
from steelyard.sandboxes.docker import DockerProvider, DockerSandbox
from steelyard.sandboxes.docker_engine import EngineError
from steelyard.sandboxes.docker_images import ready_name
from steelyard.sandboxes.docker_owner import RUN

LONG_S = 120.0
NO_LIMITS = Limits()
Open = Callable[..., DockerSandbox]
docker = pytest.mark.docker


@pytest.fixture
def provider() -> DockerProvider:
    """A provider whose default image is the tests' own."""
    return DockerProvider(os.environ.get("STEELYARD_TEST_IMAGE"))


@pytest.fixture
def open_box(provider: DockerProvider, tmp_path: Path) -> Iterator[Open]:
    """Opens sandboxes that are closed at the end."""
    opened: list[DockerSandbox] = []

    def opener(limits: Limits = NO_LIMITS, **more: object) -> DockerSandbox:
        base = tmp_path / f"box{len(opened)}"
        (base / "tree").mkdir(parents=True)
        spec = SandboxSpec(f"test-{uuid4().hex}", base / "tree", base / "scratch", limits, **more)  # type: ignore[arg-type]  # image, dockerfile
        box = provider.open(spec)
        assert isinstance(box, DockerSandbox)
        opened.append(box)
        return box

    yield opener
    for box in opened:
        box.close()


def exists(provider: DockerProvider, container: str) -> bool:
    """Whether the engine knows a container."""
    try:
        provider.engine.ask("GET", f"/containers/{container}/json")
    except EngineError as error:
        return error.status != 404
    return True


def is_running(provider: DockerProvider, container: str) -> bool:
    """Whether a container is there and runs."""
    try:
        state = provider.engine.ask("GET", f"/containers/{container}/json")["State"]
    except EngineError:
        return False
    return bool(state["Running"])


def of_run(provider: DockerProvider, run_id: str) -> list[str]:
    """The containers that carry a run's label."""
    filters = json.dumps({"label": [f"{RUN}={run_id}"]})
    return [one["Id"] for one in provider.engine.ask("GET", "/containers/json", {"all": "1", "filters": filters})]


def python(code: str, *arguments: str) -> Command:
    """A Python program as a command."""
    return Command(("python3", "-c", code, *arguments), LONG_S)


@docker
def test_commands_have_no_rights(open_box: Open) -> None:
    """Commands run as a plain user, with no capability in any set, no way to new ones, and a system call filter."""
    result = open_box().exec(shell("id -u; id -g; whoami; cat /proc/self/status", LONG_S))
    uid, gid, name, *lines = result.stdout.text().splitlines()
    status = dict(line.split(":", 1) for line in lines)

    assert (uid, gid, name) == ("1000", "1000", "dev")
    assert {int(status[key], 16) for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert status["NoNewPrivs"].strip() == "1"
    assert status["Seccomp"].strip() == "2"


@docker
def test_what_keeps_the_container_open_is_safe(open_box: Open) -> None:
    """A command that kills all it can reach ends neither the init process nor the sandbox."""
    box = open_box()
    box.write("kept", b"x")
    box.exec(shell("kill -9 -1; kill -9 1; kill -9 7; true", LONG_S))

    assert box.exec(shell("cat kept", LONG_S)).stdout.text() == "x"


@docker
def test_without_network_there_is_only_loopback(open_box: Open) -> None:
    """`network: false` leaves no interface but lo."""
    result = open_box(Limits(network=False)).exec(shell("cat /proc/net/dev", LONG_S))

    assert [line.split(":")[0].strip() for line in result.stdout.text().splitlines()[2:]] == ["lo"]


@docker
def test_nothing_of_the_host_is_there(open_box: Open, tmp_path: Path) -> None:
    """The tree is a copy: no directory of the host is mounted, neither the run's own nor any other."""
    (tmp_path / "secret").write_text("secret")
    box = open_box()
    result = box.exec(shell(f"cat {tmp_path}/secret; cat /proc/self/mountinfo", LONG_S))
    mounted = {line.split()[4] for line in result.stdout.text().splitlines()}

    assert "secret\n" not in result.stdout.text()
    assert not [path for path in mounted if path.startswith(("/repo", "/home", "/tmp", str(tmp_path)))]


@docker
def test_too_many_processes_are_refused_and_killed(open_box: Open) -> None:
    """The limit on processes holds, and a sandbox full of them is emptied although nothing can be started in it."""
    box = open_box(Limits(pids=24))
    code = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(1000)
            os._exit(0)
        made += 1
except OSError:
    pass
print(made, flush=True)
"""
    made = int(box.exec(python(code)).stdout.text())
    box.files.write("kept", b"still here")

    assert 20 <= made < 60
    assert box.kill_all() >= made
    assert box.kill_all() == 0
    assert box.exec(shell("cat kept", LONG_S)).stdout.text() == "still here"
    used = box.meter().cpu_time_s
    assert used is not None
    assert used > 0


@docker
def test_a_restart_ends_all_and_keeps_the_files(open_box: Open) -> None:
    """What can't be killed from inside is ended from outside: files and measurements stay, commands run again."""
    box = open_box()
    box.exec(shell("echo x > kept; echo y > $HOME/kept; sleep 8300 >/dev/null 2>&1 &", LONG_S))
    used = box.meter().cpu_time_s
    box.container.restart()

    assert box.kill_all() == 0
    assert box.exec(shell("cat kept $HOME/kept", LONG_S)).stdout.text() == "x\ny\n"
    assert used is not None
    assert (box.meter().cpu_time_s or 0) >= used


@docker
def test_a_memory_limit_is_told_apart_from_a_crash(open_box: Open) -> None:
    """What the kernel killed for its memory is `out_of_memory`; a plain kill is not."""
    box = open_box(Limits(memory_mb=64))
    greedy = box.exec(python("x = bytearray(200 << 20); print(len(x))"))
    killed = box.exec(shell("kill -9 $$", LONG_S))

    assert (greedy.exit_code, greedy.out_of_memory) == (137, True)
    assert (killed.exit_code, killed.out_of_memory) == (137, False)
    assert (box.meter().oom_kills or 0) >= 1
    assert box.meter().memory_limit_mb == 64
    assert box.exec(shell("echo still works", LONG_S)).stdout.text() == "still works\n"


@docker
def test_what_was_used_is_metered(open_box: Open) -> None:
    """Peak memory, CPU time and throttled periods come from the container's control group, also after closing."""
    box = open_box(Limits(cpus=0.2))
    box.exec(python("x = bytearray(48 << 20)\nimport time\nwhile time.process_time() < 0.3: pass"))
    used = box.meter()
    box.close()

    assert used.source in ("cgroup1", "cgroup2")
    assert used.peak_memory_mb is not None
    assert used.cpu_time_s is not None
    assert used.peak_memory_mb >= 48
    assert 0.3 <= used.cpu_time_s < 60
    assert (used.cpu_periods or 0) >= (used.cpu_throttled_periods or 0) > 0
    assert used.oom_kills == 0
    assert box.meter().peak_memory_mb == used.peak_memory_mb


@docker
def test_an_engine_elsewhere_counts_and_measures(open_box: Open) -> None:
    """Where the container's processes are not this machine's, the engine itself is asked, and killing still works."""
    box = open_box(Limits(memory_mb=256))
    box.container.cgroup = None  # as with an engine on another machine
    box.exec(shell("sleep 8100 >/dev/null 2>&1 & sleep 8100 >/dev/null 2>&1 & true", LONG_S))
    timed_out = box.exec(Command(("sleep", "8100"), 0.5, polite=True))

    assert timed_out.exit_code == 124
    assert box.kill_all() == 0
    assert box.exec(shell("exit 3", LONG_S)).exit_code == 3
    used = box.meter()
    assert (used.source, used.memory_limit_mb) == ("docker", 256)
    assert (used.cpu_time_s or 0) > 0


@docker
def test_a_closed_sandbox_is_gone(open_box: Open, provider: DockerProvider) -> None:
    """Closing removes the container, twice is safe, and nothing runs any more."""
    box = open_box()
    box.close()
    box.close()

    assert not exists(provider, box.ident)
    assert box.kill_all() == 0
    with pytest.raises(InfraError, match="closed"):
        box.exec(shell("true", LONG_S))


@docker
def test_a_failed_opening_leaves_nothing(provider: DockerProvider, tmp_path: Path) -> None:
    """When the container is made but the tree can't be copied in, it is removed and the error says why."""
    run_id = f"test-{uuid4().hex}"
    (tmp_path / "tree").mkdir()
    (tmp_path / "scratch").write_text("not a directory")
    with pytest.raises(InfraError, match="opening the docker sandbox"):
        provider.open(SandboxSpec(run_id, tmp_path / "tree", tmp_path / "scratch"))
    assert of_run(provider, run_id) == []


@docker
def test_an_exception_removes_the_container(provider: DockerProvider, tmp_path: Path) -> None:
    """A run that breaks with its sandbox open leaves no container, because closing is on its way out."""
    run_id = f"test-{uuid4().hex}"

    def broken() -> None:
        with closing(provider.open(SandboxSpec(run_id, tmp_path / "tree", tmp_path / "scratch"))):
            assert len(of_run(provider, run_id)) == 1
            raise RuntimeError("the run broke")

    with pytest.raises(RuntimeError, match="the run broke"):
        broken()
    assert of_run(provider, run_id) == []


HARNESS = """
import os, sys
from pathlib import Path
from steelyard.sandboxes.base import SandboxSpec, shell
from steelyard.sandboxes.docker import DockerProvider
base = Path(sys.argv[1])
provider = DockerProvider(os.environ.get("STEELYARD_TEST_IMAGE"))
box = provider.open(SandboxSpec("killed", base / "tree", base / "scratch"))
print(box.ident, flush=True)
box.exec(shell("sleep 8200", 3600))
"""


@docker
def test_what_a_killed_harness_left_is_removed(open_box: Open, provider: DockerProvider, tmp_path: Path) -> None:
    """After kill -9 of a harness the next provider removes its container, and never one whose harness lives."""
    mine = open_box()
    words = [sys.executable, "-c", HARNESS, str(tmp_path / "killed")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        left = harness.stdout.readline().strip()
        try:
            DockerProvider().clean()
            assert exists(provider, left)
        finally:
            harness.send_signal(signal.SIGKILL)
            harness.wait()
    until = time.monotonic() + 60
    while is_running(provider, left):  # the agent does not go on without its harness
        assert time.monotonic() < until
        time.sleep(0.05)

    spec = SandboxSpec("next", tmp_path / "next" / "tree", tmp_path / "next" / "scratch")
    DockerProvider(os.environ.get("STEELYARD_TEST_IMAGE")).open(spec).close()
    until = time.monotonic() + 60
    while exists(provider, left):  # another test's provider may be at it just now
        assert time.monotonic() < until
        time.sleep(0.05)
    assert mine.exec(shell("echo alive", LONG_S)).stdout.text() == "alive\n"


@docker
def test_a_missing_image_says_what_to_do(provider: DockerProvider, tmp_path: Path) -> None:
    """An image that is not there is our machine's failure, with the command that gets it."""
    spec = SandboxSpec("test", tmp_path / "tree", tmp_path / "scratch", image="example.invalid/no/such:1")
    with pytest.raises(InfraError, match=r"docker pull example\.invalid/no/such:1") as caught:
        provider.open(spec)
    assert caught.value.error_class == "sandbox_error"


@docker
def test_a_dockerfile_is_built_once_per_content(open_box: Open, provider: DockerProvider, tmp_path: Path) -> None:
    """The same Dockerfile and files give the same image, other files another one; a broken one says what is wrong."""
    folder = tmp_path / "image"
    folder.mkdir()
    base = os.environ.get("STEELYARD_TEST_IMAGE", "python:3.12-slim")
    dockerfile = folder / "Dockerfile"
    dockerfile.write_text(f"FROM {base}\nENV FROM_IMAGE=yes\nCOPY data.txt /data.txt\n")
    (folder / "data.txt").write_text(f"{uuid4()}\n")
    names = [provider.images.build(dockerfile), provider.images.build(dockerfile)]
    ready = ready_name(provider.images.find(names[0], None)["Id"])
    box = open_box(dockerfile=str(dockerfile))
    try:
        result = box.exec(shell("cat /data.txt; echo $FROM_IMAGE", LONG_S))
        (folder / "data.txt").write_text("other\n")
        names.append(provider.images.build(dockerfile))
    finally:
        box.close()
        subprocess.run(["docker", "rmi", "-f", ready, *sorted(set(names))], check=True, capture_output=True)

    assert names[0] == names[1] != names[2]
    assert result.stdout.text().splitlines()[1:] == ["yes"]
    dockerfile.write_text(f"FROM {base}\nCOPY nowhere.txt /x\n")
    with pytest.raises(InfraError, match=r"building .*Dockerfile failed.*nowhere\.txt"):
        provider.images.build(dockerfile)


def test_without_an_engine_the_remedy_is_named(tmp_path: Path) -> None:
    """Where nobody listens, `check` says where it looked and what to do, and there is nothing to clean."""
    provider = DockerProvider(host=f"unix://{tmp_path}/none.sock")

    why = provider.check()
    assert why is not None
    assert f"{tmp_path}/none.sock" in why
    assert "DOCKER_HOST" in why
    assert provider.clean() == 0


@pytest.mark.parametrize("host", ["ssh://somewhere", "nonsense", "unix://", "tcp://"])
def test_a_host_that_can_not_be_used(host: str) -> None:
    """An address of another kind is refused in a line."""
    why = DockerProvider(host=host).check()

    assert why is not None
    assert "\n" not in why
