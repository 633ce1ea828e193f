# SPDX-License-Identifier: Apache-2.0
"""Runs of several ranks as threads: what is recorded, interrupting, going on,
also at another number of ranks."""
import json
import signal
import unittest

from running import (Folder, epoch_results, lockstep, losses, record, rows,
                     spoil_checkpoints, start, wait_for_steps)

TWO = ["--ranks", "2", "--set", "batch.per_rank=6"]


class Record(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        cls.path = cls.folder.path / "run"
        cls.done = lockstep("train", cls.folder.recipe, "--out", cls.path, *TWO,
                            "--set", "measure.trace=true")

    @classmethod
    def tearDownClass(cls):
        cls.folder.__exit__()

    def test_auto_is_ddp_on_threads_and_the_record_says_so(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(record(self.path)["backend"], "threads")
        config = record(self.path)["config"]
        self.assertEqual(config["strategy"]["kind"], "ddp")
        self.assertEqual(config["comm"]["kind"], "threads")
        self.assertEqual(config["comm"]["ranks"], 2)

    def test_every_sample_is_read_once_an_epoch_and_shares_differ_by_one(self):
        steps = rows(self.path, "steps.csv")
        total = record(self.path)["data"]["train_samples"]
        for epoch in "012":
            mine = [r for r in steps if r["epoch"] == epoch]
            self.assertEqual(sum(int(r["samples"]) for r in mine), total)
        by_step = {}
        for r in steps:
            by_step.setdefault(r["step"], []).append(int(r["samples"]))
        for shares in by_step.values():
            self.assertEqual(len(shares), 2)
            self.assertLessEqual(abs(shares[0] - shares[1]), 1)

    def test_every_message_of_every_rank_is_there_with_its_times(self):
        plan = record(self.path)["comm"]
        sent = [r for r in rows(self.path, "comm.csv")
                if r["payload"] == "gradients"]
        steps = {r["step"] for r in sent}
        self.assertEqual(len(sent), 2 * len(steps) * plan["messages_a_step"])
        one = [r for r in sent if r["step"] == "0" and r["rank"] == "1"]
        self.assertEqual(sum(int(r["bytes"]) for r in one),
                         plan["bytes_a_step"])
        for r in sent:
            self.assertLessEqual(float(r["issued_s"]), float(r["begin_s"]))
            self.assertLess(float(r["begin_s"]), float(r["end_s"]))
            self.assertGreater(float(r["bus_bytes_per_s"]), 0)

    def test_the_pieces_of_a_step_add_up_to_it(self):
        for r in rows(self.path, "steps.csv"):
            pieces = sum(float(r[c]) for c in (
                "data_s", "copy_s", "forward_s", "backward_s",
                "exposed_comm_s", "optim_s", "wait_s"))
            self.assertAlmostEqual(pieces, float(r["step_s"]), places=7)

    def test_what_is_exposed_is_part_of_what_was_sent(self):
        for r in rows(self.path, "steps.csv"):
            self.assertLessEqual(float(r["exposed_comm_s"]), float(r["comm_s"]) + 1e-9)

    def test_the_trace_is_what_perfetto_reads(self):
        """The Trace Event Format: complete slices and names, nested on each thread."""
        trace = json.loads((self.path / "trace.json").read_text())
        self.assertEqual(set(trace), {"displayTimeUnit", "traceEvents"})
        named, slices = set(), {}
        for e in trace["traceEvents"]:
            self.assertIsInstance(e["name"], str)
            self.assertIsInstance(e["args"], dict)
            thread = e["pid"], e["tid"]
            self.assertTrue(all(type(i) is int and i >= 0 for i in thread), e)
            if e["ph"] == "M":
                self.assertIn(e["name"], ("process_name", "thread_name"))
                self.assertIsInstance(e["args"]["name"], str)
                named.add(thread)
            else:
                self.assertEqual(e["ph"], "X")
                self.assertTrue(all(type(e[k]) in (int, float) for k in ("ts", "dur")), e)
                self.assertGreaterEqual(e["dur"], 0)
                slices.setdefault(thread, []).append((e["ts"], e["ts"] + e["dur"]))
        self.assertEqual(set(slices), named)
        for rank in (0, 1):
            open_until = []
            for begin, end in sorted(slices[rank, 0], key=lambda s: (s[0], -s[1])):
                while open_until and begin >= open_until[-1] - 0.01:
                    open_until.pop()
                self.assertLessEqual(end, (open_until or [end])[-1] + 0.01)
                open_until.append(end)

    def test_the_trace_shows_both_ranks(self):
        events = json.loads((self.path / "trace.json").read_text())["traceEvents"]
        self.assertEqual({e["pid"] for e in events}, {0, 1})
        self.assertTrue(any(e["name"] == "all_reduce gradients"
                            for e in events))

    def test_the_report_says_what_sending_costs(self):
        text = lockstep("report", self.path).stdout
        self.assertRegex(text, r"% of the step is exposed communication: "
                               r"[0-9.]+ MB a step at [0-9.]+ GB/s")

    def test_the_report_says_who_waits_where_an_epoch_ends(self):
        waits = record(self.path)["summary"]["epoch_end_wait_s"]
        self.assertEqual(len(waits), 2)
        self.assertIn("In the last step of an epoch rank 0 waits",
                      lockstep("report", self.path).stdout)


class Held(unittest.TestCase):
    def test_messages_that_wait_for_backward_change_no_result(self):
        for strategy in ("ddp", "sharded"):
            with self.subTest(strategy=strategy), Folder() as folder:
                free, held = folder.path / "free", folder.path / "held"
                settings = [*TWO, "--set", f"strategy.kind={strategy}"]
                lockstep("train", folder.recipe, "--out", free, *settings)
                lockstep("train", folder.recipe, "--out", held, *settings,
                         "--set", "measure.hold_every=4")
                self.assertEqual(losses(held), losses(free))
                self.check_held(held)

    def check_held(self, run):
        summary = record(run)["summary"]
        self.assertGreater(summary["held_steps"], 0)
        self.assertGreater(summary["median_backward_held_s"], 0)
        ends = {(r["step"], r["rank"]): sum(float(r[c]) for c in (
            "begin_s", "data_s", "copy_s", "forward_s", "backward_s"))
            for r in rows(run, "steps.csv")}
        for m in rows(run, "comm.csv"):
            if int(m["step"]) % 4 == 3 and m["payload"] == "gradients":
                self.assertGreater(float(m["issued_s"]),
                                   ends[m["step"], m["rank"]] - 1e-6)
        self.assertRegex(lockstep("report", run).stdout,
                         r"Backward takes .* with messages in flight and .* "
                         r"without \([0-9]+ steps\)")

    def test_is_refused_where_nothing_is_sent_during_backward(self):
        with Folder() as folder:
            done = lockstep("train", folder.recipe, *TWO, "--set",
                            "strategy.kind=local_sgd", "--set",
                            "measure.hold_every=4")
            self.assertEqual(done.returncode, 2)
            self.assertIn("measure.hold_every", done.stderr)


class OneOrMany(unittest.TestCase):
    def test_two_ranks_end_where_one_ends(self):
        with Folder() as folder:
            one = folder.path / "one"
            lockstep("train", folder.recipe, "--out", one)
            for strategy in ("ddp", "sharded"):
                run = folder.path / strategy
                done = lockstep("train", folder.recipe, "--out", run, *TWO,
                                "--set", f"strategy.kind={strategy}")
                self.assertEqual(done.returncode, 0, done.stderr)
                for a, b in zip(rows(one, "epochs.csv"),
                                rows(run, "epochs.csv"), strict=True):
                    for column in ("train_loss", "val_loss"):
                        self.assertAlmostEqual(float(a[column]),
                                               float(b[column]), places=4)

    def test_single_on_two_ranks_is_refused(self):
        with Folder() as folder:
            done = lockstep("train", folder.recipe, "--ranks", 2, "--set",
                            "strategy.kind=single")
            self.assertEqual(done.returncode, 2)
            self.assertIn("strategy.kind", done.stderr)

    def test_strong_and_weak_scaling_are_the_same_step(self):
        with Folder() as folder:
            weak, strong = folder.path / "weak", folder.path / "strong"
            lockstep("train", folder.recipe, "--out", weak, *TWO)
            lockstep("train", folder.recipe, "--out", strong, "--ranks", 2,
                     "--set", "batch.per_rank=0", "--set", "batch.global=12")
            self.assertEqual(losses(weak), losses(strong))


class GoingOn(unittest.TestCase):
    def test_each_strategy_and_optimiser_goes_on_to_the_bit(self):
        for strategy in ("ddp", "sharded", "local_sgd"):
            for optim in ("sgd", "adam"):
                with self.subTest(strategy=strategy, optim=optim):
                    self.interrupted(strategy, optim)

    def interrupted(self, strategy, optim):
        momentum = "0.9" if optim == "sgd" else "0"
        with Folder() as folder:
            whole, cut = folder.path / "whole", folder.path / "cut"
            settings = [*TWO, "--set", f"strategy.kind={strategy}",
                        "--set", f"optim.kind={optim}", "--set",
                        f"optim.momentum={momentum}", "--set",
                        "strategy.local_steps=5", "--set",
                        "strategy.local_start=7", "--set", "train.epochs=12"]
            self.assertEqual(
                lockstep("train", folder.recipe, "--out", whole,
                         *settings).returncode, 0)
            process = start("train", folder.recipe, "--out", cut, *settings)
            wait_for_steps(cut, 20, process)
            process.send_signal(signal.SIGTERM)
            code = process.wait(timeout=60)
            if code != 0:  # else it was done before the signal came
                self.assertEqual(code, 143)
                done = lockstep("train", "--resume", cut)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(losses(cut), losses(whole))
            self.assertEqual(epoch_results(cut), epoch_results(whole))

    def test_another_number_of_ranks_keeps_the_global_batch(self):
        for strategy in ("data_parallel", "ddp", "sharded", "local_sgd"):
            with self.subTest(strategy=strategy), Folder() as folder:
                run, whole = folder.path / "run", folder.path / "whole"
                settings = [*TWO, "--set", f"strategy.kind={strategy}"]
                lockstep("train", folder.recipe, "--out", whole, *settings)
                lockstep("train", folder.recipe, "--out", run, *settings,
                         "--set", "train.epochs=2")
                for ranks, epochs in ((3, 3), (1, 4)):
                    done = lockstep("train", "--resume", run, "--ranks", ranks,
                                    "--set", f"train.epochs={epochs}")
                    self.assertEqual(done.returncode, 0, done.stderr)
                results = rows(run, "epochs.csv")
                self.assertEqual([r["global_batch"] for r in results],
                                 ["12"] * 4)
                if strategy != "local_sgd":
                    self.assertAlmostEqual(
                        float(results[2]["train_loss"]),
                        float(rows(whole, "epochs.csv")[2]["train_loss"]),
                        places=4)


class Lost(unittest.TestCase):
    def test_a_checkpoint_that_fails_ends_every_rank_with_its_own_code(self):
        with Folder() as folder:
            run = folder.path / "run"
            process = start("train", folder.recipe, "--out", run, *TWO,
                            "--set", "train.epochs=5000")
            wait_for_steps(run, 20, process)
            spoil_checkpoints(run)
            self.assertEqual(process.wait(timeout=60), 6)
            self.assertEqual(record(run)["status"], "failed")


class Emulated(unittest.TestCase):
    def test_one_rank_shows_the_timeline_of_eight_and_says_so(self):
        with Folder() as folder:
            run = folder.path / "run"
            done = lockstep("train", folder.recipe, "--out", run, "--set",
                            "comm.kind=emulated", "--ranks", 8, "--set",
                            "comm.link=pcie3-host", "--set", "train.epochs=1")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(record(run)["backend"], "emulated")
            self.assertIn("no bandwidth",
                          record(run)["comm"]["emulated"]["note"])
            self.assertEqual({r["rank"] for r in rows(run, "steps.csv")},
                             {"0"})
            self.assertGreater(record(run)["summary"]["median_comm_s"], 1e-5)
            self.assertIn("exposed communication (emulated)",
                          lockstep("report", run).stdout)

    def test_an_unknown_link_is_refused(self):
        with Folder() as folder:
            done = lockstep("train", folder.recipe, "--set",
                            "comm.kind=emulated", "--ranks", 8, "--set",
                            "comm.link=string", "--out", folder.path / "run")
            self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
