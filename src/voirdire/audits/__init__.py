"""Audits: a table of verdicts in, findings out; nobody is asked."""
