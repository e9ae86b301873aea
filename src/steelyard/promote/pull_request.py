"""Opening the pull request: with `gh` where it is logged in, else with GitHub's REST API."""

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from steelyard.errors import MeasureError

GITHUB_API = "https://api.github.com"
LONGEST_BODY = 65_000  # GitHub refuses 65,536 characters and more
TIMEOUT_S = 60
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_REMOTE = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/\s]+@)?(?P<host>[^/:\s]+)(?::\d+)?/|(?:[^@/\s]+@)?(?P<scp>[^/:\s]+):)"
    r"(?P<slug>[A-Za-z0-9._-]+/[A-Za-z0-9._-]+?)(?:\.git)?/?"
)
_SLUG = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Request:
    """A pull request that is to be opened."""

    slug: str
    head: str
    base: str
    title: str
    body: str


@dataclass(frozen=True)
class Opened:
    """A pull request that is open."""

    url: str
    number: int | None


@dataclass(frozen=True)
class Way:
    """How pull requests are opened here: the `gh` program, or an API with a token; else `missing` says what lacks."""

    gh: str | None = None
    api: str = GITHUB_API
    token: str | None = None
    missing: str | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return "gh" if self.gh else f"the API at {self.api}"


def slug_of(url: str) -> tuple[str, str] | None:
    """The host and OWNER/NAME of a remote's URL; None when it is no such URL (a path, for example)."""
    found = _REMOTE.fullmatch(url)
    return None if found is None else (found["host"] or found["scp"], found["slug"])


def is_slug(text: str) -> bool:
    """Whether it is OWNER/NAME."""
    return _SLUG.fullmatch(text) is not None and ".." not in text


def choose_way(environ: Mapping[str, str], host: str, top: Path) -> Way:
    """`gh` where it is present and logged in for the host; an API that is named otherwise is spoken to directly."""
    named = (environ.get("GITHUB_API_URL") or "").rstrip("/")
    api = named or (GITHUB_API if host == "github.com" else f"https://{host}/api/v3")
    gh = shutil.which("gh", path=environ.get("PATH"))
    if gh and api in (GITHUB_API, f"https://{host}/api/v3") and _logged_in(gh, host, top):
        return Way(gh=gh, api=api)
    parts = urlsplit(api)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        return Way(api=api, missing=f"GITHUB_API_URL {api}: https is needed, so that nobody reads the token")
    token = environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN")
    if not token:
        here = "gh is not logged in" if gh else "gh is not installed"
        return Way(api=api, missing=f"no way to open a pull request: {here} and GITHUB_TOKEN is not set")
    if not token.isascii() or not token.isprintable():
        return Way(api=api, missing="GITHUB_TOKEN is no token: it holds characters that no token has")
    return Way(api=api, token=token)


def open_request(request: Request, way: Way, top: Path) -> Opened:
    """Open it; `MeasureError` says in one line why it did not open."""
    return _with_gh(request, way.gh, top) if way.gh else _with_api(request, way)


def fitting(body: str) -> str:
    """A body that GitHub takes: cut where it is too long, and said so."""
    if len(body) <= LONGEST_BODY:
        return body
    return body[: LONGEST_BODY - 100] + "\n\n*The report is longer than GitHub allows and was cut here.*\n"


def _logged_in(gh: str, host: str, top: Path) -> bool:
    try:
        done = subprocess.run(
            [gh, "auth", "status", "--hostname", host], cwd=top, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _with_gh(request: Request, gh: str, top: Path) -> Opened:
    words = ["--repo", request.slug, "--head", request.head, "--base", request.base, "--title", request.title]
    try:
        done = subprocess.run(
            [gh, "pr", "create", *words, "--body-file", "-"],
            cwd=top,
            input=request.body.encode(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MeasureError(f"gh did not open the pull request: {error}") from None
    if done.returncode != 0:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[:500]
        raise MeasureError(f"gh did not open the pull request: {said or f'exit code {done.returncode}'}")
    url = (done.stdout.decode("utf-8", "replace").split() or [""])[-1]
    number = url.rpartition("/")[2]
    return Opened(url, int(number) if number.isdecimal() else None)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token is never carried to another place."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        """Refuse."""
        del req, fp, code, msg, headers, newurl


def _with_api(request: Request, way: Way) -> Opened:
    url = f"{way.api}/repos/{request.slug}/pulls"
    fields = {"title": request.title, "head": request.head, "base": request.base, "body": request.body}
    asked = urllib.request.Request(url, json.dumps(fields).encode(), method="POST")  # noqa: S310  # https, or loopback
    for name, value in {
        "Authorization": f"Bearer {way.token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
        "Content-Type": "application/json",
        "User-Agent": "steelyard",
    }.items():
        asked.add_header(name, value)
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if urlsplit(url).hostname in _LOOPBACK:
        handlers.append(urllib.request.ProxyHandler({}))
    try:
        with urllib.request.build_opener(*handlers).open(asked, timeout=TIMEOUT_S) as answer:
            return _opened(_json(answer.read(1 << 22)))
    except urllib.error.HTTPError as error:
        with error:
            raise MeasureError(_complaint(error.code, _json(error.read(1 << 20)), request, way)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise MeasureError(f"{way.api} did not answer: {' '.join(str(reason).split())}") from None


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _opened(answer: Any) -> Opened:
    if not isinstance(answer, dict) or not isinstance(answer.get("html_url"), str):
        raise MeasureError("the API answered, but not with a pull request; look whether it is open")
    number = answer.get("number")
    return Opened(answer["html_url"], number if isinstance(number, int) else None)


def _complaint(code: int, answer: Any, request: Request, way: Way) -> str:
    """An error answer in words, with what to do."""
    said = []
    if isinstance(answer, dict):
        said = [str(answer["message"])] if answer.get("message") else []
        errors = answer.get("errors")
        for error in errors if isinstance(errors, list) else []:
            text = error.get("message") or error.get("code") if isinstance(error, dict) else error
            said.append(str(text))
    remedy = {
        401: "the token was not accepted; set a valid GITHUB_TOKEN",
        403: "the token may not open pull requests there; give it the permission 'Pull requests: write'",
        404: f"there is no repository {request.slug}, or the token may not see it",
        422: "the request was refused",
    }.get(code, f"{way.api} answered {code}")
    words = " ".join("; ".join(said).split())[:300]
    return f"no pull request was opened ({code}): {remedy}" + (f" ({words})" if words else "")
