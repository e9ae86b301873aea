"""A comparison as text, Markdown, JSON or a page."""
