"""Coroutines that are begun at once, and go on as tasks only where they must wait."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from lakeshare.http.starting import start


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_what_never_waits_ends_without_a_task():
    """A coroutine that waits for nothing has done its work when the call returns."""
    done: list[str] = []

    async def answer() -> None:
        done.append("answered")

    async def main() -> None:
        assert start(asyncio.get_running_loop(), answer()) is None
        assert done == ["answered"]

    run(main())


def test_what_waits_goes_on_as_a_task():
    """Everything up to the first wait happens at once, and the rest when what is waited for comes."""
    seen: list[Any] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        first: asyncio.Future[int] = loop.create_future()
        second: asyncio.Future[int] = loop.create_future()

        async def answer() -> None:
            seen.append("begun")
            seen.append(await first)
            await asyncio.sleep(0)
            seen.append(await second)

        task = start(loop, answer())
        assert task is not None
        assert seen == ["begun"]
        first.set_result(1)
        loop.call_later(0.01, second.set_result, 2)
        await task
        assert seen == ["begun", 1, 2]

    run(main())


def test_what_is_waited_for_may_be_over_before_the_task_runs():
    """A result or an error that comes before the task's first turn is not missed."""
    seen: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        waited: asyncio.Future[None] = loop.create_future()

        async def answer() -> None:
            try:
                await waited
            except ValueError as error:
                seen.append(str(error))

        task = start(loop, answer())
        assert task is not None
        waited.set_exception(ValueError("came early"))
        await task
        assert seen == ["came early"]

    run(main())


@pytest.mark.parametrize("turns", [0, 2])
def test_a_cancelled_task_is_cancelled_where_it_waits(turns: int):
    """Cancelling reaches the coroutine, before the task's first turn and after it, and its cleaning up is done."""
    seen: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def answer() -> None:
            try:
                await loop.create_future()
            finally:
                seen.append("cleaned")

        task = start(loop, answer())
        assert task is not None
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert seen == ["cleaned"]

    run(main())


def test_an_error_before_the_first_wait_is_the_callers():
    """What a coroutine raises at once reaches whoever starts it."""

    async def answer() -> None:
        raise LookupError("nobody")

    async def main() -> None:
        with pytest.raises(LookupError, match="nobody"):
            start(asyncio.get_running_loop(), answer())

    run(main())
