# SPDX-License-Identifier: Apache-2.0
"""A running `lockstep serve`, for the length of a with."""
import http.client
import signal
import socket
import subprocess
import urllib.parse

from program import BIN


class Served:
    """A server of a folder, for the length of a with."""

    def __init__(self, folder, *options):
        self.process = subprocess.Popen([BIN, "serve", str(folder), *options], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.address = self.process.stdout.readline().strip()
        parts = urllib.parse.urlsplit(self.address)
        self.port = parts.port
        self.token = urllib.parse.parse_qs(parts.query)["token"][0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.code = self.process.wait(timeout=30)
        self.process.stdout.close()

    def get(self, path, token=True, method="GET", **headers):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        if token:
            path += ("&" if "?" in path else "?") + "token=" + self.token
        link.request(method, path, headers=headers)
        answer = link.getresponse()
        answer.text = answer.read().decode("utf-8", "replace")
        link.close()
        return answer

    def follow(self):
        """A connection that follows the events, and its reader."""
        link = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        link.sendall(f"GET /events?token={self.token} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n"
                     .encode())
        return link, link.makefile("rb")


def next_version(lines):
    while True:
        line = lines.readline()
        if not line:
            raise EOFError
        if line.startswith(b"data: "):
            return int(line[6:])
