"""Promotion: ranking, repositories, pull requests."""
