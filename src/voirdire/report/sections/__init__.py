"""Sections of the page: each a function from an examination to markup, or None where it has nothing to say."""
