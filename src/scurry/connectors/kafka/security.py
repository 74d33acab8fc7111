"""How a connection of our own proves who it is: TLS, and SASL with a password.

Almost everything is done by librdkafka, which has its own ways for this. The few requests that it
does not offer (:mod:`scurry.connectors.kafka.wire`) go over connections of our own, which must use
the same settings. What is understood here: plain text and TLS with PEM files, the SASL mechanisms
PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. :func:`why_not` names what is not.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import ssl
from collections.abc import Callable, Generator
from typing import Any

from scurry.connectors.kafka.client import ClientSettings

_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_SCRAM = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
#: Settings of librdkafka that change how it connects, and that nobody reads here.
_UNREAD = (
    "ssl.keystore.location",
    "ssl.engine.location",
    "ssl.providers",
    "ssl.cipher.suites",
    "ssl.curves.list",
    "ssl.sigalgs.list",
    "ssl.crl.location",
    "ssl.key.pem",
    "ssl.certificate.pem",
)
#: A server that asks for more rounds of hashing than this wants something else than a password.
_MOST_ITERATIONS = 1_000_000

#: Sends what it yields to the broker, and gets the broker's answer.
Exchange = Generator[bytes, bytes, None]


class AuthenticationFailed(Exception):
    """The broker does not accept who we are, or is not who we think."""


def protocol_of(settings: ClientSettings) -> str:
    """The security protocol, in small letters."""
    return settings.get("security.protocol", "plaintext").lower()


def mechanism_of(settings: ClientSettings) -> str:
    """The SASL mechanism, in capitals; empty if there is none."""
    if not protocol_of(settings).startswith("sasl"):
        return ""
    default = settings.get("sasl.mechanisms", "GSSAPI")
    return settings.get("sasl.mechanism", default).upper()


def why_not(settings: ClientSettings) -> str:
    """What of these settings a connection of our own cannot do; empty if it can do all."""
    if protocol_of(settings) not in _PROTOCOLS:
        return f"security.protocol is {protocol_of(settings)!r}"
    mechanism = mechanism_of(settings)
    if mechanism and mechanism != "PLAIN" and mechanism not in _SCRAM:
        return f"the SASL mechanism is {mechanism}"
    unread = [key for key in _UNREAD if settings.get(key, "")]
    return f"{unread[0]} is set" if unread else ""


def tls_context(settings: ClientSettings) -> ssl.SSLContext | None:
    """What a connection is wrapped in, None for plain text."""
    if not protocol_of(settings).endswith("ssl"):
        return None
    place, pem = settings.get("ssl.ca.location", ""), settings.get("ssl.ca.pem", "")
    # "probe" is librdkafka's word for looking where the system keeps certificates
    known = place if place and place != "probe" else None
    context = ssl.create_default_context(cafile=known, cadata=pem or None)
    if settings.get("ssl.endpoint.identification.algorithm", "https").lower() == "none":
        context.check_hostname = False
    if settings.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate = settings.get("ssl.certificate.location", "")
    if certificate:
        key = settings.get("ssl.key.location", "") or None
        context.load_cert_chain(certificate, key, settings.get("ssl.key.password", "") or None)
    return context


def exchange_of(settings: ClientSettings) -> Exchange:
    """The conversation that proves who we are by the settings' mechanism."""
    user, password = settings.get("sasl.username", ""), settings.get("sasl.password", "")
    mechanism = mechanism_of(settings)
    if mechanism == "PLAIN":
        return _plain(user, password)
    return _scram(_SCRAM[mechanism], user, password)


def _plain(user: str, password: str) -> Exchange:
    yield f"\0{user}\0{password}".encode()


def _scram(algorithm: str, user: str, password: str, nonce: str = "") -> Exchange:
    """SCRAM as RFC 5802 has it, without channel binding. Both sides prove that they know the
    password, and neither sends it."""
    name = user.replace("=", "=3D").replace(",", "=2C")
    nonce = nonce or secrets.token_urlsafe(24)
    first = f"n={name},r={nonce}"
    answer = (yield f"n,,{first}".encode()).decode()
    given = _fields(answer)
    rounds = int(given.get("i", "0"))
    if not given.get("r", "").startswith(nonce) or not 0 < rounds <= _MOST_ITERATIONS:
        raise AuthenticationFailed("the broker's answer to the first SCRAM message is not valid")
    salt = base64.b64decode(given["s"])
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, rounds)
    final = f"c=biws,r={given['r']}"
    said = f"{first},{answer},{final}".encode()
    key = _mac(algorithm)(salted, b"Client Key")
    signature = _mac(algorithm)(hashlib.new(algorithm, key).digest(), said)
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    verdict = _fields((yield f"{final},p={base64.b64encode(proof).decode()}".encode()).decode())
    expected = _mac(algorithm)(_mac(algorithm)(salted, b"Server Key"), said)
    if not hmac.compare_digest(base64.b64decode(verdict.get("v", "")), expected):
        reason = verdict.get("e", "the broker does not know the password")
        raise AuthenticationFailed(reason)


def _fields(text: str) -> dict[str, str]:
    return {part[0]: part[2:] for part in text.split(",") if part[1:2] == "="}


def _mac(algorithm: str) -> Callable[[bytes, bytes], Any]:
    return lambda key, said: hmac.digest(key, said, algorithm)
