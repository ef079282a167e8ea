"""One line of an attempt file as it is checked at the door."""

from pydantic import BaseModel, ConfigDict, Field

from voirdire.mining.attempts import Attempt, AttemptStatus


class AttemptLine(BaseModel):
    """One attempt of one harness at one task."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())

    key: str = Field(description="task, harness and sample in one: what scores are joined by")
    task: str = Field(min_length=1)
    base: str = Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$", description="the commit that it began at")
    harness: str = Field(min_length=1)
    sample: int = Field(ge=0, description="number among the attempts of one task and harness")
    command: tuple[str, ...]
    model: str | None
    cost: float | None = Field(ge=0, allow_inf_nan=False, description="US dollars; null: not known")
    input_tokens: int | None = Field(ge=0)
    output_tokens: int | None = Field(ge=0)
    began: str = Field(description="ISO 8601, UTC")
    seconds: float = Field(ge=0, allow_inf_nan=False)
    status: AttemptStatus
    exit_code: int | None = Field(description="null where it was stopped")
    fault: str | None = Field(description="what went wrong on our side")
    diff: str
    encoding: str = Field(pattern="^(utf-8|latin-1)$", description="of the diff's bytes")
    diff_bytes: int = Field(ge=0)
    not_captured: dict[str, str] = Field(description="paths that are in no diff, with the reason")
    report_fault: str | None = Field(description="why what it said about its cost could not be read")
    output: str = Field(description="the end of what it printed")

    def as_attempt(self) -> Attempt:
        """Return the attempt that this line holds."""
        return Attempt(**{name: value for name, value in self if name != "key"})
