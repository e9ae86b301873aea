"""What every sandbox promises, on all of them."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steelyard.domain.suite import Limits
from steelyard.errors import InfraError
from steelyard.sandboxes.base import Command, ExecResult, Sandbox, SandboxProvider, SandboxSpec, shell
from steelyard.sandboxes.bwrap import BwrapProvider
from steelyard.sandboxes.docker import DockerProvider
from steelyard.sandboxes.local import LocalProvider
from steelyard.sandboxes.process import INTERRUPTER, interrupt_all
from steelyard.sandboxes.warden import count_children

PROVIDERS: dict[str, Callable[[], SandboxProvider]] = {
    "local": LocalProvider,
    "bwrap": BwrapProvider,
    "docker": lambda: DockerProvider(os.environ.get("STEELYARD_TEST_IMAGE")),
}
HOST = ["local", pytest.param("bwrap", marks=pytest.mark.bwrap)]  # those that share this machine's files and processes
LONG_S = 120.0
NO_LIMITS = Limits()
Open = Callable[..., Sandbox]


@pytest.fixture(params=[*HOST, pytest.param("docker", marks=pytest.mark.docker)])
def provider(request: pytest.FixtureRequest) -> SandboxProvider:
    """A provider of each type."""
    return PROVIDERS[request.param]()


@pytest.fixture
def open_sandbox(provider: SandboxProvider, tmp_path: Path) -> Iterator[Open]:
    """Opens sandboxes that are closed at the end."""
    opened: list[Sandbox] = []

    def opener(name: str = "one", limits: Limits = NO_LIMITS, **more: object) -> Sandbox:
        tree = tmp_path / name / "tree"
        tree.mkdir(parents=True, exist_ok=True)
        spec = SandboxSpec(name, tree, tmp_path / name / "scratch", limits, **more)  # type: ignore[arg-type]  # env
        opened.append(provider.open(spec))
        return opened[-1]

    yield opener
    for sandbox in opened:
        sandbox.close()


@pytest.fixture
def sandbox(open_sandbox: Open) -> Sandbox:
    """One open sandbox."""
    return open_sandbox()


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, for at most a minute."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.01)


def running(marker: str) -> list[int]:
    """The processes of this machine whose command line holds a marker, zombies and this process left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def python(code: str, timeout_s: float = LONG_S, *arguments: str, **more: object) -> Command:
    """A Python program as a command."""
    return Command(("python3", "-c", code, *arguments), timeout_s, **more)  # type: ignore[arg-type]  # passed through


def test_a_provider_says_that_it_works(provider: SandboxProvider) -> None:
    """`check` finds nothing wrong where the sandbox works."""
    assert provider.check() is None


def test_a_command_runs_in_the_tree(sandbox: Sandbox) -> None:
    """The working directory is the tree, and what is written there is in the collected tree."""
    result = sandbox.exec(shell("pwd; echo hello > made.txt", LONG_S))

    assert (result.exit_code, result.stdout.text().strip()) == (0, sandbox.tree)
    assert (sandbox.collect_tree() / "made.txt").read_text() == "hello\n"


def test_a_command_may_run_elsewhere(sandbox: Sandbox) -> None:
    """`cwd` is a path inside the sandbox."""
    assert sandbox.exec(shell("pwd", LONG_S, cwd=sandbox.home)).stdout.text().strip() == sandbox.home


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_exit_codes(sandbox: Sandbox, script: str, code: int) -> None:
    """An exit code is passed on; signal n is 128 + n."""
    assert sandbox.exec(shell(script, LONG_S)).exit_code == code


def test_a_missing_program_is_127(sandbox: Sandbox) -> None:
    """A program that is not there is the shell's 127, with a line that names it, not an exception."""
    result = sandbox.exec(Command(("no-such-program",), LONG_S))

    assert result.exit_code == 127
    assert "no-such-program" in result.tail()


def test_a_program_that_may_not_run_is_126(sandbox: Sandbox) -> None:
    """A file without the right to run is the shell's 126."""
    sandbox.write("plain.txt", b"not a program\n")

    assert sandbox.exec(Command((f"{sandbox.tree}/plain.txt",), LONG_S)).exit_code == 126


def test_a_missing_directory_is_127(sandbox: Sandbox) -> None:
    """A working directory that is not there is a failed command."""
    assert sandbox.exec(shell("true", LONG_S, cwd=f"{sandbox.tree}/nowhere")).exit_code == 127


def test_a_nul_character_is_refused(sandbox: Sandbox) -> None:
    """An argument that no program can be given fails the command and adds no other argument."""
    assert sandbox.exec(Command(("echo", "a\0b"), LONG_S)).exit_code == 126


