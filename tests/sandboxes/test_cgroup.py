"""Control groups: where they are, what they say, and that their limits hold where they can be made."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.domain.suite import Limits
from steelyard.sandboxes import cgroup
from steelyard.sandboxes.base import Command, SandboxSpec, shell
from steelyard.sandboxes.cgroup import Cgroup, Hierarchies, parse_hierarchies
from steelyard.sandboxes.local import LocalSandbox
from steelyard.sandboxes.meter import Meter, tree_memory_mb
from steelyard.sandboxes.wardens import Used

LONG_S = 120.0
HOG = Command(("python3", "-c", "x = [bytearray(1 << 20) for _ in range(400)]; print(len(x))"), LONG_S)
V1_MOUNTS = [
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct",
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory",
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw",
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
]


def test_version_1_is_found_by_controller() -> None:
    """Each controller has its own directory; two may share one."""
    found = parse_hierarchies(V1_MOUNTS, ["4:memory:/a/b", "2:cpu,cpuacct:/", "0::/c"])

    assert found.v1 == {
        "memory": Path("/sys/fs/cgroup/memory/a/b"),
        "cpu": Path("/sys/fs/cgroup/cpu,cpuacct"),
        "cpuacct": Path("/sys/fs/cgroup/cpu,cpuacct"),
    }
    assert found.v2 == Path("/sys/fs/cgroup/unified/c")


def test_version_2_in_a_container_starts_at_its_own_root() -> None:
    """A mount of a part of the hierarchy is seen from that part."""
    mounts = ["30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw"]

    assert parse_hierarchies(mounts, ["0::/docker/abc/x"]).v2 == Path("/sys/fs/cgroup/x")


def test_the_numbers_of_version_2(tmp_path: Path) -> None:
    """The files of version 2 as the kernel writes them."""
    (tmp_path / "memory.peak").write_text("104857600\n")
    (tmp_path / "memory.current").write_text("52428800\n")
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 4\noom 1\noom_kill 2\noom_group_kill 0\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\nnr_periods 40\nnr_throttled 10\n")
    meter = Meter(Limits(memory_mb=200), Cgroup("cgroup2", {"memory": tmp_path, "cpu": tmp_path}))
    meter.add(Used(1.0, 1024))
    found = meter.resources()

    assert (found.peak_memory_mb, found.memory_limit_mb, found.cpu_time_s) == (100.0, 200.0, 2.5)
    assert (found.cpu_periods, found.cpu_throttled_periods, found.oom_kills, found.source) == (40, 10, 2, "cgroup2")


def test_an_older_kernel_keeps_no_peak(tmp_path: Path) -> None:
    """Without memory.peak the peak is looked for, and what no file tells stays unknown."""
    (tmp_path / "memory.current").write_text("52428800\n")
    meter = Meter(Limits(), Cgroup("cgroup2", {"memory": tmp_path}))
    meter.sample(1)
    (tmp_path / "memory.current").write_text("10\n")
    meter.sample(1)
    found = meter.resources()

    assert meter.samples
    assert (found.peak_memory_mb, found.cpu_time_s, found.oom_kills, found.cpu_periods) == (50.0, None, None, None)


def test_no_hierarchy_no_group() -> None:
    """Where no control groups are mounted, none is made."""
    assert cgroup.make(1, Hierarchies()) is None


def test_limits_of_version_2_are_written(tmp_path: Path) -> None:
    """The limits go into the files that the kernel reads; a controller that is missing is named."""
    group = Cgroup("cgroup2", {"memory": tmp_path, "cpu": tmp_path})
    missing = group.limit(Limits(memory_mb=64, cpus=1.5, pids=20), own_processes=1)

    assert (tmp_path / "memory.max").read_text() == str(64 << 20)
    assert (tmp_path / "memory.swap.max").read_text() == "0"
    assert (tmp_path / "cpu.max").read_text() == "150000 100000"
    assert missing == ["pids"]


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[LocalSandbox]:
    """A sandbox with limits on everything."""
    limits = Limits(memory_mb=64, cpus=0.5, pids=40)
    opened = LocalSandbox(SandboxSpec("run", tmp_path / "tree", tmp_path / "scratch", limits))
    yield opened
    opened.close()


def controls(sandbox: LocalSandbox, name: str) -> bool:
    """Whether this machine lets that limit be set."""
    return sandbox.cgroup is not None and name in sandbox.cgroup.controllers


def test_too_much_memory_is_told_from_a_crash(limited: LocalSandbox) -> None:
    """A command that the kernel ended for its memory is flagged; where no group can be made, the note says so."""
    result = limited.exec(HOG)
    crash = limited.exec(shell("kill -9 $$", LONG_S))
    used = limited.meter()

    assert (crash.exit_code, crash.out_of_memory) == (137, False)
    assert used.memory_limit_mb == 64
    if not controls(limited, "memory"):
        assert limited.notes[0].startswith("limits.memory_mb is not enforced")
        assert used.oom_kills is None
    else:
        assert (result.exit_code, result.out_of_memory) == (137, True)
        assert used.peak_memory_mb is not None
        assert used.peak_memory_mb <= 65
        assert used.oom_kills


def test_too_many_processes_are_refused(limited: LocalSandbox) -> None:
    """With a limit on processes, a fork beyond it fails inside; the sandbox goes on."""
    code = """
