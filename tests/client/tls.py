"""A certificate for 127.0.0.1, and a relay that speaks TLS in front of the embedded Mistral."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Generator
from pathlib import Path

OPENSSL = shutil.which("openssl")


def make_certificate(folder: Path) -> Path:
    """A file with a self-signed certificate and its private key, made now and thrown away with the folder."""
    assert OPENSSL is not None
    both = folder / "loopback.pem"
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([OPENSSL, *words.split(), *more], check=True, capture_output=True)
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    return both


@contextlib.contextmanager
def tls_in_front_of(port: int, certificate: Path) -> Generator[str]:
    """The https URL of a relay to a local port. It takes one connection after the other, and ends with the block."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve() -> None:
        with contextlib.suppress(OSError):  # the listener was closed: the block is over
            while True:
                accepted, _ = listener.accept()
                threads.append(threading.Thread(target=_relay, args=(accepted, context, port)))
                threads[-1].start()

    acceptor = threading.Thread(target=serve)
    acceptor.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        acceptor.join()
        listener.close()
        for thread in threads:
            thread.join()


def _relay(accepted: socket.socket, context: ssl.SSLContext, port: int) -> None:
    try:
        outside = context.wrap_socket(accepted, server_side=True)
    except OSError:  # the client left in the handshake
        accepted.close()
        return
    inside = socket.create_connection(("127.0.0.1", port))
    back = threading.Thread(target=_pump, args=(inside, outside))
    back.start()
    _pump(outside, inside)
    back.join()
    outside.close()
    inside.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            # The base class's: the other pump still reads through the TLS object, which SSLSocket's would take away.
            socket.socket.shutdown(each, socket.SHUT_RDWR)
