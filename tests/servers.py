"""Real model servers on loopback for the tests, each started on a free port and stopped at the end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 120


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def transformers_serve(folder: Path, log: Path) -> Iterator[str]:
    """Run ``transformers serve FOLDER``; give its address."""
    port = free_port()
    program = "from transformers.cli.transformers import main; main()"
    command = [sys.executable, "-c", program, "serve", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with _running(command, port, log):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def llama_server(model: Path, log: Path, key: str = "") -> Iterator[str]:
    """Run a llama.cpp server; give its address."""
    port = free_port()
    program = Path(__file__).with_name("llama_server.py")
    with _running([sys.executable, str(program), str(model), str(port), key], port, log):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def _running(command: list[str], port: int, log: Path) -> Iterator[None]:
    quiet = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"} | quiet
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, env=environment)
    try:
        _wait_until_healthy(process, port, log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text(errors='replace')[-2000:]}")
