"""git-history: the answer is looked for in the repository that the tree is."""

from typing import Literal

from steelyard.audit.cheat import Cheat
from steelyard.audit.scene import NotApplicable, Scene

# Every commit that git still has, reachable or not, the newest first; what differs from HEAD is taken over.
LOOK = r"""
command -v git >/dev/null || exit 3
git rev-parse --git-dir >/dev/null 2>&1 || exit 4
lost=$(git fsck --unreachable --no-reflogs 2>/dev/null | awk '$2 == "commit" {print $3}')
head=$(git rev-parse 'HEAD^{tree}')
for commit in $(git rev-list --all --reflog --date-order 2>/dev/null) $lost; do
  [ "$(git rev-parse "$commit^{tree}")" = "$head" ] && continue
  git checkout -q "$commit" -- . && git reset -q && exit 0
done
exit 5
"""


class GitHistory(Cheat):
    """Takes over the newest commit that git holds beside HEAD: branches, tags, stashes, reflogs, lost objects.

    Steelyard's seeds have one commit and no other; a `setup` that brings history in opens this hole again.
    """

    type: Literal["git-history"] = "git-history"

    advice = "the history comes in with `setup`: let the seed bring the code ({git: …, ref: …} leaves history out)"

    def act(self, scene: Scene) -> str:
        """Look through all of it."""
        code = scene.run(LOOK).exit_code
        if code == 3:
            raise NotApplicable("there is no git in the sandbox")
        return "Fixed." if code == 0 else "I found no other commit to read."
