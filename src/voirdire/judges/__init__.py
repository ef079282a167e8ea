"""Judge backends, one file each: the only room with outbound network.

Each file has `open_backend(spec) -> Backend`; its library is imported inside.
"""

from voirdire import plugins
from voirdire.errors import UsageError
from voirdire.judges._file import read_spec
from voirdire.judges._prompted import Backend, PromptedJudge, check_reader
from voirdire.model import Asking, JudgeSpec

__all__ = ["open_judge", "read_spec"]


def open_judge(spec: JudgeSpec, asking: Asking | None = None) -> PromptedJudge:
    """Open the backend that `spec` names and ask it `asking`, or what its judge file says.

    Raises UsageError where neither says what to ask, the reader cannot read it, or the backend does not exist;
    MissingExtraError where its library is not installed; JudgeError where it cannot be reached at all.
    """
    chosen = spec.asking or asking
    if chosen is None:
        raise UsageError(
            f"judge '{spec.name}' does not say what it is asked",
            hint="write a judge file with [prompt] and [[question]] (`voirdire init`), or use a study that brings them",
        )
    check_reader(chosen)
    backend: Backend = plugins.load("judges", spec.backend).open_backend(spec)
    return PromptedJudge(
        name=spec.name, backend=backend, asking=chosen, remedies=spec.remedies, rules=spec.rules
    )
