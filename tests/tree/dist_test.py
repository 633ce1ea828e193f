# SPDX-License-Identifier: Apache-2.0
"""The folder of `make dist` runs by itself: no library of this system but glibc's own.

It is entered as a root of its own (unshare, chroot) with nothing in it but the
folder, LibTorch and what every system has.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import tree

# glibc, the compiler's libraries, and the few others every Debian has.
EVERY_SYSTEM = ("libc.so.6 libm.so.6 libdl.so.2 librt.so.1 libutil.so.1 libpthread.so.0 "
                "libresolv.so.2 libstdc++.so.6 libgcc_s.so.1").split()


def library_folder():
    return pathlib.Path(subprocess.run(["g++", "-print-file-name=libc.so.6"], check=True,
                                       capture_output=True, text=True).stdout).resolve().parent


def copy_system(root):
    """The loader and EVERY_SYSTEM, where Debian's loader looks for them."""
    (root / "lib64").mkdir()
    shutil.copy("/lib64/ld-linux-x86-64.so.2", root / "lib64")
    (root / "lib/x86_64-linux-gnu").mkdir(parents=True)
    for name in EVERY_SYSTEM:
        shutil.copy(library_folder() / name, root / "lib/x86_64-linux-gnu")


class Dist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.temp.name)
        done = subprocess.run([tree.ROOT / "tools/dist.sh", tree.BUILD, cls.root],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.folder = next(cls.root.glob("lockstep-*"))
        copy_system(cls.root)

    @classmethod
    def tearDownClass(cls):
        cls.temp.cleanup()

    def inside(self, *words):
        """Runs a program of the folder with the scratch folder as its root."""
        command = [*([] if os.geteuid() == 0 else ["unshare", "-r"]), "chroot", self.root,
                   f"/{self.folder.name}/bin/lockstep", *words]
        env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": "/torch/lib:/nvidia/cu13/lib",
               # There is no /proc inside, from which the loader knows where a program lies.
               "LD_ORIGIN_PATH": f"/{self.folder.name}/bin"}
        return subprocess.run(command, env=env, capture_output=True, text=True)

    def test_it_runs_in_a_bare_root(self):
        if tree.has_train_half():
            torch = pathlib.Path(tree.cache_entry("LOCKSTEP_TORCH"))
            self.link_tree(torch / "lib", self.root / "torch/lib")
            self.link_tree(torch.parent / "nvidia/cu13/lib", self.root / "nvidia/cu13/lib")
        done = self.inside("version", "--csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("lockstep,", done.stdout)
        self.assertEqual(self.inside("summary", "linear").returncode, 0)

    def link_tree(self, source, target):
        """Libraries in place, hard links where the disk allows."""
        target.mkdir(parents=True)
        for file in source.glob("*.so*"):
            if any(word in file.name for word in ("torch_cuda", "torch_python", "cublas", "nccl")):
                continue
            try:
                os.link(file.resolve(), target / file.name)
            except OSError:
                shutil.copy(file, target / file.name)

    def test_it_holds_recipes_and_licence_and_no_headers(self):
        names = {p.name for p in self.folder.iterdir()}
        self.assertTrue({"bin", "lib", "LICENSE", "README.md"} <= names, names)
        self.assertEqual(list(self.folder.rglob("*.h")), [])

    def test_it_brings_no_linear_algebra_that_could_meet_torchs(self):
        words = ("blas", "lapack", "atlas", "cholmod", "spqr", "gomp", "gfortran")
        found = [p.name for p in self.folder.rglob("*.so*") if any(w in p.name for w in words)]
        self.assertEqual(found, [])

    def test_it_is_small(self):
        size = sum(p.stat().st_size for p in self.folder.rglob("*") if p.is_file())
        self.assertLess(size, 40e6)


if __name__ == "__main__":
    unittest.main()
