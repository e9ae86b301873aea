"""A comparison in the format that was asked for."""

from steelyard.domain.comparison import Comparison
from steelyard.errors import InputError
from steelyard.reports.regressed import Link
from steelyard.reports.view import view_of

FORMATS = ("text", "json", "md", "html")


def render(comparison: Comparison, format: str, *, link: Link | None = None, colour: bool = False) -> str:  # noqa: A002  # the word people use
    """The report as a string; the same comparison gives the same bytes."""
    if format == "json":
        return comparison.model_dump_json(indent=2) + "\n"
    view = view_of(comparison, link)
    if format == "text":
        from steelyard.reports import text

        return text.render(view, colour=colour)
    if format == "md":
        from steelyard.reports import markdown

        return markdown.render(view)
    if format == "html":
        from steelyard.reports import html

        return html.render(view)
    raise InputError(f"no report format is called '{format}'; allowed: {', '.join(FORMATS)}")
