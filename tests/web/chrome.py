# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, spoken to over its debugging pipe: JSON ended by a zero byte."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

BROWSER = os.environ.get("LOCKSTEP_CHROMIUM") or shutil.which("chromium")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
         "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe"]


class Chrome:
    def __init__(self, timeout_s=60):
        self.profile = tempfile.mkdtemp(prefix="lockstep-chrome-")
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()

        def hand_over():
            # Chromium reads from 3 and writes to 4.
            os.dup2(os.dup(to_read), 3)
            os.dup2(os.dup(from_write), 4)

        # The pipe's ends may already be 3 or 4: move them out of the way first.
        while min(to_read, from_write) < 10:
            to_read, from_write = os.dup(to_read), os.dup(from_write)
        self.process = subprocess.Popen(
            [BROWSER, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=hand_over)
        os.close(to_read), os.close(from_write)
        self.rest, self.last_id, self.events = b"", 0, []
        self.deadline = time.monotonic() + timeout_s
        target = next(t for t in self.call("Target.getTargets")["targetInfos"]
                      if t["type"] == "page")
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=20)
        os.close(self.to_write), os.close(self.from_read)
        shutil.rmtree(self.profile, ignore_errors=True)

    def read(self):
        while b"\0" not in self.rest:
            if time.monotonic() > self.deadline:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.from_read, 1 << 20)
            if not more:
                raise EOFError("the browser is gone")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, script):
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                         awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(str(done["exceptionDetails"]))
        return done["result"].get("value")

    def open(self, address, width=1280, height=900, dark=False):
        """Loads the page and waits until it has drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.call("Page.navigate", url=address)
        self.until("document.body && document.body.dataset.ready === 'yes'")

    def until(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {condition}; {self.complaints()}")
            time.sleep(0.05)

    def complaints(self):
        """Everything the page or the browser called an error or a warning."""
        self.evaluate("1")
        out = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                out.append(str(params["exceptionDetails"].get("exception", params)))
            elif event.get("method") == "Runtime.consoleAPICalled":
                if params["type"] in ("error", "warning", "assert"):
                    out.append(str([a.get("value") for a in params["args"]]))
            elif event.get("method") == "Log.entryAdded":
                if params["entry"]["level"] in ("error", "warning"):
                    out.append(params["entry"]["text"])
        return out

    def requested(self):
        """Addresses the page asked for, itself included."""
        return [e["params"]["request"]["url"] for e in self.events
                if e.get("method") == "Network.requestWillBeSent"]

    def screenshot(self, path, full=True):
        done = self.call("Page.captureScreenshot", captureBeyondViewport=full)
        with open(path, "wb") as out:
            out.write(base64.b64decode(done["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
