"""A page in headless Chromium, driven by its DevTools protocol over a pair of pipes."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time

from harness import Failure


class Page:
    """One page of a browser of its own. `errors`: what the page wrote to the console as an error,
    and exceptions. Use it in a with statement."""

    def __init__(self, scratch, url, width=1200, height=900):
        self._folder = scratch / "browser"
        command_read, self._write = os.pipe()
        self._read, answer_write = os.pipe()
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec 3<&{command_read} 4>&{answer_write} && exec "$@"', "sh",
             "chromium-headless-shell", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", f"--user-data-dir={self._folder}",
             f"--window-size={width},{height}"],
            pass_fds=(command_read, answer_write), start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(scratch)})
        os.close(command_read)
        os.close(answer_write)
        self._number, self._text, self._session, self._loaded = 0, b"", None, False
        self.errors, self.requests = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=url)
        self._until(lambda: self._loaded, "load")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends the browser's processes, which are a group of their own, and removes what they wrote: the last of them may
        still be writing when the first has ended."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        deadline = time.monotonic() + 30
        while self._folder.exists():
            shutil.rmtree(self._folder, ignore_errors=True)
            if time.monotonic() > deadline:
                raise Failure(f"{self._folder} cannot be removed")

    def _message(self, deadline):
        while b"\0" not in self._text:
            if not select.select([self._read], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Failure("the browser does not answer")
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise Failure(f"the browser ended with {self._process.wait()}")
            self._text += piece
        text, self._text = self._text.split(b"\0", 1)
        message = json.loads(text)
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(parameters["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(parameters["args"])[:2000])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True
        return message

    def _until(self, holds, what, seconds=60):
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                raise Failure(f"no {what} after {seconds} s")
            self._message(deadline)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        deadline = time.monotonic() + 60
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, script):
        """What a JavaScript expression is; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failure(f"{script}: {json.dumps(result['exceptionDetails'])[:2000]}")
        return result["result"].get("value")

    def drawn(self):
        """Waits until the page has drawn what was asked of it."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def place(self, selector):
        """The place of an element in the window, scrolled into it."""
        return self.value(f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.scrollIntoView({{block: 'center'}});"
                          "const box = one.getBoundingClientRect(); return {x: box.x, y: box.y, width: box.width, height: box.height}; })()")

    def mouse(self, kind, x, y, **parameters):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **parameters)

    def click(self, selector):
        box = self.place(selector)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def picture(self, path):
        """A screenshot of the whole page."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))
