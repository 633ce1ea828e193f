# SPDX-License-Identifier: Apache-2.0
"""The installed package is found and used by another project, with and without the train half: the examples are those projects."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import tree


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command[:4]}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.temp.name) / "prefix"
        cls.cmake = tree.cache_entry("CMAKE_COMMAND")
        run(cls.cmake, "--install", tree.BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    def build_consumer(self, source):
        build = pathlib.Path(self.temp.name) / source.replace("/", "-")
        run(self.cmake, "-S", tree.ROOT / source, "-B", build, "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DLOCKSTEP_TORCH={tree.cache_entry('LOCKSTEP_TORCH')}",
            f"-DCMAKE_MAKE_PROGRAM={tree.cache_entry('CMAKE_MAKE_PROGRAM')}")
        run(self.cmake, "--build", build)
        return build

    def test_a_project_uses_the_study_half(self):
        build = self.build_consumer("tests/tree/consumer")
        self.assertRegex(run(build / "studies"), r"^\d+\.\d+\.\d+ 7$")

    def test_the_examples_use_the_train_half_where_it_was_built(self):
        if not tree.has_train_half():
            # Asking a study package for it must be refused, and say so.
            with self.assertRaisesRegex(AssertionError, "train"):
                self.build_consumer("examples")
            return
        build = self.build_consumer("examples")
        own_model = build / "own_model/own_model"
        on_threads = run(own_model)
        self.assertRegex(on_threads, r"(step \d+  loss \d\.\d+\n){3}")
        first, last = (float(line.split()[-1]) for line in on_threads.splitlines()[::2])
        self.assertLess(last, 0.5 * first)
        mpirun = tree.cache_entry("MPIEXEC_EXECUTABLE")
        if mpirun.startswith("/"):  # a build without MPI has none
            os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            self.assertEqual(run(mpirun, "--oversubscribe", "-n", 2, own_model), on_threads)
        game = run(build / "gan/gan")
        after, before = map(float, re.findall(r"\d\.\d+", game))
        self.assertLess(abs(after - 1), 0.6 * abs(before - 1), game)
        self.assertEqual(run(build / "gan/gan"), game)  # to the last digit

    def test_the_installed_program_runs_from_a_moved_folder(self):
        moved = pathlib.Path(self.temp.name) / "moved"
        os.rename(self.prefix, moved)
        try:
            env = {"PATH": "/usr/bin:/bin"}
            if tree.has_train_half():
                env["LD_LIBRARY_PATH"] = tree.cache_entry("LOCKSTEP_TORCH") + "/lib"
            done = subprocess.run([moved / "bin/lockstep", "version", "--csv"], env=env,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("lockstep,", done.stdout)
        finally:
            os.rename(moved, self.prefix)


if __name__ == "__main__":
    unittest.main()
