"""A proxy on loopback that stands between a client and a real server and does what networks and servers do.

Each request takes the next fault of a list, and passes when the list is used up. What is asked and what is
answered goes over real sockets.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

FAULTS = {
    "pass",
    "429",  # with Retry-After: 0.3
    "429-date",  # with a date in Retry-After
    "429-long",  # asks for an hour
    "500",
    "503",
    "drop",  # the connection closes without a byte
    "drop-late",  # the server has answered, the client never hears of it
    "slow",  # the answer comes after SLOW_SECONDS
    "truncated",  # half of the JSON, and a length that fits
    "cut",  # half of the JSON, and the connection closes
    "no-choices",
    "401",  # whose message repeats the key that was sent
    "404",
    "redirect",
}
SLOW_SECONDS = 4.0


class FaultProxy(ThreadingHTTPServer):
    """Forwards to ``upstream``, such as ``http://127.0.0.1:8000/v1``.

    Attributes
    ----------
    faults : iterator of str
        What happens to the next requests.
    injected : Counter
        What has happened.
    bodies : list of dict
        All questions that arrived.
    keys : set of str
        All authorisation headers that arrived.
    longest_queue : int
        Most questions that were under way at a time.
    """

    daemon_threads = True

    def __init__(self, upstream: str, faults: Iterable[str] = ()) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        parts = urlsplit(upstream)
        self.upstream = (str(parts.hostname), int(parts.port or 80))
        self.prefix = parts.path.rstrip("/")
        self.faults: Iterator[str] = iter(faults)
        self.injected: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.longest_queue = 0
        self._under_way = 0
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{self.prefix}"

    def begin(self, body: bytes, key: str) -> str:
        with self._lock:
            self.bodies.append(json.loads(body))
            self.keys.add(key)
            fault = next(self.faults, "pass")
            assert fault in FAULTS
            self.injected[fault] += 1
            self._under_way += 1
            self.longest_queue = max(self.longest_queue, self._under_way)
            return fault

    def end(self) -> None:
        with self._lock:
            self._under_way -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about clients that go away."""


@contextmanager
def fault_proxy(upstream: str, faults: Iterable[str] = ()) -> Iterator[FaultProxy]:
    """Run a proxy for as long as the block."""
    with FaultProxy(upstream, faults) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultProxy

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers.get("Authorization", "")
        fault = self.server.begin(body, key)
        try:
            self._act(fault, body, key)
        finally:
            self.server.end()

    def _act(self, fault: str, body: bytes, key: str) -> None:
        if fault == "429":
            self._send(429, {"error": {"message": "slow down"}}, {"Retry-After": "0.3"})
        elif fault == "429-long":
            self._send(429, {"error": {"message": "come back later"}}, {"Retry-After": "3600"})
        elif fault == "429-date":
            when = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 1))
            self._send(429, {"error": {"message": "slow down"}}, {"Retry-After": when})
        elif fault in ("500", "503"):
            self._send(int(fault), {"detail": "out of order"}, {})
        elif fault == "401":
            self._send(401, {"error": {"message": f"Incorrect API key provided: {key}", "code": key}}, {})
        elif fault == "404":
            self._send(404, {"error": {"message": "The model does not exist."}}, {})
        elif fault == "redirect":
            self._send(307, {}, {"Location": "http://127.0.0.1:9/v1/chat/completions"})
        elif fault == "no-choices":
            self._send(200, {"object": "chat.completion", "choices": []}, {})
        elif fault == "drop":
            self._hang_up()
        else:
            self._forward(fault, body)

    def _forward(self, fault: str, body: bytes) -> None:
        connection = http.client.HTTPConnection(*self.server.upstream, timeout=120)
        headers = {
            name: self.headers[name] for name in ("Content-Type", "Authorization") if name in self.headers
        }
        connection.request("POST", self.path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if fault == "drop-late":
            self._hang_up()
            return
        if fault == "slow":
            time.sleep(SLOW_SECONDS)
        half = content[: len(content) // 2]
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(half if fault == "truncated" else content)))
        self.end_headers()
        self.wfile.write(half if fault in ("truncated", "cut") else content)
        if fault == "cut":
            self._hang_up()

    def _send(self, status: int, body: Any, headers: dict[str, str]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""
