# SPDX-License-Identifier: Apache-2.0
"""Each thing that can be wrong around a run has one clear error, its exit code,
and nothing is lost."""
import json
import shutil
import signal
import resource
import unittest

from running import Folder, lockstep, losses, record


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes()
            for p in sorted(folder.rglob("*")) if p.is_file()}


class BadInput(unittest.TestCase):
    def expect(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn("terminate called", done.stderr)

    def test_a_folder_in_use_is_refused_and_untouched(self):
        with Folder() as folder:
            run = folder.path / "run"
            lockstep("train", folder.recipe, "--out", run)
            before = tree(run)
            again = lockstep("train", folder.recipe, "--out", run)
            self.expect(again, 6, "is not empty", "--resume")
            self.assertEqual(tree(run), before)

    def test_a_gpu_that_is_not_there(self):
        with Folder() as folder:
            done = lockstep("train", folder.recipe, "--out",
                            folder.path / "run", "--set", "train.device=cuda:7")
            self.expect(done, 4)
            self.assertFalse((folder.path / "run").exists())

    def test_data_that_is_not_there(self):
        with Folder() as folder:
            done = lockstep("train", folder.recipe, "--out",
                            folder.path / "run", "--set", "data.kind=digits",
                            "--set", "data.path=/no/such/folder", "--set",
                            "model.kind=linear")
            self.expect(done, 3, "/no/such/folder")
            self.assertFalse((folder.path / "run").exists())

    def test_a_folder_that_is_no_run(self):
        with Folder() as folder:
            self.expect(lockstep("train", "--resume", folder.path), 6,
                        "not a run folder")
            self.expect(lockstep("report", folder.path), 6, "not a run folder")

    def test_neither_recipe_nor_resume(self):
        self.expect(lockstep("train"), 2, "RECIPE")

    def cut_run(self, folder):
        run = folder.path / "run"
        done = lockstep("train", folder.recipe, "--out", run, "--set",
                        "train.epochs=2")
        self.assertEqual(done.returncode, 0, done.stderr)
        return run, ["train", "--resume", run, "--set", "train.epochs=4"]

    def test_a_checkpoint_cut_short(self):
        with Folder() as folder:
            run, go_on = self.cut_run(folder)
            last = (run / "checkpoint" / "last").resolve()
            for name in ["model.safetensors", "state.safetensors",
                         "state.json"]:
                file = last / name
                whole = file.read_bytes()
                file.write_bytes(whole[:len(whole) // 2])
                self.expect(lockstep(*go_on), 6, name)
                file.write_bytes(whole)
            self.assertEqual(lockstep(*go_on).returncode, 0)

    def test_a_checkpoint_of_another_model(self):
        with Folder() as folder:
            run, go_on = self.cut_run(folder)
            other = folder.path / "other"
            lockstep("train", folder.recipe, "--out", other, "--set",
                     "model.variable_params=30000")
            shutil.rmtree(run / "checkpoint")
            shutil.copytree(other / "checkpoint", run / "checkpoint",
                            symlinks=True)
            self.expect(lockstep(*go_on), 6, "another model")

    def test_a_checkpoint_of_another_version(self):
        with Folder() as folder:
            run, go_on = self.cut_run(folder)
            file = run / "checkpoint" / "last" / "state.json"
            state = json.loads(file.read_text())
            state["schema"] = 99
            file.write_text(json.dumps(state))
            self.expect(lockstep(*go_on), 6, "schema 99")

    def test_a_disk_that_is_full(self):
        """Writes beyond a limit fail as on a full disk; the last checkpoint
        stays whole and the run goes on from it once there is room."""
        def no_room(bytes_left):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, bytes_left))

        with Folder() as folder:
            run, go_on = self.cut_run(folder)
            before = tree(run / "checkpoint")
            full = lockstep(*go_on, preexec_fn=lambda: no_room(40_000))
            self.expect(full, 6, "cannot be written")
            self.assertEqual(tree(run / "checkpoint"), before)
            self.assertNotEqual(record(run)["status"], "done")
            whole = folder.path / "whole"
            lockstep("train", folder.recipe, "--out", whole, "--set",
                     "train.epochs=4")
            done = lockstep(*go_on)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(losses(run), losses(whole))

    def test_weights_of_another_model(self):
        with Folder() as folder:
            run, _ = self.cut_run(folder)
            weights = run / "checkpoint" / "last" / "model.safetensors"
            done = lockstep("train", folder.recipe, "--out",
                            folder.path / "new", "--set",
                            f"model.weights={weights}", "--set",
                            "model.variable_params=30000")
            self.expect(done, 6, "model.safetensors")


if __name__ == "__main__":
    unittest.main()
