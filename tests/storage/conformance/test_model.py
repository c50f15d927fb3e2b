"""Every store does what a dictionary would, whatever is asked of it in whatever order."""

import asyncio
import hashlib
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from lakeshare.storage.errors import ConditionFailed, NoSuchKey, NoSuchVersion, WriteOnce
from lakeshare.storage.keys import common_prefix
from lakeshare.storage.local.fsck import check
from lakeshare.storage.local.layout import prepare
from lakeshare.storage.local.store import LocalStore
from lakeshare.storage.local.sweep import SweepPolicy, sweep
from lakeshare.storage.memory import MemoryStore
from lakeshare.storage.port import (
    Assembly,
    Condition,
    Copy,
    Delete,
    Facts,
    Listing,
    Put,
    Upload,
    VersionRef,
)

KEYS = st.sampled_from(["a", "a/b", "a/b/c", "a//", "b", "b/é", "c/1", "c/2", "c/3"])
DATA = st.sampled_from([b"", b"x", b"y" * 100, b"z" * 65_536, b"w" * 65_537, b"v" * 200_000])
CONDITIONS = st.sampled_from(["always", "absent", "match", "mismatch", "any"])


class StoreMachine(RuleBasedStateMachine):
    """A store beside dictionaries of what it must hold."""

    uploads = Bundle("uploads")

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.store = self.loop.run_until_complete(self._open())
        self.do(self.store.create_bucket("b"))
        self.held: dict[str, bytes] = {}
        self.etags: dict[str, str] = {}
        self.pinned: dict[tuple[str, str], bytes] = {}

    async def _open(self):
        return MemoryStore()

    def do(self, call):
        return self.loop.run_until_complete(call)

    def teardown(self):
        self.do(self.store.close())
        self.loop.close()

    def condition(self, kind, key):
        match kind:
            case "absent":
                return Condition(absent=True)
            case "match":
                return Condition(etag=self.etags.get(key, "0" * 32))
            case "mismatch":
                return Condition(etag="f" * 32)
            case "any":
                return Condition(etag="*")
        return Condition()

    def expected_error(self, kind, key, data, write_once):
        there = key in self.held
        if kind == "absent":
            return ConditionFailed if there else None
        if kind != "always" and not there:
            return NoSuchKey
        if kind == "mismatch":
            return ConditionFailed
        return WriteOnce if write_once and there and self.held[key] != data else None

    def publish(self, call, kind, key, data, write_once):
        error = self.expected_error(kind, key, data, write_once)
        if error is not None:
            with pytest.raises(error):
                self.do(call)
            return
        info = self.do(call)
        assert (info.key, info.size) == (key, len(data))
        self.held[key], self.etags[key] = data, info.etag
        self.pinned[key, info.pin] = data

    async def put(self, put, data):
        async with self.store.stage(frozenset()) as staging:
            await staging.write(data)
            return await self.store.put(put, staging)

    async def read(self, key, ref=None):
        opened = await self.store.open("b", key, ref or VersionRef())
        spans = opened.content.spans(0, opened.info.size)
        return b"".join(span if isinstance(span, bytes) else _read(span) for span in spans)

    @rule(key=KEYS, data=DATA, kind=CONDITIONS, write_once=st.booleans())
    def put_object(self, key, data, kind, write_once):
        put = Put("b", key, condition=self.condition(kind, key), write_once=write_once)
        self.publish(self.put(put, data), kind, key, data, write_once)

    @rule(source=KEYS, onto=KEYS, kind=CONDITIONS, write_once=st.booleans())
    def copy_object(self, source, onto, kind, write_once):
        if source not in self.held:
            return
        pin = self.do(self.store.head("b", source)).pin
        put = Put("b", onto, condition=self.condition(kind, onto), write_once=write_once)
        self.publish(self.store.copy(Copy(put, "b", source, pin)), kind, onto, self.held[source], write_once)

    @rule(keys=st.lists(KEYS, max_size=4))
    def delete_objects(self, keys):
        done = self.do(self.store.delete("b", [Delete(key) for key in keys]))
        for key, one in zip(keys, done, strict=True):
            assert one.existed == (key in self.held)
            self.held.pop(key, None)
            self.etags.pop(key, None)

    @rule(target=uploads, key=KEYS)
    def begin(self, key):
        return self.do(self.store.create_upload(Upload("b", key, "", Facts(), 0))), {}

    @rule(upload=uploads, number=st.integers(1, 3), data=DATA)
    def put_part(self, upload, number, data):
        async def put():
            async with self.store.stage(frozenset()) as staging:
                await staging.write(data)
                return await self.store.put_part(upload[0], number, staging, None)

        upload[1][number] = (self.do(put()), data)

    @rule(upload=uploads, number=st.integers(1, 3), source=KEYS, share=st.sampled_from([(0, 1), (1, 3), (2, 3)]))
    def copy_part(self, upload, number, source, share):
        data = self.held.get(source)
        if not data:
            return
        start, stop = len(data) * share[0] // 3, max(1, len(data) * share[1] // 3)
        if start >= stop:
            return
        opened = self.do(self.store.open("b", source))
        part = self.do(self.store.copy_part(upload[0], number, opened, start, stop))
        assert part.etag == hashlib.md5(data[start:stop]).hexdigest()
        upload[1][number] = (part, data[start:stop])

    @rule(upload=consumes(uploads), kind=CONDITIONS, write_once=st.booleans())
    def complete(self, upload, kind, write_once):
        made, parts = upload
        chosen = [parts[number] for number in sorted(parts)]
        digest = hashlib.md5(b"".join(bytes.fromhex(part.etag) for part, _ in chosen)).hexdigest()
        assembly = Assembly(tuple(part for part, _ in chosen), f"{digest}-{len(chosen)}", None)
        put = Put("b", made.key, condition=self.condition(kind, made.key), write_once=write_once)
        whole = b"".join(data for _, data in chosen)
        self.publish(self.store.complete(made, assembly, put), kind, made.key, whole, write_once)

    @rule(upload=consumes(uploads))
    def abort(self, upload):
        found = self.do(self.store.upload("b", upload[0].key, upload[0].id))
        assert [part.number for part in found.parts] == sorted(upload[1])
        self.do(self.store.abort(found))

    @rule(
        prefix=st.sampled_from(["", "a", "a/", "c/", "q"]),
        delimiter=st.sampled_from(["", "/", "//"]),
        limit=st.integers(1, 4),
    )
    def list_all(self, prefix, delimiter, limit):
        under = sorted((key for key in self.held if key.startswith(prefix)), key=str.encode)
        rolled = {key: common_prefix(key, prefix, delimiter) for key in under}
        keys, prefixes, after = [], [], ""
        for _ in range(20):
            page = self.do(self.store.list(Listing("b", prefix, delimiter, after, limit)))
            keys += [(one.key, one.size) for one in page.objects]
            prefixes += page.prefixes
            if page.next_after is None:
                break
            after = page.next_after
        assert keys == [(key, len(self.held[key])) for key in under if rolled[key] is None]
        assert prefixes == sorted({into for into in rolled.values() if into}, key=str.encode)

    @rule(data=st.data())
    def read_a_pin(self, data):
        if self.pinned:
            key, pin = data.draw(st.sampled_from(sorted(self.pinned)))
            assert self.do(self.read(key, VersionRef(pin=pin))) == self.pinned[key, pin]

    @invariant()
    def every_key_has_its_bytes(self):
        for key, data in self.held.items():
            assert self.do(self.read(key)) == data


class LocalMachine(StoreMachine):
    """The same, on disk; what is left at the end must be sound."""

    async def _open(self):
        self.root = Path(tempfile.mkdtemp()) / "data"
        prepare(self.root, fanout_digits=1)
        return LocalStore.open_root(self.root)

    @rule()
    def collect(self):
        sweep(self.root, SweepPolicy(grace_seconds=0))
        kept = {key: self.do(self.store.head("b", key)).pin for key in self.held}
        for key, pin in set(self.pinned) - set(kept.items()):
            with pytest.raises(NoSuchVersion):
                self.do(self.store.head("b", key, VersionRef(pin=pin)))
            del self.pinned[key, pin]

    def teardown(self):
        super().teardown()
        try:
            report = check(self.root, deep=True)
            assert report.clean, report
        finally:
            shutil.rmtree(self.root.parent)


def _read(span):
    with Path(span.path).open("rb") as file:
        file.seek(span.offset)
        return file.read(span.length)


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

TestMemory = StoreMachine.TestCase
TestMemory.settings = settings(max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=QUIET)
TestLocal = LocalMachine.TestCase
TestLocal.settings = settings(max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=QUIET)
