"""local: a directory and processes. It isolates nothing: use it for agents you trust with this account."""

import sys

from steelyard.sandboxes import cgroup
from steelyard.sandboxes.base import Command, Sandbox, SandboxProvider, SandboxSpec
from steelyard.sandboxes.environment import clean_environment, search_path, toolchain_homes
from steelyard.sandboxes.files import Places
from steelyard.sandboxes.host import HostSandbox
from steelyard.sandboxes.process import Launch

NOTHING = "the local sandbox isolates nothing: the agent can read and write whatever this account can"


class LocalSandbox(HostSandbox):
    """Commands run as this user, in the tree, with a clean environment and their own home and temporary directory."""

    def __init__(self, spec: SandboxSpec) -> None:
        tree = spec.tree.absolute()
        home, tmp = spec.scratch.absolute() / "home", spec.scratch.absolute() / "tmp"
        super().__init__(spec, Places({str(tree): tree, str(home): home, str(tmp): tmp}))
        self.path, self.toolchains = search_path(), toolchain_homes()
        if not spec.limits.network:
            self.notes += ("limits.network is not enforced: the local sandbox can't take the network away",)

    def launch(self, command: Command) -> Launch:
        """The command itself."""
        env = clean_environment(self.path, self.home, self.tmp, self.toolchains, self.spec.env, command.env)
        return Launch(command.argv, env, command.cwd or self.tree)


class LocalProvider(SandboxProvider):
    """Makes local sandboxes."""

    type = "local"
    isolates = False
    note = NOTHING

    def check(self) -> str | None:
        """Works wherever Linux does."""
        return None if sys.platform == "linux" else "the local sandbox needs Linux (child subreapers); use docker"

    def clean(self) -> int:
        """Remove control groups that killed harnesses left behind."""
        return cgroup.clean()

    def open(self, spec: SandboxSpec) -> Sandbox:
        """A new sandbox."""
        return LocalSandbox(spec)
