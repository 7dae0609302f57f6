"""Our own implementations of the functions executable entries call: pure computations, looked up by name.

Names and behaviour follow the retired categories' documents and recorded results (data spec §10); the second half of
the table is our own. No function reads a file, a clock, a network or a random number. Standard library only, because
the worker process imports nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pytest_bfcl.extensions.retired.functions import numbers, science

Function = Callable[..., Any]

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        function.__name__: function
        for function in (
            *numbers.NUMBERS, *numbers.SERIES, *science.GEOMETRY, *science.SCIENCE, *numbers.FINANCE,
            *numbers.DAILY, *numbers.WORDS,
        )
    }
)  # fmt: skip
"""Name → implementation; other names are not called."""

NETWORK_FUNCTIONS = frozenset(
    {
        "convert_currency", "find_term_on_urban_dictionary", "get_active_covid_case_by_country",
        "get_company_name_by_stock_name", "get_coordinate_by_ip_address", "get_coordinates_from_city",
        "get_covid_death_by_country", "get_movie_director", "get_movie_rating", "get_price_by_amazon_ASIN",
        "get_product_name_by_amazon_ASIN", "get_rating_by_amazon_ASIN", "get_stock_history",
        "get_stock_price_by_stock_name", "get_time_zone_by_coord", "get_weather_data", "get_zipcode_by_ip_address",
        "retrieve_city_based_on_zipcode", "retrieve_holiday_by_year",
    }
)  # fmt: skip
"""Functions of the retired set that used a network service; only a recording can answer them."""
