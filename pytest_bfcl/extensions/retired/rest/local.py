"""REST providers (docs/retired.md): their protocol, and a small service of our own on loopback.

It serves holidays, weather and exchange rates, the same in every run.

Its address has a reserved host name. A request goes to a server thread of this process, and nothing else can be
reached. Routes, all answering with JSON:

- ``/holidays/{year}/{country}``, query ``month``: a list of days;
- ``/weather/{city}``, query ``days`` (1 to 14) and ``fields``: a list of days; ``/weather``: the cities;
- ``/rates/{base}``, query ``symbols`` and ``amount``, header ``X-Api-Key``: a list of rates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit, urlunsplit

from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.providers.local_site import LoopbackServer
from pytest_bfcl.providers.recorded import Query, Recording


@runtime_checkable
class RestProvider(Protocol):
    """A source of answers to GET requests; called from several threads at once.

    ``live``: answers may change, fail or be missing, so a known request is tried first.
    """

    @property
    def live(self) -> bool:
        """Whether answers come from a service, which may change, fail, or differ from the entry's."""
        ...

    def get(self, url: str, params: Fields, headers: Mapping[str, str]) -> Parsed:
        """``{"status": number, "body": value or None}``; ``{"error": text}`` for an address that does not answer.

        ``body`` is the parsed JSON of the response. Raises `pytest_bfcl.failures.BenchmarkError` for infrastructure
        errors.
        """
        ...

    def close(self) -> None:
        """Release connections and threads."""
        ...


def whole_url(url: str, params: Fields) -> str:
    """The address with its query: lists repeat their name, ``None`` is left out, other values become text."""
    pairs = []
    for name, value in params.items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(str(name), str(each)) for each in values if each is not None]
    if not pairs:
        return url
    parts = urlsplit(url)
    query = "&".join(part for part in (parts.query, urlencode(pairs)) if part)
    return urlunsplit(parts._replace(query=query))


class RecordedRest(Recording):
    """Recorded answers first; other requests go to ``provider`` and are recorded.

    Without a provider (a replay) `get` raises `AdapterError` of kind ``not_recorded``.
    """

    what = "REST"

    def __init__(self, folder: Path, provider: RestProvider | None = None, process: str = "main") -> None:
        super().__init__(folder, process)
        self._provider = provider

    @property
    def live(self) -> bool:
        """Whether requests may reach a service."""
        return self._provider is not None and self._provider.live

    def get(self, url: str, params: Fields, headers: Mapping[str, str]) -> Parsed:
        """See `RestProvider.get`."""
        asked = self._provider
        named = {name.lower(): value for name, value in sorted(headers.items())}
        result = self._result(
            ("get", whole_url(url, params), named), (lambda: asked.get(url, params, headers)) if asked else None
        )
        return result if isinstance(result, dict) else {"error": "the recording holds no response"}

    def called(self, name: str, arguments: Fields) -> tuple[Any] | None:
        """The recorded value of a network function in a tuple, ``None`` without one."""
        return self.find(("call", name, dict(sorted(arguments.items()))))

    def _key(self, call: Query) -> str:
        return super()._key(tuple(map(_whole, call)))

    def close(self) -> None:
        """Close the provider; files are closed after every line."""
        if self._provider is not None:
            self._provider.close()


def _whole(value: object) -> Any:
    """Makes 90.0 and 90 the same argument."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    return value


HOST = "rest.bfcl.test"
"""``.test`` is reserved (RFC 6761): no name server knows it."""
KEY = "demo-key"
MAX_DAYS = 14

Response = tuple[int, Any]


class LocalRest:
    """The service and its client in one. The server starts with the first request."""

    live = True
    """Data may need other services: such an entry is skipped and never counts as wrong."""

    def __init__(self) -> None:
        self._server = LoopbackServer(lambda: _Handler, "bfcl rest")

    def get(self, url: str, params: Fields, headers: Mapping[str, str]) -> Parsed:
        """See `RestProvider.get`; addresses of other hosts are an ``error``."""
        try:
            parts = urlsplit(whole_url(url, params))
            host = parts.hostname
        except ValueError:
            host = None
        if host != HOST:
            return {"error": f"only addresses of http://{HOST} can be asked here, not {url[:200]}"}
        target = quote(parts.path or "/", safe="/%") + (f"?{quote(parts.query, safe='=&%+,')}" if parts.query else "")
        sent = {name: value for name, value in headers.items() if name.lower() in ("x-api-key", "accept")}
        try:
            answer = self._server.get(target, {**sent, "Host": HOST})
            return {"status": answer.status_code, "body": answer.json()}
        except (OSError, ValueError) as error:
            return {"error": f"{url[:200]}: {error}"}

    def close(self) -> None:
        """Stop the server."""
        self._server.close()


class _Handler(BaseHTTPRequestHandler):
    """Answers from the tables below; no request reaches the file system."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        status, body = respond(unquote(parts.path), query, self.headers.get("X-Api-Key"))
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""


