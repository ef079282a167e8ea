"""Where models are kept: the user's cache folder, or the one that VOIRDIRE_CACHE names."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voirdire.model import JudgeSpec

CACHE_ENV = "VOIRDIRE_CACHE"


def models_folder() -> Path:
    """Return the folder that models live in; it need not exist yet."""
    from voirdire.judges._models import default_folder

    named = os.environ.get(CACHE_ENV)
    return Path(named).expanduser().resolve() / "models" if named else default_folder()


def with_models_folder(spec: JudgeSpec) -> JudgeSpec:
    """Return the spec with the models folder handed to the backend that needs it."""
    if spec.backend != "local":
        return spec
    return replace(spec, options={"cache": str(models_folder()), **spec.options})
