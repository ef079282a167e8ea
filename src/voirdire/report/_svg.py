"""Makes a drawing of vl-convert fit to stand inside the page: themed by CSS, small, titled, ids its own.

Colours are drawn as stand-ins (`INK`, ...) and become CSS classes here, so that one drawing serves light, dark and
print. The tree is built by the XML parser and written out again, so its text stays escaped.
"""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

STAND_INS = {
    "#010101": "ink",
    "#020202": "muted",
    "#030303": "rule",
    "#040404": "band",
    "#050505": "accent",
    "#060606": "paper",
    "#070707": "holds",
    "#080808": "leaks",
    "#090909": "blind",
    "#0a0a0a": "permitted",
    "#0b0b0b": "unresolved",
    "#0c0c0c": "g1",
    "#0d0d0d": "g2",
    "#0e0e0e": "g3",
    "#0f0f0f": "g4",
    "#101010": "g5",
    "#111111": "g6",
}
"""Stand-in colour to the name of the CSS variable that takes its place."""

COLOUR = {name: stand_in for stand_in, name in STAND_INS.items()}

_KEPT = {
    "d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "viewBox", "transform", "points", "cx", "cy", "r", "dx", "dy",
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "fill-opacity",
    "stroke-opacity", "text-anchor", "font-size", "font-weight", "id", "clip-path",
}  # fmt: skip
_NAMESPACE = re.compile(r'\sxmlns(?::\w+)?="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{3,}")


def inlined(svg: str, *, uid: str, title: str, description: str) -> str:
    """Return the SVG for use inside HTML: `uid` prefixes its ids, `title` and `description` (plain text) name it."""
    root = ElementTree.fromstring(_NAMESPACE.sub("", svg))
    _strip(root)
    for element in root.iter():
        _restyle(element, uid)
    root.set("class", "drawing")
    root.set("role", "img")
    root.set("aria-labelledby", f"{uid}-t {uid}-d")
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        label = ElementTree.Element(tag, {"id": f"{uid}-{tag[0]}"})
        label.text = text
        root.insert(place, label)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _strip(parent: ElementTree.Element) -> None:
    for child in list(parent):
        _strip(child)
        if _draws_nothing(child):
            parent.remove(child)


def _draws_nothing(element: ElementTree.Element) -> bool:
    if element.tag == "g":
        return len(element) == 0
    if element.get("display") == "none" or element.get("d") == "":
        return True
    return (
        "background" in (element.get("class") or "") and not element.get("fill") and not element.get("stroke")
    )


def _restyle(element: ElementTree.Element, uid: str) -> None:
    classes = list(_colour_classes(element))
    for name, value in list(element.attrib.items()):
        if name not in _KEPT or value in STAND_INS or (name == "opacity" and value == "1"):
            del element.attrib[name]
        elif name == "id":
            element.set(name, f"{uid}-{value}")
        elif name == "clip-path":
            element.set(name, value.replace("#", f"#{uid}-"))
        elif name != "viewBox":
            element.set(name, _LONG.sub(lambda match: f"{float(match[0]):.2f}", value))
    if classes:
        element.set("class", " ".join(classes))


def _colour_classes(element: ElementTree.Element) -> Iterator[str]:
    for name in ("fill", "stroke"):
        colour = STAND_INS.get(element.get(name, ""))
        if colour:
            yield f"{name}-{colour}"
