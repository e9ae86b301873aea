"""Problems as pages: what is wrong and what to do, for whoever came with a browser."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from steelyard.web.problems import CAUSES, ProblemError

_NEXT = {
    "not-found": "It may have been pruned, belong to another workspace, or still be running: runs appear when they "
    "have finished.",
    "no-such-route": "The navigation above leads to everything there is.",
    "misdirected": "Open the address that `steelyard serve` printed.",
}


def wants_page(scope: Mapping[str, Any]) -> bool:
    """Whether a person is looking: not at the API, and with a browser."""
    path = scope.get("path", "")
    if path.startswith(("/v1/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/static/")):
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope.get("headers", ()))


def problem_page(problem: ProblemError, scope: Mapping[str, Any]) -> Response:
    """The problem as a page; who is not signed in is asked to."""
    from steelyard.web.pages.shell import environment

    if problem.cause in ("unauthenticated", "invalid-token") and scope.get("method") in ("GET", "HEAD"):
        query = scope.get("query_string", b"").decode("latin-1")
        onward = scope.get("path", "/") + (f"?{query}" if query else "")
        return RedirectResponse(f"/sign-in?next={quote(onward, safe='')}", 303)
    from steelyard.web.pages.shell import POLICY

    body = (
        environment()
        .get_template("problem.html")
        .render(
            title=CAUSES[problem.cause][1],
            problem=problem,
            advice=_NEXT.get(problem.cause),
            here="",
            twin=None,
            notice=None,
            narrow=True,
            signed_in=False,
            csrf="",
            request_id=scope.get("state", {}).get("request_id"),
        )
    )
    headers = {**problem.headers, "Content-Security-Policy": POLICY}
    return Response(body, problem.status, headers=headers, media_type="text/html; charset=utf-8")


__all__ = ["Request", "problem_page", "wants_page"]
