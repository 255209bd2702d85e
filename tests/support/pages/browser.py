"""Drive headless Chromium over its debugging pipe: JSON messages, each followed by a zero byte."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

WAIT = 300.0  # seconds; on a busy machine, a browser has taken more than 60 to start
_STARTS = 3  # in one run of all tests, a browser started and did not answer for 300 s
_START_WAIT = 150.0  # seconds for the first answer, so that three starts end before a CI's limit
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)
SHOWS_DATA = "document.body && document.body.dataset.ready"


class Browser:
    """One page in a separate browser.

    Use it as a context manager. It records all requests except those for files.

    more_flags, more: further arguments and environment variables of the browser
    """

    def __init__(
        self, profile: Path, more_flags: Sequence[str] = (), more: Mapping[str, str] | None = None
    ) -> None:
        self.number = 0
        self.session = ""
        self.events: list[dict[str, Any]] = []
        for start in range(1, _STARTS + 1):
            try:
                self._start(profile / str(start), more_flags, more or {})
            except (AssertionError, BrokenPipeError):
                self._stop()
                if start == _STARTS:
                    raise
            else:
                break
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def _start(self, profile: Path, more_flags: Sequence[str], more: Mapping[str, str]) -> None:
        """Start the browser with its own profile, and wait for its first answer.

        Raises:
            AssertionError: it does not answer; the message ends with what it wrote
            BrokenPipeError: it ended before it read the first command
        """
        program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        assert program, "chromium is missing: .ci/setup test installs it"
        profile.mkdir(parents=True)
        self.buffer = b""
        self.log = profile / "stderr.txt"
        self._connect([program, *FLAGS, f"--user-data-dir={profile}", *more_flags], more)
        self.call("Browser.getVersion", wait=_START_WAIT)

    def _connect(self, command: Sequence[str], more: Mapping[str, str]) -> None:
        """Start the program with a pipe as file 3, which it reads, and one as 4, for answers."""
        theirs_in, self.out = os.pipe()
        self.into, theirs_out = os.pipe()

        def pipes_as_3_and_4() -> None:
            # Duplicate both first, to free numbers: either pipe may already be file 3 or 4.
            first = fcntl.fcntl(theirs_in, fcntl.F_DUPFD, 10)
            second = fcntl.fcntl(theirs_out, fcntl.F_DUPFD, 10)
            os.dup2(first, 3)
            os.dup2(second, 4)

        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "about:blank"],
                preexec_fn=pipes_as_3_and_4,
                pass_fds=(3, 4),
                env={**os.environ, **more},
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        os.close(theirs_in)
        os.close(theirs_out)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)

    def call(self, method: str, wait: float = WAIT, **parameters: object) -> dict[str, Any]:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read(wait)
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _read(self, wait: float) -> dict[str, Any]:
        until = time.monotonic() + wait
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.into], [], [], max(until - time.monotonic(), 0))
            part = os.read(self.into, 1 << 20) if ready else b""
            assert part, self._silence(bool(ready))
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _silence(self, closed: bool) -> str:
        how = "closed its pipe" if closed else "does not answer"
        written = self.log.read_text(errors="replace")[-2000:]
        return f"the browser {how} (exit code {self.process.poll()}); it wrote:\n{written}"

    def open(
        self, page: Path, width: int = 1200, height: int = 900, ready: str = SHOWS_DATA
    ) -> None:
        """Open a page and wait until a script is true; our own pages mark when they show data."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call("Page.navigate", url=page.as_uri())
        assert self.wait(ready) in ("yes", True), self.run("document.body.innerText")

    def run(self, script: str) -> Any:
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script: str) -> Any:
        """Wait for the script's first true value, and return it."""
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            value = self.run(script)
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"never true: {script}")

    def picture(self) -> bytes:
        """Return what the window shows, as PNG."""
        return b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def click(self, x: float, y: float) -> None:
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        code = {
            "Enter": 13,
            "Escape": 27,
            "ArrowRight": 39,
            "ArrowDown": 40,
            "ArrowLeft": 37,
            "ArrowUp": 38,
        }.get(key, 0)
        for kind in ("rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
            )

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def problems(self) -> list[str]:
        """Return the errors that the page logged, and its requests."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"]["text"])
            if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
            if event.get("method") == "Network.requestWillBeSent" and not parameters["request"][
                "url"
            ].startswith(("file:", "about:", "blob:")):
                found.append(parameters["request"]["url"])
        return found
