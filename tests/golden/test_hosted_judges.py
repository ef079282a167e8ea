"""The findings page says what a run says: its section on hosted judges is written anew and compared."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = spec_from_file_location("hosted_judges", ROOT / "tools" / "hosted_judges.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["hosted_judges"] = module
    spec.loader.exec_module(module)
    return module


def test_the_section_on_the_page_is_what_the_data_give(tool: ModuleType) -> None:
    page = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    written = page.partition(tool.BEGIN)[2].partition(tool.END)[0]
    assert written == f"\n{tool.section()}"
