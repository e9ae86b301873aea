#!/bin/sh
# Runs the tests on all cores with the given Python. Tests that drive real processes can lose a race on a loaded
# machine, so what failed is tried once more, alone; a test that fails twice fails the run.
set -u
python=$1; shift
"$python" -m compileall -q src tests  # the command is started hundreds of times
"$python" -m pytest -n auto --dist worksteal -q "$@" && exit 0
echo "some tests failed; trying those once more, one at a time"
"$python" -m pytest -q --last-failed --last-failed-no-failures none "$@"
