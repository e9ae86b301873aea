"""Parts that ship for rehearsals and tests."""