def test_big_output_on_both_pipes(sandbox: Sandbox) -> None:
    """Output far beyond the pipes' size comes through on both at once: head and tail kept, the middle counted."""
    code = """
import sys
for _ in range(3000):
    sys.stdout.write("o" * 1000 + "\\n")
    sys.stderr.write("e" * 1000 + "\\n")
print("end")
"""
    result = sandbox.exec(python(code))

    assert result.exit_code == 0
    assert result.stdout.total == 3000 * 1001 + 4
    assert result.stderr.total == 3000 * 1001
    assert result.stdout.tail.endswith(b"end\n")
    assert result.stdout.dropped == result.stdout.total - len(result.stdout.head) - len(result.stdout.tail) > 0
    assert f"{result.stdout.dropped} bytes left out" in result.stdout.text()


def test_every_chunk_is_seen(sandbox: Sandbox) -> None:
    """`on_stdout` sees also what is not kept, in order."""
    seen = bytearray()
    sandbox.exec(python("for i in range(200000): print(i)", on_stdout=seen.extend))

    assert bytes(seen) == b"".join(b"%d\n" % number for number in range(200_000))


def test_binary_output_is_kept_as_it_is(sandbox: Sandbox) -> None:
    """Bytes that are no text and control codes come through unchanged."""
    result = sandbox.exec(python("import sys; sys.stdout.buffer.write(bytes(range(256)) + b'\\x1b[2J\\0')"))

    assert result.stdout.head == bytes(range(256)) + b"\x1b[2J\0"


def test_stdin_larger_than_the_pipe(sandbox: Sandbox) -> None:
    """A large stdin is fed while output is taken: a command that copies it does not deadlock."""
    data = os.urandom(1 << 20)
    seen = bytearray()
    result = sandbox.exec(Command(("cat",), LONG_S, stdin=data, on_stdout=seen.extend))

    assert result.exit_code == 0
    assert bytes(seen) == data


def test_stdin_that_nobody_reads(sandbox: Sandbox) -> None:
    """A command may end without reading its stdin."""
    assert sandbox.exec(Command(("true",), LONG_S, stdin=bytes(1 << 20))).exit_code == 0


def test_without_stdin_there_is_an_end_of_file(sandbox: Sandbox) -> None:
    """A command that reads stdin, which was not given, gets nothing and goes on."""
    assert sandbox.exec(Command(("cat",), LONG_S)).stdout.total == 0


def test_the_environment_is_clean(open_sandbox: Open) -> None:
    """Only what the sandbox, its spec and the command name is there, nothing of the harness's own."""
    assert "PYTEST_CURRENT_TEST" in os.environ
    sandbox = open_sandbox(env={"FROM_SPEC": "1", "BOTH": "spec"})
    result = sandbox.exec(Command(("env",), LONG_S, env={"FROM_COMMAND": "2", "BOTH": "command"}))
    env = dict(line.split("=", 1) for line in result.stdout.text().splitlines())

    engines_own = {"HOSTNAME", "container", "TERM"}  # of Docker and of Podman
    assert set(env) - {"RUSTUP_HOME", "PWD", *engines_own} == {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "FROM_SPEC",
        "FROM_COMMAND",
        "BOTH",
    }
    assert (env["HOME"], env["TMPDIR"], env["BOTH"]) == (sandbox.home, sandbox.tmp, "command")


def test_home_and_tmp_are_private_and_last(open_sandbox: Open) -> None:
    """Each sandbox has its own home and temporary directory, kept from command to command, gone when it is closed."""
    one, two = open_sandbox("one"), open_sandbox("two")
    one.exec(shell("echo mine > $HOME/kept; echo mine > $TMPDIR/kept", LONG_S))

    assert one.exec(shell("cat $HOME/kept $TMPDIR/kept", LONG_S)).stdout.text() == "mine\nmine\n"
    assert two.exec(shell("ls -A $HOME $TMPDIR | grep kept", LONG_S)).exit_code == 1


def test_a_time_out_is_124(sandbox: Sandbox) -> None:
    """A command whose time ran out is killed and says so, with what it had printed."""
    result = sandbox.exec(shell("echo begun; exec sleep 7000.124", 4.0))

    assert (result.exit_code, result.timed_out) == (124, True)
    assert result.stdout.text() == "begun\n"
    assert not running("7000.124")


