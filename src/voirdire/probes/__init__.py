"""Probes: one small declarative file each, ending in PROBE."""
