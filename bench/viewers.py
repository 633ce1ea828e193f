#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether people who watch slow the training down: the step of a run that `lockstep serve`
shows, with nobody watching and with 200 viewers who fetch the data at every change, as the
page does. The run has core 0 to itself; server and viewers share the others, as the server
of a training machine would. Runs alternate; the ratio is of neighbours.

    bench/viewers.py [--program build/bin/lockstep] [--viewers 200] [--pairs 8] [--out FILE]
"""
import argparse
import asyncio
import csv
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.parse

from record import ROOT, median_with_interval, new_record, write_record

STEPS, WARM_UP = 400, 40
LIVE_WITHIN_S = 30.0


class Viewers:
    """So many pages that follow the server, in a thread of their own."""

    def __init__(self, address, count):
        parts = urllib.parse.urlsplit(address)
        self.port, self.query = parts.port, parts.query
        self.count, self.seen, self.fetched = count, set(), 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    async def ask(self, path):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET {path}?{self.query} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
                     "Connection: close\r\n\r\n".encode())
        status = await reader.readline()
        if b" 200 " not in status:
            raise RuntimeError(f"{path}: {status!r}")
        return reader, writer

    async def follow(self, number):
        reader, _ = await self.ask("/events")
        while line := await reader.readline():
            if line.startswith(b"data: "):
                data, writer = await self.ask("/data.json")
                while await data.read(1 << 16):
                    pass
                writer.close()
                self.seen.add(number)
                self.fetched += 1

    async def all(self):
        await asyncio.gather(*(self.follow(number) for number in range(self.count)))

    def __enter__(self):
        self.done = asyncio.run_coroutine_threadsafe(self.all(), self.loop)
        begin = time.perf_counter()
        while len(self.seen) < self.count:
            if self.done.done():
                self.done.result()
            if time.perf_counter() - begin > LIVE_WITHIN_S:
                raise SystemExit(f"{len(self.seen)} of {self.count} viewers live after {LIVE_WITHIN_S:g} s")
            time.sleep(0.01)
        self.live_after_s = time.perf_counter() - begin
        return self

    def __exit__(self, *_):
        self.done.cancel()
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.2), self.loop).result()  # they leave
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


def train(program, folder):
    command = ["taskset", "--cpu-list", "0", program, "train", str(ROOT / "recipes/linear.toml"), "--out", str(folder)]
    for setting in (f"train.steps={STEPS + WARM_UP}", "train.threads=1", "store.checkpoint=false",
                    "train.eval_every=0", "batch.per_rank=10"):
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        raise SystemExit(f"viewers: the run ended with {done.returncode}\n{done.stderr}")
    with open(folder / "steps.csv", newline="") as file:
        return statistics.median(float(row["step_s"]) for row in list(csv.DictReader(file))[WARM_UP:])


def one_pair(program, folder, pair, count):
    server = subprocess.Popen([program, "serve", str(folder)], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL)
    address = server.stdout.readline().strip()
    try:
        alone = train(program, folder / f"alone_{pair}")
        with Viewers(address, count) as viewers:
            watched = train(program, folder / f"watched_{pair}")
            return {"alone_s": alone, "watched_s": watched, "ratio": watched / alone,
                    "live_after_s": viewers.live_after_s, "fetched": viewers.fetched}
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/bin/lockstep")
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--python", help="of no use here; every comparison is given it")
    parser.add_argument("--out", type=pathlib.Path)
    asked = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("viewers: one core for the run and one for those who watch are needed")
    os.sched_setaffinity(0, cores[1:])
    record = new_record("viewers", viewers=asked.viewers, steps=STEPS)
    program = str(asked.program)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        train(program, folder / "warm_up")
        for pair in range(asked.pairs):
            record["rows"].append(one_pair(program, folder, pair, asked.viewers))
    middle, low, high = median_with_interval([row["ratio"] for row in record["rows"]])
    record.update(ratio=middle, lo95=low, hi95=high)
    live = max(row["live_after_s"] for row in record["rows"])
    alone = statistics.median(row["alone_s"] for row in record["rows"])
    fetched = statistics.median(row["fetched"] for row in record["rows"])
    print(f"{asked.viewers} viewers: live within {live:.1f} s, {fetched:.0f} fetches a run; a step of {alone * 1e3:.2f} ms "
          f"takes {middle:.3f}x as long when watched ({low:.3f} to {high:.3f}, 95 %)")
    if asked.out:
        write_record(asked.out, record)


if __name__ == "__main__":
    main()
