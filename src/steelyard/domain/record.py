"""What every record is: frozen, strict, without unknown fields, and the same bytes for the same content."""

import hashlib
import json
import math
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen, strict pydantic model; its schema is built at first use, so that importing stays cheap."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True, ser_json_inf_nan="null")


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


Finite = Annotated[float, AfterValidator(_finite)]
JsonObject = dict[str, Any]


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, UTF-8 kept, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256(text: str | bytes) -> str:
    """The sha256 of a text (as UTF-8) or of bytes, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text).hexdigest()
