"""Signing in by token: a cookie that scripts can't read, forms that other sites can't send."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.web.server import Served, serving

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose store has tokens."""
    with serving(tmp_path_factory.mktemp("guarded") / "home") as started:
        started.token("payments", "read")
        yield started


def form(client: httpx.Client, address: str = "/sign-in") -> str:
    """The secret of a page's form."""
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', client.get(address, headers=HTML).text)
    assert found is not None
    return found[1]


def sign_in(client: httpx.Client, token: str, **more: str) -> httpx.Response:
    """Send the form."""
    return client.post("/sign-in", data={"csrf": form(client), "token": token, **more}, headers=HTML)


def test_who_is_not_signed_in_is_sent_to_the_form_and_back(guarded: Served) -> None:
    """The page that was asked for comes after signing in."""
    with guarded.client() as client:
        asked = client.get("/runs?arm=a%20b", headers=HTML)
        assert (asked.status_code, asked.headers["location"]) == (303, "/sign-in?next=%2Fruns%3Farm%3Da%2520b")
        done = sign_in(client, guarded.token("payments", "read"), next="/runs?arm=a%20b")
        assert (done.status_code, done.headers["location"]) == (303, "/runs?arm=a%20b")
        assert client.get("/runs?arm=a%20b", headers=HTML).status_code == 200


def test_the_cookie_holds_no_token_and_is_for_this_site_alone(guarded: Served) -> None:
    """httpOnly, SameSite=Strict, and nothing of the secret in it."""
    token = guarded.token("payments", "read")
    with guarded.client() as client:
        cookie = sign_in(client, token).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert token.rpartition("_")[2] not in cookie


def test_a_wrong_token_is_told_so(guarded: Served) -> None:
    """401 on the form, no cookie."""
    with guarded.client() as client:
        answer = sign_in(client, "sy_nope")
        assert answer.status_code == 401
        assert "not known here" in answer.text
        assert "steelyard_session" not in client.cookies


@pytest.mark.parametrize("onward", ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:1"])
def test_signing_in_leads_to_our_own_pages_only(guarded: Served, onward: str) -> None:
    """An address of elsewhere becomes the start."""
    with guarded.client() as client:
        assert sign_in(client, guarded.token("payments", "read"), next=onward).headers["location"] == "/runs"


def test_a_form_of_another_site_does_nothing(guarded: Served) -> None:
    """Without the secret, with another browser's, or from another origin, it is refused."""
    token = guarded.token("payments", "read")
    with guarded.client() as client, guarded.client() as other:
        good, theirs = form(client), form(other)
        for data, headers in (
            ({"token": token}, {}),
            ({"token": token, "csrf": theirs}, {}),
            ({"token": token, "csrf": good}, {"Origin": "https://evil.example"}),
            ({"token": token, "csrf": good}, {"Sec-Fetch-Site": "cross-site"}),
        ):
            answer = client.post("/sign-in", data=data, headers={**HTML, **headers})
            assert answer.status_code == 403
            assert "steelyard_session" not in client.cookies


def test_a_session_reads_the_api_but_does_not_write(guarded: Served) -> None:
    """Links to JSON work; what changes something needs the token itself."""
    with guarded.client() as client:
        sign_in(client, guarded.token("payments", "admin"))
        assert client.get("/v1/runs").status_code == 200
        assert client.post("/v1/runs", json={"run_id": "r", "outcome": "COMPLETED"}).status_code == 403


def test_a_forged_or_old_cookie_opens_nothing(guarded: Served) -> None:
    """Any change of the cookie, or of its time, ends the session."""
    with guarded.client() as client:
        sign_in(client, guarded.token("payments", "read"))
        name, until, signature = client.cookies["steelyard_session"].split(".")
    forged = (f"{name}.{int(until) + 1}.{signature}", f"{name}.1.{signature}", f"{name}.{until}.{'0' * 64}", "x", "..")
    for cookie in forged:
        with guarded.client(cookies={"steelyard_session": cookie}) as thief:
            assert thief.get("/runs", headers=HTML).status_code == 303
            assert thief.get("/v1/runs").status_code == 401


def test_revoking_the_token_ends_its_sessions_at_once(guarded: Served) -> None:
    """The next request is asked to sign in."""
    token = guarded.token("payments", "read")
    with guarded.client() as client:
        sign_in(client, token)
        assert client.get("/runs", headers=HTML).status_code == 200
        guarded.command("token", "revoke", token.split("_")[1])
        assert client.get("/runs", headers=HTML).status_code == 303


def test_signing_out_forgets_the_session(guarded: Served) -> None:
    """The cookie is gone."""
    with guarded.client() as client:
        sign_in(client, guarded.token("payments", "read"))
        assert client.post("/sign-out", data={"csrf": form(client, "/runs")}, headers=HTML).status_code == 303
        assert client.get("/runs", headers=HTML).status_code == 303


@pytest.mark.browser
def test_a_person_signs_in_and_out(look: Callable[..., Any], guarded: Served) -> None:
    """In a browser, with the keyboard; no script can read the session."""
    tab = look(base_url=guarded.url)
    tab.goto("/runs")
    tab.wait_for_function("document.activeElement.name === 'token'")
    tab.keyboard.type(guarded.token("payments", "read"))
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/runs")
    assert tab.evaluate("document.cookie") == ""
    tab.click("text=Sign out")
    tab.wait_for_url("**/sign-in")
    assert tab.wrongs == []
