"""TravelAPI: flights, bookings, credit cards and insurances of one traveler (simulators spec §7)."""

from __future__ import annotations

import random
from datetime import date, datetime
from typing import Any

from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.simulators.long_context import constants
from pytest_bfcl.simulators.toolkit import (
    AIRPORTS,
    CLASS_FACTORS,
    FARES,
    NEAREST_AIRPORTS,
    USD_RATES,
    Simulator,
    copied,
    tool,
)

SEED = 141053
TOKEN_LIFE = 2
ADULT_AGE = 18
PASSPORT_START = "US"
INVOICE_KEYS = ("travel_date", "travel_from", "travel_to", "travel_class", "travel_cost", "transaction_id")


class TravelAPI(Simulator):
    """A travel agency.

    All ids come from one generator, so an extra booking changes every later id; failed calls use none. In the
    long-context variant cards and bookings are added to the state as copies. Unlike in the reference, no balance leaks
    to another instance (multi_turn spec §5).
    """

    name = "TravelAPI"
    summary = "Travel agency: flights are priced, booked, insured and cancelled, and paid with registered credit cards."

    def load(self, config: Parsed, *, long_context: bool = False, texts: Fields | None = None, **context: Any) -> None:
        """Set the state; the long-context variant adds cards and bookings."""
        self._random = random.Random(config.get("random_seed", SEED))
        self.credit_card_list: dict[str, Parsed] = config.get("credit_card_list", {})
        self.booking_record: dict[str, Parsed] = config.get("booking_record", {})
        self.access_token: str | None = config.get("access_token")
        self.token_type: str | None = config.get("token_type")
        self.token_expires_in: int | None = config.get("token_expires_in")
        self.token_scope: str | None = config.get("token_scope")
        self.user_first_name: str | None = config.get("user_first_name")
        self.user_last_name: str | None = config.get("user_last_name")
        self.budget_limit: float | None = config.get("budget_limit")
        self.long_context = long_context
        if long_context:
            given = constants(texts)
            _add_missing(self.credit_card_list, given["CREDIT_CARD_EXTENSION"])
            _add_missing(self.booking_record, given["BOOKING_RECORD_EXTENSION"])

    def _token_problem(self, access_token: str) -> str | None:
        if self.token_expires_in == 0:
            return self.say("register_credit_card.expired", "The access token has expired.")
        if access_token != self.access_token:
            return self.say("register_credit_card.token", "The access token is not valid.")
        return None

    def _draw(self, digits: int) -> str:
        """A random id of that many digits."""
        return str(self._random.randint(10 ** (digits - 1), 10**digits - 1))

    @tool(writes=True)
    def authenticate_travel(
        self,
        client_id: str,
        client_secret: str,
        refresh_token: str,
        grant_type: str,
        user_first_name: str,
        user_last_name: str,
    ) -> JsonObject:
        """Log in to the travel agency and get an access token, which most other functions ask for.

        Args:
            client_id: Id of the client application.
            client_secret: Secret of the client application.
            refresh_token: Refresh token of the client application.
            grant_type: What the token may be used for: `read_write`, `read` or `write`.
            user_first_name: First name of the user.
            user_last_name: Last name of the user.

        Returns:
            expires_in (integer): How long the token stays valid.
            access_token (string): The access token.
            token_type (string): `Bearer`.
            scope (string): What the token may be used for.
        """
        self.token_expires_in = TOKEN_LIFE
        self.access_token = self._draw(6)
        self.token_type = "Bearer"
        self.token_scope = grant_type
        self.user_first_name = user_first_name
        self.user_last_name = user_last_name
        return {
            "expires_in": TOKEN_LIFE,
            "access_token": self.access_token,
            "token_type": self.token_type,
            "scope": grant_type,
        }

    @tool(writes=False)
    def travel_get_login_status(self) -> JsonObject:
        """Tell whether the user is logged in to the travel agency.

        Returns:
            status (boolean): True while there is a valid token.
        """
        return {"status": self.token_expires_in is not None and self.token_expires_in != 0}

    @tool(writes=False)
    def get_budget_fiscal_year(
        self, lastModifiedAfter: str | None = None, includeRemoved: str | None = None
    ) -> JsonObject:
        """Tell the fiscal year of the travel budget.

        Args:
            lastModifiedAfter: Only a fiscal year changed after this date.
            includeRemoved: Whether removed fiscal years count too.

        Returns:
            budget_fiscal_year (string): The fiscal year.
        """
        return {"budget_fiscal_year": "2018"}

    @tool(writes=True)
    def register_credit_card(
        self,
        access_token: str,
        card_number: str,
        expiration_date: str,
        cardholder_name: str,
        card_verification_number: int,
    ) -> JsonObject:
        """Register a credit card to pay with.

        Args:
            access_token: The access token of the login.
            card_number: Number of the card.
            expiration_date: End of the card's validity, as `MM/YYYY`.
            cardholder_name: Name on the card.
            card_verification_number: Verification number of the card.

        Returns:
            card_id (string): Id of the card, by which other functions know it.
        """
        if self.token_expires_in is None:
            return self.fails("register_credit_card.login", "There is no access token; log in first.")
        if problem := self._token_problem(access_token):
            return {"error": problem}
        if card_number in self.credit_card_list:
            return self.fails("register_credit_card.again", "This card is registered already.")
        card_id = self._draw(12)
        self.credit_card_list[card_id] = {
            "card_number": card_number,
            "expiration_date": expiration_date,
            "cardholder_name": cardholder_name,
            "card_verification_number": card_verification_number,
            "balance": int(self._draw(5)),
        }
        return {"card_id": card_id}

    @tool(writes=False)
    def get_flight_cost(self, travel_from: str, travel_to: str, travel_date: str, travel_class: str) -> JsonObject:
        """Tell what a flight costs.

        Args:
            travel_from: Three-letter code of the airport of departure.
            travel_to: Three-letter code of the airport of arrival.
            travel_date: Day of the flight, as `YYYY-MM-DD`.
            travel_class: `economy`, `business` or `first`.

        Returns:
            travel_cost_list (array): The cost in US dollars.
        """
        if (travel_from, travel_to) not in FARES:
            raise ValueError(
                self.say("get_flight_cost.route", f"There is no flight from {travel_from!r} to {travel_to!r}.")
            )
        if travel_class not in list(CLASS_FACTORS):  # compared one by one: the argument may be unhashable
            raise ValueError(self.say("get_flight_cost.class", f"There is no travel class {travel_class!r}."))
        factor = _fare_factor(travel_date, travel_class)
        fares = FARES.values() if self.long_context else [FARES[travel_from, travel_to]]
        return {"travel_cost_list": [fare * factor for fare in fares]}

    @tool(writes=False)
    def get_credit_card_balance(self, access_token: str, card_id: str) -> JsonObject:
        """Show the balance of a credit card.

        Args:
            access_token: The access token of the login.
            card_id: Id of the card.

        Returns:
            card_balance (float): The balance in US dollars.
        """
        if problem := self._token_problem(access_token):
            return {"error": problem}
        if card_id not in self.credit_card_list:
            return self.fails(
                "get_credit_card_balance.unknown",
                f"There is no card {card_id!r}; cards are {', '.join(self.credit_card_list)}.",
                list(self.credit_card_list),
            )
        return {"card_balance": self.credit_card_list[card_id]["balance"]}

    @tool(writes=True)
    def book_flight(
        self, access_token: str, card_id: str, travel_date: str, travel_from: str, travel_to: str, travel_class: str
    ) -> JsonObject:
        """Book a flight and pay it with a credit card.

        Args:
            access_token: The access token of the login.
            card_id: Id of the card to pay with.
            travel_date: Day of the flight, as `YYYY-MM-DD`.
            travel_from: Three-letter code of the airport of departure.
            travel_to: Three-letter code of the airport of arrival.
            travel_class: `economy`, `business` or `first`.

        Returns:
            booking_id (string): Id of the booking.
            transaction_id (string): Id of the payment.
            booking_status (boolean): Whether the flight is booked.
            booking_history (dict): Earlier bookings, where they are shown.
        """
        if problem := self._booking_problem(access_token, card_id, travel_date, travel_from, travel_to):
            return {"booking_status": False, "error": problem}
        if travel_class not in CLASS_FACTORS or (travel_from, travel_to) not in FARES:
            own = "There is no such flight or travel class."
            place = "get_flight_cost.route" if travel_class in CLASS_FACTORS else "book_flight.class"
            return self.fails(place, own, set(CLASS_FACTORS), booking_status=False)
        cost = FARES[travel_from, travel_to] * _fare_factor(travel_date, travel_class)
        card = self.credit_card_list[card_id]
        if card["balance"] < cost:
            return self.fails(
                "book_flight.funds", "The card's balance does not cover the flight.", booking_status=False
            )
        if self.budget_limit is not None and card["balance"] < self.budget_limit:
            return self.fails(
                "book_flight.budget", "The card's balance is below the budget limit.", booking_status=False
            )
        card["balance"] -= cost
        booking_id, transaction_id = self._draw(7), self._draw(8)
        self.booking_record[booking_id] = {
            "card_id": card_id,
            "travel_date": travel_date,
            "travel_from": travel_from,
            "travel_to": travel_to,
            "travel_class": travel_class,
            "travel_cost": cost,
            "transaction_id": transaction_id,
        }
        return {
            "booking_id": booking_id,
            "transaction_id": transaction_id,
            "booking_status": True,
            "booking_history": self.booking_record if self.long_context else {},
        }

    def _booking_problem(
        self, access_token: str, card_id: str, travel_date: str, travel_from: str, travel_to: str
    ) -> str | None:
        """Why nothing can be booked, apart from the cost of the flight."""
        if problem := self._token_problem(access_token):
            return problem
        if card_id not in self.credit_card_list:
            return self.say("book_flight.card", f"There is no card {card_id!r}.")
        if "balance" not in self.credit_card_list[card_id]:
            return self.say("book_flight.balance", f"The card {card_id!r} has no balance.")
        for place, airport in (("book_flight.departure", travel_from), ("book_flight.arrival", travel_to)):
            if airport not in AIRPORTS:
                return self.say(place, f"There is no airport {airport!r}.", airport)
        if _day(travel_date) is None:
            return self.say("book_flight.date", "The date of travel must be written as YYYY-MM-DD.")
        return None

    @tool(writes=False)
    def retrieve_invoice(
        self, access_token: str, booking_id: str | None = None, insurance_id: str | None = None
    ) -> JsonObject:
        """Show the invoice of a booking.

        Args:
            access_token: The access token of the login.
            booking_id: Id of the booking.
            insurance_id: Id of an insurance bought with it.

        Returns:
            invoice (dict): `booking_id`, `travel_date`, `travel_from`, `travel_to`, `travel_class`, `travel_cost` and
                `transaction_id` of the booking.
        """
        if problem := self._token_problem(access_token):
            return {"error": problem}
        if booking_id not in self.booking_record:
            return self.fails("retrieve_invoice.unknown", f"There is no booking {booking_id!r}.")
        booking = self.booking_record[booking_id]
        return {"invoice": {"booking_id": booking_id, **{key: booking[key] for key in INVOICE_KEYS}}}

    @tool(writes=False)
    def get_booking_history(self, access_token: str) -> JsonObject:
        """List all bookings.

        Args:
            access_token: The access token of the login.

        Returns:
            booking_history (dict): Booking id and booking, each with card, date, airports, class, cost and payment.
        """
        problem = self._token_problem(access_token)
        return {"error": problem} if problem else {"booking_history": dict(self.booking_record)}

    @tool(writes=False)
    def list_all_airports(self) -> list[str]:
        """List all airports.

        Returns:
            airports (array): Three-letter codes of the airports.
        """
        return list(AIRPORTS)

    @tool(writes=True)
    def cancel_booking(self, access_token: str, booking_id: str) -> JsonObject:
        """Cancel a booking; its cost goes back to the card.

        Args:
            access_token: The access token of the login.
            booking_id: Id of the booking.

        Returns:
            cancel_status (boolean): Whether the booking is cancelled.
        """
        if problem := self._token_problem(access_token):
            return {"cancel_status": False, "error": problem}
        if booking_id not in self.booking_record:
            return self.fails("retrieve_invoice.unknown", f"There is no booking {booking_id!r}.", cancel_status=False)
        booking = self.booking_record[booking_id]
        self.credit_card_list[booking["card_id"]]["balance"] += booking["travel_cost"]
        del self.booking_record[booking_id]
        return {"cancel_status": True}

    @tool(writes=False)
    def compute_exchange_rate(self, base_currency: str, target_currency: str, value: float) -> JsonObject:
        """Convert an amount of money from US dollars to another currency, or back.

        Known besides `USD`: `RMB`, `EUR`, `JPY`, `GBP`, `CAD`, `AUD`, `INR`, `RUB`, `BRL` and `MXN`.

        Args:
            base_currency: Currency to convert from.
            target_currency: Currency to convert to.
            value: The amount.

        Returns:
            exchanged_value (float): The amount in the other currency.
        """
        known = list(USD_RATES)  # compared one by one: the argument may be unhashable
        if base_currency == "USD" and target_currency in known:
            return {"exchanged_value": float(value * USD_RATES[target_currency])}
        if target_currency == "USD" and base_currency in known:
            return {"exchanged_value": round(value / USD_RATES[base_currency], 2)}
        raise ValueError(
            self.say(
                "compute_exchange_rate.unknown",
                f"No exchange rate is known from {base_currency!r} to {target_currency!r}.",
            )
        )

    @tool(writes=False)
    def verify_traveler_information(
        self, first_name: str, last_name: str, date_of_birth: str, passport_number: str
    ) -> JsonObject:
        """Check the personal details of the traveler against the agency's rules.

        Args:
            first_name: First name of the traveler.
            last_name: Last name of the traveler.
            date_of_birth: Day of birth, as `YYYY-MM-DD`.
            passport_number: Number of the passport.

        Returns:
            verification_status (boolean): Whether the details are accepted.
            verification_failure (string): Why not.
        """
        failure = self._verification_failure(first_name, last_name, date_of_birth, passport_number)
        if failure:
            return {"verification_status": False, "verification_failure": failure}
        return {"verification_status": True}

    def _verification_failure(
        self, first_name: str, last_name: str, date_of_birth: str, passport_number: str
    ) -> str | None:
        # These texts are compared between conversation and ground truth: every cause has its own (spec §0.1).
        if (first_name, last_name) != (self.user_first_name, self.user_last_name):
            known = f"{self.user_first_name} {self.user_last_name}"
            own = f"The traveler is {first_name} {last_name}, but the user is {known}."
            names = (self.user_first_name, self.user_last_name, first_name, last_name)
            return self.say("verify_traveler_information.name", own, *names)
        born = _day(date_of_birth)
        if born is None:
            return self.say("verify_traveler_information.date", "The day of birth must be written as YYYY-MM-DD.")
        today = date.today()
        if today.year - born.year - ((today.month, today.day) < (born.month, born.day)) < ADULT_AGE:
            return self.say("verify_traveler_information.age", f"Travelers must be {ADULT_AGE} or older.")
        if not passport_number.startswith(PASSPORT_START):
            return self.say(
                "verify_traveler_information.passport", f"The number of the passport must start with {PASSPORT_START}."
            )
        return None

    @tool(writes=True)
    def set_budget_limit(self, access_token: str, budget_limit: float) -> JsonObject:
        """Set the budget limit of the user.

        Args:
            access_token: The access token of the login.
            budget_limit: The limit in US dollars.

        Returns:
            budget_limit (float): The limit in US dollars.
        """
        if problem := self._token_problem(access_token):
            return {"error": problem}
        self.budget_limit = float(budget_limit)
        return {"budget_limit": self.budget_limit}

    @tool(writes=False)
    def get_nearest_airport_by_city(self, location: str) -> JsonObject:
        """Find the airport nearest to a city.

        Args:
            location: Name of the city.

        Returns:
            nearest_airport (string): Three-letter code of the airport, `Unknown` for an unknown city.
        """
        return {"nearest_airport": NEAREST_AIRPORTS.get(location, "Unknown")}

    @tool(writes=True)
    def purchase_insurance(
        self, access_token: str, insurance_type: str, booking_id: str, insurance_cost: float, card_id: str
    ) -> JsonObject:
        """Insure a booking and pay the insurance with a credit card.

        Args:
            access_token: The access token of the login.
            insurance_type: What kind of insurance.
            booking_id: Id of the booking to insure.
            insurance_cost: Cost of the insurance in US dollars.
            card_id: Id of the card to pay with.

        Returns:
            insurance_id (string): Id of the insurance.
            insurance_status (boolean): Whether the booking is insured.
        """
        problem = self._token_problem(access_token)
        if problem is None and self.budget_limit is not None and self.budget_limit < insurance_cost:
            problem = self.say("purchase_insurance.budget", "The insurance costs more than the budget limit.")
        if problem is None and booking_id not in self.booking_record:
            problem = self.say("retrieve_invoice.unknown", f"There is no booking {booking_id!r}.")
        if problem is None and card_id not in self.credit_card_list:
            problem = self.say("purchase_insurance.card", f"There is no card {card_id!r}.")
        if problem:
            return {"insurance_status": False, "error": problem}
        self.credit_card_list[card_id]["balance"] -= insurance_cost
        return {"insurance_id": self._draw(9), "insurance_status": True}

    @tool(writes=False)
    def contact_customer_support(self, booking_id: str, message: str) -> JsonObject:
        """Send a message about a booking to the customer support.

        Args:
            booking_id: Id of the booking.
            message: Text of the message.

        Returns:
            customer_support_message (string): Answer of the customer support.
        """
        if booking_id not in self.booking_record:
            return self.fails("retrieve_invoice.unknown", f"There is no booking {booking_id!r}.")
        return {
            "customer_support_message": self.say(
                "contact_customer_support.done",
                "Thank you for your message. We will get back to you as soon as we can.",
            )
        }

    @tool(writes=False)
    def get_all_credit_cards(self) -> JsonObject:
        """List all registered credit cards. No access token needed.

        Returns:
            credit_card_list (dict): Card id and card, each with number, expiration date, name, verification number and
                balance.
        """
        return {"credit_card_list": self.credit_card_list}


def _add_missing(known: Parsed, more: Fields) -> None:
    """Add copies of the entries whose key is new."""
    known.update({key: copied(value) for key, value in more.items() if key not in known})


def _day(text: str) -> datetime | None:
    """The day of a text YYYY-MM-DD (one-digit months and days are accepted)."""
    try:
        return datetime.strptime(text, "%Y-%m-%d")
    except ValueError:
        return None


def _fare_factor(travel_date: str, travel_class: str) -> int:
    """The factor of the fare: the class, and twice as much on days whose digits have an even sum."""
    digits = sum(int(character) for character in travel_date if character.isdigit())
    return CLASS_FACTORS[travel_class] * (2 if digits % 2 == 0 else 1)
