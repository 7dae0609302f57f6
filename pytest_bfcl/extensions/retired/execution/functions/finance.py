"""Money over time: interest, mortgages, investments, tips."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_bfcl.json_types import Parsed

MOST_YEARS = 10_000


def calculate_future_value(present_value: float, interest_rate: float, periods: int) -> float:
    """Value after ``periods`` with compound interest."""
    return present_value * (1 + interest_rate) ** periods


def mortgage_calculator(loan_amount: float, interest_rate: float, loan_period: int) -> float:
    """Monthly payment of a loan over years at a yearly rate."""
    monthly, months = interest_rate / 12, loan_period * 12
    return float(loan_amount * monthly * (1 + monthly) ** months / ((1 + monthly) ** months - 1))


def calculate_investment_value(
    initial_investment: float,
    annual_contribution: float,
    years: int,
    annual_return: float,
    inflation_rate: Sequence[float],
    adjust_for_inflation: bool = True,
) -> float:
    """Value after years of contributions; each year's inflation lowers the return and the contribution."""
    if years > MOST_YEARS:
        raise ValueError(f"at most {MOST_YEARS} years here")
    value = initial_investment
    for year in range(years):
        lost = inflation_rate[year] if adjust_for_inflation else 0
        value = value * (1 + annual_return - lost) + annual_contribution * (1 - lost)
    return value


def split_bill(total: float, people: int, tip_percent: float = 0) -> float:
    """What each person pays, tip included, in cents precision."""
    return round(total * (1 + tip_percent / 100) / people, 2)


def savings_plan(monthly_amount: float, months: int, yearly_rate: float = 0) -> list[Parsed]:
    """The balance at the end of every month, with monthly interest on what is there."""
    if months > 1_200:
        raise ValueError("at most 1200 months here")
    balance, plan = 0.0, []
    for month in range(1, months + 1):
        balance = round(balance * (1 + yearly_rate / 12) + monthly_amount, 2)
        plan.append({"month": month, "balance": balance})
    return plan


FUNCTIONS = (calculate_future_value, mortgage_calculator, calculate_investment_value, split_bill, savings_plan)
