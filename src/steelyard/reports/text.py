"""A comparison for a terminal."""

from steelyard.domain.comparison import Comparison


def headline(comparison: Comparison) -> str:
    """The verdict and its reason in a few lines."""
    verdict = comparison.verdict or comparison.decision.choice
    gain = comparison.net_composite_gain
    lines = [f"{comparison.candidate} against {comparison.baseline}: {verdict.upper()}"]
    if gain is not None:
        lines[0] += f" (net composite gain {gain:+.4f} over {len(comparison.tasks)} tasks)"
    lines += [f"  regression: {one.task_id}: {one.detail}" for one in comparison.regressions]
    lines.append(f"  decision: {comparison.decision.choice}")
    lines.append("  promote: yes" if comparison.promote else f"  promote: no: {'; '.join(comparison.promote_reasons)}")
    return "\n".join(lines)
