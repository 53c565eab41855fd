"""Runs the NVML sampler as a process of its own, so that it loads the library that its environment names.

Requests leave as lines of JSON on stdout; a line on stdin asks for the state; end of stdin stops it.
"""

import base64
import dataclasses
import json
import sys
import threading
from concurrent.futures import Future

from collector.gpu_nvml import GpuSettings, NvmlSampler
from collector.sink import Full
from correlator.model.records import Signal


class LineSink:
    """Writes requests as lines; refuses everything while told so."""

    def __init__(self) -> None:
        self.full = False
        self._lock = threading.Lock()

    def put(self, signal: Signal, payload: bytes) -> Future[None]:
        if self.full:
            raise Full("test")
        self.say({"signal": signal, "payload": base64.b64encode(payload).decode()})
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def say(self, what: object) -> None:
        with self._lock:
            print(json.dumps(what, default=str), flush=True)


def main() -> None:
    """Sample with the settings in the first argument until stdin ends."""
    sink = LineSink()
    sampler = NvmlSampler(GpuSettings(**json.loads(sys.argv[1])), sink)
    sampler.start()
    for line in sys.stdin:
        if line.strip() == "state":
            sink.say({"state": dataclasses.asdict(sampler.state())})
        else:
            sink.full = line.strip() == "full"
            sink.say({"state": None})
    sampler.stop()
    sink.say({"state": dataclasses.asdict(sampler.state())})


if __name__ == "__main__":
    main()
