"""bwrap: bubblewrap around every command. Read-only system, private home and /tmp, own processes, network as asked."""

import shutil
import subprocess
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from steelyard.domain.usage import Resources
from steelyard.errors import InfraError
from steelyard.sandboxes import cgroup
from steelyard.sandboxes.base import Command, ExecResult, Sandbox, SandboxProvider, SandboxSpec
from steelyard.sandboxes.binds import covers, program_binds, system_binds
from steelyard.sandboxes.environment import clean_environment, search_path, toolchain_homes
from steelyard.sandboxes.files import Places
from steelyard.sandboxes.host import HostSandbox
from steelyard.sandboxes.process import Ended, Launch

TREES = ("/repo", "/code", "/project")
HOME, TMP, SHM = "/home/dev", "/tmp", "/dev/shm"  # noqa: S108  # paths inside the sandbox, private to it
UID = "1000"
PASSWD = (
    f"root:x:0:0:root:/root:/bin/sh\ndev:x:{UID}:{UID}:dev:{HOME}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
)
GROUP = f"root:x:0:\ndev:x:{UID}:\nnogroup:x:65534:\n"
REMEDY = "install bubblewrap (apt install bubblewrap) and allow user namespaces, or use --sandbox docker or local"
# An own session: no key strokes can be pushed into the user's terminal. The user namespace takes the rights of root
# away even from root, and may make no further ones.
ALONE = (
    *("--unshare-user", "--uid", UID, "--gid", UID, "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
    *("--hostname", "sandbox", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)


class BwrapSandbox(HostSandbox):
    """Every command gets namespaces of its own around the same tree, home and /tmp; its processes end with it."""

    own_processes = 3  # the warden, bubblewrap, and its own first process inside

    def __init__(self, spec: SandboxSpec, provider: "BwrapProvider") -> None:
        self.provider = provider
        scratch = spec.scratch.absolute()
        inside = provider.tree
        own = {HOME: scratch / "home", TMP: scratch / "tmp", SHM: scratch / "shm"}
        super().__init__(spec, Places({inside: spec.tree.absolute(), **own}))
        self._users(scratch / "etc")
        self.arguments = self._arguments(scratch / "etc")

    def _users(self, directory: Path) -> None:
        """Programs look up who they are, and need not know who else uses this machine."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "passwd").write_text(PASSWD)
            (directory / "group").write_text(GROUP)
        except OSError as error:
            self.close()
            raise InfraError("sandbox_error", f"cannot make the sandbox's directories: {error}") from error

    def _arguments(self, users: Path) -> tuple[str, ...]:
        """All of the command line but the working directory and the command."""
        words = [self.provider.program, *self.provider.alone, *self.provider.system]
        words += ["--ro-bind", str(users / "passwd"), "/etc/passwd", "--ro-bind", str(users / "group"), "/etc/group"]
        # Read-only as a whole: to the kernel, root in a user namespace is still root before /proc/sys.
        words += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--dir", "/run"]
        words += ["--symlink", TMP, "/var/tmp"]  # noqa: S108  # inside
        for inside in (TMP, HOME, SHM):
            words += ["--bind", str(self.places.places[inside]), inside]
        for path in self.provider.programs:
            words += ["--ro-bind-try", str(path), str(path)]
        words += ["--bind", str(self.places.places[self.tree]), self.tree]
        words += ["--remount-ro", "/dev", "--remount-ro", "/"]  # what is written anywhere else would not be measured
        if not self.spec.limits.network:
            words.append("--unshare-net")
        return tuple(words)

    def launch(self, command: Command) -> Launch:
        """The command in its wrapping; what bubblewrap has to say goes to file 3."""
        where = command.cwd or self.tree
        argv = (*self.arguments, "--json-status-fd", "3", "--chdir", where, "--", *command.argv)
        env = clean_environment(self.provider.path, HOME, TMP, self.provider.toolchains, self.spec.env, command.env)
        return Launch(argv, env, "/", inner=True, reports=True)

    def settle(self) -> None:
        """Bubblewrap ends a moment before its namespace does; what was used in there is only known afterwards."""
        if not self.closed:
            self.metered.add(self.warden.settle())

    def kill_all(self) -> int:
        """Kill every running command with all that it started; say how many processes."""
        self.settle()
        return super().kill_all()

    def meter(self) -> Resources:
        """What was consumed so far."""
        self.settle()
        return super().meter()

    def finish(self, ended: Ended) -> ExecResult:
        """Tell bubblewrap's own failures, which are ours, from those of the command."""
        result = ended.result
        stopped = result.timed_out or result.interrupted or result.over_disk or result.enough or result.exit_code > 128
        said = result.stderr.head
        if not ended.started and result.exit_code == 126:  # arguments too long, for example
            return result
        if said.startswith(b"bwrap: execvp ") and result.exit_code == 1:
            return replace(result, exit_code=126 if b"denied" in said else 127)
        if said.startswith(b"bwrap: Can't chdir") and b'"exit-code"' not in ended.report:
            return replace(result, exit_code=127)
        if b'"exit-code"' not in ended.report and not stopped:
            raise InfraError("sandbox_error", f"bubblewrap: {result.tail(300) or 'it ended without a word'}")
        return result


class BwrapProvider(SandboxProvider):
    """Makes bubblewrap sandboxes; what they show of the machine is found out once."""

    type = "bwrap"
    isolates = True

    def __init__(self) -> None:
        self.path, self.toolchains = search_path(), toolchain_homes()

    @cached_property
    def program(self) -> str:
        """Where bubblewrap is."""
        return shutil.which("bwrap") or "bwrap"

    @cached_property
    def programs(self) -> list[Path]:
        """What programs on the PATH need beyond the system."""
        return [*program_binds(self.path, [Path.home()]), *(Path(home) for home in self.toolchains.values())]

    @cached_property
    def system(self) -> list[str]:
        """The arguments that show the system."""
        return [*system_binds(), *covers()]

    @cached_property
    def tree(self) -> str:
        """Where the tree is inside: always the same place, unless a program has to be visible there."""
        free = (name for name in TREES if not any(path.is_relative_to(name) for path in self.programs))
        return next(free, "/repo-of-this-run")

    @cached_property
    def alone(self) -> tuple[str, ...]:
        """The arguments that separate; older versions can't forbid further user namespaces."""
        strict = (*ALONE, "--disable-userns")
        return strict if self._probe(strict) is None else ALONE

    def _probe(self, alone: tuple[str, ...]) -> str | None:
        """What goes wrong with a sandbox that does nothing."""
        words = [self.program, *alone, *self.system, "--proc", "/proc", "--remount-ro", "/proc"]
        words += ["--dev", "/dev", "--unshare-net", "true"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return None if done.returncode == 0 else (done.stderr.strip() or f"exit code {done.returncode}")

    def check(self) -> str | None:
        """Whether bubblewrap is there and this user may use it."""
        if shutil.which("bwrap") is None:
            return f"bubblewrap is not installed; {REMEDY}"
        problem = self._probe(self.alone)
        return None if problem is None else f"bubblewrap does not work here ({problem[:200]}); {REMEDY}"

    def clean(self) -> int:
        """Remove control groups that killed harnesses left behind."""
        return cgroup.clean()

    def open(self, spec: SandboxSpec) -> Sandbox:
        """A new sandbox."""
        return BwrapSandbox(spec, self)
