"""Where the official simulators' sentences stand: class, function and order in the source of bfcl-eval 2026.3.23.

A place is ``<function>.<what it says>``. For every function the places are listed in the order of its sentences; a dash
passes over one that no model sees, or that another place says already.
"""

from __future__ import annotations

from collections.abc import Mapping

_FOLDER = "eval_checker/multi_turn_eval/func_source_code"

INBOX = "MessageAPI"
"""The class whose default state holds texts too: ``inbox.<number>``."""

FILES: Mapping[str, str] = {
    "GorillaFileSystem": f"{_FOLDER}/gorilla_file_system.py",
    "MathAPI": f"{_FOLDER}/math_api.py",
    "MessageAPI": f"{_FOLDER}/message_api.py",
    "TicketAPI": f"{_FOLDER}/ticket_api.py",
    "TradingBot": f"{_FOLDER}/trading_bot.py",
    "TravelAPI": f"{_FOLDER}/travel_booking.py",
    "TwitterAPI": f"{_FOLDER}/posting_api.py",
    "VehicleControlAPI": f"{_FOLDER}/vehicle_control.py",
    "MemoryAPI_kv": f"{_FOLDER}/memory_kv.py",
    "MemoryAPI_vector": f"{_FOLDER}/memory_vector.py",
    "MemoryAPI_rec_sum": f"{_FOLDER}/memory_rec_sum.py",
}
"""Class → its module below ``bfcl_eval/``."""

_IN_ORDER: Mapping[str, Mapping[str, str]] = {
    "GorillaFileSystem": {
        "cd": "path root",
        "_navigate_to_directory": "missing",
        "Directory._add_file": "exists",
        "Directory._add_directory": "exists",
        "mkdir": "invalid exists",
        "touch": "invalid exists",
        "echo": "invalid missing",
        "cat": "invalid directory missing",
        "wc": "mode missing",
        "sort": "missing",
        "grep": "missing",
        "tail": "missing",
        "diff": "- missing",
        "mv": "missing - path taken inside file renamed",
        "rm": "done - missing",
        "rmdir": "full done file missing",
        "cp": "missing - path - inside file renamed",
    },
    "MathAPI": {
        "mean": "empty type",
        "standard_deviation": "empty type",
        "si_unit_conversion": "type unit large",
        "imperial_si_conversion": "type unit large",
        "add": "type",
        "subtract": "type",
        "multiply": "type",
        "divide": "zero type",
        "power": "type",
        "square_root": "negative type",
        "absolute_value": "type",
        "round_number": "type",
        "percentage": "zero type",
        "min_value": "empty type",
        "max_value": "empty type",
        "sum_values": "empty type",
    },
    "MessageAPI": {
        "get_user_id": "unknown",
        "message_login": "unknown done",
        "send_message": "logged_out unknown done",
        "delete_message": "- done unknown",
        "add_contact": "name id done",
    },
    "TicketAPI": {
        "create_ticket": "logged_out priority",
        "get_ticket": "unknown",
        "close_ticket": "- again done",
        "resolve_ticket": "- again done",
        "edit_ticket": "- fields done",
        "get_user_tickets": "logged_out",
    },
    "TradingBot": {
        "get_stock_info": "unknown",
        "get_order_details": "unknown",
        "cancel_order": "unknown completed",
        "place_order": "logged_out unknown positive balance",
        "withdraw_funds": "logged_out closed positive balance done",
        "get_account_info": "logged_out",
        "trading_login": "again done",
        "trading_logout": "again done",
        "fund_account": "logged_out positive done",
        "remove_stock_from_watchlist": "logged_out unknown done",
        "get_watchlist": "logged_out",
        "get_order_history": "logged_out",
        "get_transaction_history": "logged_out",
        "notify_price_change": "some none",
    },
    "TravelAPI": {
        "register_credit_card": "login expired token again",
        "get_flight_cost": "route class",
        "get_credit_card_balance": "- - unknown",
        "book_flight": "- - card balance departure arrival date class - funds budget",
        "retrieve_invoice": "- - unknown",
        "compute_exchange_rate": "unknown",
        "verify_traveler_information": "name date age passport",
        "purchase_insurance": "- - budget - card",
        "contact_customer_support": "- done",
    },
    "TwitterAPI": {
        "post_tweet": "logged_out",
        "retweet": "logged_out unknown again done",
        "comment": "logged_out - done",
        "mention": "- done",
        "follow_user": "logged_out",
        "list_all_following": "logged_out",
        "unfollow_user": "logged_out",
    },
    "VehicleControlAPI": {
        "startEngine": "doors brake force fuel mode",
        "fillFuelTank": "negative capacity empty",
        "adjustClimateControl": "fan",
        "setHeadlights": "mode",
        "displayCarStatus": "option",
        "activateParkingBrake": "mode",
        "pressBrakePedal": "position",
        "setCruiseControl": "engine speed",
        "estimate_distance": "unknown",
    },
    "MemoryAPI_kv": {
        "core_memory_add": "full long key used done",
        "core_memory_remove": "done unknown",
        "core_memory_replace": "- - done",
        "core_memory_clear": "done",
        "archival_memory_add": "full long - - done",
        "archival_memory_clear": "done",
    },
    "MemoryAPI_vector": {
        "VectorStore.add": "long full",
        "VectorStore.remove": "unknown done",
        "VectorStore.update": "- - done",
        "VectorStore.clear": "done",
    },
    "MemoryAPI_rec_sum": {
        "memory_append": "long done",
        "memory_update": "long done",
        "memory_clear": "done",
        "memory_replace": "unknown long done",
        "memory_retrieve": "empty",
    },
}


def _places(functions: Mapping[str, str]) -> dict[str, tuple[str, str, int]]:
    found: dict[str, tuple[str, str, int]] = {}
    for function, names in functions.items():
        owner, _, method = function.rpartition(".")
        for number, name in enumerate(names.split()):
            if name != "-":
                found[f"{method}.{name}"] = (owner, method, number)
    return found


PASSED_ON: Mapping[str, Mapping[str, str]] = {"MathAPI": {"logarithm.failed": "{0}"}}
"""Places whose text is the error's own."""

PLACES: Mapping[str, Mapping[str, tuple[str, str, int]]] = {
    name: _places(functions) for name, functions in _IN_ORDER.items()
}
"""Class → place → (class of the source if another one, function, order)."""
