"""Studies: recipes of items, probes and audits, one file each."""
