"""What bubblewrap keeps from an agent."""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steelyard.domain.suite import Limits
from steelyard.errors import InfraError
from steelyard.sandboxes.base import Command, ExecResult, Sandbox, SandboxSpec, shell
from steelyard.sandboxes.bwrap import BwrapProvider, BwrapSandbox

pytestmark = pytest.mark.bwrap
LONG_S = 120.0
Run = Callable[[str], ExecResult]


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """An open sandbox without a network."""
    (tmp_path / "tree").mkdir()
    spec = SandboxSpec("run", tmp_path / "tree", tmp_path / "scratch", Limits(network=False))
    opened = BwrapProvider().open(spec)
    yield opened
    opened.close()


@pytest.fixture
def run(sandbox: Sandbox) -> Run:
    """Runs a shell script in the sandbox."""
    return lambda script: sandbox.exec(shell(script, LONG_S))


def test_other_runs_are_not_visible(run: Run, tmp_path: Path) -> None:
    """Nothing beside the tree can be seen: no other run, no grader's file, not by its host path either."""
    (tmp_path / "grader").mkdir()
    (tmp_path / "grader" / "secret").write_text("the answer")

    assert run(f"cat {tmp_path}/grader/secret").exit_code != 0
    assert run(f"ls {tmp_path}").exit_code != 0
    assert "tree" not in run("ls -A /tmp").stdout.text()


def test_the_home_of_the_user_is_hidden(run: Run) -> None:
    """Of the user's home only programs on the PATH show, never the home itself or what is private in it."""
    shown = {str(path) for path in BwrapProvider().programs}
    home = Path.home()
    seen = [line for line in run(f"ls -A {home}").stdout.text().splitlines() if line]

    assert all(any(path.startswith(f"{home}/{name}") for path in shown) for name in seen)
    assert str(home) not in shown
    others = {Path(path).parts[2] for path in shown if path.startswith("/home/")}
    assert set(run("ls -A /home").stdout.text().split()) == {"dev", *others}


@pytest.mark.parametrize(
    "path",
    [
        *("/usr/x", "/etc/x", "/bin/x", "/opt/x", f"{sys.prefix}/x", "/proc/sys/kernel/core_pattern", "/proc/self/mem"),
        *("/x", "/run/x", "/var/x", "/home/x", "/dev/x"),
    ],
)
def test_the_system_can_not_be_written(run: Run, path: str) -> None:
    """System directories, the programs' own and kernel settings are read-only, also when the harness is root."""
    assert run(f": >> {path}").exit_code != 0  # opens it for writing, and writes nothing


@pytest.mark.parametrize("path", ["big", "/tmp/big", "/var/tmp/big", "/dev/shm/big", "$HOME/big"])
def test_all_that_can_be_written_is_measured(tmp_path: Path, path: str) -> None:
    """There is no place where a command may write past its quota."""
    (tmp_path / "tree").mkdir()
    sandbox = BwrapProvider().open(SandboxSpec("run", tmp_path / "tree", tmp_path / "scratch", Limits(disk_mb=8)))
    try:
        assert sandbox.exec(shell(f"dd if=/dev/zero of={path} bs=1M count=20", LONG_S)).over_disk
    finally:
        sandbox.close()


def test_the_devices_of_every_program_work(run: Run) -> None:
    """What is read-only around them changes nothing for them, nor for shared memory."""
    script = (
        'echo x > /dev/null && head -c 4 /dev/urandom | wc -c && python3 -c "import multiprocessing as m; m.Lock()"'
    )
    assert run(script).stdout.text().strip() == "4"
    assert run(script).exit_code == 0
    assert run("python3 -c 'import pty; print(pty.openpty())'").exit_code == 0


