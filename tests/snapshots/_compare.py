"""Texts that people read, kept as files so that a change of them is read in review.

`VOIRDIRE_SNAPSHOTS=write make test` writes what is there now; then read the diff.
"""

import os
from pathlib import Path

FOLDER = Path(__file__).parent


def matches(name: str, text: str) -> None:
    """Fail where `text` is not what the file `name` holds; write it first where VOIRDIRE_SNAPSHOTS=write."""
    path = FOLDER / name
    if os.environ.get("VOIRDIRE_SNAPSHOTS") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    kept = path.read_text(encoding="utf-8") if path.exists() else None
    assert text == kept, f"{path.name} differs; VOIRDIRE_SNAPSHOTS=write pytest writes it, then read the diff"
