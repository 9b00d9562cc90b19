"""A real Ray cluster of two nodes on loopback for the tests; each node can be killed by itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.servers import free_port

REPOSITORY = Path(__file__).resolve().parent.parent
START_SECONDS = 60


class Node:
    """One node with one processor, in a session of its own."""

    def __init__(self, arguments: list[str], folder: Path, name: str) -> None:
        program = "from ray.scripts.scripts import main; main()"
        command = [sys.executable, "-c", program, "start", "--block", "--num-cpus", "1"]
        command += ["--min-worker-port", "0", "--max-worker-port", "0", "--disable-usage-stats"]
        command += ["--dashboard-agent-listen-port", str(free_port()), *arguments]
        paths = [str(REPOSITORY), str(REPOSITORY / "tests"), os.environ.get("PYTHONPATH", "")]
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths)))
        environment |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"}
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                command, stdout=stream, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )

    def processes(self) -> dict[int, str]:
        """All processes of this node, by what they are called."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
                    if session == self.process.pid:
                        words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                        found[int(entry.name)] = words
        return found

    def workers(self) -> list[int]:
        """The processes that hold a judge."""
        return [number for number, words in self.processes().items() if words.startswith("ray::Worker")]

    def kill(self) -> None:
        """End it at once, as when the power fails."""
        for number in [self.process.pid, *self.processes()]:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait()


class Cluster:
    """Two nodes; the driver and the head are on the first."""

    def __init__(self, folder: Path) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self._folder = folder
        port = self.address.rpartition(":")[2]
        head = ["--head", "--node-ip-address=127.0.0.1", "--port", port, "--include-dashboard=false"]
        head += ["--dashboard-port", str(free_port()), "--temp-dir", str(folder / "s")]
        self.nodes = [Node(head, folder, "head")]

    def start(self) -> None:
        """Wait for the head, and start the second node."""
        self._wait(1)
        self.join()

    def join(self) -> Node:
        """Start another node."""
        node = Node([f"--address={self.address}"], self._folder, f"node{len(self.nodes)}")
        self.nodes.append(node)
        self._wait(len(self.nodes))
        return node

    def _wait(self, number: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        node = self.nodes[-1]
        while time.monotonic() < deadline and node.process.poll() is None:
            if "Ray runtime started" in node.log.read_text(errors="replace"):
                return
            time.sleep(0.1)
        raise RuntimeError(f"node {number} did not start: {node.log.read_text(errors='replace')[-2000:]}")


@contextmanager
def two_nodes() -> Iterator[Cluster]:
    """Run a cluster for as long as the block. Its folder has a short name, since sockets must have one."""
    folder = Path(tempfile.mkdtemp(prefix="bbt-ray-"))
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        for node in reversed(cluster.nodes):
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)
