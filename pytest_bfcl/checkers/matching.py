"""Maximum matching of expected and made calls (corrected rule C7)."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping


def augment(start: int, calls: int, fits: Callable[[int, int], bool], owner: MutableMapping[int, int]) -> bool:
    """Give answer ``start`` a call by moving earlier answers to other calls along an augmenting path.

    ``owner`` maps call → answer and is changed in place; ``fits(answer, call)`` is asked as needed. Returns whether it
    worked. Kuhn's algorithm without recursion: O(calls²) per answer.
    """
    came_from: dict[int, int] = {}  # call → answer that reached it
    queue = [start]
    while queue:
        answer = queue.pop()
        for call in range(calls):
            if call in came_from or not fits(answer, call):
                continue
            came_from[call] = answer
            if call in owner:
                queue.append(owner[call])
                continue
            _shift(call, start, came_from, owner)
            return True
    return False


def _shift(call: int, start: int, came_from: dict[int, int], owner: MutableMapping[int, int]) -> None:
    while True:
        answer = came_from[call]
        previous = next((held for held, who in owner.items() if who == answer), None)
        owner[call] = answer
        if answer == start or previous is None:
            return
        call = previous