def test_a_command_that_ignores_signals_is_killed(sandbox: Sandbox) -> None:
    """SIGINT and SIGTERM may be ignored; the time-out ends the command all the same."""
    code = "import signal,time\nfor s in (2,15,1): signal.signal(s, signal.SIG_IGN)\nwhile True: time.sleep(100)"

    assert sandbox.exec(python(code, 1.0, "7001.polite", polite=True)).exit_code == 124
    assert not running("7001.polite")


def test_a_polite_end_lets_the_command_finish(sandbox: Sandbox) -> None:
    """With `polite`, SIGINT comes first, and what the command prints then is kept."""
    script = "trap 'echo last line; exit 0' INT TERM; echo ready; while :; do sleep 0.1; done"
    seen = bytearray()
    results: list[ExecResult] = []
    command = Command(("/bin/sh", "-c", script), LONG_S, polite=True, on_stdout=seen.extend)
    thread = threading.Thread(target=lambda: results.append(sandbox.exec(command)))
    try:
        thread.start()
        until(lambda: b"ready" in seen)
        interrupt_all()
        thread.join()
    finally:
        INTERRUPTER.clear()

    assert (results[0].interrupted, results[0].exit_code) == (True, 130)
    assert results[0].stdout.text() == "ready\nlast line\n"


HIDING = {
    "setsid": "setsid sleep {m} >/dev/null 2>&1 &",
    "nohup": "nohup sleep {m} >/dev/null 2>&1 &",
    "double fork": "(setsid sh -c 'sleep {m} & sleep {m} &' >/dev/null 2>&1 &)",
    "cleared environment": "(env -i /usr/bin/setsid /bin/sleep {m} >/dev/null 2>&1 &)",
    "holding the pipes": "setsid sleep {m} &",
}


@pytest.mark.parametrize("way", HIDING)
def test_what_hides_is_killed_when_time_is_up(sandbox: Sandbox, way: str) -> None:
    """A process that left its session, its parent and its environment goes with the command that ran out of time."""
    marker = f"71{os.getpid()}.{len(way)}1"
    script = HIDING[way].format(m=marker) + f"\nsleep {marker}"

    assert sandbox.exec(shell(script, 1.0)).exit_code == 124
    assert not running(marker)


@pytest.mark.parametrize("way", HIDING)
def test_what_was_left_behind_is_killed(sandbox: Sandbox, way: str) -> None:
    """A command ends although what it started goes on; before grading, `kill_all` leaves nothing of it."""
    marker = f"72{os.getpid()}.{len(way)}2"
    result = sandbox.exec(shell(HIDING[way].format(m=marker) + "\necho done", LONG_S))

    assert (result.exit_code, result.stdout.text()) == (0, "done\n")
    sandbox.kill_all()
    assert not running(marker)
    assert sandbox.kill_all() == 0
    assert sandbox.exec(shell("echo still works", LONG_S)).stdout.text() == "still works\n"


def test_five_hundred_children_are_survived(sandbox: Sandbox) -> None:
    """An agent that forks 500 children that fork no more is ended with all of them."""
    marker = f"73{os.getpid()}"
    code = """
import os, sys, time
for i in range(500):
    try:
        if os.fork() == 0:
            if i % 2: os.setsid()
            time.sleep(1000)
            os._exit(0)
    except OSError:
        pass
print("forked", flush=True)
time.sleep(1000)
"""
    seen = bytearray()
    results: list[ExecResult] = []
    command = python(code, LONG_S, marker, on_stdout=seen.extend)
    thread = threading.Thread(target=lambda: results.append(sandbox.exec(command)))
    thread.start()
    until(lambda: b"forked" in seen)

    assert sandbox.kill_all() > 400
    thread.join()
    assert results[0].exit_code == 137
    assert not running(marker)


def test_what_forks_while_it_is_killed_is_killed(sandbox: Sandbox) -> None:
    """Processes that replace themselves all the time are caught: they are frozen before they are killed."""
    marker = f"74{os.getpid()}"
    code = """
import os, sys, time
end = time.monotonic() + 100
for _ in range(6):
    if os.fork() == 0:
        os.setsid()
        while time.monotonic() < end:
            if os.fork() > 0: os._exit(0)
            time.sleep(0.002)
        os._exit(0)
time.sleep(1000)
"""
    assert sandbox.exec(python(code, 2.0, marker)).timed_out
    assert not running(marker)


def test_sandboxes_leave_each_other_alone(open_sandbox: Open) -> None:
    """Killing everything in one sandbox, or a time-out there, ends nothing in another."""
    one, two = open_sandbox("one"), open_sandbox("two")
    results: list[ExecResult] = []
    script = "echo up > ready; while [ ! -e go ]; do sleep 0.05; done; echo survived"
    thread = threading.Thread(target=lambda: results.append(two.exec(shell(script, LONG_S))))
    thread.start()
    until(lambda: two.read("ready") is not None)

    assert one.exec(shell("setsid sleep 7500 & sleep 7500", 0.5)).timed_out
    one.kill_all()
    one.close()
    two.write("go", b"")
    thread.join()

    assert results[0].stdout.text() == "survived\n"
    assert results[0].exit_code == 0


