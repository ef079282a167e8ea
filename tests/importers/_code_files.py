"""Where the toy files are, and the beginning of each as an importer is shown it."""

import json
from collections.abc import Sequence
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"


def head(path: str) -> str:
    """Return the beginning of a toy file."""
    return (FIXTURES / path).read_text(encoding="utf-8")[:4096]


def write_lines(path: Path, rows: Sequence[object]) -> Path:
    """Write JSON lines; a text stands for itself."""
    texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path
