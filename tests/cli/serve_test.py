# SPDX-License-Identifier: Apache-2.0
"""lockstep serve: who may see what, what changes live, two hundred viewers."""
import json
import os
import pathlib
import socket
import tempfile
import time
import unittest

from made_runs import made_run
from program import lockstep
from served import Served, next_version


class Serve(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.at = pathlib.Path(self.dir.name)
        self.study = self.at / "study"
        made_run(self.study / "runs" / "first")
        (self.at / "secret.txt").write_text("secret")

    def test_only_the_token_opens_it(self):
        with Served(self.study) as served:
            for path in ("/", "/data.json", "/events", "/plotly.js", "/file/runs/first/steps.csv"):
                self.assertEqual(served.get(path, token=False).status, 403, path)
                self.assertEqual(served.get(path + "?token=wrong", token=False).status, 403, path)
            self.assertEqual(served.get("/").status, 200)
            self.assertGreaterEqual(len(served.token), 32)
        self.assertEqual(served.code, 0)

    def test_only_the_loopback_and_its_own_name(self):
        with Served(self.study) as served:
            self.assertTrue(served.address.startswith("http://127.0.0.1:"))
            self.assertEqual(served.get("/", Host="evil.example").status, 421)
            self.assertEqual(served.get("/", Host=f"localhost:{served.port}").status, 200)
            own = socket.gethostbyname(socket.gethostname())
            if not own.startswith("127."):
                with self.assertRaises(OSError):
                    socket.create_connection((own, served.port), timeout=2)

    def test_nothing_outside_the_folder(self):
        with Served(self.study) as served:
            good = served.get("/file/runs/first/steps.csv")
            self.assertEqual(good.status, 200)
            self.assertEqual(good.text, (self.study / "runs/first/steps.csv").read_text())
            os.symlink(self.at / "secret.txt", self.study / "link")
            for path in ("/file/../secret.txt", "/file/%2e%2e/secret.txt", "/file/..%2fsecret.txt",
                         "/file/link", "/file//etc/passwd", "/file/%2fetc%2fpasswd", "/file/",
                         "/../secret.txt", "/secret.txt", "/file/runs"):
                answer = served.get(path)
                self.assertEqual(answer.status, 404, path)
                self.assertNotIn("secret\n", answer.text)

    def test_headers_and_methods(self):
        with Served(self.study) as served:
            page = served.get("/")
            policy = page.getheader("Content-Security-Policy")
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("script-src 'unsafe-inline'", policy)
            nonce = policy.split("'nonce-")[1].split("'")[0]
            self.assertIn(f'nonce="{nonce}"', page.text)
            self.assertNotEqual(nonce, served.get("/").getheader(
                "Content-Security-Policy").split("'nonce-")[1].split("'")[0])
            for answer in (page, served.get("/nowhere"), served.get("/", token=False)):
                self.assertEqual(answer.getheader("X-Content-Type-Options"), "nosniff")
                self.assertEqual(answer.getheader("X-Frame-Options"), "DENY")
                self.assertEqual(answer.getheader("Referrer-Policy"), "no-referrer")
                self.assertEqual(answer.getheader("Cache-Control"), "no-store")
            for method in ("POST", "PUT", "DELETE"):
                self.assertEqual(served.get("/", method=method).status, 405)

    def test_data_is_the_reports(self):
        with Served(self.study) as served:
            data = json.loads(served.get("/data.json").text)
        report = json.loads(lockstep("report", self.study, "--json").stdout)
        rows = [dict(zip(data["rows"]["columns"], row)) for row in data["rows"]["rows"]]
        self.assertEqual(rows, report["rows"])

    def test_two_hundred_viewers_see_a_new_run(self):
        with Served(self.study) as served:
            viewers = [served.follow() for _ in range(200)]
            first = [next_version(lines) for _, lines in viewers]
            self.assertEqual(len(first), 200)
            # One more is told to wait, not left hanging.
            self.assertEqual(served.get("/events").status, 503)
            made_run(self.study / "runs" / "second", per_rank=64)
            # Each is told, without asking; the sockets give up after a minute.
            for (_, lines), known in zip(viewers, first):
                self.assertGreater(next_version(lines), known)
            end = time.monotonic() + 30
            while '"second"' not in served.get("/data.json").text:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.2)
            for link, lines in viewers:
                lines.close(), link.close()

    def test_bad_questions(self):
        for words in ((self.at / "none",), (self.study, "--port", "70000"),
                      (self.study, "--token", "short"), (self.study, "--viewers", "0")):
            self.assertEqual(lockstep("serve", *words).returncode, 2, words)
        with Served(self.study) as served:
            done = lockstep("serve", self.study, "--port", served.port)
            self.assertEqual(done.returncode, 2)
            self.assertIn("cannot be listened on", done.stderr)


if __name__ == "__main__":
    unittest.main()
