"""One line of a task file as it is checked at the door."""

from pydantic import BaseModel, ConfigDict, Field

from voirdire.mining.tasks import ChangedFile, MinedTask, TaskPatch


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FileLine(_Strict):
    """A file that one of the patches changes."""

    path: str = Field(min_length=1)
    before: str | None = Field(None, description="its name before, where it was renamed")
    added: int = Field(ge=0)
    removed: int = Field(ge=0)
    test: bool = Field(False, description="whether it is a test, and in test_patch")


class PatchLine(_Strict):
    """A diff without its secrets."""

    diff: str
    removed: dict[str, int] = Field(default_factory=dict, description="what was taken out of it, by kind")
    applies: bool = Field(True, description="false where a line of the base file had to be changed")


class TaskLine(_Strict):
    """One task from a git history."""

    id: str = Field(min_length=1)
    commit: str = Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$")
    base: str = Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$", description="the commit to begin at")
    made: int = Field(ge=0, description="seconds since 1970")
    brief: str
    reference: PatchLine
    test_patch: PatchLine
    files: tuple[FileLine, ...]
    left_out: tuple[str, ...] = Field((), description="generated or vendored files, which are in no patch")
    brief_removed: dict[str, int] = Field(default_factory=dict)
    repository: str | None = None

    def as_task(self) -> MinedTask:
        """Return the task that this line holds."""
        data = dict(self)
        data["reference"] = TaskPatch(**dict(self.reference))
        data["test_patch"] = TaskPatch(**dict(self.test_patch))
        data["files"] = tuple(ChangedFile(**dict(file)) for file in self.files)
        return MinedTask(**data)
