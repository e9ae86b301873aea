"""What can go wrong with the store, each told in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from steelyard.errors import InputError, MeasureError, SteelyardError

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError


class StoreError(MeasureError):
    """The database or the artifact directory did not do what it was asked: nothing was half-written."""


class RefusedError(StoreError):
    """The database refused a row because of a rule of its own: a key that is taken, a row that never changes."""


class NotFoundError(InputError):
    """No run, experiment or artifact has that name."""


class ConflictError(InputError):
    """Something else is stored already under that name."""


@contextmanager
def storing(doing: str) -> Iterator[None]:
    """Tell a failure of the disk or of the database in one line that says what was being done."""
    from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError

    try:
        yield
    except SteelyardError:
        raise
    except IntegrityError as error:
        raise RefusedError(f"{doing}: {_first_line(error)}") from error
    except DataError as error:
        raise InputError(f"{doing}: the database refused a value: {_first_line(error)}") from error
    except DBAPIError as error:
        raise StoreError(f"{doing}: {_reason(error)}") from error
    except SQLAlchemyError as error:
        raise StoreError(f"{doing}: {' '.join(str(error).split())}") from error
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise StoreError(f"{doing}: {error.strerror or error}{where}; nothing was stored of it") from error


def _first_line(error: "DBAPIError") -> str:
    return (str(error.orig).strip().splitlines() or [type(error).__name__])[0]


def _reason(error: "DBAPIError") -> str:
    line = _first_line(error)
    remedies = {
        "is full": "free some space and run again with --resume",
        "disk I/O error": "look at the disk and its free space, then run again with --resume",
        "readonly database": "make the store's directory writable",
        "unable to open database": "make its directory, or set STEELYARD_HOME or STEELYARD_STORE",
        "not a database": "the file is something else; set STEELYARD_STORE to another one",
        "malformed": "run `steelyard db check`, and restore a backup with `steelyard db restore`",
        "connection": "is the PostgreSQL server of STEELYARD_STORE up?",
    }
    remedy = next((text for part, text in remedies.items() if part in line), None)
    return f"{line}; {remedy}" if remedy else line
