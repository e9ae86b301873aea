#!/bin/sh
# Runs a command; later this starts a private Docker engine for it where root may.
exec "$@"
