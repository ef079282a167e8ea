"""Figures: drawn from rows, whatever they hold; safe to stand in the page; left out where the extra is missing."""

import re
import sys
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

import pytest

from tests.report.samples import HOSTILE, SAMPLES
from voirdire.blocks import Cell, FigureBlock
from voirdire.model import Identity
from voirdire.questions import Choice, Predicate, Score, as_data
from voirdire.report import figures
from voirdire.report.figures import Axis, Draftsman
from voirdire.report.findings_file import to_data
from voirdire.report.page import render
from voirdire.report.scales import on_own_range, question_ranges

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


LONG = "local:smollm2-135m (process, damage) · Outcome · the case in which an agent skips the whole suite of tests"


def _texts(svg: str) -> list[str]:
    return [" ".join(one.itertext()) for one in ElementTree.fromstring(svg).iter("text")]


@pytest.mark.parametrize("kind", ["intervals", "bars"])
def test_long_names_are_told_whole_at_both_widths(kind: str, draftsman: Draftsman) -> None:
    rows: list[Mapping[str, Cell]] = [
        {"label": f"{LONG}, {number}", "value": 0.5, "low": 0.4, "high": 0.6} for number in (1, 2)
    ]
    drawing = draftsman.block(FigureBlock("Title", kind, rows, {"lines": [0.2, 0.8]}))
    assert drawing is not None
    for svg in (drawing.wide, drawing.narrow):
        names = [text for text in _texts(svg) if text.startswith("local:")]
        assert names == [f"{LONG}, {number}" for number in (1, 2)]


def test_no_rule_runs_through_a_name_on_a_narrow_figure(draftsman: Draftsman) -> None:
    rows: list[Mapping[str, Cell]] = [
        {"label": LONG, "value": 0.5, "low": 0.4, "high": 0.6},
        {"label": "b", "value": 0.7},
    ]
    drawing = draftsman.block(FigureBlock("Title", "intervals", rows, {"lines": [0.2, 0.5, 0.8]}))
    assert drawing is not None
    reaches = [
        (top, top + abs(float(line.get("y2") or 0)))
        for line, top in _lines_with_tops(drawing.narrow)
        if float(line.get("y2") or 0)
    ]
    names = [(top, top + 14 * len(lines)) for top, lines in _names_with_tops(drawing.narrow)]
    assert len(reaches) == 6
    assert len(names) == 2
    assert not [1 for a, b in reaches for c, d in names if a < d and c < b]


def _places(svg: str, tag: str) -> list[tuple[ElementTree.Element, float]]:
    """Return every element of a kind with the sum of the vertical shifts of what it stands in."""
    found = []

    def look(element: ElementTree.Element, shift: float) -> None:
        moved = re.fullmatch(r"translate\(([-\d.]+),([-\d.]+)\)", element.get("transform", ""))
        here = shift + float(moved[2]) if moved else shift
        if element.tag == tag:
            found.append((element, here))
        for child in element:
            look(child, here)

    look(ElementTree.fromstring(svg), 0.0)
    return found


def _lines_with_tops(svg: str) -> list[tuple[ElementTree.Element, float]]:
    return [(line, at + min(0.0, float(line.get("y2") or 0))) for line, at in _places(svg, "line")]


def _names_with_tops(svg: str) -> list[tuple[float, list[str]]]:
    """Return the top of each row's name, whose first base line is about ten pixels below it, and its lines."""
    named = [(text, at) for text, at in _places(svg, "text") if text.get("text-anchor") in (None, "start")]
    return [(at - 10, [line for line in text.itertext() if line.strip()]) for text, at in named]


def test_equal_scores_get_a_scale_that_can_be_read(draftsman: Draftsman) -> None:
    rows = [{"x": 2, "group": group} for group in ("base", "variant")]
    drawing = draftsman.block(FigureBlock("Title", "dots", rows))
    assert drawing is not None
    assert [text for text in _texts(drawing.wide) if re.fullmatch(r"[\d.]+", text)] == [
        *("1.0", "1.5", "2.0", "2.5", "3.0")
    ]


def test_scores_stand_on_the_range_of_their_questions() -> None:
    rows: list[Mapping[str, Cell]] = [
        {"x": 2, "group": "base", "panel": name} for name in ("process", "well")
    ]
    block = FigureBlock("Title", "dots", rows, {"x_title": "score"})
    identity = Identity(
        "a",
        {
            "questions": as_data(
                [
                    Score("process", "How good?", 0, 10),
                    Predicate("well", "Well?"),
                    Choice("better", "Which?", ("first", "second")),
                ]
            )
        },
    )
    ranges = question_ranges(identity)
    assert ranges == {"process": (0, 10), "well": (0, 1)}
    shown = on_own_range(block, ranges)
    assert isinstance(shown, FigureBlock)
    assert shown.options["domain"] == pytest.approx([-0.4, 10.4])
    assert on_own_range(block, {"process": (0, 10)}) is block
    given = FigureBlock("Title", "dots", rows, {"domain": [0, 3]})
    assert on_own_range(given, ranges) is given
