"""Costs and the budget."""

import pytest

from pytest_bfcl.conversation import Budget, conversation_cost, reply_cost
from pytest_bfcl.settings import Price
from pytest_bfcl.transcript import Reply, Step, Transcript, Turn

PRICE = Price(input=2.0, output=10.0)


@pytest.mark.parametrize(
    ("tokens", "price", "cost"),
    [
        ((1_000_000, 100_000), PRICE, 3.0),
        ((1_000_000, None), PRICE, 2.0),
        ((None, None), PRICE, None),
        ((500, 500), Price(input=1.0), None),
        ((500, 0), Price(input=1.0), 0.0005),
        ((500, 500), Price(), None),
        ((1, None), Price(output=3.0), None),
    ],
)
def test_cost_of_a_reply(tokens, price, cost):
    reply = Reply(text="", input_tokens=tokens[0], output_tokens=tokens[1])
    assert reply_cost(reply, price) == (cost if cost is None else pytest.approx(cost))


def test_cost_of_a_conversation():
    steps = [Step(Reply(input_tokens=1000, output_tokens=100)), Step(Reply(input_tokens=2000, output_tokens=50))]
    transcript = Transcript("x_0", "simple_python", turns=[Turn(steps=steps[:1]), Turn(steps=steps[1:])])
    assert conversation_cost(transcript, PRICE) == pytest.approx(0.0075)
    assert conversation_cost(transcript, None) is None
    transcript.turns[1].steps.append(Step(Reply()))  # nobody knows what it took
    assert conversation_cost(transcript, PRICE) == pytest.approx(0.0075)
    assert conversation_cost(Transcript("x_0", "simple_python"), PRICE) is None


def test_a_budget_says_when_to_stop():
    budget = Budget(0.01, PRICE)
    assert budget.stop_reason() is None
    budget.charge(Reply(input_tokens=4000, output_tokens=100))
    assert budget.stop_reason() is None
    budget.charge(Reply(input_tokens=1000, output_tokens=0))
    assert "0.01 USD" in budget.stop_reason()


def test_no_budget_never_stops():
    budget = Budget(None, PRICE)
    budget.charge(Reply(input_tokens=10**9, output_tokens=10**9))
    assert budget.stop_reason() is None
