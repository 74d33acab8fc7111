"""Reading a range of offsets of one partition, in a worker.

A consumer stays open between micro-batches, one per partition, so that the next range is often
fetched before it is asked for. The range ``[start, end)`` need not hold ``end - start`` records:
compaction leaves gaps, and so do aborted transactions and the markers of committed ones. A range is
complete once a record at or after ``end`` has been seen, or the client has reported the end of the
partition there.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from operator import methodcaller
from types import NoneType
from typing import Any

from scurry.common.errors import JobError
from scurry.connectors.kafka.client import ClientSettings, Patience, is_hopeless, log, make

#: The most messages handed on at a time. A message is some hundreds of bytes in several objects: a
#: few thousand are made, read and freed within the processor's caches, in half the time of many.
_CHUNK = 5_000
_POLL_SECONDS = 0.25
#: Another worker may have read the last ranges. To take and forget so many records is faster than
#: to have the client start anew.
_SKIP_AT_MOST = 50_000
#: Consumers kept by one worker, and for how long without use.
_MOST_READERS, _IDLE_SECONDS = 32, 120.0
#: When a reader was used last that is in use.
_IN_USE = float("inf")
#: How long an end of the partition before ``end`` is thought to be a replica lagging behind.
_SHORT_SECONDS = 30.0
#: After so long without an answer a new client is tried.
_RENEW_SECONDS = 10.0


class PartitionReader:
    """The consumer of one partition."""

    def __init__(
        self, settings: ClientSettings, topic: str, partition: int, often: bool = False
    ) -> None:
        """``often``: a little is read every few milliseconds."""
        self._name = f"{topic}-{partition}"
        self._topic, self._partition = topic, partition
        self._patience = Patience(settings.servers, f"read {self._name}")
        self._last_error: Any = None
        self._settings = settings
        self.often = often
        self._consumer = self._connect()
        self._renew_after = _RENEW_SECONDS
        #: everything before this offset has been handed out, or is known not to exist
        self._at = -1
        #: the client has reported the end of the partition here
        self._end_seen = -1
        self._ahead: list[Any] = []
        self.last_used = _IN_USE

    def _connect(self) -> Any:
        return make(
            "Consumer",
            {
                **self._settings.with_defaults(
                    group_id="scurry",
                    isolation_level="read_committed",
                    # the end of a partition shows only when a fetch has come back empty
                    fetch_wait_max_ms="50",
                    # with less, every few records that arrive are an answer of their own, and
                    # brokers busy with nothing else: the price if none of them is to wait
                    fetch_min_bytes="1" if self.often else "65536",
                    # read ahead up to so many bytes and messages: small messages take ten times
                    # their size here; with its defaults the client would stop for a whole second
                    queued_max_messages_kbytes="32768",
                    queued_min_messages="20000",
                    fetch_queue_backoff_ms="5",
                ),
                "enable.auto.commit": "false",
                "enable.partition.eof": "true",
                "auto.offset.reset": "error",
                "error_cb": self._on_error,
            },
        )

    def _renew(self) -> None:
        """Go on with a new client: after an outage of the brokers an old one may wait for ever."""
        self._consumer = self._connect()
        self._renew_after = self._patience.waited + _RENEW_SECONDS
        self._go_to(self._at)

    def _on_error(self, error: Any) -> None:
        self._last_error = error

    def read(self, start: int, end: int, fail_on_data_loss: bool) -> Iterator[list[Any]]:
        """The messages of ``[start, end)``, in chunks."""
        if 0 <= self._at <= start <= self._at + _SKIP_AT_MOST:
            self._at = start
            self._ahead = self._ahead[bisect_left(self._ahead, start, key=_offset) :]
        else:
            self._go_to(start)
        chunk: list[Any] = []
        while self._at < end:
            chunk += self._take(self._next(end, fail_on_data_loss), end)
            if len(chunk) >= _CHUNK:
                yield chunk
                chunk = []
        self.last_used = time.monotonic()
        self._patience.over()
        self._renew_after = _RENEW_SECONDS
        self._last_error = None
        if chunk:
            yield chunk

    def _go_to(self, offset: int) -> None:
        from confluent_kafka import TopicPartition

        self._consumer.assign([TopicPartition(self._topic, self._partition, offset)])
        self._at, self._end_seen, self._ahead = offset, -1, []

    def _take(self, messages: list[Any], end: int) -> list[Any]:
        """Those of ``messages`` that lie before ``end``; the others are kept for the next range."""
        if messages:
            last = messages[-1].offset()
            if last < end:
                self._at = last + 1
            else:
                cut = bisect_left(messages, end, key=_offset)
                messages, self._ahead = messages[:cut], messages[cut:]
                self._at = end
        if self._end_seen >= end and not self._ahead:
            self._at = end
        return messages

    def _next(self, end: int, fail_on_data_loss: bool) -> list[Any]:
        """Messages in order, as many as there are without waiting for more."""
        if self._ahead:
            ahead, self._ahead = self._ahead, []
            return ahead
        if self._end_seen >= end:
            return []
        first = self._consumer.poll(_POLL_SECONDS)
        if first is None:
            self._check_health(end)
            return []
        # what is behind the range stays with the client, where it takes less room
        wanted = min(_CHUNK, end - self._at) - 1
        found = [first, *(self._consumer.consume(wanted, 0) if wanted > 0 else ())]
        if set(map(type, map(_error, found))) != {NoneType}:
            failed = [message for message in found if message.error() is not None]
            found = [message for message in found if message.error() is None]
            for message in failed:
                self._handle(message, end, fail_on_data_loss)
        if found:
            self._patience.over()
            if found[0].offset() < self._at:
                found = found[bisect_left(found, self._at, key=_offset) :]
        return found

    def _check_health(self, end: int) -> None:
        error = self._last_error
        if error is not None and is_hopeless(error):
            raise self._failed(error)
        if self._at <= self._end_seen < end and self._patience.waited > _SHORT_SECONDS:
            raise JobError(
                f"{self._name} ends at offset {self._end_seen}, but records up to {end} were there "
                "when this micro-batch was planned. The topic has been truncated or made anew; "
                "start the job from an empty checkpoint directory."
            )
        self._patience.waiting("no answer" if error is None else error.str())
        if self._patience.waited > self._renew_after:
            self._renew()

    def _handle(self, message: Any, end: int, fail_on_data_loss: bool) -> None:
        from confluent_kafka import KafkaError

        error = message.error()
        if error.code() == KafkaError._PARTITION_EOF:
            self._end_seen = max(self._end_seen, message.offset())
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            self._skip_lost(end, fail_on_data_loss)
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART or is_hopeless(error):
            raise self._failed(error)
        else:
            self._patience.waiting(error.str())

    def _failed(self, error: Any) -> JobError:
        return JobError(
            f"Reading {self._name} failed: {error.str()}. Check that the topic exists, and that "
            "the workers can reach the brokers with the source's security settings; then restart "
            "the job, which goes on where it was."
        )

    def _skip_lost(self, end: int, fail_on_data_loss: bool) -> None:
        from confluent_kafka import TopicPartition

        place = TopicPartition(self._topic, self._partition)
        low, high = self._consumer.get_watermark_offsets(place, timeout=10)
        if fail_on_data_loss or high < end:
            raise JobError(
                f"Records of {self._name} from offset {self._at} on are gone: the topic now holds "
                f"offsets {low} to {high}. Its retention is shorter than the job lags behind, or "
                "it was made anew. To go on with what is left, call set_fail_on_data_loss(False) "
                "on the source's builder."
            )
        log.warning(
            "records of %s from offset %d to %d are gone and were skipped",
            self._name,
            self._at,
            min(low, end),
        )
        self._go_to(min(low, end))

    def close(self) -> None:
        """Let go of the brokers."""
        self._consumer.close()


_error = methodcaller("error")


def _offset(message: Any) -> int:
    offset: int = message.offset()
    return offset


_readers: OrderedDict[tuple[ClientSettings, str, int], PartitionReader] = OrderedDict()
#: held while readers are taken, and while those without use are looked for
_lock = threading.Lock()
_watching = False


def reader_of(
    settings: ClientSettings, topic: str, partition: int, often: bool = False
) -> PartitionReader:
    """This worker's reader of a partition, which the caller is to read with at once."""
    place = (settings, topic, partition)
    with _lock:
        reader = _readers.pop(place, None)
        if reader is not None and reader.often != often:
            reader.close()
            reader = None
        if reader is None:
            reader = PartitionReader(settings, topic, partition, often)
        reader.last_used = _IN_USE
        _readers[place] = reader
        while len(_readers) > _MOST_READERS:
            _readers.popitem(last=False)[1].close()
        _watch()
    return reader


def _watch() -> None:
    """Have a thread close readers without use: they fetch as long as they are there, also when
    their job has ended."""
    global _watching
    if not _watching:
        _watching = True
        threading.Thread(target=_close_idle, name="scurry-kafka-readers", daemon=True).start()


def _close_idle() -> None:
    """Close readers that have had no use for a while, until there is none."""
    global _watching
    while _watching:
        time.sleep(_IDLE_SECONDS / 4)
        with _lock:
            before = time.monotonic() - _IDLE_SECONDS
            idle = [place for place, reader in _readers.items() if reader.last_used < before]
            for place in idle:
                _readers.pop(place).close()
            _watching = bool(_readers)


def forget_reader(settings: ClientSettings, topic: str, partition: int) -> None:
    """Close a reader whose position is in doubt."""
    with _lock:
        reader = _readers.pop((settings, topic, partition), None)
    if reader is not None:
        reader.close()
