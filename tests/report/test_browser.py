"""The page in a real browser: quiet, alone, sortable, readable when narrow, printed, dark, and by a screen reader."""

from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.report.conftest import Pages, Watched

pytestmark = pytest.mark.browser

READ = ("leaking", "fair", "partial", "several", "empty", "hostile")
Scheme = Literal["light", "dark"]

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("name", READ)
def test_page_says_nothing_on_the_console_and_loads_nothing(
    name: str, pages: Pages, chromium_page: Watched
) -> None:
    page = chromium_page.open(pages[name])
    page.wait_for_load_state("networkidle")
    assert chromium_page.said == []
    assert chromium_page.requested == []
    assert page.title().endswith("voirdire")


def test_hostile_text_runs_nothing(pages: Pages, chromium_page: Watched) -> None:
    page = chromium_page.open(pages["hostile"])
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0
    assert page.evaluate("document.scripts.length") == 1


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("width", [320, 400, 800])
def test_body_never_scrolls_sideways(name: str, width: int, pages: Pages, chromium_page: Watched) -> None:
    chromium_page.page.set_viewport_size({"width": width, "height": 800})
    page = chromium_page.open(pages[name])
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate(OVERFLOW) == 0


def test_narrow_page_shows_the_narrow_drawing(pages: Pages, chromium_page: Watched) -> None:
    page = chromium_page.open(pages["leaking"])
    wide, narrow = page.locator(".fig-wide").first, page.locator(".fig-narrow").first
    assert wide.is_visible()
    assert not narrow.is_visible()
    page.set_viewport_size({"width": 400, "height": 800})
    assert narrow.is_visible()
    assert not wide.is_visible()
    smallest = page.evaluate(
        "Math.min(...[...document.querySelectorAll('.drawing text')].filter(t => t.getClientRects().length)"
        ".map(t => Math.hypot(t.getScreenCTM().a, t.getScreenCTM().b) * parseFloat(getComputedStyle(t).fontSize)))"
    )
    assert smallest >= 9


def test_table_sorts_by_number_and_by_keyboard_with_unknown_last(
    pages: Pages, chromium_page: Watched
) -> None:
    page = chromium_page.open(pages["leaking"])
    table = page.locator("table", has=page.locator("caption", has_text="Verdicts by pair"))
    head = table.locator("thead th").nth(2)
    cells = table.locator("tbody td:nth-child(3)")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert [text.strip() for text in cells.all_inner_texts()][:2] == ["−1.250", "0.070"]
    assert "–" in cells.all_inner_texts()[2]
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "descending"
    assert [text.strip() for text in cells.all_inner_texts()][:2] == ["0.070", "−1.250"]
    assert "–" in cells.all_inner_texts()[2]


def test_table_sorts_names_as_people_count(pages: Pages, chromium_page: Watched) -> None:
    page = chromium_page.open(pages["leaking"])
    table = page.locator("table", has=page.locator("caption", has_text="Verdicts by pair"))
    table.locator("thead button").first.click()
    assert table.locator("tbody th").all_inner_texts() == ["llmbar-1", "llmbar-2", "llmbar-10"]


def test_link_opens_the_folded_finding(pages: Pages, chromium_page: Watched) -> None:
    page = chromium_page.open(pages["several"])
    link = page.locator(".overview tbody a").last
    target = page.locator(f"[id='{(link.get_attribute('href') or '')[1:]}']")
    assert not target.locator(".facts").is_visible()
    link.click()
    assert target.locator(".facts").is_visible()


def test_print_shows_what_is_folded_without_backgrounds(pages: Pages, chromium_page: Watched) -> None:
    page = chromium_page.open(pages["several"])
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("article .facts").first.is_visible()
    assert page.locator(".more table").first.is_visible()
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    tinted = (
        "[...document.querySelectorAll('.badge, .banner, .line, del, ins')].filter("
        "one => getComputedStyle(one).backgroundColor !== 'rgba(0, 0, 0, 0)').length"
    )
    assert page.evaluate(tinted) == 0
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_script_everything_can_be_read(browser: Any, pages: Pages) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["leaking"].as_uri())
    assert page.locator("svg.drawing:visible").count() >= 6
    assert page.get_by_text("Can I trust a score?", exact=True).is_visible()
    page.locator("summary", has_text="The self-check").click()
    assert page.locator("caption", has_text="Planted judges").is_visible()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", READ)
def test_axe_finds_no_fault_that_matters(
    name: str, scheme: Scheme, pages: Pages, chromium_page: Watched
) -> None:
    chromium_page.page.emulate_media(color_scheme=scheme)
    page = chromium_page.open(pages[name])
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    response = Axe().run(page).response
    grave = [
        (fault["id"], fault["nodes"][0]["html"][:200], fault["nodes"][0].get("failureSummary", "")[:300])
        for fault in response["violations"]
        if fault["impact"] in ("moderate", "serious", "critical")
    ]
    assert grave == []
    assert len(response["passes"]) > 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_drawings_stand_out_from_the_paper(scheme: Scheme, pages: Pages, chromium_page: Watched) -> None:
    """Axe does not look into drawings: their text at 4.5 to 1, their marks at 3 to 1."""
    chromium_page.page.emulate_media(color_scheme=scheme)
    page = chromium_page.open(pages["leaking"])
    paper = _luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    texts = _colours(
        page.evaluate(
            _FILLS.format(selector=".drawing text[class~='fill-muted'], .drawing text[class~='fill-ink']")
        )
    )
    marks = _colours(
        page.evaluate(_FILLS.format(selector=".drawing path[class*='fill-']:not([class*='fill-band'])"))
    )
    assert texts
    assert marks
    assert min(_contrast(colour, paper) for colour in texts) >= 4.5
    assert min(_contrast(colour, paper) for colour in marks) >= 3


_FILLS = '[...new Set([...document.querySelectorAll("{selector}")].map(one => getComputedStyle(one).fill))]'


def _colours(fills: list[str]) -> list[float]:
    return [_luminance(fill) for fill in fills if fill.startswith("rgb")]


def _luminance(colour: str) -> float:
    channels = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(a: float, b: float) -> float:
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)
