"""The service: the HTTP API, and the pages beside it."""
