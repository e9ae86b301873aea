"""Scripted cheats against a suite of one's own, before a cent is spent on real agents."""
