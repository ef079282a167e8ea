"""Figures as static SVG, drawn by Altair and vl-convert while the page is built; nothing is drawn in the browser.

Every figure is drawn twice, for a wide and for a narrow screen, from the same rows. Both libraries are an extra:
`load` says whether they are there. Row keys of each kind are those that `voirdire.blocks.FigureBlock` documents.
"""

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from markupsafe import Markup

from voirdire.blocks import Cell, FigureBlock
from voirdire.report._svg import COLOUR, inlined
from voirdire.report.visible import one_line

INSTALL = "pip install 'voirdire[figures]'"
WIDE, NARROW = 640, 320
STEP, DOT_STEP, GROUP_STEP = 30, 36, 15
"""Height of a row, of a row of dots, and of each of several groups within a row, in pixels."""

LINE_HEIGHT, NAME_LINES = 14, 3
"""Height of a line of a row's name, and how many lines a name may take."""

NAME_BESIDE, NAME_ABOVE = 46, 50
"""Characters in a line of a name that stands beside its row, and of one that stands above it on a narrow figure."""

MANY_ROWS, DENSE_STEP = 24, 22
"""With more rows than this a figure draws them this close."""

ROW_LIMIT = 60
"""Rows of an interval or bar figure that are drawn; all stand in its table."""

PANEL_ROOM = 76
"""Pixels that the axis of one panel takes."""

GROUPS = ("g1", "g2", "g3", "g4", "g5", "g6")
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
RULING_SHAPES = {
    "holds": "circle",
    "leaks": "triangle-up",
    "blind": "cross",
    "permitted": "diamond",
    "unresolved": "square",
}

Row = dict[str, Any]
Chart = Any


@dataclass(frozen=True)
class Axis:
    """The axis of an interval figure: its title and domain, where no shift is, the lines and the margin's band."""

    title: str = ""
    domain: tuple[float, float] | None = None
    null: float | None = None
    lines: tuple[float, ...] = ()
    band: tuple[float, float] | None = None


@dataclass(frozen=True)
class Layout:
    """Where the rows of a figure stand.

    Wide, every row has a `key` for its name and Vega places it. Narrow, every row has a `y` in pixels; `names` stand
    above their rows (`name`, `y`), and what is drawn behind a row stands within its `strips` (`top`, `bottom`, `y`), so
    that no rule runs through a name.
    """

    rows: Sequence[Row]
    width: int
    height: int
    names: Sequence[Row] = ()
    strips: Sequence[Row] = ()

    @property
    def narrow(self) -> bool:
        """Whether names stand above their rows."""
        return self.width <= NARROW


@dataclass(frozen=True)
class Drawing:
    """One figure drawn for two widths, as SVG that can stand in the page."""

    wide: Markup
    narrow: Markup


@dataclass(frozen=True)
class Pen:
    """Altair for one chart, with the chart's data kept beside it: Altair copies what it holds at every step."""

    altair: Any
    datasets: dict[str, list[Row]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.altair, name)

    def data(self, rows: Sequence[Row]) -> Any:
        """Keep the rows and return what refers to them."""
        name = f"rows{len(self.datasets)}"
        self.datasets[name] = list(rows)
        return self.altair.NamedData(name)


Plan = Callable[[Pen, int], Chart]


@dataclass
class Draftsman:
    """Draws figures with Altair; hands out ids that are unique on its page."""

    altair: Any
    convert: Callable[..., str]
    drawn: int = 0

    def block(self, block: FigureBlock) -> Drawing | None:
        """Draw a block; None where its kind is unknown or none of its rows can be drawn."""
        plan = _KINDS.get(block.kind)
        rows = plan.rows(block) if plan else []
        if not plan or not rows:
            return None
        return self._both(lambda pen, width: plan.chart(pen, rows, block.options, width), block.title, rows)

    def intervals(self, rows: Sequence[Row], axis: Axis, *, title: str) -> Drawing:
        """Draw rows of label, value, low, high, colour and shape on one axis."""
        return self._both(lambda pen, width: _ruled_intervals(pen, rows, axis, width), title, rows)

    def strip(self, rows: Sequence[Row], axis: Axis, *, title: str) -> Markup:
        """Draw the same at the narrow width only: small enough for every screen."""
        return self._svg(
            lambda pen, width: _ruled_intervals(pen, rows, axis, width), NARROW, title, _in_words(rows)
        )

    def _both(self, chart: Plan, title: str, rows: Sequence[Row]) -> Drawing:
        words = _in_words(rows)
        return Drawing(
            wide=self._svg(chart, WIDE, title, words), narrow=self._svg(chart, NARROW, title, words)
        )

    def _svg(self, chart: Plan, width: int, title: str, description: str) -> Markup:
        pen = Pen(self.altair)
        drawn = chart(pen, width).to_dict(validate=False)
        svg = self.convert({**drawn, **_THEME, "datasets": pen.datasets}, allowed_base_urls=[])
        self.drawn += 1
        markup = inlined(svg, uid=f"fig{self.drawn}", title=one_line(title), description=description)
        return Markup(markup)


