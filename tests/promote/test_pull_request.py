"""Where and how pull requests are opened."""

import os
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import MeasureError
from steelyard.promote.pull_request import LONGEST_BODY, Request, choose_way, fitting, is_slug, open_request, slug_of
from tests.promote.support import github

REQUEST = Request("acme/tool", "b", "main", "A title", "A body")


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://github.com/acme/tool.git", ("github.com", "acme/tool")),
        ("https://user:pw@github.com/acme/tool", ("github.com", "acme/tool")),
        ("git@github.com:acme/tool.git", ("github.com", "acme/tool")),
        ("ssh://git@git.example.org:2222/acme/tool.js.git", ("git.example.org", "acme/tool.js")),
        ("/srv/git/tool.git", None),
        ("file:///srv/git/tool.git", None),
        ("../tool", None),
        ("https://github.com/tool", None),
        ("https://github.com/a/b/c", None),
    ],
)
def test_the_repository_of_a_remote(url: str, found: tuple[str, str] | None) -> None:
    """OWNER/NAME of what is on a host; nothing of a path."""
    assert slug_of(url) == found


@pytest.mark.parametrize(
    ("text", "fine"), [("a/b", True), ("a", False), ("a/b/c", False), ("../b", False), ("a/b?x", False)]
)
def test_a_slug_is_owner_and_name(text: str, fine: bool) -> None:
    """Nothing that would lead to another place of the API."""
    assert is_slug(text) is fine


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "GITHUB_TOKEN is not set"),
        ({"GITHUB_API_URL": "http://api.example.org", "GITHUB_TOKEN": "t"}, "https is needed"),
        ({"GITHUB_API_URL": "file:///etc", "GITHUB_TOKEN": "t"}, "https is needed"),
        ({"GITHUB_TOKEN": "a\nb"}, "is no token"),
    ],
)
def test_what_is_missing_is_said(environ: dict[str, str], words: str, tmp_path: Path) -> None:
    """No token, or one that would be read by others."""
    way = choose_way({"PATH": str(tmp_path), **environ}, "github.com", tmp_path)

    assert words in (way.missing or "")


@pytest.mark.parametrize(
    ("host", "api"),
    [("github.com", "https://api.github.com"), ("git.example.org", "https://git.example.org/api/v3")],
)
def test_the_api_of_a_host(host: str, api: str, tmp_path: Path) -> None:
    """GitHub's own, or that of a GitHub Enterprise host."""
    assert choose_way({"PATH": str(tmp_path), "GITHUB_TOKEN": "t"}, host, tmp_path).api == api


def program(folder: Path, text: str) -> dict[str, str]:
    """A `gh` on the PATH that answers as a script says."""
    path = folder / "gh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_gh_opens_it_where_it_is_logged_in(tmp_path: Path) -> None:
    """The program gets repository, branch, base, title, and the body on its stdin; its last line is the address."""
    script = 'if [ "$1" = pr ]; then echo "$@" > asked; cat > body; echo https://github.com/acme/tool/pull/9; fi'
    way = choose_way(program(tmp_path, script), "github.com", tmp_path)

    opened = open_request(REQUEST, way, tmp_path)

    assert (opened.url, opened.number) == ("https://github.com/acme/tool/pull/9", 9)
    asked = (tmp_path / "asked").read_text()
    assert "pr create --repo acme/tool --head b --base main --title A title --body-file -" in asked
    assert (tmp_path / "body").read_text() == "A body"


def test_gh_that_is_not_logged_in_is_passed_over(tmp_path: Path) -> None:
    """Then the API is used, if there is a token."""
    environ = program(tmp_path, "exit 1")

    assert choose_way({**environ, "GITHUB_TOKEN": "t"}, "github.com", tmp_path).gh is None
    assert "gh is not logged in" in (choose_way(environ, "github.com", tmp_path).missing or "")


def test_what_gh_complains_of_is_told(tmp_path: Path) -> None:
    """One line, from its stderr."""
    environ = program(tmp_path, 'if [ "$1" = pr ]; then echo "no commits between" >&2; exit 1; fi')
    way = choose_way(environ, "github.com", tmp_path)

    with pytest.raises(MeasureError, match="no commits between"):
        open_request(REQUEST, way, tmp_path)


def test_a_body_that_is_too_long_is_cut_and_says_so() -> None:
    """GitHub refuses more than 65,536 characters."""
    cut = fitting("x" * (LONGEST_BODY + 1))

    assert len(cut) <= LONGEST_BODY
    assert "was cut here" in cut
    assert fitting("short") == "short"


@pytest.mark.parametrize(
    ("status", "answer", "words"),
    [
        (401, {"message": "Bad credentials"}, "the token was not accepted"),
        (403, {"message": "Resource not accessible"}, "may not open pull requests"),
        (404, {"message": "Not Found"}, "no repository acme/tool"),
        (422, {"message": "Validation Failed", "errors": [{"message": "It exists"}]}, "It exists"),
        (422, {"errors": ["odd", {"code": "invalid"}]}, "odd; invalid"),
        (422, {"errors": 7}, "was refused"),
        (500, b"<html>", "answered 500"),
        (307, b"", "answered 307"),
        (201, {"nothing": "here"}, "not with a pull request"),
        (201, b"[]", "not with a pull request"),
    ],
)
def test_an_error_answer_in_words(status: int, answer: Any, words: str, tmp_path: Path) -> None:
    """What is wrong and what to do, whatever the server sends."""
    with github() as server:
        server.status, server.answer, server.headers = status, answer, {"Location": f"{server.url}/other"}
        way = choose_way({**server.env, "PATH": str(tmp_path)}, "github.com", tmp_path)

        with pytest.raises(MeasureError) as caught:
            open_request(REQUEST, way, tmp_path)

        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
        assert [asked["path"] for asked in server.asked] == ["/repos/acme/tool/pulls"]


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    """One line, no traceback."""
    with github() as server:
        environ = {**server.env, "PATH": str(tmp_path)}
    way = choose_way(environ, "github.com", tmp_path)

    with pytest.raises(MeasureError, match="did not answer"):
        open_request(REQUEST, way, tmp_path)
