"""Which programs beyond the system a bubblewrap sandbox shows."""

from pathlib import Path

from steelyard.sandboxes.binds import program_binds


def tool(path: Path) -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_home_itself_never_shows(tmp_path: Path) -> None:
    """Programs in the home show with what they need; keys and other private things beside them do not."""
    home = tmp_path / "home"
    tool(home / ".local/bin/tool")
    (home / ".local/lib").mkdir()
    (home / ".local/share/keyrings").mkdir(parents=True)
    (home / ".ssh").mkdir()

    assert program_binds(f"{home}/.local/bin:{home}:/", [home]) == [home / ".local/bin", home / ".local/lib"]


def test_links_are_followed_to_what_they_need(tmp_path: Path) -> None:
    """A link into another installation shows that one's programs and libraries; a single file shows alone."""
    home = tmp_path / "home"
    binary = tool(home / ".local/share/agent/versions/1.0")
    other = tool(home / ".local/share/tools/x/bin/x")
    (other.parent.parent / "lib").mkdir()
    links = home / ".local/bin"
    links.mkdir(parents=True)
    (links / "agent").symlink_to(binary)
    (links / "x").symlink_to("../share/tools/x/bin/x")
    (links / "gone").symlink_to("nowhere")

    found = program_binds(str(links), [home])

    assert set(found) == {links, binary, other.parent, other.parent.parent / "lib"}


def test_a_virtual_environment_shows_whole(tmp_path: Path) -> None:
    """An installation that holds nothing private is one bind."""
    tool(tmp_path / "venv/bin/python")
    (tmp_path / "venv/pyvenv.cfg").write_text("")
    (tmp_path / "venv/lib").mkdir()

    assert program_binds(f"{tmp_path}/venv/bin", [tmp_path / "home"]) == [tmp_path / "venv"]


def test_packages_of_node_show_whole(tmp_path: Path) -> None:
    """A program from node_modules needs its neighbours."""
    tool(tmp_path / "app/node_modules/agent/bin/cli.js")
    links = tmp_path / "app/node_modules/.bin"
    links.mkdir()
    (links / "agent").symlink_to("../agent/bin/cli.js")

    assert program_binds(str(links), [tmp_path / "home"]) == [tmp_path / "app/node_modules"]


def test_the_system_needs_no_bind_of_its_own(tmp_path: Path) -> None:
    """What the system's own binds show is not bound again, and what does not exist is left out."""
    assert program_binds(f"/usr/bin:/bin:/opt/x/bin:{tmp_path}/none", [tmp_path / "home"]) == []
