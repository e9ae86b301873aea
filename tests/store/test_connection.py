"""Opening a store, and who waits for whom."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import text

from steelyard.errors import InputError
from steelyard.store.database import open_store
from steelyard.store.errors import StoreError
from tests.store.support import AT, finished


def test_sqlite_is_opened_in_wal_mode(tmp_path: Path) -> None:
    """WAL mode, and a busy timeout, on every connection."""
    with open_store(f"sqlite:///{tmp_path / 'x.db'}", tmp_path) as store, store.database.read() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA busy_timeout")).scalar() == 120_000
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 1


def test_a_reader_and_a_writer_never_wait_for_each_other(tmp_path: Path) -> None:
    """While a long read is open others write; the reader keeps seeing one state; then it sees the new one."""
    with open_store(f"sqlite:///{tmp_path / 'x.db'}", tmp_path / "a") as store:
        count = text("SELECT count(*) FROM runs")
        with store.database.read() as reader:
            assert reader.execute(count).scalar() == 0
            writer = threading.Thread(target=lambda: store.save(finished(1), scored_at=AT))
            writer.start()
            writer.join(60)
            assert not writer.is_alive()
            assert reader.execute(count).scalar() == 0
        assert len(store.runs()) == 1


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """A transaction is stored as a whole or not at all."""
    with open_store(f"sqlite:///{tmp_path / 'x.db'}", tmp_path / "a") as store:

        def half() -> None:
            with store.database.write("trying") as connection:
                connection.execute(text("INSERT INTO workspaces (id) VALUES ('half')"))
                connection.execute(text("INSERT INTO nowhere VALUES (1)"))

        with pytest.raises(StoreError, match="trying: no such table"):
            half()
        assert store.workspaces() == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "is not a URL"),
        ("mysql://host/name", "names a mysql database; allowed: sqlite:///PATH"),
        ("sqlite://", "names no file"),
        ("postgresql://127.0.0.1:1/none", "is the PostgreSQL server of STEELYARD_STORE up"),
        ("sqlite:////proc/none/x.db", "making the store's directory"),
    ],
)
def test_a_store_that_cannot_be_opened_is_told_in_one_line(tmp_path: Path, url: str, message: str) -> None:
    """What is wrong, and what is allowed."""
    with pytest.raises((InputError, StoreError), match=message) as caught:
        open_store(url, tmp_path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    """Somebody's notes are not overwritten."""
    (tmp_path / "x.db").write_text("my notes, not a database, and long enough to be sure of it\n" * 50)
    before = (tmp_path / "x.db").read_bytes()

    with pytest.raises(StoreError, match="not a database"):
        open_store(f"sqlite:///{tmp_path / 'x.db'}", tmp_path)
    assert (tmp_path / "x.db").read_bytes() == before


def test_looking_makes_no_store(tmp_path: Path) -> None:
    """A command that only reads does not leave an empty database behind."""
    with pytest.raises(InputError, match="there is no store at"):
        open_store(f"sqlite:///{tmp_path / 'sub' / 'x.db'}", tmp_path, must_exist=True)
    assert list(tmp_path.iterdir()) == []


def test_storing_loads_no_heavy_module(tmp_path: Path) -> None:
    """A new store and a stored run need neither the ORM nor Alembic nor numpy."""
    code = (
        "import sys; from pathlib import Path; from steelyard.store.database import open_store\n"
        "from tests.store.support import AT, finished\n"
        "home = Path(sys.argv[1])\n"
        "with open_store(f'sqlite:///{home}/x.db', home) as store: store.save(finished(1), scored_at=AT)\n"
        "print([m for m in ('sqlalchemy.orm', 'alembic', 'numpy', 'rich', 'psycopg') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert ran.stdout.strip() == "[]", ran.stderr
