"""The page as text: well-formed, escaped, self-contained, and holding what the findings hold."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tests.report.conftest import Pages
from tests.report.samples import (
    HOSTILE,
    SAMPLES,
    account,
    examination,
    judge,
    leaking_judge,
    outcome,
    partial_run,
)
from voirdire.blocks import Cell, TableBlock
from voirdire.errors import DataError
from voirdire.lines import POSITION
from voirdire.model import Estimate, Ruling, StatedRule
from voirdire.report import figures
from voirdire.report.findings_file import to_data
from voirdire.report.page import render
from voirdire.report.paper import HEADINGS

BLOCKS = {"dt", "dd", "td", "th", "p", "div", "li", "h1", "h2", "h3", "h4", "summary", "caption", "pre"}
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Outline(HTMLParser):
    """Checks that every tag is closed in order; collects ids, references, headings and texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.anchors: list[str] = []
        self.headings: list[int] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.add(tag)
        self.text += " " if tag in BLOCKS else ""
        self.attributes |= set(values)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if values.get("id"):
            self.ids.append(values["id"] or "")
        if (values.get("href") or "").startswith("#"):
            self.anchors.append((values["href"] or "")[1:])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.text += data


def outline_of(page: str) -> Outline:
    outline = Outline()
    outline.feed(page)
    outline.close()
    assert outline.open == []
    return outline


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without figures: quick to build."""
    monkeypatch.setattr(figures, "load", lambda: None)


@pytest.mark.parametrize("name", SAMPLES)
def test_page_is_well_formed_and_its_links_lead_somewhere(name: str, pages: Pages) -> None:
    outline = outline_of(pages[name].read_text(encoding="utf-8"))
    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.anchors) <= set(outline.ids)
    assert outline.headings[0] == 1
    assert outline.headings.count(1) == 1
    assert all(deeper - one <= 1 for one, deeper in zip(outline.headings, outline.headings[1:], strict=False))
    assert {"main", "header", "footer"} <= outline.tags


@pytest.mark.parametrize("name", SAMPLES)
def test_page_loads_nothing_and_has_no_handler_in_its_markup(name: str, pages: Pages) -> None:
    page = pages[name].read_text(encoding="utf-8")
    outline = outline_of(page)
    assert not {"img", "link", "iframe", "object", "embed", "form", "base", "image"} & outline.tags
    assert not {"src", "srcset", "style"} & outline.attributes
    assert not [name for name in outline.attributes if name.startswith("on")]
    assert "default-src 'none'" in page.replace("&#39;", "'")
    assert not re.search(r"url\((?!#)|@import", page)


def test_hostile_text_is_shown_and_never_obeyed(pages: Pages) -> None:
    page = pages["hostile"].read_text(encoding="utf-8")
    outline = outline_of(page)
    assert page.count("<script") == 1
    assert "{{ 7 * 7 }}" in outline.text
    assert " 49 " not in outline.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b\ufeff\ud800-\udfff]", page)
    assert "⟨ESC⟩[31mred" in outline.text
    assert "⟨U+202E⟩gnp.exe" in outline.text
    assert "javascript:alert(1)" in outline.text


def test_megabytes_are_cut_with_a_note(pages: Pages) -> None:
    page = pages["hostile"].read_text(encoding="utf-8")
    assert len(page) < 400_000
    assert "1,195,000 more characters; the whole text is in findings.json" in page


def test_same_findings_give_the_same_page(undrawn: None) -> None:
    data = to_data(leaking_judge())
    assert render(data) == render(data)


def test_data_that_are_not_ours_are_refused() -> None:
    with pytest.raises(DataError, match="not a findings file"):
        render({"title": "<script>"})


def test_first_screen_answers_before_the_evidence(undrawn: None) -> None:
    text = outline_of(render(to_data(leaking_judge()))).text
    places = [
        text.index(part)
        for part in (
            "Can I trust a score?",
            "What should I change first?",
            "State of the run",
            "The evidence",
        )
    ]
    assert places == sorted(places)


def test_partial_run_says_so_with_reason_and_missing_answers(undrawn: None) -> None:
    text = _words(render(to_data(partial_run())))
    assert "Partial. This run did not finish: the limit of 260 calls (--max-calls) was reached." in text
    assert "174 of 420 answers are missing." in text
    assert "not asked 160" in text
    assert "no line 'PROCESS: <number>' 12" in text
    assert "Partial." not in _words(render(to_data(leaking_judge())))


def test_finding_shows_all_that_its_ruling_rests_on(undrawn: None) -> None:
    text = _words(render(to_data(partial_run())))
    for part in (
        "0.100 [0.000, 0.220] (95 %)",
        "90 % interval [0.004, 0.196]",
        "n 10 repeats a version",
        "p, adjusted 1.000 (unadjusted 0.410)",
        "line 0.300 or more from 0.500: the outcome protocol's lines",
        "margin the 90 % interval must lie within [0.200, 0.800]",
        "control 1.000 [0.900, 1.000] (95 %)",
        "check 0.970 [0.920, 1.000] (95 %)",
        "bounds [0.000, 0.200] with all missing answers at their worst and best",
        "method all pairs of scores",
        "family all contrasts of this judge on this page, 9 contrasts",
        "It says that this must not count: 10 of 10 answers agree",
        "The outcome could not be known when the decision was taken.",
        "Missing answers by arm",
        "effect variant 10 3 30.0 %",
        "The arms lack different shares of their answers, so the bounds matter.",
        "What would settle it about 14 more repeats",
        "Baron and Hershey 1988",
        "no harm",
        "42 unchanged lines",
        "1,204",
    ):
        assert part in text, part


@pytest.mark.parametrize("ruling", Ruling)
def test_badge_has_word_and_shape_and_only_holds_is_green(ruling: Ruling, undrawn: None) -> None:
    one = judge()
    page = render(to_data(examination("t", [one], [outcome("coding", 0.5, ruling, one)])))
    badge = re.search(
        rf'<span class="badge r-{ruling.value}"><svg[^>]*><use href="#s-(\w+)"/></svg>(\w+)</span>', page
    )
    assert badge is not None
    assert badge.groups() == (ruling.value, ruling.value)
    colours = re.findall(rf"\.badge\.r-{ruling.value} \{{ color: var\(--(\w+)\)", page)
    assert colours == [ruling.value]
    for colour in re.findall(rf"--{ruling.value}: #([0-9a-f]{{6}})", page):
        red, green, blue = (int(colour[place : place + 2], 16) for place in (0, 2, 4))
        assert (green > red + 20 and green > blue + 20) == (ruling is Ruling.HOLDS)


def test_exact_estimate_and_missing_margin_are_said(undrawn: None) -> None:
    one = judge()
    line = replace(POSITION, margin=None)
    finding = replace(
        outcome("coding", 0.5, Ruling.UNRESOLVED, one), estimate=Estimate(0.0, n=1, exact=True), line=line
    )
    text = _words(render(to_data(examination("t", [one], [replace(finding, control=None)]))))
    assert "0.000, exact" in text
    assert "margin none, so nothing can be said to hold" in text
    assert "control none that could be read" in text


def test_unknown_cell_is_last_and_said(undrawn: None) -> None:
    one = judge()
    block = TableBlock("T", ["a", "b", "c"], [["x", None, 1.5, "too many"], ["y"]])
    page = render(
        to_data(examination("t", [one], [replace(outcome("c", 0.5, Ruling.HOLDS, one), blocks=(block,))]))
    )
    assert page.count("not known</span>") >= 3
    assert "too many" not in page


def test_table_of_rulings_has_badges_and_probabilities(undrawn: None) -> None:
    one = judge()
    rows: list[list[Cell]] = [["a", "leaks", 0.00001], ["b", "holds", 0.25], ["c", "leaks?", None]]
    block = TableBlock("T", ["judge", "ruling", "corrected p"], rows)
    finding = replace(outcome("c", 0.5, Ruling.HOLDS, one), blocks=(block,))
    page = render(to_data(examination("t", [one], [finding])))
    assert re.search(r'data-sort="leaks"><span class="badge r-leaks">', page)
    assert 'data-sort="1e-05" class="num">&lt; 0.001<' in page
    assert ">leaks?<" in page


def test_ruling_stands_first_in_the_overview_and_the_finding_heads_its_row(undrawn: None) -> None:
    for name in ("leaking", "several"):
        page = render(to_data(SAMPLES[name]()))
        table = page[page.index("<caption>One by one</caption>") :].partition("</table>")[0]
        assert re.findall(r'<th scope="col"[^>]*>([^<]+)</th>', table)[0] == "ruling"
        first = table.partition("<tbody>")[2].partition("</tr>")[0]
        assert re.search(r'<td [^>]*><span class="badge', first)
        assert re.search(r'<th scope="row" [^>]*><a href="#f-outcome', first)


def test_landmarks_have_names_of_their_own(undrawn: None) -> None:
    one = judge()
    blocks = (
        TableBlock("T", ["a"], [[1]]),
        TableBlock("t", ["a"], [[1]]),
        TableBlock("The evidence", ["a"], [[1]]),
    )
    findings = [replace(outcome(case, 0.5, Ruling.HOLDS, one), blocks=blocks) for case in ("c", "d")]
    page = render(to_data(examination("t", [one, judge("b", "b")], findings)))
    names = [name.casefold() for name in re.findall(r'role="region"[^>]*aria-label="([^"]*)"', page)]
    assert {"t", "t (2)", "t (3)", "t (4)", "the evidence (2)", "questions", "questions (2)"} <= set(names)
    assert len(names) == len(set(names))
    headings = re.findall(r"<h2[^>]*>([^<]*)</h2>", page)
    assert not {heading.casefold() for heading in headings} & set(names)
    assert set(headings) <= set(HEADINGS)


def test_more_snapshots_than_judges_are_a_warning(undrawn: None) -> None:
    one, other = judge(), judge("openai:b", "b")
    served = {"m-2026-05": 9, "m-2026-06": 1}
    findings = [outcome("judge", 0.5, Ruling.HOLDS, who) for who in (one, other)]
    mixed = examination("t", [one], findings[:1], account=replace(account(), served=served))
    said = "2 snapshots answered for 1 judge: m-2026-05 (9 answers) and m-2026-06 (1 answer)."
    assert said in _words(render(to_data(mixed)))
    both = examination("t", [one, other], findings, account=replace(account(), served=served))
    assert "snapshots answered for" not in _words(render(to_data(both)))
    assert "snapshots answered for" not in _words(render(to_data(leaking_judge())))


def test_judge_without_a_rule_is_told_why(undrawn: None) -> None:
    one = judge()
    rule = StatedRule(None, 0, 0, 0, note="recorded verdicts: the judge cannot be asked")
    finding = replace(outcome("judge", 0.5, Ruling.HOLDS, one), rule=rule)
    text = _words(render(to_data(examination("t", [one], [finding]))))
    assert "None that counts: recorded verdicts: the judge cannot be asked." in text
    assert "0 of 0 answers" not in text


def test_one_of_a_unit_is_not_many(undrawn: None) -> None:
    one = judge()
    finding = replace(
        outcome("judge", 0.5, Ruling.UNRESOLVED, one), estimate=Estimate(0.5, n=1, unit="cases")
    )
    assert " n 1 case p, adjusted" in _words(render(to_data(examination("t", [one], [finding]))))


def test_long_table_scrolls_in_its_own_box_and_a_very_long_one_is_cut(undrawn: None) -> None:
    one = judge()
    blocks = tuple(TableBlock(f"T{n}", ["a"], [[k] for k in range(n)]) for n in (24, 25, 700))
    finding = replace(outcome("c", 0.5, Ruling.HOLDS, one), blocks=blocks)
    page = render(to_data(examination("t", [one], [finding])))
    assert re.findall(r'class="scroll( tall)?"[^>]*aria-label="(T\d+)"', page) == [
        ("", "T24"),
        (" tall", "T25"),
        (" tall", "T700"),
    ]
    assert "200 more rows stand in findings.json." in page


def test_identity_account_and_glossary_are_there(pages: Pages) -> None:
    text = _words(pages["leaking"].read_text(encoding="utf-8"))
    for part in (
        judge().fingerprint,
        "model smollm2-135m",
        "You review the work of AI agents.",
        "How good were the agent's decisions, given what it knew?",
        "0 to 10",
        "first, second",
        'first_line {"label": "PROCESS"}',
        "smollm2-135m@1f3a 299",
        "412,300 tokens in, 9,020 out; 1 min 34 s",
        "What the rulings mean",
        "Holm",
        "outcome never moves blind blind yes",
    ):
        assert part in text, part


def test_reference_with_a_doi_is_a_link_and_hostile_ones_are_not(pages: Pages) -> None:
    page = pages["leaking"].read_text(encoding="utf-8")
    assert 'href="https://doi.org/10.1037/0022-3514.54.4.569"' in page
    hostile = pages["hostile"].read_text(encoding="utf-8")
    hrefs = re.findall(r'href="([^"#][^"]*)"', hostile)
    assert set(hrefs) <= {"https://example.org/"}
    assert HOSTILE not in hostile


def _words(page: str) -> str:
    return re.sub(r"\s+", " ", outline_of(page).text.replace("\u00a0", " "))
