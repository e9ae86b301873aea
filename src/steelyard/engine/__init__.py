"""Runs a plan: the one path of a run, from seed to what is stored."""
