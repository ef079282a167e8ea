"""Findings to JSON, and JSON to one self-contained page."""
