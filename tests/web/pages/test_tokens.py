"""The page of tokens: made once, shown once, revoked at once, for those with the scope admin only."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.web.pages.test_signing import HTML, form, sign_in
from tests.web.server import Served, serving

TOKEN = re.compile(r"sy_[0-9a-z]{12}_[0-9A-Za-z]{43}")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose store has tokens."""
    with serving(tmp_path_factory.mktemp("tokens") / "home") as started:
        started.token("payments", "read")
        yield started


def make(client: httpx.Client, **fields: str) -> httpx.Response:
    """Send the form for a new token."""
    return client.post("/tokens", data={"csrf": form(client, "/tokens"), **fields}, headers=HTML)


def test_the_first_token_closes_the_open_door(tmp_path: Path) -> None:
    """Without tokens the page explains and offers the first; with it, this browser is asked to sign in too."""
    with serving(tmp_path / "home") as served, served.client() as client:
        page = client.get("/tokens", headers=HTML).text
        assert "No token has been made" in page
        made = make(client, name="mine", scope="admin", expires="30d")
        token = TOKEN.search(made.text)
        assert token is not None
        assert "this browser too" in made.text
        assert made.headers["cache-control"] == "no-store"
        assert client.get("/tokens", headers=HTML).status_code == 303
        assert sign_in(client, token[0]).status_code == 303
        again = client.get("/tokens", headers=HTML).text
        assert "mine" in again
        assert ">yours<" in again
        assert TOKEN.search(again) is None


def test_a_token_works_until_it_is_revoked(guarded: Served) -> None:
    """The API takes what the page made, and no longer once it was revoked there."""
    with guarded.client() as client:
        sign_in(client, guarded.token("payments", "admin"))
        found = TOKEN.search(make(client, name="ci", scope="write", expires="12h").text)
        assert found is not None
        with guarded.client(found[0]) as other:
            assert other.get("/v1/runs").status_code == 200
            name = found[0].split("_")[1]
            done = client.post(f"/tokens/{name}/revoke", data={"csrf": form(client, "/tokens")}, headers=HTML)
            assert "opens nothing any more" in done.text
            assert other.get("/v1/runs").status_code == 401
        listed = {token["id"]: token for token in client.get("/v1/tokens").json()["data"]}
    assert listed[name]["usable"] is False
    assert listed[name]["scope"] == "write"
    assert listed[name]["expires_at"] is not None


def test_an_admin_sees_and_makes_tokens_of_its_workspace_only(guarded: Served) -> None:
    """Another workspace's tokens are neither listed nor revoked, and none can be made for it."""
    other = guarded.token("secret", "read").split("_")[1]
    with guarded.client() as client:
        sign_in(client, guarded.token("payments", "admin"))
        assert other not in client.get("/tokens", headers=HTML).text
        answer = client.post(f"/tokens/{other}/revoke", data={"csrf": form(client, "/tokens")}, headers=HTML)
        assert answer.status_code == 404
        make(client, name="sly", workspace="secret")
        listed = client.get("/v1/tokens").json()["data"]
    assert {token["workspace"] for token in listed} == {"payments"}


@pytest.mark.parametrize("scope", ["read", "write"])
def test_other_scopes_have_no_page_of_tokens(guarded: Served, scope: str) -> None:
    """403 for looking, making and revoking."""
    with guarded.client() as client:
        sign_in(client, guarded.token("payments", scope))
        assert client.get("/tokens", headers=HTML).status_code == 403
        assert 'href="/tokens"' not in client.get("/runs", headers=HTML).text
        assert client.get("/v1/tokens").status_code == 403
        secret = form(client, "/runs")
        assert client.post("/tokens", data={"csrf": secret}, headers=HTML).status_code == 403
        assert client.post("/tokens/x/revoke", data={"csrf": secret}, headers=HTML).status_code == 403


def test_forms_of_other_sites_make_no_token(guarded: Served) -> None:
    """Without the page's secret nothing is made or revoked."""
    with guarded.client() as client:
        sign_in(client, guarded.token("payments", "admin"))
        before = client.get("/v1/tokens").json()
        assert client.post("/tokens", data={"name": "evil"}, headers=HTML).status_code == 403
        name = before["data"][0]["id"]
        assert client.post(f"/tokens/{name}/revoke", data={"csrf": "x"}, headers=HTML).status_code == 403
        assert [one["revoked_at"] for one in client.get("/v1/tokens").json()["data"]] == [
            one["revoked_at"] for one in before["data"]
        ]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "a\nb"}, "name: printable text"),
        ({"name": "x" * 300}, "name: printable text"),
        ({"scope": "root"}, "scope: &#39;root&#39; is unknown; allowed: read, write, admin"),
        ({"expires": "soon"}, "expires: &#39;soon&#39; is no age"),
    ],
)
def test_a_wrong_field_is_explained_and_nothing_is_made(guarded: Served, fields: dict[str, str], said: str) -> None:
    """422, the reason, and what was given stays in the form."""
    with guarded.client() as client:
        sign_in(client, guarded.token("payments", "admin"))
        before = len(client.get("/v1/tokens").json()["data"])
        answer = make(client, **fields)
        assert answer.status_code == 422
        assert said in answer.text
        assert len(client.get("/v1/tokens").json()["data"]) == before


@pytest.mark.browser
def test_a_person_makes_and_revokes_a_token(look: Callable[..., Any], guarded: Served) -> None:
    """In a browser: the secret is there once, revoking asks first."""
    tab = look(base_url=guarded.url)
    tab.goto("/tokens")
    tab.fill("input[name=token]", guarded.token("payments", "admin"))
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/tokens")
    tab.fill("input[name=name]", "<b>pressed</b>")
    tab.click("button >> text=Make it")
    tab.wait_for_selector("[data-secret]")
    assert TOKEN.fullmatch(tab.inner_text("[data-secret]"))
    row = tab.locator("tr", has_text="<b>pressed</b>")
    row.locator("summary").click()
    row.locator("button").click()
    tab.wait_for_selector(".notice.good")
    assert tab.locator("tr", has_text="<b>pressed</b>").locator("text=revoked").count() == 1
    assert tab.wrongs == []
