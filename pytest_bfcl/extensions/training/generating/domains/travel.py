"""TravelAPI: fares, bookings, cards and insurances."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any

from pytest_bfcl.extensions.lab.auditing.literals import listed
from pytest_bfcl.extensions.training.generating.domains.words import FAMILIES, PEOPLE, note, topic
from pytest_bfcl.extensions.training.generating.moves import (
    NAME,
    Domain,
    Gift,
    Kind,
    Measure,
    Move,
    State,
    one_of,
    whole,
)
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators.tables import FARES, NEAREST_AIRPORTS, USD_RATES

_FARES = sorted(FARES)
_MONTHS = listed("January February March April May June July August September October November December")


def world(rng: Random) -> Parsed:
    """A traveller with two cards, logged in or not."""
    cards = [str(rng.randint(10**11, 10**12 - 1)) for _ in range(4)]
    logged_in = rng.random() < 0.6
    return {
        "credit_card_list": {
            card: {
                "card_number": str(rng.randint(4 * 10**15, 5 * 10**15)), "expiration_date": f"{rng.randint(1, 12):02}/2029",
                "cardholder_name": f"{rng.choice(PEOPLE)} {rng.choice(FAMILIES)}",
                "card_verification_number": rng.randint(100, 999), "balance": balance,
            }
            for card, balance in ((card, rng.randint(9_000, 30_000)) for card in cards)
        },
        "booking_record": {},
        "access_token": str(rng.randint(10**5, 10**6 - 1)) if logged_in else None,
        "token_type": "Bearer" if logged_in else None,
        "token_expires_in": 3600 if logged_in else None,
        "token_scope": "read_write" if logged_in else None,
        "user_first_name": rng.choice(PEOPLE),
        "user_last_name": rng.choice(FAMILIES),
        "budget_limit": None,
        "random_seed": rng.randint(1, 10**6),
    }  # fmt: skip


def _day(travel: object, rng: Random) -> str:
    return (date(2027, 1, 10) + timedelta(days=rng.randrange(600))).isoformat()


def _born(travel: object, rng: Random) -> str:
    return (date(1955, 1, 10) + timedelta(days=rng.randrange(16_000))).isoformat()


def _written(day: str, rng: Random) -> str:
    found = date.fromisoformat(day)
    month = _MONTHS[found.month - 1]
    return rng.choice([day, f"{month} {found.day}, {found.year}", f"{found.day} {month} {found.year}"])


def _cards(travel: Any, rng: Random) -> object:
    rich = [card for card, told in travel.credit_card_list.items() if told["balance"] > 5_000]
    return rng.choice(rich) if rich else None


def _poor(config: Parsed, given: Any, fails: Any) -> None:
    config["credit_card_list"][given["card_id"]]["balance"] = 9 if fails else 20_009


def _worth(config: Parsed, given: Any, value: Any) -> None:
    config["credit_card_list"][given["card_id"]]["balance"] = int(value)


def _emptied(config: Parsed, given: Any, value: Any, holds: bool) -> None:
    _worth(config, given, 0 if holds else 18_450 + len(given["card_id"]))


_FLIGHT = {"travel_from": "airport", "travel_to": "arrival", "travel_date": "day", "travel_class": "cabin"}
_CITIES = sorted(NEAREST_AIRPORTS)

DOMAIN = Domain(
    "TravelAPI",
    world,
    kinds={
        "token": Kind(lambda travel, rng: travel.access_token),
        "airport": Kind(lambda travel, rng: rng.choice(_FARES)[0], again=True),
        "arrival": Kind(lambda travel, rng: rng.choice(_FARES)[1], again=True),
        "day": Kind(_day, show=_written, vague=("some day soon", "whatever day it was"), again=True,
                    told=("On {}.", "It has to be {}.", "I'd leave on {}.")),
        "cabin": Kind(one_of("economy", "business", "first"), ("{} class",), again=True),
        "card": Kind(_cards, ("card {}", "my card {}", "credit card {}"), vague=("one of my cards",), again=True,
                     told=("Use {}.", "Take {}.", "Charge {}.")),
        "booking": Kind(lambda travel, rng: None),
        "city": Kind(one_of(*_CITIES), again=True, form=NAME),
        "usd": Kind(whole(120, 3_900, 20), ("{} dollars", "{} US dollars", "${}")),
        "budget": Kind(whole(1_000, 8_000, 250), ("{} dollars", "${}"), vague=("a sensible amount",),
                       told=("{} should do.", "Make it {}.")),
        "currency": Kind(one_of(*[code for code in sorted(USD_RATES) if code != "USD"])),
        "insurance": Kind(one_of("luggage", "cancellation", "medical", "comprehensive")),
        "premium": Kind(whole(35, 240, 5), ("{} dollars", "${}"), vague=("the usual price",), told=("It costs {}.", "{}.")),
        "support": Kind(lambda travel, rng: note(rng, topic(rng)), ('"{}"',)),
        "holder": Kind(lambda travel, rng: f"{travel.user_first_name} {travel.user_last_name}", form=NAME),
        "card_number": Kind(lambda travel, rng: str(rng.randint(4 * 10**15, 5 * 10**15))),
        "until": Kind(lambda travel, rng: f"{rng.randint(1, 12):02}/20{rng.randint(28, 33)}"),
        "cvv": Kind(whole(101, 998)),
        "first_name": Kind(lambda travel, rng: travel.user_first_name),
        "last_name": Kind(lambda travel, rng: travel.user_last_name),
        "born": Kind(_born, show=_written),
        "passport": Kind(lambda travel, rng: f"US{rng.randint(10**6, 10**7 - 1)}"),
        "client": Kind(lambda travel, rng: f"client-{rng.randint(100, 999)}"),
        "secret": Kind(lambda travel, rng: f"s{rng.randint(10**5, 10**6 - 1)}"),
        "refresh": Kind(lambda travel, rng: f"r{rng.randint(10**5, 10**6 - 1)}"),
    },
    moves=(
        Move("get_nearest_airport_by_city", ("[find|identify|determine] the airport [closest|nearest] to {location}", "look up the nearest airport to {location}"),
             {"location": "city"}, ("Which airport is nearest to {location}?",),
             gives={"airport": Gift(lambda r: r["nearest_airport"], ("that airport", "there"), ("the {location} airport",)),
                    "arrival": Gift(lambda r: r["nearest_airport"], ("that airport",), ("the {location} airport",))}),
        Move("get_flight_cost",
             ("[find out|tell me|determine] what a {travel_class} flight from {travel_from} to {travel_to} on {travel_date} costs",
              "[check|look up|estimate] the {travel_class} [fare|cost|airfare] from {travel_from} to {travel_to} [for|on] {travel_date}"),
             _FLIGHT, ("How much is a {travel_class} flight from {travel_from} to {travel_to} on {travel_date}?",),
             gives={"usd": Gift(lambda r: r["travel_cost_list"][0], ("that fare", "the fare you found"),
                                ("the fare from {travel_from} to {travel_to}",)),
                    "budget": Gift(lambda r: r["travel_cost_list"][0], ("exactly that fare",),
                                   ("the fare from {travel_from} to {travel_to}",)),
                    "number": Gift(lambda r: r["travel_cost_list"][0], ("that fare",),
                                   ("the fare from {travel_from} to {travel_to}",))}, weight=3, leads=("book_flight",)),
        Move("book_flight",
             ("[book|reserve|secure] [me |]a {travel_class} [flight|ticket] from {travel_from} to {travel_to} on {travel_date} [with|using] {card_id}",
              "[arrange|organize] a {travel_class} [flight|trip] from {travel_from} to {travel_to} for {travel_date}, [paid|charged] with {card_id}",
              "book me from {travel_from} to {travel_to} in {travel_class} on {travel_date}, paid with {card_id}"),
             {**_FLIGHT, "access_token": "token", "card_id": "card"},
             gives={"booking": Gift(lambda r: r["booking_id"], ("that booking", "the flight you just booked"),
                                    ("my flight from {travel_from} to {travel_to}",))}, weight=3, fails=_poor),
        Move("retrieve_invoice", ("[get|give|send] me the invoice [for|of] {booking_id}", "[pull|retrieve|fetch] the invoice [of|for] {booking_id}"),
             {"access_token": "token", "booking_id": "booking"}, ("Can I see the invoice for {booking_id}?",), weight=4),
        Move("cancel_booking", ("cancel {booking_id}", "call off {booking_id} and refund it", "[undo|annul] {booking_id} [right away|immediately]"),
             {"access_token": "token", "booking_id": "booking"}, weight=2.5),
        Move("purchase_insurance",
             ("add {insurance_type} insurance for {insurance_cost} to {booking_id}, charged to {card_id}",
              "insure {booking_id} with the {insurance_type} plan at {insurance_cost} and use {card_id} for it"),
             {"access_token": "token", "insurance_type": "insurance", "booking_id": "booking", "insurance_cost": "premium",
              "card_id": "card"}, weight=1.5),
        Move("contact_customer_support", ("[write|reach out|get in touch] to customer support about {booking_id}: {message}",
             "[contact|inform] [customer |]support about {booking_id}, [saying|with the message] {message}"), {"booking_id": "booking", "message": "support"}),
        Move("get_credit_card_balance", ("[check|look up] the balance of {card_id}", "[tell|show] me [what is left on|the funds of|what remains on] {card_id}"),
             {"access_token": "token", "card_id": "card"}, ("What is the balance of {card_id}?",),
             gives={"number": Gift(lambda r: r["card_balance"], ("that balance",), ("the balance of {card_id}",))},
             measure=Measure("balance", lambda r: r["card_balance"], (9000, 11000, 14000), _worth, ("card", lambda a, r: a["card_id"])),
             state=State("[it|that card] is [already |]empty", lambda a, r, v: r["card_balance"] == 0, _emptied)),
        Move("register_credit_card",
             ("[register|add|enter] a [new |]credit card: [number |]{card_number}, [valid until|expiring] {expiration_date}, [name|holder|in the name of] {cardholder_name}, "
              "[verification number|CVV|code] {card_verification_number}",),
             {"access_token": "token", "card_number": "card_number", "expiration_date": "until",
              "cardholder_name": "holder", "card_verification_number": "cvv"}, once=True,
             gives={"card": Gift(lambda r: r["card_id"], ("the card you just registered", "that new card"),
                                 ("the card we registered",))}),
        Move("set_budget_limit", ("set my [travel |trip ]budget to {budget_limit}", "limit the [travel |]budget [to|at] {budget_limit}", "set [a|my] budget limit of {budget_limit}"),
             {"access_token": "token", "budget_limit": "budget"}, once=True),
        Move("compute_exchange_rate", ("convert {value} from USD to {target_currency}", "[compute|exchange|work out] {value} in {target_currency} from USD"),
             {"value": "usd", "target_currency": "currency"}, ("How much is {value} in {target_currency} (coming from USD)?",),
             fixed={"base_currency": "USD"}, weight=1.5,
             gives={"number": Gift(lambda r: r["exchanged_value"], ("the converted amount",), ("the amount in {target_currency}",))}),
        Move("verify_traveler_information",
             ("[verify|check|validate] the [traveller|traveler|traveler information of] {first_name} {last_name}, born {date_of_birth}, passport [number |]{passport_number}",),
             {"first_name": "first_name", "last_name": "last_name", "date_of_birth": "born", "passport_number": "passport"},
             once=True),
        Move("list_all_airports", ("[list|show me] all [available |]airports [there are|to choose from]",), {}, ("Which airports are there?",), once=True),
        Move("get_booking_history", ("list my bookings",), {"access_token": "token"}, ("Which bookings do I have?",), once=True),
        Move("get_all_credit_cards", ("list the cards I have registered",), {}, ("Which cards are registered?",), once=True),
    ),
    scenes=("I'm planning a few trips.", "I need help with my travel plans.", "Let's get my next journey sorted out."),
    told=("[My|The] [travel |agency |booking ]access token [is|reads|happens to be] {access_token}.", "[For|In] [travel|bookings|the agency] [use|take] access token {access_token}.",
          "[Access token|Travel token|Agency token]: {access_token}."),
    first=Move("authenticate_travel",
               ("log me in to the travel agency as {user_first_name} {user_last_name} with client id {client_id}, client "
                "secret {client_secret}, refresh token {refresh_token} and the grant type read_write",),
               {"client_id": "client", "client_secret": "secret", "refresh_token": "refresh", "user_first_name": "first_name",
                "user_last_name": "last_name"}, fixed={"grant_type": "read_write"}, once=True,
               gives={"token": Gift(lambda r: r["access_token"], ("the token",), ("the token",))}),
    tells="token",
    locked=lambda travel: travel.access_token is None,  # type: ignore[attr-defined]
)  # fmt: skip