def load() -> Draftsman | None:
    """Return a draftsman, or None where the extra `figures` is not installed."""
    try:
        altair, converter = import_module("altair"), import_module("vl_convert")
    except ImportError:
        return None
    return Draftsman(altair=altair, convert=converter.vegalite_to_svg)


def number_in(row: Mapping[str, Cell], key: str) -> float | None:
    """Return the finite number that a row holds under `key`, else None."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


# --- rows -------------------------------------------------------------------------------------------


def _interval_rows(block: FigureBlock) -> list[Row]:
    rows = []
    for row in block.rows[:ROW_LIMIT]:
        value = number_in(row, "value")
        if value is not None:
            low, high = number_in(row, "low"), number_in(row, "high")
            rows.append(
                {
                    "label": _text(row, "label"),
                    "value": value,
                    "low": low,
                    "high": high,
                    "group": _text(row, "group"),
                }
            )
    return rows


def _bar_rows(block: FigureBlock) -> list[Row]:
    rows = [(row, number_in(row, "value")) for row in block.rows[:ROW_LIMIT]]
    return [
        {"label": _text(row, "label"), "value": value, "group": _text(row, "group")}
        for row, value in rows
        if value is not None
    ]


def _dot_rows(block: FigureBlock) -> list[Row]:
    stacked: dict[tuple[float, str, str], int] = {}
    for row in block.rows:
        x = number_in(row, "x")
        if x is not None:
            key = (x, _text(row, "group"), _text(row, "panel"))
            stacked[key] = stacked.get(key, 0) + 1
    order = list(dict.fromkeys((panel, group) for _, group, panel in stacked))
    rows = sorted(stacked.items(), key=lambda pair: order.index((pair[0][2], pair[0][1])))
    return [
        {"label": f"{panel} · {group}" if panel else group, "x": x, "group": group, "n": n}
        for (x, group, panel), n in rows
    ]


def _curve_rows(block: FigureBlock) -> list[Row]:
    rows = []
    for row in block.rows:
        x, y = number_in(row, "x"), number_in(row, "y")
        if x is not None and y is not None and not _off_scale(x, y, block.options):
            bounds = {"low": number_in(row, "low"), "high": number_in(row, "high")}
            rows.append({"x": x, "y": y, "group": _text(row, "group"), **bounds})
    return rows


def _panel_rows(block: FigureBlock) -> list[Row]:
    rows: list[Row] = []
    for panel in _panel_options(block.options):
        own = [row for row in block.rows if row.get("panel") == panel["name"]]
        drawn = _curve_rows(FigureBlock(block.title, "curve", own, options=panel))
        rows += [{"panel": panel["name"], **row} for row in drawn]
    return rows


def _off_scale(x: float, y: float, options: Mapping[str, object]) -> bool:
    return (bool(options.get("log_x")) and x <= 0) or (bool(options.get("log_y")) and y <= 0)


def _text(row: Mapping[str, Cell], key: str) -> str:
    value = row.get(key)
    return "" if value is None else one_line(str(value), 160)


def _in_words(rows: Sequence[Row]) -> str:
    said = [
        ", ".join(f"{key} {_short(value)}" for key, value in row.items() if _is_told(key, value))
        for row in rows[:40]
    ]
    more = f"; and {len(rows) - 40} more" if len(rows) > 40 else ""
    return "; ".join(said) + more + "."


def _is_told(key: str, value: object) -> bool:
    return value not in (None, "") and key not in ("colour", "shape", "key")


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


# --- charts -----------------------------------------------------------------------------------------


_THEME: Mapping[str, Any] = {
    "background": "transparent",
    "padding": 2,
    "config": {
        "font": "system-ui",
        "view": {"stroke": None},
        "axis": {
            "labelColor": COLOUR["muted"],
            "labelFontSize": 11.5,
            "labelPadding": 6,
            "titleColor": COLOUR["muted"],
            "titleFontSize": 11.5,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "domain": False,
            "ticks": False,
            "gridColor": COLOUR["rule"],
            "gridWidth": 1,
        },
        "legend": {
            "labelColor": COLOUR["ink"],
            "labelFontSize": 11.5,
            "labelLimit": 180,
            "title": None,
            "orient": "top",
            "direction": "horizontal",
            "symbolSize": 60,
            "columnPadding": 14,
            "offset": 6,
        },
    },
}


def _ruled_intervals(alt: Pen, rows: Sequence[Row], axis: Axis, width: int) -> Chart:
    """Intervals of one colour and shape per row, over the margin's band and the lines."""
    layout = _laid_out(rows, width, shared=False)
    base = _labelled(alt, layout, axis)
    colour = alt.Color("colour:N", scale=None, legend=None)
    whiskers = base.mark_rule(strokeWidth=2, strokeCap="round").encode(x2="high:Q", color=colour)
    points = base.mark_point(
        filled=True, size=120, opacity=1, stroke=COLOUR["paper"], strokeWidth=1.2
    ).encode(
        x=_scaled(alt, "value:Q", axis, layout),
        color=colour,
        shape=alt.Shape("shape:N", scale=None, legend=None),
    )
    return _layered(alt, layout, [*_ground(alt, axis, layout), whiskers, points])


