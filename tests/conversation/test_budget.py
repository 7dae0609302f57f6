"""Costs and the budget."""

import pytest

from pytest_bfcl.conversation.budget import Budget, conversation_cost, reply_cost
from pytest_bfcl.settings import Price
from pytest_bfcl.transcript import Reply, Step, Transcript, Turn

PRICE = Price(input=2.0, output=10.0)


@pytest.mark.parametrize(
    ("tokens", "price", "cost"),
    [
        ((1_000_000, 100_000), PRICE, 3.0), ((1_000_000, None), PRICE, 2.0), ((None, None), PRICE, None),
        ((500, 500), Price(input=1.0), None), ((500, 0), Price(input=1.0), 0.0005), ((500, 500), Price(), None),
        ((1, None), Price(output=3.0), None), ((0, 1_000_000), Price(output=3.0), 3.0), ((None, 0), Price(), 0.0),
    ],
)  # fmt: skip
def test_cost_of_a_reply(tokens, price, cost):
    assert reply_cost(Reply(text="", input_tokens=tokens[0], output_tokens=tokens[1]), price) == cost


def test_cost_of_a_conversation():
    steps = [Step(Reply(input_tokens=1000, output_tokens=100)), Step(Reply(output_tokens=50)), Step(Reply())]
    transcript = Transcript("x_0", "simple_python", turns=[Turn(steps=steps[:1]), Turn(steps=steps[1:])])
    assert conversation_cost(transcript, PRICE) == 0.0035  # nobody knows what the last one took
    assert conversation_cost(transcript, Price(output=10.0)) == 0.0005
    assert conversation_cost(transcript, None) is None
    transcript.turns[0].steps = [Step(Reply(input_tokens=1000))]
    assert conversation_cost(transcript, Price(input=2.0)) == 0.002
    transcript.turns = [Turn(steps=[Step(Reply(input_tokens=0))])]
    assert [conversation_cost(transcript, price) for price in (PRICE, Price())] == [0.0, None]
    assert conversation_cost(Transcript("x_0", "simple_python"), PRICE) is None


@pytest.mark.parametrize(
    ("limit", "spent", "stopped"), [(None, 9e9, False), (1.0, 0.99, False), (1.0, 1.0, True), (0.0, 0.0, True)]
)
def test_when_the_budget_is_spent(limit, spent, stopped):
    budget = Budget(limit, Price(1.0, 1.0))
    assert (limit == 0.0) is (budget.stop_reason() is not None)
    budget.charge(Reply(input_tokens=round(spent * 4e5), output_tokens=round(spent * 6e5)))
    budget.charge(Reply())
    assert budget.spent_usd == pytest.approx(spent)
    assert (budget.stop_reason() is not None) is stopped
    assert not stopped or f"budget of {limit:g} USD reached" in budget.stop_reason()