def test_no_rights_of_root(run: Run) -> None:
    """There are no capabilities, none to be got, no mount and no further user namespace."""
    status = run("cat /proc/self/status").stdout.text()
    values = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)

    assert {values[name] for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb", "CapInh")} == {"0" * 16}
    assert values["NoNewPrivs"] == "1"
    assert run("id -u").stdout.text() == "1000\n"
    assert run("mount -t tmpfs none /tmp").exit_code != 0
    assert run("mount -o remount,rw /usr").exit_code != 0
    assert run("unshare -r true").exit_code != 0


def test_no_control_groups_no_kernel_files(run: Run) -> None:
    """Neither /sys nor control groups are there to be changed."""
    assert run("ls /sys/fs/cgroup").exit_code != 0
    assert run(": >> /proc/sysrq-trigger").exit_code != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read them in the first place")
def test_secrets_of_the_system_are_covered(run: Run) -> None:
    """Password hashes and host keys are not readable, also when the harness is root."""
    assert run("cat /etc/shadow").stdout.total == 0
    assert run("ls -A /etc/ssh").stdout.total == 0


def test_processes_of_the_host_are_invisible(run: Run) -> None:
    """An agent sees its own processes only: the harness's number means nothing inside."""
    names = run("cat /proc/[0-9]*/comm").stdout.text().split()

    assert {"bwrap", "sh"} <= set(names) <= {"bwrap", "sh", "cat"}


def test_no_file_of_the_harness_is_open(run: Run) -> None:
    """Beyond the three standard streams nothing is inherited."""
    assert run("exec ls /proc/self/fd").stdout.text().split() == ["0", "1", "2", "3"]  # 3 is the directory it lists
    assert run("echo fake >&3").exit_code != 0


def test_the_network_is_off(run: Run) -> None:
    """Without a network, a server on the host's loopback can't be reached; the sandbox's own loopback works."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        assert run(f'python3 -c "{reach}"').exit_code != 0
    own = "import socket; s=socket.create_server(('127.0.0.1',0)); socket.create_connection(s.getsockname(), 5)"
    assert run(f'python3 -c "{own}"').exit_code == 0


def test_the_network_is_on(tmp_path: Path) -> None:
    """With a network, a server on the host's loopback is reached."""
    spec = SandboxSpec("run", tmp_path / "tree", tmp_path / "scratch", Limits(network=True))
    sandbox = BwrapProvider().open(spec)
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 60)"
        result = sandbox.exec(Command(("python3", "-c", reach), LONG_S))
    sandbox.close()

    assert result.exit_code == 0


def test_this_python_and_its_packages_run(run: Run) -> None:
    """What is on the PATH, and this very Python with its packages, runs inside."""
    assert run(f"{sys.executable} -c 'import pytest, pydantic'").exit_code == 0
    assert run("python3 -c 'import json' && git --version").exit_code == 0


def test_a_program_knows_who_it_is(run: Run) -> None:
    """The user has a name and a home of its own, as programs expect."""
    assert run("whoami; cd ~ && pwd").stdout.text() == "dev\n/home/dev\n"


def test_the_tree_is_always_in_the_same_place(sandbox: Sandbox) -> None:
    """The inside path tells nothing of the run."""
    assert sandbox.tree == "/repo"
    assert sandbox.exec(shell("pwd", LONG_S)).stdout.text() == "/repo\n"


def test_a_sandbox_that_can_not_be_set_up_is_our_failure(tmp_path: Path) -> None:
    """When bubblewrap itself fails, no command is blamed for it."""
    sandbox = BwrapProvider().open(SandboxSpec("run", tmp_path / "tree", tmp_path / "scratch"))
    assert isinstance(sandbox, BwrapSandbox)
    (tmp_path / "scratch" / "etc" / "passwd").unlink()
    with pytest.raises(InfraError, match=r"bubblewrap: .*passwd"):
        sandbox.exec(shell("true", LONG_S))
    sandbox.close()


def test_a_command_that_talks_like_bubblewrap_is_its_own_failure(run: Run) -> None:
    """What an agent prints does not make its failure ours."""
    assert run("echo 'bwrap: cannot do anything' >&2; exit 1").exit_code == 1
