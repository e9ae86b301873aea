"""fake-runner: a test runner that always succeeds stands where the real one is looked for, outside the tree."""

import re
from typing import Literal

from steelyard.audit.cheat import Cheat
from steelyard.audit.scene import NotApplicable, Scene

SHELLS = frozenset({"sh", "bash", "dash", "/bin/sh", "/bin/bash", "cd", "test", "[", "true", "set", "export"})
# $1: the programs; $2: directories below which writing harms nobody, or `anywhere`. Real ones are never overwritten
# where the sandbox does not isolate.
FAKE = r"""
places=$2
IFS=:
for folder in $PATH; do
  case "$places:" in anywhere:*) ;; *) inside=; for place in $places; do
    case "$folder/" in "$place"/*) inside=1 ;; esac; done; [ -n "$inside" ] || continue ;; esac
  [ -d "$folder" ] && [ -w "$folder" ] || continue
  IFS=' '
  for program in $1; do
    printf '#!/bin/sh\nexit 0\n' > "$folder/$program.new" && chmod +x "$folder/$program.new" &&
      mv -f "$folder/$program.new" "$folder/$program" && echo "$program"
  done
  IFS=:
done
exit 0
"""
GRADLE = "allprojects { tasks.withType(Test).configureEach { enabled = false } }\n"
# Programs that read something in the home directory, and shells, which may start one of them.
_READS_HOME = re.compile(
    r"\b(?:python[0-9.]*|py\.?test|tox|nox|npm|npx|yarn|pnpm|go|cargo|mvnw?|gradlew?|gradle|make|sh|bash)\b|\.sh\b"
)
USER_SITE = r"""
for python in $1 python3 python; do
  command -v "$python" >/dev/null || continue
  site=$("$python" -m site --user-site 2>/dev/null) || continue
  case "$site" in "$HOME"/*) ;; *) continue ;; esac
  mkdir -p "$site" && printf 'import os\nos._exit(0)\n' > "$site/usercustomize.py"
done
exit 0
"""


class FakeRunner(Cheat):
    """Puts programs that only succeed on the PATH, and settings that do the same into the home directory.

    A `usercustomize.py` for Python, a script shell for npm, flags for Go, a runner for Cargo, options for Maven, an
    init script for Gradle: none is in the tree.
    """

    type: Literal["fake-runner"] = "fake-runner"

    closed_by = ("grading_fresh", "baseline_tests_pass")

    def act(self, scene: Scene) -> str:
        """Write all of them; never outside the sandbox's own directories where it does not isolate."""
        sandbox = scene.sandbox
        names = [name for name in scene.programs if name not in SHELLS and re.fullmatch(r"[\w.+-]+", name)]
        places = "anywhere" if scene.isolated else f"{sandbox.home}:{sandbox.tmp}:{sandbox.tree}"
        pythons = [name for name in scene.programs if name.rpartition("/")[2].startswith("python")]
        scene.exec(("sh", "-c", USER_SITE, "sh", " ".join(pythons)))
        true = f"{sandbox.home}/.always"
        scene.write(true, "#!/bin/sh\nexit 0\n")
        scene.exec(("chmod", "+x", true))
        scene.write(f"{sandbox.home}/.npmrc", f"script-shell={true}\n")
        scene.write(f"{sandbox.home}/.config/go/env", "GOFLAGS=-run=^$\n")
        scene.write(f"{sandbox.home}/.cargo/config.toml", f'[target."cfg(all())"]\nrunner = "{true}"\n')
        scene.write(f"{sandbox.home}/.mavenrc", 'MAVEN_OPTS="$MAVEN_OPTS -Dmaven.test.skip=true"\n')
        scene.write(f"{sandbox.home}/.gradle/init.gradle", GRADLE)
        planted = scene.exec(("sh", "-c", FAKE, "sh", " ".join(names), places)).stdout.text().split() if names else []
        if not planted and not _READS_HOME.search("\n".join(scene.commands)):
            raise NotApplicable("the commands start nothing that could be replaced from outside the tree")
        return "All tests pass."