def respond(path: str, query: Mapping[str, str], key: str | None) -> Response:
    """Status and body for a request."""
    match [part for part in path.split("/") if part]:
        case ["holidays", year, country]:
            return _holidays(year, country, query)
        case ["weather"]:
            return 200, [{"city": city} for city in _CITIES]
        case ["weather", city]:
            return _weather(city, query)
        case ["rates", base]:
            return _rates(base, query, key)
    return 404, {"error": "there is nothing here"}


def _holidays(year: str, country: str, query: Mapping[str, str]) -> Response:
    if not (year.isdigit() and 1900 <= int(year) <= 2100):
        return 400, {"error": "the year must be between 1900 and 2100"}
    own = _HOLIDAYS.get(country.upper())
    if own is None:
        return 404, {"error": f"no holidays known for {country[:20]!r}"}
    month = query.get("month")
    if month is not None and not (month.isdigit() and 1 <= int(month) <= 12):
        return 400, {"error": "the month must be between 1 and 12"}
    days = sorted(own | _EVERYWHERE)
    chosen = [day for day in days if month is None or int(day[0][:2]) == int(month)]
    return 200, [{"date": f"{year}-{day}", "name": name, "country": country.upper()} for day, name in chosen]


def _weather(city: str, query: Mapping[str, str]) -> Response:
    base = _CITIES.get(city.replace("+", " ").lower())
    if base is None:
        return 404, {"error": f"no weather known for {city[:60]!r}"}
    days = query.get("days", "1")
    if not (days.isdigit() and 1 <= int(days) <= MAX_DAYS):
        return 400, {"error": f"days must be between 1 and {MAX_DAYS}"}
    fields = [field for field in query.get("fields", "high,low,rain_mm").split(",") if field]
    if not set(fields) <= {"high", "low", "rain_mm", "wind_kmh"}:
        return 400, {"error": "fields are high, low, rain_mm, wind_kmh"}
    forecast = []
    for day in range(int(days)):
        high = base + day * 7 % 5
        values = {"high": high, "low": high - 6, "rain_mm": day * 11 % 9, "wind_kmh": 8 + day * 13 % 20}
        forecast.append({"day": day + 1} | {field: values[field] for field in fields})
    return 200, forecast


def _rates(base: str, query: Mapping[str, str], key: str | None) -> Response:
    if key != KEY:
        return 401, {"error": "the header X-Api-Key is missing or wrong"}
    own = _PER_CROWN.get(base.upper())
    symbols = [symbol.strip().upper() for symbol in query.get("symbols", ",".join(_PER_CROWN)).split(",")]
    if own is None or not set(symbols) <= set(_PER_CROWN):
        return 404, {"error": f"known currencies: {', '.join(_PER_CROWN)}"}
    listed = []
    amount = query.get("amount")
    for symbol in symbols:
        rate = round(_PER_CROWN[symbol] / own, 6)
        row: Parsed = {"symbol": symbol, "rate": rate}
        if amount is not None:
            try:
                row["converted"] = round(float(amount) * rate, 2)
            except ValueError:
                return 400, {"error": "amount must be a number"}
        listed.append(row)
    return 200, listed


_EVERYWHERE = {("01-01", "New Year"), ("05-01", "Labour Day"), ("12-25", "Winter Feast")}
_HOLIDAYS = {
    "OR": {("03-14", "Ember Day"), ("06-21", "Midsummer"), ("10-02", "Harbour Day")},
    "SO": {("02-02", "Lantern Night"), ("06-21", "Midsummer"), ("08-15", "Herring Feast"), ("11-11", "Peace Day")},
    "KE": {("04-09", "Archive Day"), ("12-26", "Second Feast Day")},
}
_CITIES = {"port ember": 14, "aldmoor": 9, "brackwater": 11, "st quillon": 18, "tarn": 6}
_PER_CROWN = {"CRN": 1.0, "EMB": 2.5, "SOR": 0.4, "KST": 11.2}
