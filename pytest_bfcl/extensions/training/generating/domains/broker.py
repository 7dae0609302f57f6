"""TradingBot: quotes, orders, money and a watch list."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.lab.auditing.literals import listed
from pytest_bfcl.extensions.training.generating.moves import domain_of
from pytest_bfcl.json_types import Parsed

_INVENTED = listed(
    "ALDR BRIO CLEM DUNE EMBR FERN GLEN HALO IRIS JUTE KELP LARK MOSS NORD OATS PLUM QUAY REED SAGE TARN"
)
_LISTED = listed("AAPL GOOG MSFT NVDA TSLA")


def world(rng: Random) -> Parsed:
    """A broker's account with some stocks and orders."""
    symbols = rng.sample(_INVENTED, 5) + rng.sample(_LISTED, 2)
    stocks = {symbol: _stock(rng) for symbol in symbols}
    first = rng.randint(200, 900)
    orders = {}
    for number, state in enumerate(rng.sample(["Pending", "Open", "Completed", "Pending"], 3), first):
        symbol = rng.choice(symbols)
        orders[str(number)] = {
            "id": number, "order_type": rng.choice(["Buy", "Sell"]), "symbol": symbol,
            "price": stocks[symbol]["price"], "amount": rng.randint(2, 40), "status": state,
        }  # fmt: skip
    balance = rng.randint(3_000, 20_000) + rng.choice([0.25, 0.5, 0.75])
    return {
        "stocks": stocks, "orders": orders, "order_counter": first + 3, "authenticated": rng.random() < 0.8,
        "market_status": "Open", "watch_list": rng.sample(symbols, 2), "transaction_history": [],
        "account_info": {"account_id": rng.randint(10_000, 99_999), "balance": balance,
                         "binding_card": rng.randint(10**15, 10**16 - 1)},
        "random_seed": rng.randint(1, 10**6),
    }  # fmt: skip


def _stock(rng: Random) -> Parsed:
    price = rng.randrange(1_205, 44_995, 5) / 100 + 0.01
    return {
        "price": round(price, 2), "percent_change": rng.randrange(-480, 480) / 100 + 0.005,
        "volume": rng.randrange(110, 4_000) / 1000, "MA(5)": round(price * 0.98, 2), "MA(20)": round(price * 1.03, 2),
    }  # fmt: skip


def _symbols(bot: Any, rng: Random) -> str:
    return str(rng.choice(sorted(bot.stocks)))


def _orders(bot: Any, rng: Random) -> object:
    return rng.choice(sorted(bot.orders))


def _order_taken(config: Parsed, given: Any, fails: Any) -> None:
    config["orders"][str(given["order_id"])]["status"] = "Completed" if fails else "Pending"


def _poor(config: Parsed, given: Any, fails: Any) -> None:
    config["account_info"]["balance"] = round(given["price"] * given["amount"] * (0.6 if fails else 5) + 7.25, 2)


def _completed(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    _order_taken(config, given, holds)


def _watched(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    config["watch_list"] = [each for each in config["watch_list"] if each != value] + [value] * holds


def _priced(config: Parsed, given: Any, value: Any) -> None:
    config["stocks"][given["symbol"]]["price"] = round(value + 0.01, 2)


def _rich(config: Parsed, given: Any, value: Any) -> None:
    config["account_info"]["balance"] = round(value + 0.25, 2)


DOMAIN = domain_of("broker", "TradingBot", world, {
    "symbols": _symbols, "orders": _orders, "order_taken": _order_taken, "poor": _poor, "completed": _completed,
    "set_watched": _watched, "priced": _priced, "rich": _rich,
    "some_symbols": lambda bot, rng: rng.sample(sorted(bot.stocks), 3),
    "watched": lambda bot, given: given["symbol"] in bot.watch_list,
    "unwatched": lambda bot, given: given["stock"] not in bot.watch_list,
    "watchlist": lambda result: list(result["watchlist"]), "stock_list": lambda result: list(result["stock_list"]),
})  # fmt: skip
