"""TradingBot: quotes, orders, money and a watch list."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.lab.auditing.literals import listed
from pytest_bfcl.extensions.training.generating.moves import (
    Domain,
    Gift,
    Kind,
    Measure,
    Move,
    State,
    amount,
    one_of,
    whole,
)  # fmt: skip
from pytest_bfcl.json_types import Parsed

_INVENTED = listed(
    "ALDR BRIO CLEM DUNE EMBR FERN GLEN HALO IRIS JUTE KELP LARK MOSS NORD OATS PLUM QUAY REED SAGE TARN"
)
_LISTED = {"Apple": "AAPL", "Google": "GOOG", "Tesla": "TSLA", "Microsoft": "MSFT", "Nvidia": "NVDA"}


def world(rng: Random) -> Parsed:
    """A broker's account with some stocks and orders."""
    symbols = rng.sample(_INVENTED, 5) + rng.sample(sorted(_LISTED.values()), 2)
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


_ORDER = {"symbol": "symbol", "price": "price", "amount": "shares"}
_PLACED = {"order": Gift(lambda r: r["order_id"], ("that [new |]order", "the order you just placed"),
                         ("the {symbol} order you placed [for me|earlier]",))}  # fmt: skip

DOMAIN = Domain(
    "TradingBot",
    world,
    kinds={
        "symbol": Kind(_symbols, ("{}", "{}", "the stock {}", "{} stock"), again=True, vague=("that one stock", "a stock I like"),
                       told=("The [stock|ticker] is {}.", "I mean {}.", "{}, that's the one.")),
        "company": Kind(one_of(*_LISTED)),
        "order": Kind(_orders, ("order {}", "order number {}", "my order {}"),
                      vague=("one of my orders", "that old order"), again=True),
        "price": Kind(amount(15, 440), ("{} dollars", "${}", "{} dollars a share", "${} each", "{} USD")),
        "shares": Kind(whole(2, 30), ("{} shares", "{} units", "{} pieces"), vague=("some shares", "a few shares"),
                       told=("Make it {}.", "{}, please.", "Let's say {}.")),
        "money": Kind(whole(50, 2_400, 25), ("{} dollars", "${}", "{} USD"), vague=("some money", "a bit of money"),
                      told=("{}.", "Let's make it {}.", "I was thinking of {}.")),
        "sector": Kind(one_of("Technology", "Automobile"), ("the {} sector", "{}")),
        "low": Kind(whole(10, 90, 5), ("{} dollars", "${}")),
        "high": Kind(whole(250, 480, 10), ("{} dollars", "${}")),
        "percent": Kind(one_of(0.5, 1.5, 2.5, 3.5), ("{} percent", "{}%")),
        "some_symbols": Kind(lambda bot, rng: rng.sample(sorted(bot.stocks), 3)),
        "trader": Kind(one_of("mkessler", "j.ortega", "desk_four", "northpine", "annika88")),
        "password": Kind(one_of("Larch-2291", "b0ttle.cap", "quiet+river9", "Umbra_77")),
    },
    moves=(
        Move("get_stock_info",
             ("[look up|check|fetch|pull up] the [current |latest |]quote [of|for] {symbol}", "[check|see|tell me] what {symbol} [trades at|is trading at|costs] [now|today|at the moment]",
              "get [me |]the [market |stock |][figures|information|details|data|performance] [of|on|for] {symbol}", "[see|review|assess|analyze] how {symbol} is [doing|performing]"),
             {"symbol": "symbol"}, ("What does {symbol} [trade at|cost] [right now|today|currently]?", "How is {symbol} [doing|performing] [today|right now|lately]?"),
             gives={"price": Gift(lambda r: r["price"], ("the price you just saw", "that price", "[exactly |]its current price"),
                                  ("the price you found for {symbol}",), {"symbol": "symbol"})}, weight=3, leads=("place_order", "add_to_watchlist"),
             measure=Measure("price", lambda r: r["price"], (40, 65, 90, 130, 175, 220, 310), _priced, ("symbol", lambda a, r: a["symbol"]))),
        Move("get_symbol_by_name", ("[find|look up|determine] the ticker [symbol |]of {name}", "look up which symbol {name} trades under"),
             {"name": "company"}, ("Under which symbol does {name} trade?", "What's the [stock |ticker ]symbol of {name}?"),
             gives={"symbol": Gift(lambda r: r["symbol"], ("that symbol", "the stock of that company"), ("the {name} stock",))}),
        Move("place_order", ("[buy|buy me|please buy] {amount} of {symbol} at {price}", "[place|submit|put in] a buy order for {amount} of {symbol} at {price}",
                             "[execute|make] a purchase: buy {amount} of {symbol}, priced at {price}"),
             _ORDER, fixed={"order_type": "Buy"}, gives=_PLACED, weight=2, fails=_poor),
        Move("place_order", ("sell {amount} of {symbol} at {price}", "[place|submit|put in] a sell order[ for|:] {amount} of {symbol} at {price}"),
             _ORDER, fixed={"order_type": "Sell"}, gives=_PLACED),
        Move("get_order_details", ("[show|give] me the [details|particulars|specifics] of {order_id}", "[pull up|retrieve|review|check] {order_id}", "[verify|tell me|confirm] the [state|status] of {order_id}"),
             {"order_id": "order"}, ("What is the [state|status] of {order_id}?", "What are the details of {order_id}?"), weight=2,
             gives={"symbol": Gift(lambda r: r["symbol"], ("the stock it is about", "the stock in that order"), ("the stock of {order_id}",))},
             state=State("it is completed [already|by now]", lambda a, r, v: r["status"] == "Completed", _completed)),
        Move("cancel_order", ("cancel {order_id}", "call off {order_id}", "[revoke|withdraw|retract|scrap] {order_id}"), {"order_id": "order"}, weight=2, fails=_order_taken),
        Move("fund_account", ("pay {amount} into my [trading |]account", "[add|deposit|transfer] {amount} [to|into] the [trading |brokerage ]account", "fund my account with {amount}"), {"amount": "money"}),
        Move("withdraw_funds", ("withdraw {amount} from my account", "take {amount} out of the [trading |]account"), {"amount": "money"}),
        Move("get_account_info", ("[show|give] me my [account details|account information|account overview]", "[check|review] the [balance|funds] [of|in] my account",
                                  "[fetch|retrieve] my account [details|summary|info]"), {},
             ("How much money is in my account?", "What's my account [balance|status] [now|currently]?"), once=True, weight=1.5,
             measure=Measure("balance", lambda r: r["balance"], (2500, 4000, 5500, 7500, 12000), _rich)),
        Move("add_to_watchlist", ("[put|place] {stock} on my [watch list|watchlist]", "add {stock} to [my|the] [watch list|watchlist]", "[include|integrate] {stock} in my watchlist",
                                  "start [watching|tracking|monitoring] {stock} on my watchlist"),
             {"stock": "symbol"}, fits=lambda bot, given: given["stock"] not in bot.watch_list, weight=1.5),
        Move("remove_stock_from_watchlist", ("take {symbol} off [my|the] [watch list|watchlist]", "[remove|drop|delete] {symbol} from my [watch list|watchlist]"), {"symbol": "symbol"},
             fits=lambda bot, given: given["symbol"] in bot.watch_list),
        Move("get_watchlist", ("[show|list|display for] me [my|the] [watch list|watchlist|stocks on my watchlist]", "tell me what is on my [watch list|watchlist]", "[retrieve|review] my [watch list|watchlist]"), {},
             ("Which stocks am I [watching|tracking|monitoring]?", "What's on my watchlist?"), once=True, weight=1.7,
             gives={"some_symbols": Gift(lambda r: list(r["watchlist"]), ("those stocks", "the stocks on it"), ("the stocks on my watch list",))},
             state=State("{value} is on it [already|by now]", lambda a, r, v: v in r["watchlist"], _watched, "symbol")),
        Move("get_available_stocks", ("list the [stocks|companies] [of|in] {sector}", "[provide|give me] a list of stocks [from|in] {sector}"), {"sector": "sector"},
             ("Which stocks are [there|available] in {sector}?",), once=True,
             gives={"some_symbols": Gift(lambda r: list(r["stock_list"]), ("those stocks", "the stocks you just listed"), ("the stocks of {sector}",))}),
        Move("filter_stocks_by_price",
             ("pick out of {stocks} the ones between {min_price} and {max_price}", "narrow {stocks} down to prices from {min_price} to {max_price}"),
             {"stocks": "some_symbols", "min_price": "low", "max_price": "high"}, after=frozenset({"some_symbols"}), weight=2),
        Move("notify_price_change", ("tell me which of {stocks} moved by at least {threshold}",),
             {"stocks": "some_symbols", "threshold": "percent"}, ("Which of {stocks} moved by at least {threshold}?",)),
        Move("get_order_history", ("list my orders", "show me [all my orders|my order history]"), {}, ("Which orders do I have?",), once=True),
        Move("get_current_time", ("tell me the current [market |]time", "check the current time"), {}, ("What time is it [now|currently]?",), once=True, weight=0.5),
        Move("trading_logout", ("log me out of the [broker|trading account|trading system]", "sign me out of the broker"), {}, once=True, weight=0.2),
    ),
    scenes=("I'm [putting|getting] my [small |modest |]portfolio in order.", "Time for my [weekly|daily|monthly] look at the [stocks|market].",
            "I'd like to do some trading before [lunch|noon|work].", "Let's go through my broker account."),
    first=Move("trading_login", ("log [me |][in|on] to the broker as {username} [with the|and the|using] password {password}", "sign in to [my|the] trading account as {username}, password {password}"),
               {"username": "trader", "password": "password"}, once=True),
    locked=lambda bot: not bot.authenticated,  # type: ignore[attr-defined]
)  # fmt: skip
