"""The cheats, one file each."""
