"""TradingBot: quotes, orders, money and a watch list."""

from __future__ import annotations

from random import Random
from typing import Any

from pytest_bfcl.extensions.lab.auditing.literals import listed
from pytest_bfcl.extensions.training.generating.moves import Detour, Domain, Gift, Kind, Move, amount, one_of, whole
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


def _short_of_money(bot: Any, rng: Random) -> Detour | None:
    symbol = rng.choice(sorted(bot.stocks))
    price = bot.stocks[symbol]["price"]
    shares = int(bot.account_info["balance"] / price) + rng.randint(2, 9)
    missing = float(int(price * 12) + rng.randint(100, 400))
    order = {"order_type": "Buy", "symbol": symbol, "price": price, "amount": shares}
    words = rng.choice([
        "Buy {n} shares of {s} at {p} dollars each. Should the account not hold enough for that, pay in {m} dollars and "
        "place the order again.",
        "I want {n} {s} shares, buy them at {p}. If the money doesn't suffice, top the account up by {m} dollars first.",
        "Please buy {n} shares of {s} for {p} dollars a share; in case the order is turned down for lack of funds, add "
        "{m} dollars to the account and retry.",
    ])  # fmt: skip
    request = words.format(n=shares, s=symbol, p=price, m=f"{missing:g}")
    return Detour(request, ("place_order", order), (("fund_account", {"amount": missing}), ("place_order", order)))


def _already_done(bot: Any, rng: Random) -> Detour | None:
    done = [number for number, order in bot.orders.items() if order["status"] == "Completed"]
    open_ones = [number for number, order in bot.orders.items() if order["status"] in ("Pending", "Open")]
    if not done or not open_ones:
        return None
    first, second = rng.choice(done), rng.choice(open_ones)
    words = rng.choice(
        [
            "Cancel order {a}. If it can't be cancelled any more, cancel order {b} instead.",
            "Get rid of order {a} for me, and if that one has gone through already, take {b} out instead by cancelling it.",
            "Try to cancel order {a}; failing that, cancel order {b}.",
        ]
    )
    call = ("cancel_order", {"order_id": second})
    return Detour(words.format(a=first, b=second), ("cancel_order", {"order_id": first}), (call,))


def _symbols(bot: Any, rng: Random) -> str:
    return str(rng.choice(sorted(bot.stocks)))


def _orders(bot: Any, rng: Random) -> object:
    return rng.choice(sorted(bot.orders))