def test_commands_of_one_sandbox_run_at_once(sandbox: Sandbox) -> None:
    """Two commands may run at the same time, and the time-out of one does not end the other."""
    results: list[ExecResult] = []
    script = "echo up > ready; while [ ! -e go ]; do sleep 0.05; done; echo survived"
    thread = threading.Thread(target=lambda: results.append(sandbox.exec(shell(script, LONG_S))))
    thread.start()
    until(lambda: sandbox.read("ready") is not None)

    assert sandbox.exec(shell("sleep 7600", 0.3)).timed_out
    sandbox.write("go", b"")
    thread.join()

    assert results[0].stdout.text() == "survived\n"


@pytest.mark.parametrize("polite", [True, False])
def test_an_interrupt_ends_running_commands(open_sandbox: Open, polite: bool) -> None:
    """Setting the interrupt ends all running commands, flags them, and lets no new one start until it is cleared."""
    boxes = [open_sandbox("one"), open_sandbox("two")]
    results: list[ExecResult] = []

    def work(box: Sandbox) -> None:
        command = Command(("/bin/sh", "-c", "echo up > ready; sleep 7700"), LONG_S, polite=polite)
        results.append(box.exec(command))

    threads = [threading.Thread(target=work, args=(box,)) for box in boxes]
    try:
        for thread in threads:
            thread.start()
        until(lambda: all(box.read("ready") is not None for box in boxes))
        interrupt_all()
        for thread in threads:
            thread.join()
        late = boxes[0].exec(shell("echo never", LONG_S))
    finally:
        INTERRUPTER.clear()

    assert [(result.interrupted, result.timed_out) for result in [*results, late]] == [(True, False)] * 3
    assert late.stdout.total == 0
    assert boxes[0].exec(shell("echo again", LONG_S)).stdout.text() == "again\n"


def test_an_error_in_the_listener_ends_the_command(sandbox: Sandbox) -> None:
    """When `on_stdout` raises, the error comes out and the command is not left running."""

    def broken(_chunk: bytes) -> None:
        raise RuntimeError("the listener is broken")

    with pytest.raises(RuntimeError, match="listener is broken"):
        sandbox.exec(Command(("/bin/sh", "-c", "echo x; exec sleep 7800.5"), LONG_S, on_stdout=broken))
    assert not running("7800.5")


def test_write_and_read(sandbox: Sandbox) -> None:
    """Files are written with their directories and read back, by relative and by absolute path."""
    sandbox.write("a/b/c.txt", b"in the tree")
    sandbox.write(f"{sandbox.home}/.config/x", b"at home")

    assert sandbox.read(f"{sandbox.tree}/a/b/c.txt") == b"in the tree"
    assert sandbox.exec(shell("cat a/b/c.txt $HOME/.config/x", LONG_S)).stdout.text() == "in the treeat home"
    assert sandbox.read("a/b/c.txt", limit=2) == b"in"
    assert sandbox.read("a/b") is None
    assert sandbox.read("a/none") is None


def test_links_are_not_followed(sandbox: Sandbox, tmp_path: Path) -> None:
    """A symlink out of the sandbox, as the file or on the way, reads as nothing and is never written through."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    sandbox.exec(shell(f"ln -s {outside}/secret link; ln -s {outside} dir; mkfifo pipe", LONG_S))

    assert [sandbox.read(path) for path in ("link", "dir/secret", "pipe", "../outside/secret")] == [None] * 4
    assert sandbox.read(str(outside / "secret")) is None
    sandbox.write("link", b"mine")
    sandbox.write("dir/secret", b"mine")
    assert (outside / "secret").read_text() == "secret"
    assert (sandbox.read("link"), sandbox.read("dir/secret")) == (b"mine", b"mine")


@pytest.mark.parametrize("path", ["/etc/steelyard-test", "../escape", "", "/"])
def test_writing_elsewhere_is_refused(sandbox: Sandbox, path: str) -> None:
    """Only the sandbox's own directories can be written to."""
    with pytest.raises(InfraError, match="not in the sandbox's own directories"):
        sandbox.write(path, b"x")


