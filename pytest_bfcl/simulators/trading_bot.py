"""TradingBot: stocks, orders, a watch list and an account on one simulated morning (simulators spec §6)."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators.long_context import constants
from pytest_bfcl.simulators.toolkit import (
    SECTORS,
    SYMBOLS,
    Simulator,
    default_account,
    default_orders,
    default_stocks,
    tool,
)

SEED = 1053520
NOW = datetime(2024, 9, 1, 10, 30)
DAY_SECONDS = 86_400
"""A transaction is stamped with a random second of the day that starts now."""


class TradingBot(Simulator):
    """A stock broker.

    Order keys made of digits become numbers; configurations also hold other keys (a text under ``order_type``), which
    are listed and shown but are no orders.
    """

    name = "TradingBot"
    summary = "Stock broker: quotes, orders, a watch list, and an account that is funded and drawn from."

    def load(self, config: Parsed, *, long_context: bool = False, texts: Fields | None = None, **context: Any) -> None:
        """Set the state; the long-context variant only changes results."""
        self._random = random.Random(config.get("random_seed", SEED))
        self._texts = constants(texts) if long_context else {}
        orders = config["orders"] if "orders" in config else default_orders()
        self.orders: dict[Any, Any] = {
            int(key) if isinstance(key, str) and key.isdigit() else key: order for key, order in orders.items()
        }
        self.account_info: Parsed = config.get("account_info", default_account())
        self.authenticated: bool = config.get("authenticated", False)
        self.market_status: str = config.get("market_status", "Closed")
        # As in the reference the default is the id of an existing order, which the first new order replaces.
        self.order_counter: int = config.get("order_counter", 12446)
        self.stocks: dict[str, Parsed] = config["stocks"] if "stocks" in config else default_stocks()
        self.watch_list: list[str] = config.get("watch_list", ["NVDA"])
        self.transaction_history: list[Parsed] = config.get("transaction_history", [])
        self.long_context = long_context

    def _locked(self, tool_name: str) -> JsonObject:
        return self.fails(f"{tool_name}.logged_out", "This needs a login; log in first.")

    def _stamp(self) -> str:
        return str(NOW + timedelta(seconds=self._random.randint(0, DAY_SECONDS)))

    @tool(writes=False)
    def get_current_time(self) -> JsonObject:
        """Tell the time of day.

        Returns:
            current_time (string): The time, for instance `10:30 AM`.
        """
        return {"current_time": NOW.strftime("%I:%M %p")}

    @tool(writes=False)
    def get_symbol_by_name(self, name: str) -> JsonObject:
        """Look up the stock symbol of a company.

        Args:
            name: Name of the company.

        Returns:
            symbol (string): The symbol, or `Stock not found`.
        """
        return {"symbol": SYMBOLS.get(name, "Stock not found")}

    @tool(writes=False)
    def get_stock_info(self, symbol: str) -> JsonObject:
        """Show the quote of a stock.

        Args:
            symbol: Symbol of the stock.

        Returns:
            price (float): Price of a share.
            percent_change (float): Change of the price, in percent.
            volume (float): Volume traded.
            MA(5) (float): Mean price of the last five days.
            MA(20) (float): Mean price of the last twenty days.
        """
        if symbol not in self.stocks:
            own = f"There is no stock with the symbol {symbol!r}."
            return self.fails("get_stock_info.unknown", own, symbol)
        stock = self.stocks[symbol]
        if not self.long_context:
            return stock
        averages = {"MA(5)": self._texts["MA_5_EXTENSION"], "MA(20)": self._texts["MA_20_EXTENSION"]}
        return {**stock, **averages}

    @tool(writes=False)
    def get_order_details(self, order_id: int) -> JsonObject:
        """Show an order.

        Args:
            order_id: Id of the order.

        Returns:
            id (integer): Id of the order.
            order_type (string): `Buy` or `Sell`.
            symbol (string): Symbol of the stock.
            price (float): Price of a share.
            amount (integer): Number of shares.
            status (string): State of the order, for instance `Open`, `Pending`, `Completed` or `Cancelled`.
        """
        if order_id not in self.orders:
            return self._no_order("get_order_details", order_id)
        order: Parsed = self.orders[order_id]
        if not self.long_context:
            return order
        shown = order.copy()
        symbol = shown["symbol"]
        patterns = self._texts["ORDER_DETAIL_EXTENSION"]
        shown["metadata"] = {topic: text.replace("{symbol}", symbol) for topic, text in patterns.items()}
        return shown

    def _no_order(self, tool_name: str, order_id: int) -> JsonObject:
        own = f"There is no order {order_id}; orders are {', '.join(map(str, self.orders))}."
        return self.fails(f"{tool_name}.unknown", own, order_id, list(self.orders))

    @tool(writes=True)
    def cancel_order(self, order_id: int) -> JsonObject:
        """Cancel an order that is not completed yet. No login needed.

        Args:
            order_id: Id of the order.

        Returns:
            order_id (integer): Id of the order, as given.
            status (string): `Cancelled`.
        """
        if order_id not in self.orders:
            return self._no_order("cancel_order", order_id)
        order = self.orders[order_id]
        if order["status"] == "Completed":
            return self.fails(
                "cancel_order.completed", f"Order {order_id} is completed and cannot be cancelled.", order_id
            )
        order["status"] = "Cancelled"
        return {"order_id": order_id, "status": "Cancelled"}

    @tool(writes=True)
    def place_order(self, order_type: str, symbol: str, price: float, amount: int) -> JsonObject:
        """Place an order for shares of a stock. Needs a login; a purchase must be covered by the balance.

        Args:
            order_type: `Buy` or `Sell`.
            symbol: Symbol of the stock.
            price: Price of a share.
            amount: Number of shares.

        Returns:
            order_id (integer): Id of the new order.
            order_type (string): `Buy` or `Sell`, as given.
            status (string): `Pending`.
            price (float): Price of a share.
            amount (integer): Number of shares.
        """
        if not self.authenticated:
            return self._locked("place_order")
        if symbol not in self.stocks:
            own = f"There is no stock with the symbol {symbol!r}."
            return self.fails("place_order.unknown", own, symbol)
        if price <= 0 or amount <= 0:
            return self.fails("place_order.positive", "Price and amount must be positive.")
        buys = order_type.lower() == "buy"
        price = float(price)
        cost, balance = price * int(amount) if buys else 0.0, self.account_info.get("balance", 0)
        if buys and cost > balance:
            own = "The balance does not cover this order."
            return self.fails("place_order.balance", own, cost, balance)
        order_id = self.order_counter
        self.orders[order_id] = {
            "id": order_id,
            "order_type": order_type,
            "symbol": symbol,
            "price": price,
            "amount": amount,
            "status": "Open",
        }
        self.order_counter += 1
        return {"order_id": order_id, "order_type": order_type, "status": "Pending", "price": price, "amount": amount}

    def _book(self, kind: str, amount: float, change: float) -> None:
        self.account_info["balance"] += change
        self.transaction_history.append({"type": kind, "amount": amount, "timestamp": self._stamp()})

    @tool(writes=True)
    def withdraw_funds(self, amount: float) -> JsonObject:
        """Take money out of the account. Needs a login and an open market.

        Args:
            amount: How much.

        Returns:
            status (string): What happened.
            new_balance (float): Balance of the account afterwards.
        """
        if not self.authenticated:
            return self._locked("withdraw_funds")
        if self.market_status != "Open":
            return self.fails("withdraw_funds.closed", "Withdrawals need an open market.")
        if amount <= 0:
            return self.fails("withdraw_funds.positive", "The amount must be positive.")
        if amount > self.account_info["balance"]:
            return self.fails("withdraw_funds.balance", "The balance does not cover this withdrawal.")
        self._book("withdrawal", amount, -amount)
        return {
            "status": self.say("withdraw_funds.done", "The money is withdrawn"),
            "new_balance": self.account_info["balance"],
        }

    @tool(writes=True)
    def fund_account(self, amount: float) -> JsonObject:
        """Put money into the account. Needs a login.

        Args:
            amount: How much.

        Returns:
            status (string): What happened.
            new_balance (float): Balance of the account afterwards.
        """
        if not self.authenticated:
            return self._locked("fund_account")
        if amount <= 0:
            return self.fails("fund_account.positive", "The amount must be positive.")
        self._book("deposit", amount, amount)
        return {
            "status": self.say("fund_account.done", "The money is in the account"),
            "new_balance": self.account_info["balance"],
        }

    @tool(writes=False)
    def get_account_info(self) -> JsonObject:
        """Show the account. Needs a login.

        Returns:
            account_id (integer): Id of the account.
            balance (float): Balance of the account.
            binding_card (integer): Number of the card the account is bound to.
        """
        return self.account_info if self.authenticated else self._locked("get_account_info")

    @tool(writes=True)
    def trading_login(self, username: str, password: str) -> JsonObject:
        """Log in to the broker. Orders, the account, the watch list and the histories need it.

        Args:
            username: Name of the user.
            password: Password of the user.

        Returns:
            status (string): Whether the user is logged in now or had been before.
        """
        if self.authenticated:
            return {"status": self.say("trading_login.again", "Logged in before")}
        self.authenticated = True
        return {"status": self.say("trading_login.done", "Logged in")}

    @tool(writes=False)
    def trading_get_login_status(self) -> JsonObject:
        """Tell whether the user is logged in to the broker.

        Returns:
            status (boolean): True while logged in.
        """
        return {"status": bool(self.authenticated)}

    @tool(writes=True)
    def trading_logout(self) -> JsonObject:
        """Log out of the broker.

        Returns:
            status (string): Whether the user is logged out now or had been before.
        """
        if not self.authenticated:
            return {"status": self.say("trading_logout.again", "Logged out before")}
        self.authenticated = False
        return {"status": self.say("trading_logout.done", "Logged out")}

    @tool(writes=True)
    def remove_stock_from_watchlist(self, symbol: str) -> JsonObject:
        """Take a stock off the watch list. Needs a login.

        Args:
            symbol: Symbol of the stock.

        Returns:
            status (string): What happened.
        """
        if not self.authenticated:
            return self._locked("remove_stock_from_watchlist")
        if symbol not in self.watch_list:
            return self.fails("remove_stock_from_watchlist.unknown", f"{symbol!r} is not on the watch list.", symbol)
        self.watch_list.remove(symbol)
        return {"status": self.say("remove_stock_from_watchlist.done", f"{symbol} is off the watch list.", symbol)}

    @tool(writes=True)
    def add_to_watchlist(self, stock: str) -> JsonObject:
        """Put a stock on the watch list; unknown symbols are not added. No login needed.

        Args:
            stock: Symbol of the stock.

        Returns:
            watchlist (array): Symbols on the watch list afterwards.
        """
        if stock not in self.watch_list and stock in self.stocks:
            self.watch_list.append(stock)
        return {"watchlist": self.watch_list}

    @tool(writes=False)
    def get_watchlist(self) -> JsonObject | list[Any]:
        """List the stocks on the watch list. Needs a login.

        Returns:
            watchlist (array): Symbols on the watch list.
        """
        if not self.authenticated:
            return [self.say("get_watchlist.logged_out", "Log in first to see the watch list.")]
        if self.long_context:
            return [*self.watch_list, *self._texts["WATCH_LIST_EXTENSION"]]
        return {"watchlist": self.watch_list}

    @tool(writes=False)
    def get_order_history(self) -> JsonObject | list[Parsed]:
        """List the ids of all orders. Needs a login.

        Returns:
            history (array): Ids of the orders.
        """
        return {"history": list(self.orders)} if self.authenticated else [self._locked("get_order_history")]

    @tool(writes=False)
    def get_transaction_history(
        self, start_date: str | None = None, end_date: str | None = None
    ) -> JsonObject | list[Parsed]:
        """List deposits and withdrawals. Needs a login.

        Args:
            start_date: Only transactions from this day on, as `YYYY-MM-DD`.
            end_date: Only transactions before this day, as `YYYY-MM-DD`.

        Returns:
            transaction_history (array): Objects with `type`, `amount` and `timestamp`, oldest first.
        """
        if not self.authenticated:
            return [self._locked("get_transaction_history")]
        start = datetime.strptime(start_date, "%Y-%m-%d") if start_date else datetime.min
        end = datetime.strptime(end_date, "%Y-%m-%d") if end_date else datetime.max
        found = [each for each in self.transaction_history if start <= _time(each["timestamp"]) <= end]
        if self.long_context:
            found = [*found, *map(dict, self._texts["TRANSACTION_HISTORY_EXTENSION"])]
        return {"transaction_history": found}

    @tool(writes=False)
    def get_available_stocks(self, sector: str) -> JsonObject:
        """List the stocks of a sector.

        Args:
            sector: `Technology` or `Automobile`.

        Returns:
            stock_list (array): Symbols of the stocks; empty for other sectors.
        """
        stocks = list(SECTORS.get(sector, ()))
        if self.long_context and stocks:
            stocks += self._texts[f"{sector.upper()}_EXTENSION"]
        return {"stock_list": stocks}

    @tool(writes=False)
    def filter_stocks_by_price(self, stocks: list[str], min_price: float, max_price: float) -> JsonObject:
        """Choose the stocks whose price lies between two bounds, both included.

        Args:
            stocks: Symbols to choose from.
            min_price: Lowest price.
            max_price: Highest price.

        Returns:
            filtered_stocks (array): Symbols of the stocks chosen.
        """
        prices = {one: self.stocks.get(one, {"price": 0})["price"] for one in stocks}
        return {"filtered_stocks": [one for one in stocks if prices[one] >= min_price and prices[one] <= max_price]}

    @tool(writes=False)
    def notify_price_change(self, stocks: list[str], threshold: float) -> JsonObject:
        """Tell which stocks changed their price by at least a threshold, up or down.

        Args:
            stocks: Symbols to look at.
            threshold: Least change, in percent.

        Returns:
            notification (string): The stocks that changed, or that none did.
        """
        known = [symbol for symbol in stocks if symbol in self.stocks]
        changed = [symbol for symbol in known if abs(self.stocks[symbol]["percent_change"]) >= threshold]
        if not changed:
            return {"notification": self.say("notify_price_change.none", "None of these stocks changed that much.")}
        return {
            "notification": self.say(
                "notify_price_change.some", f"These stocks changed: {', '.join(changed)}.", ", ".join(changed)
            )
        }


def _time(stamp: str) -> datetime:
    return datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S")
