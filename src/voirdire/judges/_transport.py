"""The one layer that carries HTTP: it posts a body and keeps the raw answer. Pace and budget are the engine's.

aiohttp is imported when the first request is sent. Proxies are those that the system names (`HTTPS_PROXY`,
`NO_PROXY`, ...), looked up once when the transport is made.
"""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from voirdire.errors import JudgeError, TryAgain, UsageError

if TYPE_CHECKING:
    import aiohttp

LONGEST_ANSWER = 8 * 1024 * 1024
"""Bytes of an answer beyond which the server is not listened to any further."""

REMOVED = b"[key removed]"

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Reply:
    """What a server sent: status, headers (names in any case), body. `cut`: the body went on, and was left unheard."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool = False


class Transport:
    """Posts JSON to one server over pooled connections, as many as are asked for at once.

    `headers` go with every request. `secret`: never passed on to anybody else, and cut out of whatever the server
    sends back, so that it can be stored nowhere.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str], secret: str | None = None) -> None:
        self._url = url
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "voirdire",
            **headers,
        }
        self._secret = secret.encode() if secret else None
        self._host = urlsplit(url).netloc
        self._proxy = proxy_for(url)
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, body: bytes) -> Reply:
        """Send `body` once. Raises TryAgain where no answer came or it broke off, JudgeError where none can come."""
        import aiohttp

        try:
            session = self._session if self._loop is asyncio.get_running_loop() else None
            session = session or await self._open()
            async with session.post(self._url, data=body, allow_redirects=False) as response:
                content, cut = await _heard(response)
                return Reply(response.status, response.headers, self._without_secret(content), cut)
        except (aiohttp.ClientSSLError, aiohttp.InvalidURL) as error:
            raise JudgeError(
                f"cannot reach {self._url}: {error}", hint="correct `base_url` in the judge file"
            ) from None
        except aiohttp.ClientConnectorError as error:
            number = error.errno or 0
            why = os.strerror(number) if number > 0 else error.strerror or str(error.os_error)
            raise TryAgain(f"no connection to {self._host}: {why.lower()}") from None
        except (aiohttp.ClientError, ConnectionError) as error:
            raise TryAgain(f"connection lost: {type(error).__name__}", maybe_paid=True) from None

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    async def _open(self) -> "aiohttp.ClientSession":
        """Open a session in the running loop; a judge may be asked in one loop after another."""
        import aiohttp

        await self.close()
        self._loop = asyncio.get_running_loop()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            proxy=self._proxy,
        )
        return self._session

    def _without_secret(self, body: bytes) -> bytes:
        if self._secret is not None and self._secret in body:
            return body.replace(self._secret, REMOVED)
        return body


async def _heard(response: "aiohttp.ClientResponse") -> tuple[bytes, bool]:
    """Return the body, and whether it was cut because it grew beyond all measure."""
    length = response.content_length
    if length is not None and length <= LONGEST_ANSWER and "Content-Encoding" not in response.headers:
        return await response.read(), False
    pieces = bytearray()
    async for piece in response.content.iter_any():
        pieces += piece
        if len(pieces) > LONGEST_ANSWER:
            response.close()
            return bytes(pieces[:LONGEST_ANSWER]), True
    return bytes(pieces), False


def checked_url(text: str, *, where: str) -> str:
    """Return the URL without a closing slash; UsageError where it is none, or carries anything secret."""
    try:
        parts = urlsplit(text.strip())
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{where}: '{text}' is not a URL ({error})", hint="write https://host/v1") from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"{where}: the URL of {parts.hostname} holds a name or a password, which would be stored and shown",
            hint="leave it out; give a key through the environment variable named by `key_env`",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{where}: '{text}' is not an http or https URL", hint="write https://host/v1")
    if parts.query or parts.fragment:
        raise UsageError(
            f"{where}: the URL of {parts.hostname} has a part after '{'?' if parts.query else '#'}'",
            hint="end it with the path, as in https://host/v1",
        )
    return urlunsplit(SplitResult(parts.scheme, parts.netloc.lower(), parts.path.rstrip("/"), "", ""))


def proxy_for(url: str) -> str | None:
    """Return the proxy that the system names for this URL, or None; never one for this very machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxy = getproxies().get(parts.scheme)
    return None if proxy is None or host in _THIS_MACHINE or proxy_bypass(host) else proxy


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that a server asks to wait, or None: `retry-after-ms`, else `retry-after` (seconds or date)."""
    milliseconds = _number(headers.get("Retry-After-Ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("Retry-After")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - (now or datetime.now(UTC))).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None
