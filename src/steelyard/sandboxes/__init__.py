"""Where commands run: one protocol, one file a sandbox."""