def test_an_agent_that_deletes_its_tree(sandbox: Sandbox) -> None:
    """When the tree is gone, later commands run in an empty one, and an empty one is collected."""
    sandbox.write("kept/file", b"x")
    sandbox.exec(shell(f"rm -rf {sandbox.tree}", LONG_S))

    assert sandbox.exec(shell("ls -A", LONG_S)).stdout.text() == ""
    assert list(sandbox.collect_tree().iterdir()) == []


def test_files_that_outgrow_the_quota_end_the_command(open_sandbox: Open) -> None:
    """A command that fills the disk is ended and flagged; so is one that was too quick to be caught."""
    sandbox = open_sandbox(limits=Limits(disk_mb=8))
    quick = sandbox.exec(shell("echo small > file", LONG_S))
    result = sandbox.exec(shell("dd if=/dev/zero of=big bs=1M count=20 2>/dev/null; exec sleep 7900", LONG_S))

    assert not quick.over_disk
    assert (result.over_disk, result.timed_out, result.exit_code) == (True, False, 128 + signal.SIGXFSZ)


@pytest.mark.parametrize("provider", HOST, indirect=True)
def test_files_without_a_name_count(open_sandbox: Open) -> None:
    """What was deleted while it is open still fills the disk."""
    sandbox = open_sandbox(limits=Limits(disk_mb=8))
    fill = "exec 9> gone; rm gone; dd if=/dev/zero bs=1M count=20 >&9 2>/dev/null; sleep 7900"

    assert sandbox.exec(shell(fill, LONG_S)).over_disk


@pytest.mark.parametrize("provider", HOST, indirect=True)
def test_a_command_that_said_enough_is_ended(sandbox: Sandbox) -> None:
    """Once its listener has had enough it is asked to end, and may still say its last words."""
    script = "trap 'echo last words; exit 0' INT; echo one; echo two; while :; do sleep 0.05; done"
    heard = bytearray()
    command = Command(
        ("/bin/sh", "-c", script), LONG_S, on_stdout=heard.extend, enough=lambda: b"two" in heard, polite=True
    )
    result = sandbox.exec(command)

    assert (result.enough, result.timed_out, result.exit_code) == (True, False, 128 + signal.SIGXCPU)
    assert result.stdout.text() == "one\ntwo\nlast words\n"


@pytest.mark.parametrize("provider", HOST, indirect=True)
def test_what_was_used_is_metered(open_sandbox: Open) -> None:
    """Before anything ran all is unknown; afterwards CPU time and peak memory are about what the command used."""
    sandbox = open_sandbox()
    nothing = sandbox.meter()
    sandbox.exec(python("x = bytearray(64 << 20)\nimport time\nwhile time.process_time() < 0.3: pass"))
    used = sandbox.meter()

    assert (nothing.peak_memory_mb, nothing.cpu_time_s, nothing.source) == (None, None, "unknown")
    assert used.source == "processes"
    assert used.peak_memory_mb is not None
    assert 64 <= used.peak_memory_mb < 200
    assert used.cpu_time_s is not None
    assert 0.3 <= used.cpu_time_s < 30
    assert (used.cpu_periods, used.cpu_throttled_periods, used.oom_kills) == (None, None, None)


@pytest.mark.parametrize("provider", HOST, indirect=True)
def test_a_closed_sandbox_stays_closed(open_sandbox: Open, tmp_path: Path) -> None:
    """Closing twice is safe, runs nothing any more, keeps the tree, removes home and temporary files."""
    sandbox = open_sandbox()
    sandbox.exec(
        shell("mkdir $HOME/locked; touch $HOME/locked/x; chmod 0 $HOME/locked; echo x > $TMPDIR/y; echo z > z", LONG_S)
    )
    sandbox.close()
    sandbox.close()

    assert not (tmp_path / "one" / "scratch" / "home").exists()
    assert not (tmp_path / "one" / "scratch" / "tmp").exists()
    assert (tmp_path / "one" / "tree" / "z").read_text() == "z\n"
    assert sandbox.kill_all() == 0
    with pytest.raises(InfraError, match="closed"):
        sandbox.exec(shell("true", LONG_S))


@pytest.mark.parametrize("provider", HOST, indirect=True)
def test_no_zombie_stays(open_sandbox: Open) -> None:
    """What a sandbox's commands orphaned is reaped: nothing is left below its warden."""
    sandbox = open_sandbox()
    for _ in range(5):
        sandbox.exec(shell("(setsid sh -c 'true & true &' &) ; (sleep 0.01 &)", LONG_S))
    sandbox.kill_all()
    warden = sandbox.warden.pid  # type: ignore[attr-defined]  # sandboxes on this kernel have one

    assert count_children(warden) == 0