def _block_intervals(alt: Pen, rows: Sequence[Row], options: Mapping[str, object], width: int) -> Chart:
    axis = Axis(
        title=_titled(options, "x_title"), domain=_domain(options), lines=_numbers(options.get("lines"))
    )
    layout = _laid_out(rows, width)
    base = _labelled(alt, layout, axis)
    grouping, offset = _grouping(alt, rows), _offset(alt, layout)
    colour = grouping.get("color", alt.ColorValue(COLOUR["accent"]))
    whiskers = base.mark_rule(strokeWidth=2, strokeCap="round").encode(x2="high:Q", color=colour, **offset)
    points = base.mark_point(
        filled=True, size=100, opacity=1, stroke=COLOUR["paper"], strokeWidth=1.2
    ).encode(x=_scaled(alt, "value:Q", axis, layout), **{"color": colour, **grouping}, **offset)
    return _layered(alt, layout, [*_ground(alt, axis, layout), whiskers, points])


def _bars(alt: Pen, rows: Sequence[Row], options: Mapping[str, object], width: int) -> Chart:
    axis = Axis(title=_titled(options, "x_title"), domain=_domain(options))
    layout = _laid_out(rows, width)
    size = {"size": GROUP_STEP - 3, "orient": "horizontal"} if layout.narrow else {"height": {"band": 0.72}}
    bars = (
        _labelled(alt, layout, axis)
        .mark_bar(cornerRadiusEnd=2, **size)
        .encode(
            x=_scaled(alt, "value:Q", axis, layout, zero=True),
            color=_grouping(alt, rows).get("color", alt.ColorValue(COLOUR["accent"])),
            **_offset(alt, layout),
        )
    )
    return _layered(alt, layout, [bars])


def _dots(alt: Pen, rows: Sequence[Row], options: Mapping[str, object], width: int) -> Chart:
    axis = Axis(title=_titled(options, "x_title"), domain=_domain(options) or _room_around_one(rows))
    most = max(row["n"] for row in rows)
    layout = _laid_out(rows, width, step=DOT_STEP)
    base = _labelled(alt, layout, axis)
    colour = alt.Color("group:N", scale=_palette(alt, _distinct(rows, "group")), legend=None)
    size = alt.Size("n:Q", scale=alt.Scale(domain=[0, max(most, 8)], range=[70, 460]), legend=None)
    x = _scaled(alt, "x:Q", axis, layout)
    dots = base.mark_point(filled=True, opacity=0.9).encode(x=x, size=size, color=colour)
    several = [row for row in layout.rows if row["n"] > 1]
    counts = base.mark_text(fontSize=10, fontWeight="bold", color=COLOUR["paper"]).encode(x=x, text="n:Q")
    layers = [dots, counts.properties(data=alt.data(several))] if several else [dots]
    return _layered(alt, layout, [*_ground(alt, axis, layout), *layers])


