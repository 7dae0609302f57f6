"""Judges outputs for tasks without a loop: one by one, or many in processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.judging.conversation import Task
from pytest_bfcl.judging.judgement import Judgement


def judge(task: Task, said: object, **options: Any) -> Judgement:
    """The judgement of a model's output.

    ``said``: of a single-turn task one reply, of others the replies in order, each of any shape that `read` takes.
    Further arguments are those of `Task.open` and, for single-turn tasks, ``raw_arguments`` and ``ending`` of
    `Conversation.reply`. Never raises for a model's output; raises `UsageError` for an unknown shape.
    """
    about = {name: options.pop(name) for name in ("raw_arguments", "ending") if name in options}
    with task.open(**options) as conversation:
        single = not task.entry.row.multi_step
        replies: Sequence[object] = [said] if single else said if isinstance(said, Sequence) else list(said)  # type: ignore[call-overload]
        for each in replies:
            if conversation.done:
                break
            conversation.reply(each, **about)
        return conversation.end()


def judge_many(pairs: Iterable[tuple[Task, object]], *, processes: int = 1, **options: Any) -> Iterator[Judgement]:
    """The judgement of every pair of task and output, in order.

    ``processes``: how many judge in parallel; then the outputs must be picklable. Arguments as in `judge`.
    """
    if processes <= 1:
        yield from (judge(task, said, **options) for task, said in pairs)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(partial(_judged, options=options), pairs, chunksize=64)


def _judged(pair: tuple[Task, object], options: Parsed) -> Judgement:
    return judge(*pair, **options)
