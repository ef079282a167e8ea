"""What ships as data: small, with its source and licence, and cut as the tool cuts it."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "src" / "voirdire" / "data"
WHOLE = ROOT.parent / "shared" / "data"

CUT = ("llmbar", "outcome_bias", "code_pairs")
SLICES = (*CUT, "injections")


def test_all_data_together_stays_small() -> None:
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 8_000_000


def test_the_slices_cut_here_stay_below_half_a_megabyte() -> None:
    assert sum(path.stat().st_size for name in CUT for path in (DATA / name).iterdir()) < 500_000


@pytest.mark.parametrize("name", SLICES)
def test_every_slice_names_its_source_and_carries_its_licence(name: str) -> None:
    source = (DATA / name / "SOURCE.md").read_text(encoding="utf-8")
    assert "github.com/" in source
    licences = sorted(path.name for path in (DATA / name).glob("LICENSE*"))
    assert licences
    assert all(f"`{licence}`" in source for licence in licences)
    for path in (DATA / name).iterdir():
        if ".json" in path.suffixes or ".jsonl" in path.suffixes:
            assert f"`{path.name}`" in source


@pytest.mark.parametrize("name", SLICES)
def test_the_notice_names_every_slice(name: str) -> None:
    assert f"src/voirdire/data/{name}" in (ROOT / "NOTICE").read_text(encoding="utf-8")


@pytest.mark.skipif(not WHOLE.is_dir(), reason="the whole sets are not beside the repository")
def test_cutting_again_gives_the_same_bytes() -> None:
    spec = spec_from_file_location("cut_data", ROOT / "tools" / "cut_data.py")
    assert spec is not None
    assert spec.loader is not None
    cut_data = module_from_spec(spec)
    sys.modules["cut_data"] = cut_data
    spec.loader.exec_module(cut_data)
    for name, content in cut_data.slices(WHOLE).items():
        assert (DATA / name).read_bytes() == content, name