def _room_around_one(rows: Sequence[Row]) -> tuple[float, float] | None:
    """Return a scale of one step to both sides where all scores are the same; a scale made from them has no width."""
    low, high = min(row["x"] for row in rows), max(row["x"] for row in rows)
    return None if low < high else (low - 1, high + 1)


def _curves(alt: Pen, rows: Sequence[Row], options: Mapping[str, object], width: int) -> Chart:
    layers = _curve_layers(alt, rows, options, width)
    return alt.layer(*layers, width=width, height=260, autosize={"type": "fit", "contains": "padding"})


def _curve_layers(alt: Pen, rows: Sequence[Row], options: Mapping[str, object], width: int) -> list[Chart]:
    groups = _distinct(rows, "group")
    x = _curve_scale(alt, alt.X, "x", options)
    colour = (
        alt.Color("group:N", scale=_palette(alt, groups), sort=groups, legend=_legend(alt, width))
        if len(groups) > 1
        else alt.ColorValue(COLOUR["accent"])
    )
    base = alt.Chart(alt.data(rows))
    y = _curve_scale(alt, alt.Y, "y", options)
    lines = base.mark_line(strokeWidth=2, point={"size": 36, "filled": True}).encode(x=x, y=y, color=colour)
    layers = [lines]
    if any(row["low"] is not None and row["high"] is not None for row in rows):
        low = _curve_scale(alt, alt.Y, "low", {**options, "y_title": options.get("y_title")})
        banded = [row for row in rows if row["low"] is not None and row["high"] is not None]
        bands = alt.Chart(alt.data(banded)).mark_area(opacity=0.16, line=False)
        layers.insert(0, bands.encode(x=x, y=low, y2="high:Q", color=colour))
    return layers


def _panels(alt: Pen, rows: Sequence[Row], options: Mapping[str, object], width: int) -> Chart:
    """Curves side by side, on a narrow figure one below the other, each with axes and groups of its own."""
    named = [panel for panel in _panel_options(options) if any(row["panel"] == panel["name"] for row in rows)]
    beside = width > NARROW
    each = (width - PANEL_ROOM * len(named)) // len(named) if beside else width - PANEL_ROOM
    drawn = []
    for panel in named:
        own = [row for row in rows if row["panel"] == panel["name"]]
        title = textwrap.wrap(str(panel["name"]), 40)
        heading = alt.TitleParams(title, anchor="start", fontSize=12, color=COLOUR["ink"], offset=10)
        layers = _curve_layers(alt, own, panel, NARROW)
        drawn.append(alt.layer(*layers, width=each, height=220, title=heading))
    join = alt.hconcat if beside else alt.vconcat
    return join(*drawn).resolve_scale(color="independent", x="independent", y="independent")


def _panel_options(options: Mapping[str, object]) -> list[Mapping[str, object]]:
    panels = options.get("panels")
    listed = panels if isinstance(panels, list | tuple) else ()
    return [panel for panel in listed if isinstance(panel, Mapping) and "name" in panel]


@dataclass(frozen=True)
class _Kind:
    rows: Callable[[FigureBlock], list[Row]]
    chart: Callable[..., Chart]


_KINDS: Mapping[str, _Kind] = {
    "intervals": _Kind(_interval_rows, _block_intervals),
    "bars": _Kind(_bar_rows, _bars),
    "dots": _Kind(_dot_rows, _dots),
    "curve": _Kind(_curve_rows, _curves),
    "panels": _Kind(_panel_rows, _panels),
}


# --- parts of charts --------------------------------------------------------------------------------


