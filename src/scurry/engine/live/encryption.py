"""Encryption between machines, as a setting.

The driver makes a certificate for each attempt at a job, which Spark brings to the tasks together
with the secret of the job. Both ends of a connection show it and ask for it, so whoever has another
one, or none, is not spoken to. Nobody has to hand out certificates, and none lives longer than the
attempt; what Spark brings to tasks is as safe as Spark's own connections are.
"""

from __future__ import annotations

import datetime
import os
import socket
import ssl
import tempfile

import msgspec

from scurry.common.errors import ConfigurationError
from scurry.common.options.execution import LIVE_TLS

#: How long a certificate is valid; clocks of machines may differ.
_BEFORE, _AFTER = datetime.timedelta(days=1), datetime.timedelta(days=3650)
_NAME = "scurry"


class Identity(msgspec.Struct):
    """What the processes of an attempt have in common."""

    certificate: bytes
    key: bytes


def make_identity() -> Identity:
    """A new certificate, signed by itself, and its key."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID
    except ImportError:
        raise ConfigurationError(
            f"{LIVE_TLS.key} needs a package that is not installed: "
            "pip install 'scurry[tls]'. Tasks do not need it."
        ) from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _NAME)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + _AFTER)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return Identity(
        made.public_bytes(pem),
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def encrypted(connection: socket.socket, identity: Identity, waits: bool) -> ssl.SSLSocket:
    """``connection``, encrypted; ``waits`` says that the other side has come. Raises
    :class:`OSError` if the other side does not have the same certificate."""
    purpose = ssl.PROTOCOL_TLS_SERVER if waits else ssl.PROTOCOL_TLS_CLIENT
    context = ssl.SSLContext(purpose)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # whose certificate it is matters, and not at which address they are
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=identity.certificate.decode())
    _load(context, identity)
    return context.wrap_socket(connection, server_side=waits)


def _load(context: ssl.SSLContext, identity: Identity) -> None:
    """Python reads certificates and keys from files alone."""
    with tempfile.NamedTemporaryFile(prefix="scurry-", delete=False) as file:
        file.write(identity.certificate + identity.key)
    try:
        context.load_cert_chain(file.name)
    finally:
        os.unlink(file.name)
