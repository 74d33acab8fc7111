"""Requests and passwords as bytes, and what a coordinator's answer means for a promise."""

from __future__ import annotations

import base64

import pytest

pytest.importorskip("confluent_kafka")

from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.coordinators import State
from scurry.connectors.kafka.promises import DONE, LOST, OPEN, verdict
from scurry.connectors.kafka.security import AuthenticationFailed, _scram, tls_context, why_not
from scurry.connectors.kafka.task_transactions import Ticket
from scurry.connectors.kafka.wire import Answer, Body


@pytest.mark.parametrize("flexible", [False, True])
def test_what_is_written_is_read(flexible: bool) -> None:
    texts = ["", "ä" * 200, "x" * 20_000]
    body = Body(flexible).number("q", -5).text(texts[1]).content(b"\0raw").texts(texts).end()
    answer = Answer(body, flexible)
    assert answer.number("q") == -5
    assert answer.text() == texts[1]
    assert answer.content() == b"\0raw"
    assert answer.many(Answer.text) == texts
    answer.end_structure()


def test_optional_fields_are_passed_over() -> None:
    # two of them, with the numbers 0 and 300, before a last byte
    content = bytes([2, 0, 2, 7, 7, 0xAC, 0x02, 1, 9, 42])
    answer = Answer(content, flexible=True)
    answer.end_structure()
    assert answer.number("b") == 42


def test_scram_as_the_standard_has_it() -> None:
    """The example of RFC 7677, section 3."""
    talk = _scram("sha256", "user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO")
    assert next(talk) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    said = talk.send(f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert said == f"c=biws,r={nonce},p={proof}".encode()
    with pytest.raises(StopIteration):
        talk.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@pytest.mark.parametrize(
    "answer", ["r=other,s=AAAA,i=4096", "r=mine2,s=AAAA,i=0", "r=mine2,s=AAAA,i=99999999"]
)
def test_a_broker_that_answers_nonsense(answer: str) -> None:
    talk = _scram("sha512", "user", "pencil", nonce="mine")
    next(talk)
    with pytest.raises(AuthenticationFailed):
        talk.send(answer.encode())


@pytest.mark.parametrize("last", [b"v=" + base64.b64encode(b"x" * 32), b"e=unknown-user"])
def test_a_broker_that_does_not_know_the_password(last: bytes) -> None:
    talk = _scram("sha256", "a,b=c", "pencil", nonce="mine")
    assert next(talk) == b"n,,n=a=2Cb=3Dc,r=mine"
    talk.send(b"r=mine2,s=AAAA,i=1")
    with pytest.raises(AuthenticationFailed, match=r"unknown-user|does not know the password"):
        talk.send(last)


def settings(**given: str) -> ClientSettings:
    return ClientSettings({key.replace("_", "."): value for key, value in given.items()})


def test_what_cannot_be_done_is_named() -> None:
    assert why_not(settings()) == ""
    assert why_not(settings(security_protocol="SSL")) == ""
    secure = {"security_protocol": "SASL_SSL"}
    assert why_not(settings(**secure, sasl_mechanism="PLAIN")) == ""
    assert why_not(settings(**secure, sasl_mechanisms="SCRAM-SHA-512")) == ""
    assert why_not(settings(**secure)) == "the SASL mechanism is GSSAPI"
    oauth = settings(**secure, sasl_mechanism="OAUTHBEARER")
    assert why_not(oauth) == "the SASL mechanism is OAUTHBEARER"
    assert why_not(settings(ssl_keystore_location="k.p12")) == "ssl.keystore.location is set"
    assert why_not(settings(security_protocol="odd")) == "security.protocol is 'odd'"


def test_certificates_are_checked_unless_the_user_says_otherwise() -> None:
    assert tls_context(settings()) is None
    usual = tls_context(settings(security_protocol="SSL"))
    assert usual is not None
    assert usual.check_hostname
    lax = tls_context(
        settings(security_protocol="ssl", ssl_endpoint_identification_algorithm="none")
    )
    assert lax is not None
    assert not lax.check_hostname
    assert lax.verify_mode == usual.verify_mode


TICKET = Ticket(0, 2, "t", producer=7, epoch=3, began=100, timeout=1000, topic="x", records=1)


@pytest.mark.parametrize(
    ("state", "meaning"),
    [
        (State("Ongoing", 7, 3, 100), OPEN),
        (State("Ongoing", 7, 3, 101), DONE),
        (State("PrepareCommit", 7, 3, 100), DONE),
        (State("CompleteCommit", 7, 3, 100), DONE),
        (State("Empty", 7, 4), DONE),
        (State("Empty", 7, 5), LOST),
        (State("CompleteAbort", 7, 4, 100), LOST),
        (State("PrepareAbort", 7, 3, 100), LOST),
        (State("CompleteAbort", 7, 3, 100), LOST),
        (State("Ongoing", 7, 4, 200), LOST),
        (State("CompleteCommit", 8, 3, 100), LOST),
        (None, LOST),
    ],
)
def test_what_has_become_of_a_promise(state: State | None, meaning: str) -> None:
    assert verdict(TICKET, state) == meaning
