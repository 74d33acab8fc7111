"""Queries over HTTP: a process of its own answers them, from what a job in this process commits."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.contract._views import Viewed, environment, viewed

from scurry.common import Configuration, Time, Types
from scurry.common.errors import ConfigurationError, FunctionError, JobError, ProgramError
from scurry.datastream import KeyedProcessFunction
from scurry.engine.queryable.keeper import ViewKeeper
from scurry.engine.queryable.server_process import ServerProcess
from scurry.engine.queryable.settings import QuerySettings
from scurry.queryable import QueryableStateClient, QueryFailed
from scurry.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from scurry.testing import ListSink
from scurry.testing.local import LocalJob

TOKEN = "a secret of the tests"
ODD: list[Any] = [
    None,
    "",
    "plain",
    "42",
    42,
    -1,
    True,
    1.5,
    "ünï/cödé?&#% \x00",
    ("a", 1, None),
    b"\x00\xff",
    dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC),
    2**80,
    "x" * 3000,
]


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        count = ValueStateDescriptor("count", Types.LONG())
        count.set_queryable("counts")
        seen = MapStateDescriptor("seen", Types.LONG(), Types.STRING())
        seen.set_queryable("seen")
        brief = ValueStateDescriptor("brief")
        brief.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        brief.set_queryable("brief")
        self.count = runtime_context.get_state(count)
        self.seen = runtime_context.get_map_state(seen)
        self.brief = runtime_context.get_state(brief)

    def process_element(self, value: tuple[Any, int], ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.put(value[1], f"event {value[1]}")
        self.brief.update(value[1])
        yield value


def program(events: list[Any]) -> Any:
    env = environment(2)
    stream = env.from_collection(events).uid("events").key_by(lambda event: event[0])
    stream.process(Counting()).name("counting").uid("counting").sink_to(ListSink()).uid("sink")
    return env


def settings(token: str = "", port: int = 0, linger: int = 0) -> QuerySettings:
    return QuerySettings("127.0.0.1", range(port, port + 1), token, linger, "")


EVENTS = [*((key, n) for n, key in enumerate(ODD)), *((f"user-{n:02d}", n) for n in range(30))]


@pytest.fixture(scope="module")
def open_view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    env = program([*EVENTS, ("later", 1)])
    with viewed(env, tmp_path_factory.mktemp("views"), settings()) as view:
        view.job.clock = int(time.time() * 1000)
        assert view.job.step(len(EVENTS))
        view.keeper.settle()
        yield view


@pytest.fixture(scope="module")
def job(open_view: Viewed) -> str:
    return open_view.job._job.spec.name


@pytest.fixture(scope="module")
def client(open_view: Viewed, job: str) -> QueryableStateClient:
    return QueryableStateClient(open_view.keeper.address, job)


def fetch(address: str, path: str, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(f"{address}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def test_odd_keys_are_asked_for_as_they_are(client: QueryableStateClient) -> None:
    for number, key in enumerate(ODD):
        answer = client.get("seen", key)
        assert answer.value == {number: f"event {number}"}, key
        assert client.get("counts", key).value == 1, key
        assert client.get_entry("seen", key, number).value == f"event {number}"
        assert not answer.stale


def test_an_answer_carries_its_micro_batch(open_view: Viewed, job: str) -> None:
    status, told = fetch(open_view.keeper.address, f"/jobs/{quote(job)}/state/counts/plain")
    assert status == 200
    assert told == {
        "key": "plain",
        "value": 1,
        "state": "counts",
        "batch": open_view.committed,
        "watermark": None,
        "stale": False,
    }
    by_id = fetch(open_view.keeper.address, "/jobs/job-1/state/counts/plain")
    assert by_id == (status, told)


def test_words_need_no_quotes_and_numbers_are_numbers(open_view: Viewed) -> None:
    path = "/jobs/job-1/state/seen/"
    for text, key in (("42", 42), ("%2242%22", "42"), ("plain", "plain"), ("null", None)):
        _, told = fetch(open_view.keeper.address, path + text)
        assert told["key"] == key
        assert told["entries"][0]["key"] == ODD.index(key)


def test_many_keys_are_answered_at_once(client: QueryableStateClient) -> None:
    found = client.get_many("counts", ["plain", 42, "nobody", ("a", 1, None)])
    assert {key: answer.value for key, answer in found.items()} == {
        "plain": 1,
        42: 1,
        ("a", 1, None): 1,
    }


def test_keys_are_scanned_in_order(client: QueryableStateClient) -> None:
    every = [f"user-{n:02d}" for n in range(30)]
    found = [answer.key for answer in client.scan("counts", prefix="user-", page=7)]
    assert found == every
    some = [answer.key for answer in client.scan("counts", first="user-05", last="user-08")]
    assert some == every[5:8]
    numbers = [answer.key for answer in client.scan("counts", first=-10, last=43)]
    assert numbers == [-1, 1, 42]
    assert [answer.value for answer in client.scan("seen", prefix="user-1", page=3)] == [
        {n: f"event {n}"} for n in range(10, 20)
    ]
    assert len(list(client.scan("counts", page=4))) == len({repr(key) for key, _ in EVENTS})


def test_states_are_listed(client: QueryableStateClient, open_view: Viewed) -> None:
    listed = {state["name"]: state for state in client.states()}
    assert listed.keys() == {"counts", "seen", "brief"}
    assert listed["counts"] == {
        "name": "counts",
        "kind": "ValueState",
        "type": "LONG",
        "uid": "counting",
        "operator": "counting",
        "watermark": None,
    }
    assert listed["brief"]["time_to_live"] == 3_600_000
    _, told = fetch(open_view.keeper.address, "/jobs")
    assert told["jobs"][0]["id"] == "job-1"


def test_a_value_says_when_it_expires(client: QueryableStateClient, open_view: Viewed) -> None:
    answer = client.get("brief", "plain")
    assert answer.expires == open_view.job.clock + 3_600_000


def test_a_default_is_given_where_there_is_nothing(client: QueryableStateClient) -> None:
    answer = client.get("counts", "nobody", default=0)
    assert (answer.value, answer.batch) == (0, 0)
    with pytest.raises(QueryFailed, match="has nothing for the key") as refused:
        client.get("counts", "nobody")
    assert (refused.value.status, refused.value.code) == (404, "no_such_key")
    with pytest.raises(QueryFailed, match="has nothing for that entry of the key"):
        client.get_entry("seen", "plain", 4711)


@pytest.mark.parametrize(
    ("path", "status", "code", "said"),
    [
        ("/", 404, "no_such_route", "There is no GET /"),
        ("/jobs/other/state", 404, "no_such_job", "not 'other'"),
        ("/jobs/job-1/state/nothing/a", 404, "no_such_state", "'brief', 'counts', 'seen'"),
        ("/jobs/job-1/state/counts/%7B%7D", 400, "bad_key", "an object is a key only if"),
        ("/jobs/job-1/state/counts/a/b", 404, "no_such_route", "%2F"),
        ("/jobs/job-1/state/counts/plain?entry=1", 400, "no_entries", "A ValueState has no"),
        ("/jobs/job-1/state/counts?limit=0", 400, "bad_limit", "from 1 to 10000"),
        ("/jobs/job-1/state/counts?limit=x", 400, "bad_limit", "a whole number"),
        ("/jobs/job-1/state/counts?from=1&to=b", 400, "bad_range", "both whole numbers"),
        ("/jobs/job-1/state/counts?from=1&prefix=b", 400, "bad_range", "not both"),
        ("/jobs/job-1/state/counts?form=1", 400, "bad_parameter", "'form' is none of"),
        ("/jobs/job-1/state/counts?after=*", 400, "bad_cursor", "an earlier answer"),
    ],
)
def test_bad_requests_are_told_what_is_wrong(
    open_view: Viewed, path: str, status: int, code: str, said: str
) -> None:
    found, told = fetch(open_view.keeper.address, path)
    assert (found, told["error"]["code"]) == (status, code)
    assert said in told["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"not json", 400, "bad_json"),
        (b"[1]", 400, "bad_body"),
        (b'{"keys": "a"}', 400, "bad_body"),
        (json.dumps({"keys": [1] * 1001}).encode(), 400, "too_many_keys"),
        (b'{"keys": ["' + b"x" * (1 << 20) + b'"]}', 413, "too_large"),
    ],
)
def test_bad_bodies_are_refused(open_view: Viewed, body: bytes, status: int, code: str) -> None:
    where = f"{open_view.keeper.address}/jobs/job-1/state/counts"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(where, body, method="POST"), timeout=10)
    told = json.load(refused.value)
    assert (refused.value.code, told["error"]["code"]) == (status, code)


def test_only_names_of_this_machine_are_answered_without_a_token(open_view: Viewed) -> None:
    status, told = fetch(open_view.keeper.address, "/jobs", Host="evil.example")
    assert (status, told["error"]["code"]) == (403, "bad_host")
    assert fetch(open_view.keeper.address, "/jobs", Host="localhost:9")[0] == 200


def test_a_token_is_asked_for_and_never_written_down(tmp_path: Path) -> None:
    with viewed(program(EVENTS), tmp_path, settings(TOKEN)) as view:
        assert view.job.step()
        view.keeper.settle()
        address = view.keeper.address
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
            status, told = fetch(address, "/jobs/job-1/state/counts/plain", **headers)
            assert (status, told["error"]["code"]) == (401, "no_token")
        with QueryableStateClient(address, "job-1", TOKEN) as client:
            assert client.get("counts", "plain").value == 1
        for path in tmp_path.rglob("*"):
            assert not path.is_file() or TOKEN.encode() not in path.read_bytes()
        assert TOKEN not in repr(settings(TOKEN))
        found = json.loads((view.keeper.directory / "server.json").read_text())
        with open(f"/proc/{found['pid']}/cmdline", "rb") as command:
            assert TOKEN.encode() not in command.read()


def test_queries_are_answered_marked_as_stale_while_there_is_no_driver(tmp_path: Path) -> None:
    compiled = program(EVENTS)._compile(None)
    lingering = settings(linger=600_000)
    first = ViewKeeper(tmp_path, compiled.spec, "job-1", "checkpoint", lingering)
    first.start()
    with LocalJob(compiled, views=first) as one:
        assert one.step(20)
        first.settle()
        address = first.address
        client = QueryableStateClient(address, "job-1")
        assert not client.get("counts", "plain").stale
        first.interrupted()
        restarting = client.get("counts", "plain")
        assert (restarting.value, restarting.stale) == (1, True)
        one.recover()
        assert not client.get("counts", "plain").stale
        first.close("failed", linger=True)
        with pytest.raises(QueryFailed, match="has nothing"):
            client.get("counts", "user-29")
        assert client.get("counts", "plain").stale
        # the next driver finds the process that answers, and what it shows
        second = ViewKeeper(tmp_path, compiled.spec, "job-2", "checkpoint", lingering)
        second.start()
        try:
            assert second.address == address
            client = QueryableStateClient(address, "job-2")
            assert client.get("counts", "plain").stale
            with LocalJob(compiled, after=one, views=second) as two:
                # nothing has to be read for the view to be filled
                assert two.step(0)
                second.settle()
                filled = client.get("counts", "plain")
                assert (filled.value, filled.stale) == (1, False)
                assert two.step(100)
                second.settle()
                assert client.get("counts", "user-29").value == 1
        finally:
            second.close("finished", linger=False)
    assert not list((tmp_path / "views").iterdir())
    with pytest.raises(JobError, match="cannot be asked"):
        client.get("counts", "plain")


def test_a_process_that_has_died_is_started_again(tmp_path: Path) -> None:
    with viewed(program(EVENTS), tmp_path, settings()) as view:
        assert view.job.step()
        view.keeper.settle()
        note = view.keeper.directory / "server.json"
        before = json.loads(note.read_text())["pid"]
        os.kill(before, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while json.loads(note.read_text())["pid"] == before and time.monotonic() < deadline:
            time.sleep(0.05)
        client = QueryableStateClient(json.loads(note.read_text())["address"], "job-1")
        assert client.get("counts", "plain").value == 1


def test_a_port_that_is_taken_is_named(open_view: Viewed, tmp_path: Path) -> None:
    port = int(open_view.keeper.address.rpartition(":")[2])
    other = ServerProcess(tmp_path, settings(port=port))
    with pytest.raises(ConfigurationError, match=f"127.0.0.1, port {port}: .*range such as"):
        other.start()


def test_two_states_of_one_name_are_refused(tmp_path: Path) -> None:
    class Twice(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            for name in ("one", "two"):
                descriptor = ValueStateDescriptor(name)
                descriptor.set_queryable("same")
                runtime_context.get_state(descriptor)

        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value

    env = environment(1)
    env.from_collection([1]).key_by(lambda n: n).process(Twice()).sink_to(ListSink())
    with (
        pytest.raises(FunctionError, match="queryable under the name 'same': 'one' of operator"),
        viewed(env, tmp_path) as view,
    ):
        view.job.step()


def test_two_operators_cannot_share_a_name(tmp_path: Path) -> None:
    env = environment(1)
    stream = env.from_collection([("a", 1)])
    for uid in ("first", "second"):
        stream = stream.key_by(lambda event: event[0]).process(Counting()).uid(uid)
    stream.sink_to(ListSink())
    with (
        pytest.raises(ProgramError, match="Two states are queryable under the name"),
        viewed(env, tmp_path) as view,
    ):
        view.job.step()


def test_settings_are_checked_before_the_job_starts() -> None:
    def of(**given: str) -> QuerySettings | None:
        conf = Configuration()
        for name, value in given.items():
            conf.set_string(name, value)
        return QuerySettings.of(conf)

    assert of() is None
    on = {"queryable-state.enable": "true"}
    found = of(**on)
    assert found is not None
    assert (found.host, found.ports) == ("127.0.0.1", range(9067, 9068))
    with pytest.raises(ConfigurationError, match="which other machines can reach"):
        of(**on, **{"scurry.queryable-state.host": "0.0.0.0"})
    token = {"scurry.queryable-state.token": TOKEN}
    assert of(**on, **{"scurry.queryable-state.host": "0.0.0.0"}, **token) is not None
    with pytest.raises(ConfigurationError, match=r"queryable-state\.server\.ports is 'x'"):
        of(**on, **{"queryable-state.server.ports": "x"})


def test_names_for_queries_are_texts() -> None:
    with pytest.raises(ProgramError, match="set_queryable of state 'count' needs a non-empty"):
        ValueStateDescriptor("count").set_queryable("")
    descriptor = ValueStateDescriptor("count")
    assert not descriptor.is_queryable()
    descriptor.set_queryable("counts")
    assert descriptor.is_queryable()
    assert descriptor.get_queryable_state_name() == "counts"


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is not the address of a job's queries"):
        QueryableStateClient("localhost:9067", "job")