DOMAIN = Domain(
    "TradingBot",
    world,
    kinds={
        "symbol": Kind(_symbols, again=True, vague=("that one stock", "a stock I like"),
                       told=("The stock is {}.", "I mean {}.", "{}, that's the one.")),
        "company": Kind(one_of(*_LISTED)),
        "order": Kind(_orders, ("order {}", "order number {}", "my order {}"), vague=("one of my orders", "that old order"),
                      again=True),
        "price": Kind(amount(15, 440), ("{} dollars", "${}", "{} dollars a share")),
        "shares": Kind(whole(2, 30), ("{} shares",), vague=("some shares", "a few shares"),
                       told=("Make it {}.", "{}, please.", "Let's say {}.")),
        "money": Kind(whole(50, 2_400, 25), ("{} dollars", "${}"), vague=("some money", "a bit of money"),
                      told=("{}.", "Let's make it {}.", "I was thinking of {}.")),
        "sector": Kind(one_of("Technology", "Automobile"), ("the {} sector",)),
        "low": Kind(whole(10, 90, 5), ("{} dollars", "${}")),
        "high": Kind(whole(250, 480, 10), ("{} dollars", "${}")),
        "percent": Kind(one_of(0.5, 1.5, 2.5, 3.5), ("{} percent", "{}%")),
        "some_symbols": Kind(lambda bot, rng: rng.sample(sorted(bot.stocks), 3)),
        "trader": Kind(one_of("mkessler", "j.ortega", "desk_four", "northpine", "annika88")),
        "password": Kind(one_of("Larch-2291", "b0ttle.cap", "quiet+river9", "Umbra_77")),
    },
    moves=(
        Move("get_stock_info", ("look up the quote of {symbol}", "check what {symbol} trades at", "get the figures of {symbol}"),
             {"symbol": "symbol"}, ("What does {symbol} trade at right now?", "How is {symbol} doing today?"),
             gives={"price": Gift(lambda r: r["price"], ("the price you just saw", "that price", "exactly its current price"),
                                  ("the price you found for {symbol}",), {"symbol": "symbol"})}, weight=2),
        Move("get_symbol_by_name", ("find the ticker symbol of {name}", "look up which symbol {name} trades under"),
             {"name": "company"}, ("Under which symbol does {name} trade?",),
             gives={"symbol": Gift(lambda r: r["symbol"], ("that symbol", "the stock of that company"), ("the {name} stock",))}),
        Move("place_order", ("buy {amount} of {symbol} at {price}", "place a buy order for {amount} of {symbol} at {price}"),
             {"symbol": "symbol", "price": "price", "amount": "shares"}, fixed={"order_type": "Buy"},
             gives={"order": Gift(lambda r: r["order_id"], ("that order", "the order you just placed"),
                                  ("the {symbol} order you placed for me",))}, weight=2),
        Move("place_order", ("sell {amount} of {symbol} at {price}", "put in a sell order: {amount} of {symbol} at {price}"),
             {"symbol": "symbol", "price": "price", "amount": "shares"}, fixed={"order_type": "Sell"},
             gives={"order": Gift(lambda r: r["order_id"], ("that order", "the order you just placed"),
                                  ("the {symbol} order you placed for me",))}),
        Move("get_order_details", ("show me the details of {order_id}", "pull up {order_id}"), {"order_id": "order"},
             ("What is the state of {order_id}?",),
             gives={"symbol": Gift(lambda r: r["symbol"], ("the stock it is about", "the stock in that order"),
                                   ("the stock of {order_id}",))}),
        Move("cancel_order", ("cancel {order_id}", "call {order_id} off"), {"order_id": "order"}),
        Move("fund_account", ("pay {amount} into my account", "add {amount} to the trading account"), {"amount": "money"}),
        Move("withdraw_funds", ("withdraw {amount} from my account", "take {amount} out of the account"), {"amount": "money"}),
        Move("get_account_info", ("show me my account", "check the balance of my account"), {},
             ("How much money is in my account?",), once=True),
        Move("add_to_watchlist", ("put {stock} on my watch list", "start watching {stock} for me by adding it to the watch list"),
             {"stock": "symbol"}, fits=lambda bot, given: given["stock"] not in bot.watch_list),
        Move("remove_stock_from_watchlist", ("take {symbol} off my watch list",), {"symbol": "symbol"},
             fits=lambda bot, given: given["symbol"] in bot.watch_list),
        Move("get_watchlist", ("show me the watch list", "tell me what is on my watch list"), {},
             ("Which stocks am I watching?",), once=True,
             gives={"some_symbols": Gift(lambda r: list(r["watchlist"]), ("those stocks", "the stocks on it"),
                                         ("the stocks on my watch list",))}),
        Move("get_available_stocks", ("list the stocks of {sector}",), {"sector": "sector"},
             ("Which stocks are there in {sector}?",), once=True,
             gives={"some_symbols": Gift(lambda r: list(r["stock_list"]), ("those stocks", "the stocks you just listed"),
                                         ("the stocks of {sector}",))}),
        Move("filter_stocks_by_price",
             ("pick out of {stocks} the ones between {min_price} and {max_price}",
              "narrow {stocks} down to prices from {min_price} to {max_price}"),
             {"stocks": "some_symbols", "min_price": "low", "max_price": "high"}, after=frozenset({"some_symbols"}), weight=2),
        Move("notify_price_change", ("tell me which of {stocks} moved by at least {threshold}",),
             {"stocks": "some_symbols", "threshold": "percent"}, ("Which of {stocks} moved by at least {threshold}?",)),
        Move("get_order_history", ("list my orders",), {}, ("Which orders do I have?",), once=True),
    ),
    scenes=("I'm putting my small portfolio in order.", "Time for my weekly look at the stocks.",
            "I'd like to do some trading before lunch.", "Let's go through my broker account."),
    detours=(_short_of_money, _already_done),
    first=Move("trading_login", ("log me in to the broker as {username} with the password {password}",),
               {"username": "trader", "password": "password"}, once=True),
    locked=lambda bot: not bot.authenticated,  # type: ignore[attr-defined]
)  # fmt: skip
