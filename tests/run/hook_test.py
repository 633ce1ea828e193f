# SPDX-License-Identifier: Apache-2.0
"""Gradient hooks, data_parallel and synchronised BatchNorm in whole runs: what
is recorded, and going on to the bit."""
import unittest

from running import Folder, lockstep, losses, record, rows

TWO = ["--ranks", "2", "--set", "batch.per_rank=6"]


def settings(**fields):
    out = list(TWO)
    for name, value in fields.items():
        out += ["--set", f"{name.replace('__', '.')}={value}"]
    return out


class GoingOn(unittest.TestCase):
    def check(self, **fields):
        with Folder() as folder:
            whole, cut = folder.path / "whole", folder.path / "cut"
            done = lockstep("train", folder.recipe, "--out", whole,
                            *settings(**fields))
            self.assertEqual(done.returncode, 0, done.stderr)
            lockstep("train", folder.recipe, "--out", cut,
                     *settings(**fields, train__epochs=2))
            more = lockstep("train", "--resume", cut, "--set", "train.epochs=3")
            self.assertEqual(more.returncode, 0, more.stderr)
            self.assertEqual(losses(cut), losses(whole))

    # Every strategy, hook and optimiser: tests/train/going_on_test.cpp.
    def test_hooks_go_on_to_the_bit(self):
        for strategy, hook, optim in (("ddp", "bf16", "adam"),
                                      ("ddp", "powersgd", "sgd"),
                                      ("sharded", "topk", "adam"),
                                      ("local_sgd", "topk", "sgd"),
                                      ("data_parallel", "powersgd", "adam")):
            with self.subTest(strategy=strategy, hook=hook, optim=optim):
                self.check(strategy__kind=strategy, strategy__hook=hook,
                           optim__kind=optim)

    def test_data_parallel_goes_on_to_the_bit(self):
        self.check(strategy__kind="data_parallel")

    def test_what_was_kept_back_is_shared_out_among_more_ranks(self):
        for strategy in ("ddp", "sharded", "local_sgd", "data_parallel"):
            with self.subTest(strategy=strategy), Folder() as folder:
                run = folder.path / "run"
                lockstep("train", folder.recipe, "--out", run, "--ranks", 2,
                         "--set", "batch.per_rank=0", "--set",
                         "batch.global=12", "--set", "strategy.hook=topk",
                         "--set", f"strategy.kind={strategy}", "--set",
                         "train.epochs=2")
                more = lockstep("train", "--resume", run, "--ranks", 3, "--set",
                                "train.epochs=3")
                self.assertEqual(more.returncode, 0, more.stderr)
                self.assertEqual({r["rank"] for r in rows(run, "steps.csv")},
                                 {"0", "1", "2"})


class Record(unittest.TestCase):
    def test_a_hook_says_what_it_saved_and_what_it_left_out(self):
        for strategy in ("ddp", "sharded", "local_sgd", "data_parallel"):
            with self.subTest(strategy=strategy), Folder() as folder:
                self.check(folder, dict(strategy__kind=strategy,
                                        strategy__local_steps=1))

    def check(self, folder, fields):
        plain = folder.path / "none"
        lockstep("train", folder.recipe, "--out", plain, *settings(**fields))
        self.assertNotIn("hook", record(plain)["comm"])
        whole = record(plain)["comm"]["bytes_a_step"]
        for hook, most in (("bf16", 0.01), ("topk", 1), ("powersgd", 1)):
            run = folder.path / hook
            lockstep("train", folder.recipe, "--out", run,
                     *settings(**fields, strategy__hook=hook))
            self.assertIn(f"Hook {hook}: ", lockstep("report", run).stdout)
            comm = record(run)["comm"]
            self.assertEqual(comm["hook"]["kind"], hook)
            self.assertEqual(
                comm["hook"]["bytes_saved_a_step"] + comm["bytes_a_step"],
                whole)
            self.assertGreater(comm["hook"]["bytes_saved_a_step"], 0)
            self.assertGreater(comm["hook"]["error_left_mean"], 0)
            self.assertLess(comm["hook"]["error_left_mean"], most)
            sent = [r for r in rows(run, "comm.csv")
                    if r["step"] == "0" and r["rank"] == "0"
                    and r["payload"] != "control"]
            self.assertEqual(sum(int(r["bytes"]) for r in sent),
                             comm["bytes_a_step"])

    def test_the_eight_steps_of_data_parallel_have_columns(self):
        with Folder() as folder:
            run, ddp = folder.path / "run", folder.path / "ddp"
            done = lockstep("train", folder.recipe, "--out", run,
                            *settings(strategy__kind="data_parallel"))
            self.assertEqual(done.returncode, 0, done.stderr)
            root = [r for r in rows(run, "steps.csv") if r["rank"] == "0"]
            for name in ("scatter", "replicate", "forward", "gather", "loss",
                         "loss_scatter", "backward", "reduce"):
                self.assertGreater(float(root[0][f"dp_{name}_s"]), 0)
            for r in rows(run, "steps.csv"):
                self.assertLessEqual(float(r["exposed_comm_s"]),
                                     float(r["comm_s"]) + 1e-9)
                self.assertAlmostEqual(sum(float(r[c]) for c in (
                    "data_s", "copy_s", "forward_s", "backward_s",
                    "exposed_comm_s", "optim_s", "wait_s")),
                    float(r["step_s"]), places=7)
            self.assertEqual(
                [(r["op"], r["payload"]) for r in rows(run, "comm.csv")
                 if r["step"] == "0" and r["rank"] == "0"
                 and r["payload"] != "control"],
                [("scatter", "inputs"), ("broadcast", "parameters"),
                 ("gather", "outputs"), ("scatter", "outputs"),
                 ("reduce", "gradients")])
            # Ends where ddp ends, whose columns stay as they were.
            lockstep("train", folder.recipe, "--out", ddp, *TWO)
            self.assertNotIn("dp_scatter_s", rows(ddp, "steps.csv")[0])
            for a, b in zip(rows(run, "epochs.csv"), rows(ddp, "epochs.csv"),
                            strict=True):
                self.assertAlmostEqual(float(a["val_loss"]),
                                       float(b["val_loss"]), places=4)


class Refused(unittest.TestCase):
    def refuse(self, where, **fields):
        with Folder() as folder:
            done = lockstep("train", folder.recipe, "--out", folder.path / "r",
                            *settings(**fields))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(where, done.stderr)

    def test_what_cannot_be_is_refused(self):
        with Folder() as folder:
            done = lockstep("train", folder.recipe, "--out", folder.path / "r",
                            "--set", "strategy.kind=single", "--set",
                            "strategy.hook=bf16")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("single sends none", done.stderr)
        self.refuse("strategy.sync_batchnorm", strategy__sync_batchnorm="true")
        self.refuse("strategy.collective", strategy__kind="data_parallel",
                    strategy__collective="tree")


if __name__ == "__main__":
    unittest.main()
