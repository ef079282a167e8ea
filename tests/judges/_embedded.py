"""The embedded model for tests marked `local`: from the cache folder, or a failure that says how to get it there."""

import pytest

from voirdire.cli._cache import models_folder
from voirdire.errors import VoirdireError
from voirdire.judges._models import verified_path
from voirdire.model import JudgeSpec

NAME = "smollm2-135m"


def embedded(sampling: dict[str, object] | None = None, **options: object) -> JudgeSpec:
    """Return the embedded judge; the test fails where the model is not there."""
    folder = models_folder()
    try:
        verified_path(NAME, folder)
    except VoirdireError as error:
        pytest.fail(f"this test runs the embedded model: {error}; {error.hint}", pytrace=False)
    return JudgeSpec(
        f"local:{NAME}", "local", NAME, sampling=sampling or {}, options={"cache": str(folder), **options}
    )
