"""Foreign files to items and verdicts, one file per format."""