import os, time
born = 0
for _ in range(100):
    try:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        born += 1
    except BlockingIOError:
        break
print(born)
"""
    result = limited.exec(Command(("python3", "-c", code), LONG_S))
    limited.kill_all()

    born = int(result.stdout.text())
    assert 30 <= born <= 39 if controls(limited, "pids") else born == 100
    assert limited.exec(shell("echo on", LONG_S)).stdout.text() == "on\n"


def test_throttling_is_counted(limited: LocalSandbox) -> None:
    """On half a CPU, periods and throttled ones are counted, or unknown where they can't be."""
    limited.exec(Command(("python3", "-c", "import time\nwhile time.process_time() < 0.5: pass"), LONG_S))
    used = limited.meter()

    if not controls(limited, "cpu"):
        assert (used.cpu_periods, used.cpu_throttled_periods) == (None, None)
    else:
        assert used.cpu_periods
        assert used.cpu_throttled_periods is not None  # how many depends on what else this machine does
        assert 0 <= used.cpu_throttled_periods <= used.cpu_periods
    assert used.cpu_time_s is not None
    assert used.cpu_time_s >= 0.5


def test_a_closed_sandbox_leaves_no_group(limited: LocalSandbox) -> None:
    """The group's directories are gone with the sandbox, and its measurements stay."""
    limited.exec(shell("(sleep 8300 &); true", LONG_S))
    directories = [] if limited.cgroup is None else list(limited.cgroup.controllers.values())
    limited.close()

    assert not [path for path in directories if path.exists()]
    assert limited.meter().cpu_time_s is not None


def test_memory_of_a_tree_that_is_not_there_is_unknown() -> None:
    """No process below means no measurement, not zero."""
    assert tree_memory_mb(2**22 + 1) is None


def test_peaks_of_many_processes_are_sampled(tmp_path: Path) -> None:
    """Where only processes can be looked at, the peak is that of all of them together."""
    box = LocalSandbox(SandboxSpec("run", tmp_path / "tree", tmp_path / "scratch"))
    one = "python3 -c \"x = bytearray(b'x' * (40 << 20)); open('$F', 'w').close(); import time; time.sleep(600)\""
    wait = "while [ ! -e a ] || [ ! -e b ] || [ ! -e enough ]; do sleep 0.05; done; kill %1 %2 2>/dev/null; true"
    script = f"{one.replace('$F', 'a')} & {one.replace('$F', 'b')} & {wait}"
    seen: list[float] = []

    def look() -> None:
        import time

        end = time.monotonic() + 60
        while not seen or max(seen) < 80:
            assert time.monotonic() < end
            seen.append(box.meter().peak_memory_mb or 0.0)
            time.sleep(0.02)
        box.write("enough", b"")

    import threading

    thread = threading.Thread(target=look)
    thread.start()
    box.exec(shell(script, LONG_S))
    thread.join()
    peak = box.meter().peak_memory_mb
    box.close()

    assert peak is not None
    assert 80 <= peak < 300
