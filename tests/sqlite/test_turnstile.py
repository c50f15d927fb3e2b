"""One at a time passes, and whoever has passed goes to the back."""

import fcntl
import multiprocessing
import threading
import time
from multiprocessing.synchronize import Event
from pathlib import Path

from lakeshare.sqlite.turnstile import Turnstile


def test_only_one_is_inside(tmp_path: Path) -> None:
    """Several holders of one turnstile are never inside together."""
    inside, most = 0, 0

    def pass_often() -> None:
        nonlocal inside, most
        turnstile = Turnstile(tmp_path / "x.db")
        for _ in range(100):
            with turnstile:
                inside += 1
                most = max(most, inside)
                time.sleep(0.0001)  # let another thread in, if the turnstile does
                inside -= 1
        turnstile.close()

    threads = [threading.Thread(target=pass_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_two_who_always_want_in_alternate(tmp_path: Path) -> None:
    """A writer that comes straight back cannot overtake the one that waits."""
    order: list[str] = []
    first_inside = threading.Event()
    turnstiles = Turnstile(tmp_path / "x.db"), Turnstile(tmp_path / "x.db")

    def wait_once() -> None:
        first_inside.wait()
        with turnstiles[1]:
            order.append("waiting")

    waiter = threading.Thread(target=wait_once)
    waiter.start()
    with turnstiles[0]:
        first_inside.set()
        while not _door_taken(tmp_path / "x.db"):
            pass
        order.append("first")
    with turnstiles[0]:
        order.append("again")
    waiter.join()
    assert order == ["first", "waiting", "again"]
    for turnstile in turnstiles:
        turnstile.close()


def _door_taken(path: Path) -> bool:
    with path.with_name("x.db-door").open("rb") as door:
        try:
            fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _hold(path: Path, inside: Event) -> None:
    with Turnstile(path):
        inside.set()
        threading.Event().wait()


def test_a_holder_that_dies_lets_the_next_one_in(tmp_path: Path) -> None:
    """A process killed inside the turnstile blocks nobody."""
    context = multiprocessing.get_context("spawn")
    inside = context.Event()
    holder = context.Process(target=_hold, args=(tmp_path / "x.db", inside))
    holder.start()
    assert inside.wait(30)
    holder.kill()
    holder.join()
    holder.close()
    turnstile = Turnstile(tmp_path / "x.db")
    with turnstile:
        pass
    turnstile.close()
