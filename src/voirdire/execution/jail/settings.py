"""What a worker is told when it starts; no dataclass, as every fork would hold what that needs."""

import json
from typing import NamedTuple


class Settings(NamedTuple):
    """Limits of one sample, and how its worker keeps it in.

    cpu, wall: seconds; memory, files, output: bytes; processes: processes and threads at once. `namespaces`: leave the
    host's; otherwise limits only. `user`: the throwaway user id of candidates where the worker is root. `scratch`: the
    one folder that can be written, as candidates see it. `preload`: modules loaded before the first fork; `preludes`:
    code put before candidates. `roots`: folders of the host that are shown read-only.
    """

    cpu: float
    wall: float
    memory: int
    processes: int
    files: int
    output: int
    open_files: int
    namespaces: bool
    user: int
    scratch: str
    preload: tuple[str, ...]
    preludes: tuple[str, ...]
    roots: tuple[str, ...]

    def to_text(self) -> str:
        """Return the settings as one argument of a command line."""
        return json.dumps(self._asdict())

    @classmethod
    def from_text(cls, text: str) -> "Settings":
        """Read what `to_text` wrote."""
        values = json.loads(text)
        lists = {name: tuple(values[name]) for name in ("preload", "preludes", "roots")}
        return cls(**{**values, **lists})
