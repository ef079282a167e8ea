"""Pages of the samples, rendered once, and a Chromium page that can reach nothing outside."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

from tests.report.samples import SAMPLES
from voirdire.report.write import write

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Watched:
    """One page of a browser: what it said on its console, and what it asked for beside the file itself."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.said: list[str] = []
        self.requested: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.route("**/*", self._guard)

    def open(self, path: Path) -> Page:
        """Open a page from disk and return it."""
        self.page.goto(path.as_uri())
        return self.page

    def _guard(self, route: Route) -> None:
        if route.request.is_navigation_request() and route.request.url.startswith("file:"):
            route.continue_()
            return
        self.requested.append(route.request.url)
        route.abort()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> "Pages":
    """The samples' pages, each rendered when it is first wanted."""
    return Pages(tmp_path_factory.mktemp("pages"))


class Pages:
    """Renders each sample once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Path] = {}

    def __getitem__(self, name: str) -> Path:
        if name not in self._made:
            self._made[name] = write(SAMPLES[name](), self._folder / name)
        return self._made[name]


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """A headless Chromium."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def chromium_page(browser: Browser) -> Iterator[Watched]:
    """A page of 1280 pixels in light colours; nothing outside can be reached from it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield Watched(context)
    context.close()
