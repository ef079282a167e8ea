"""One line of an outcome file as it is checked at the door."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from voirdire.mining.outcomes import Outcome
from voirdire.model import TruthStatus


class OutcomeLine(BaseModel):
    """What came of running the tests on one attempt."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    key: str = Field(min_length=1, description="the attempt's: task, harness and sample")
    status: TruthStatus
    f2p_passed: int | None = Field(None, ge=0, description="of the tests that had to start passing")
    f2p_total: int | None = Field(None, ge=0)
    p2p_passed: int | None = Field(None, ge=0, description="of the tests that passed before")
    p2p_total: int | None = Field(None, ge=0)
    output: str | None = Field(None, description="what the tests printed")

    @model_validator(mode="after")
    def _counts(self) -> "OutcomeLine":
        for passed, total in ((self.f2p_passed, self.f2p_total), (self.p2p_passed, self.p2p_total)):
            if (passed is None) != (total is None) or (passed or 0) > (total or 0):
                raise ValueError(f"{passed} of {total} tests passed")
        return self

    def as_outcome(self) -> Outcome:
        """Return the outcome that this line holds."""
        return Outcome(**dict(self))