def _laid_out(rows: Sequence[Row], width: int, *, step: int = STEP, shared: bool = True) -> Layout:
    """Return where the rows stand; `shared`: rows of one label stand together, else each has a place of its own."""
    labels = _distinct(rows, "label") if shared else [row["label"] for row in rows]
    places = [labels.index(row["label"]) for row in rows] if shared else range(len(rows))
    groups = _distinct(rows, "group") if shared and _shares_rows(rows) else [""]
    step = DENSE_STEP if len(labels) > MANY_ROWS else step
    if width > NARROW:
        keys = [_key(index, label) for index, label in enumerate(labels)]
        keyed = [{**row, "key": keys[place]} for row, place in zip(rows, places, strict=True)]
        lines = max(key.count("\n") + 1 for key in keys)
        room = max(step, len(groups) * step // 2 if len(groups) > 2 else 0, LINE_HEIGHT * lines + 8)
        return Layout(keyed, width, len(labels) * room)
    names, strips, top = [], [], 0
    for label in labels:
        lines_above = _lines(label, NAME_ABOVE)
        begin = top + LINE_HEIGHT * len(lines_above) + 3
        end = begin + max(step - 6, GROUP_STEP * len(groups))
        names.append({"name": "\n".join(lines_above), "y": top})
        strips.append({"top": begin, "bottom": end, "y": (begin + end) / 2})
        top = end + 8
    placed = [
        {**row, "y": _within(strips[place], groups, row.get("group", "") if len(groups) > 1 else "")}
        for row, place in zip(rows, places, strict=True)
    ]
    return Layout(placed, width, top, [name for name in names if name["name"]], strips)


def _within(strip: Row, groups: Sequence[str], group: str) -> float:
    share = (groups.index(group) + 0.5) / len(groups)
    return float(strip["top"] + share * (strip["bottom"] - strip["top"]))


def _lines(label: str, length: int) -> list[str]:
    return textwrap.wrap(label, length, max_lines=NAME_LINES, placeholder="…")


def _key(index: int, label: str) -> str:
    """A key that sorts and tells equal labels apart: four digits, a colon, the label in lines."""
    return f"{index:04d}:" + "\n".join(_lines(label, NAME_BESIDE))


def _labelled(alt: Pen, layout: Layout, axis: Axis) -> Chart:
    """Rows of named things from top to bottom."""
    chart = alt.Chart(alt.data(layout.rows)).encode(x=_scaled(alt, "low:Q", axis, layout))
    if layout.narrow:
        return chart.encode(y=_down(alt, "y", layout))
    beside = alt.Axis(
        title=None,
        grid=False,
        labelExpr="split(slice(datum.label, 5), '\\n')",
        labelLimit=0,
        labelColor=COLOUR["ink"],
        labelPadding=12,
        labelLineHeight=LINE_HEIGHT,
        labelOffset=_CENTRED,
    )
    return chart.encode(y=alt.Y("key:N", sort=None, title=None, axis=beside))


_CENTRED = {
    "condition": [
        {
            "test": f"length(split(datum.label, '\\n')) == {lines}",
            "value": -LINE_HEIGHT * (lines - 1) / 2,
        }
        for lines in range(2, NAME_LINES + 1)
    ],
    "value": 0,
}
"""Lifts a name of several lines, the first of which Vega sets on the row, until its middle is there."""


def _down(alt: Pen, name: str, layout: Layout) -> Any:
    """Return pixels from the top of the figure as a place."""
    scale = alt.Scale(domain=[0, layout.height], reverse=True, nice=False, zero=False)
    return alt.Y(f"{name}:Q", scale=scale, axis=None)


def _offset(alt: Pen, layout: Layout) -> dict[str, Any]:
    """Return what sets groups that share a row beneath one another, where they are not placed already."""
    shares = not layout.narrow and _shares_rows(layout.rows)
    return {"yOffset": alt.YOffset("group:N", sort=None)} if shares else {}


def _layered(alt: Pen, layout: Layout, layers: Sequence[Chart]) -> Chart:
    """Return the layers as one chart, on a narrow figure with the names above the rows."""
    names = []
    if layout.names:
        text = alt.Chart(alt.data(layout.names)).mark_text(
            align="left",
            baseline="top",
            dy=1,
            fontSize=11.5,
            color=COLOUR["ink"],
            lineBreak="\n",
            lineHeight=LINE_HEIGHT,
        )
        names = [text.encode(x=alt.XValue(0), y=_down(alt, "y", layout), text="name:N")]
    fit = {"type": "fit-x", "contains": "padding"}
    return alt.layer(*layers, *names, width=layout.width, height=max(STEP, layout.height), autosize=fit)


def _ground(alt: Pen, axis: Axis, layout: Layout) -> list[Chart]:
    """Return what lies behind the rows: the margin's band, where no shift is, the lines; narrow, also each row's own."""
    layers = []
    if layout.narrow:
        rows = alt.Chart(alt.data(layout.strips)).mark_rule(color=COLOUR["rule"], strokeWidth=1)
        layers.append(rows.encode(x=alt.XValue(0), x2=alt.X2Value("width"), y=_down(alt, "y", layout)))
    if axis.band:
        band = _behind(alt, layout, [{"from": axis.band[0], "to": axis.band[1]}])
        layers.insert(
            0,
            band.mark_rect(color=COLOUR["band"], clip=True).encode(
                x=_scaled(alt, "from:Q", axis, layout), x2="to:Q"
            ),
        )
    if axis.null is not None:
        null = _behind(alt, layout, [{"at": axis.null}])
        layers.append(
            null.mark_rule(color=COLOUR["muted"], strokeWidth=1).encode(x=_scaled(alt, "at:Q", axis, layout))
        )
    if axis.lines:
        lines = _behind(alt, layout, [{"at": at} for at in axis.lines])
        layers.append(
            lines.mark_rule(color=COLOUR["ink"], strokeWidth=1.2, strokeDash=[4, 3]).encode(
                x=_scaled(alt, "at:Q", axis, layout)
            )
        )
    return layers


def _behind(alt: Pen, layout: Layout, marks: Sequence[Row]) -> Chart:
    """Return a chart of marks that run down the figure; on a narrow one each runs within every row's strip."""
    if not layout.narrow:
        return alt.Chart(alt.data(marks))
    within = [{**mark, **strip} for mark in marks for strip in layout.strips]
    return alt.Chart(alt.data(within)).encode(y=_down(alt, "top", layout), y2="bottom:Q")


def _scaled(alt: Pen, name: str, axis: Axis, layout: Layout, *, zero: bool = False) -> Any:
    domain = {"domain": list(axis.domain), "nice": False} if axis.domain else {"zero": zero}
    drawn = alt.Axis(
        title=textwrap.wrap(axis.title, 48) or None, tickCount=5, grid=not layout.narrow, labelFlush=False
    )
    return alt.X(name, scale=alt.Scale(**domain), axis=drawn)


def _shares_rows(rows: Sequence[Row]) -> bool:
    """Whether some label has points of more than one group, which then stand beneath one another."""
    return len({(row["label"], row["group"]) for row in rows}) > len(_distinct(rows, "label"))


def _distinct(rows: Sequence[Row], key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))


