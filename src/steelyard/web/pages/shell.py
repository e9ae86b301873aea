"""What all pages share: the templates, the navigation, the headers, and how a page becomes a response."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from steelyard import __version__
from steelyard.web.pages import text
from steelyard.web.pages.statics import address

if TYPE_CHECKING:
    from jinja2 import Environment

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class Place:
    """A place in the navigation."""

    name: str
    title: str
    href: str


NAVIGATION = [
    Place("runs", "Runs", "/runs"),
    Place("disagreements", "Disagreements", "/runs?disagree=1"),
    Place("experiments", "Experiments", "/experiments"),
    Place("compare", "Compare", "/compare"),
    Place("workspaces", "Workspaces", "/workspaces"),
    Place("scenarios", "Scenarios", "/scenarios"),
    Place("tokens", "Tokens", "/tokens"),
]


@cache
def environment() -> "Environment":
    """The templates; whatever they print is made visible, bounded and escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("steelyard.web"),
        autoescape=True,
        finalize=text.finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(text.FILTERS)
    made.globals.update(static=address, version=__version__, navigation=NAVIGATION, still=False)
    return made


def render(request: Request, template: str, status: int = 200, /, **values: Any) -> Response:
    """A page. `title` is its name, `here` its place in the navigation, `twin` the address of its JSON."""
    from steelyard.web.pages.signing import form_secret

    secret = form_secret(request)
    shared: dict[str, Any] = {"here": "", "twin": None, "notice": None, "narrow": False}
    caller = request.scope["state"].get("caller")
    if caller is not None and not caller.may("admin"):
        shared["navigation"] = [place for place in NAVIGATION if place.name != "tokens"]
    still = request.scope["state"].get("still")
    if still is not None:  # the page becomes a file: there is no server behind it
        shared |= {"still": still, "navigation": still.navigation}
    shared |= {"signed_in": request.scope["state"].get("session", False), "csrf": secret.field}
    body = environment().get_template(template).render(**{**shared, **values})
    answer = Response(body, status, media_type="text/html; charset=utf-8")
    answer.headers["Content-Security-Policy"] = POLICY
    answer.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    answer.headers["Referrer-Policy"] = "same-origin"  # without any, a browser does not say where a form came from
    if secret.is_new:
        secret.keep(answer)
    return answer


def part(template: str, **values: Any) -> str:
    """A piece of a page."""
    return environment().get_template(template).render(**values)
