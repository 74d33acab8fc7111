"""Transactions of tasks with brokers of either transaction protocol.

Clusters have a ``transaction.version``. With 2, brokers raise a producer's epoch at the end of each
transaction, if the client that ends it says that it knows. Neither the writers nor the driver do,
so they work alike with all versions.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.kafka.conftest import Topics
from tests.kafka.test_task_transactions import started

from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.coordinators import ONGOING, Coordinators
from scurry.connectors.kafka.wire import Answer, Api, Body, Connection
from scurry.functions.sink import WriterContext
from scurry.testing.kafka import private_broker

#: the oldest version whose answer has the features of the cluster
_FEATURES = Api("ApiVersions", 18, 3, flexible=True)


@pytest.fixture(params=[0, 2])
def versioned(request: pytest.FixtureRequest, servers: str) -> Iterator[tuple[Topics, int]]:
    """Topics of a cluster, and its transaction version; the broker of all tests has the newest."""
    if request.param == 2:
        yield Topics(servers), 2
        return
    with private_broker(features={"transaction.version": request.param}) as broker:
        yield Topics(broker.bootstrap_servers), request.param


def transaction_version(servers: str) -> int:
    """The transaction version of a cluster; it says nothing where that is 0."""
    host, _, port = servers.partition(":")
    connection = Connection(host, int(port), ClientSettings({"bootstrap.servers": servers}))
    answer = connection.ask(_FEATURES, Body(flexible=True).text("test").text("1"))
    connection.close()
    # at the end are the features with their levels, which nothing else in the answer looks like
    _, found, level = answer._content.rpartition(b"transaction.version")
    return Answer(level).number("h") if found else 0


def test_a_promise_is_kept_with_all_transaction_versions(versioned: tuple[Topics, int]) -> None:
    topics, version = versioned
    assert transaction_version(topics.servers) == version
    topic = topics.create()
    driver = started(topics, topic)
    writer = driver.create_writer(WriterContext("s", 0, 1))
    tickets = []
    for batch in range(4):
        writer.write([f"{batch} {number}" for number in range(50)])
        message = writer.prepare()
        tickets.append((message["transactional_id"], message["producer"], message["epoch"]))
        driver.commit(batch, [message])
        assert len(topics.values(topic)) == 50 * (batch + 1)
    assert len(set(tickets)) == 1, "the epoch is that of the writer, which goes on with it"

    writer.write(["unpromised"])
    name = writer.prepare()["transactional_id"]
    coordinators = Coordinators(ClientSettings({"bootstrap.servers": topics.servers}), "test")
    assert coordinators.describe([name])[name].name == ONGOING
    driver.recover(3)
    assert coordinators.describe([name])[name].name != ONGOING
    assert len(topics.values(topic)) == 200

    again = driver.create_writer(WriterContext("s", 0, 1))
    again.write(["after"])
    driver.commit(4, [again.prepare()])
    assert topics.values(topic)[-1] == b"after"
    coordinators.close()
    driver.close()
