"""Figures: drawn from rows, whatever they hold; safe to stand in the page; left out where the extra is missing."""

import re
import sys
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

import pytest

from tests.report.samples import HOSTILE, SAMPLES
from voirdire.blocks import Cell, FigureBlock
from voirdire.report import figures
from voirdire.report.figures import Axis, Draftsman
from voirdire.report.findings_file import to_data
from voirdire.report.page import render

ROWS: Mapping[str, Sequence[Mapping[str, Cell]]] = {
    "intervals": [{"label": "a", "value": 0.4, "low": 0.1, "high": 0.7}, {"label": "b", "value": 0.9}],
    "bars": [{"label": "a", "value": 3, "group": "x"}, {"label": "a", "value": -4.5, "group": "y"}],
    "dots": [{"x": 2, "group": "harm"}, {"x": 2, "group": "harm"}, {"x": 3, "group": "none", "panel": "p"}],
    "curve": [{"x": 1, "y": 2, "low": 1, "high": 3, "group": "g"}, {"x": 10, "y": 3, "group": "g"}],
}


@pytest.fixture(scope="module")
def draftsman() -> Draftsman:
    loaded = figures.load()
    assert loaded is not None
    return loaded


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize(
    "options", [{}, {"x_title": "x", "y_title": "y", "domain": [0, 10], "lines": [1], "log_x": True}]
)
def test_every_kind_is_drawn_for_both_widths(
    kind: str, options: Mapping[str, object], draftsman: Draftsman
) -> None:
    drawing = draftsman.block(FigureBlock("Title", kind, ROWS[kind], options))
    assert drawing is not None
    wide, narrow = ElementTree.fromstring(drawing.wide), ElementTree.fromstring(drawing.narrow)
    assert 560 <= float(wide.get("width", 0)) <= figures.WIDE + 10
    assert float(narrow.get("width", 0)) <= figures.NARROW + 10
    assert wide.findtext("title") == "Title"


@pytest.mark.parametrize("kind", [*ROWS, "another"])
@pytest.mark.parametrize(
    "rows", [[], [{"label": "a", "value": None, "x": None}], [{"value": True, "x": "1", "y": 2}]]
)
def test_nothing_is_drawn_from_nothing(
    kind: str, rows: Sequence[Mapping[str, Cell]], draftsman: Draftsman
) -> None:
    assert draftsman.block(FigureBlock("Title", kind, rows)) is None


@pytest.mark.parametrize("kind", ROWS)
def test_hostile_labels_stay_text(kind: str, draftsman: Draftsman) -> None:
    rows = [{**row, "label": HOSTILE, "group": HOSTILE, "panel": HOSTILE} for row in ROWS[kind]]
    drawing = draftsman.block(
        FigureBlock(HOSTILE, kind, [*rows, *ROWS[kind]], {"x_title": HOSTILE, "y_title": HOSTILE})
    )
    assert drawing is not None
    for svg in (drawing.wide, drawing.narrow):
        tags = {element.tag for element in ElementTree.fromstring(svg).iter()}
        assert tags <= {
            "svg",
            "title",
            "desc",
            "g",
            "path",
            "line",
            "text",
            "tspan",
            "rect",
            "defs",
            "clipPath",
        }
        assert not re.search(r"\s(on\w+|href|style)=", re.sub(r">[^<]*<", "><", svg))


def test_ids_are_unique_and_referred_to(draftsman: Draftsman) -> None:
    drawings = [draftsman.block(FigureBlock("Title", kind, rows)) for kind, rows in ROWS.items()]
    text = "".join(str(drawing.wide) + str(drawing.narrow) for drawing in drawings if drawing)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids)) >= 16
    referred = [name for names in re.findall(r'aria-labelledby="([^"]+)"', text) for name in names.split()]
    referred += re.findall(r"url\(#([^)]+)\)", text)
    assert set(referred) <= set(ids)


def test_colours_are_classes_and_none_is_left_fixed(draftsman: Draftsman) -> None:
    drawing = draftsman.block(FigureBlock("Title", "intervals", ROWS["intervals"], {"lines": [0.5]}))
    assert drawing is not None
    assert not re.search(r'(fill|stroke)="(#|rgb|[a-z]+")(?<!none")', drawing.wide)
    assert 'class="fill-ink"' in drawing.wide


def test_description_tells_the_numbers(draftsman: Draftsman) -> None:
    svg = draftsman.strip(
        [
            {
                "label": "effect",
                "value": 0.15,
                "low": 0.05,
                "high": 0.3,
                "colour": "#080808",
                "shape": "triangle-up",
            }
        ],
        Axis(title="P", domain=(0, 1), null=0.5, lines=(0.2, 0.8), band=(0.2, 0.8)),
        title="Outcome",
    )
    assert ElementTree.fromstring(svg).findtext("desc") == "label effect, value 0.15, low 0.05, high 0.3."


def test_equal_labels_of_different_groups_share_a_row(draftsman: Draftsman) -> None:
    drawing = draftsman.block(FigureBlock("Title", "bars", ROWS["bars"]))
    assert drawing is not None
    assert len(re.findall(r">a<", drawing.wide)) == 1


def test_without_the_extra_the_page_has_tables_and_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = render(to_data(SAMPLES["leaking"]()))
    assert '<svg class="drawing"' not in page
    assert "pip install &#39;voirdire[figures]&#39;" in page or "pip install 'voirdire[figures]'" in page
    assert "PROCESS scores by version: the numbers" in page
    assert '<details class="numbers">' not in page
