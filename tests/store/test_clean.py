"""What is made of texts before they are stored."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.formulas.secrets import redact_text
from steelyard.store.clean import clean_record, exact_json, storable


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("plain", "plain"),
        ("a\0b", "a␀b"),
        ("\udcff", "\\xff"),
        ("\ud800x", "\\ud800x"),
        ("😀\u2028\x1b", "😀\u2028\x1b"),
    ],
)
def test_refused_characters_become_visible(text: str, kept: str) -> None:
    """Only what no database keeps is changed."""
    assert storable(text) == kept


@given(st.text(st.characters()))
def test_every_text_can_be_stored(text: str) -> None:
    """Whatever it is, UTF-8 and JSON can hold it, and cleaning again changes nothing."""
    kept = storable(text)

    assert kept.encode().decode() == kept
    assert "\0" not in kept
    assert storable(kept) == kept


def test_our_own_names_are_never_redacted() -> None:
    """A run stays under its id even if an injected value is part of it."""
    record = {"run_id": "run-correct-horse", "final_response": "run-correct-horse", "artifacts": {"diff": "ab" * 32}}

    cleaned = clean_record(record, ("correct-horse",))

    assert cleaned["run_id"] == "run-correct-horse"
    assert "correct-horse" not in cleaned["final_response"]
    assert cleaned["artifacts"] == {"diff": "ab" * 32}


def test_what_a_person_wrote_is_kept_exactly() -> None:
    """A task's JSON is not redacted, or its sha256 would lie; only what UTF-8 can't hold is escaped."""
    assert json.loads(exact_json({"prompt": "NUL \0 and é"})) == {"prompt": "NUL \0 and é"}
    assert json.loads(exact_json({"prompt": "\udc80"})) == {"prompt": "\\x80"}


def test_a_text_that_begins_inside_a_key_is_cleaned() -> None:
    """The end of an output is what is kept of it, wherever that begins."""
    key = "correct-horse-battery-staple"
    record = {"run_id": "r", "final_response": key[5:] + " and so on" * 40}

    assert clean_record(record, (key,))["final_response"] == "[redacted]" + " and so on" * 40


KEYS = ["AKIAIOSFODNN7QYZP2LB", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "s3cr3t-value"]
PIECES = [*KEYS, "x", "\n", '"', "token = ", "\0", "\udcff"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
def test_the_look_at_all_texts_together_misses_nothing(texts: list[str], response: str) -> None:
    """Whatever stands beside it, each text comes out as if it had been cleaned alone."""
    record = {"run_id": "r", "final_response": response, "stages": [{"output_tail": text} for text in texts]}

    cleaned = clean_record(record, ("s3cr3t-value",))

    alone = [storable(redact_text(text, ("s3cr3t-value",))) for text in (response, *texts)]
    assert [cleaned["final_response"], *(stage["output_tail"] for stage in cleaned["stages"])] == alone