def _palette(alt: Pen, groups: Sequence[str]) -> Any:
    colours = [COLOUR[GROUPS[index % len(GROUPS)]] for index in range(len(groups))]
    return alt.Scale(domain=list(groups), range=colours)


def _grouping(alt: Pen, rows: Sequence[Row]) -> dict[str, Any]:
    groups = _distinct(rows, "group")
    if len(groups) < 2:
        return {}
    shapes = [SHAPES[index % len(SHAPES)] for index in range(len(groups))]
    legend = _legend(alt, WIDE)
    return {
        "color": alt.Color("group:N", scale=_palette(alt, groups), sort=list(groups), legend=legend),
        "shape": alt.Shape(
            "group:N", scale=alt.Scale(domain=list(groups), range=shapes), sort=list(groups), legend=legend
        ),
    }


def _legend(alt: Pen, width: int) -> Any:
    return alt.Legend(columns=2 if width <= NARROW else 3, title=None, symbolOpacity=1)


def _curve_scale(alt: Pen, channel: Any, name: str, options: Mapping[str, object]) -> Any:
    side = "x" if name == "x" else "y"
    log = bool(options.get(f"log_{side}"))
    scale = alt.Scale(type="log") if log else alt.Scale(zero=False)
    title = _titled(options, f"{side}_title")
    return channel(
        f"{name}:Q",
        scale=scale,
        axis=alt.Axis(title=textwrap.wrap(title, 48) or None, grid=side == "y", **_ticks(options, side)),
    )


def _ticks(options: Mapping[str, object], side: str) -> dict[str, Any]:
    """Return where an axis has its marks: at the places that the options name, else about five."""
    chosen = _numbers(options.get(f"{side}_ticks"))
    return {"values": list(chosen), "format": "~g"} if chosen else {"tickCount": 5}


def _domain(options: Mapping[str, object]) -> tuple[float, float] | None:
    pair = _numbers(options.get("domain"))
    return (pair[0], pair[1]) if len(pair) == 2 and pair[0] < pair[1] else None


def _numbers(value: object) -> tuple[float, ...]:
    items = value if isinstance(value, list | tuple) else ()
    return tuple(
        float(item) for item in items if isinstance(item, int | float) and not isinstance(item, bool)
    )


def _titled(options: Mapping[str, object], key: str) -> str:
    return one_line(str(options.get(key) or ""), 80)
