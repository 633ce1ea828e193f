# SPDX-License-Identifier: Apache-2.0
"""The set-up on machines that lack something: one line that says what to do.

tools/ is copied to a scratch folder and sees a PATH of stand-ins, so nothing is
installed and nothing of this machine matters.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import tree

# What the scripts use of any system, by link; the rest is stand-ins.
PLAIN = ("bash env dirname basename cat sed tr sort comm grep awk sha256sum mktemp rm tail nproc "
         "touch mkdir printf cp").split()
INSTALLED = "sed -n 's/^[a-z]*: //p' \"$TOOLS/packages.txt\" | tr ' ' '\\n' | sed 's/@.*//; s/.*/ii |&, /'\n"


class SetUp(unittest.TestCase):
    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.root = pathlib.Path(temp.name) / "tree"
        shutil.copytree(tree.ROOT / "tools", self.root / "tools")
        self.bin = pathlib.Path(temp.name) / "bin"
        self.bin.mkdir()
        for name in PLAIN:
            os.symlink(shutil.which(name), self.bin / name)
        # A good machine: all packages, much disk, a Python that can all.
        self.stand_in("id", "echo 1000")
        self.stand_in("apt-get", "exit 100")
        self.stand_in("dpkg-query", INSTALLED)
        self.stand_in("df", "echo head; echo 'disk 9 9 99999 9 /'")
        self.stand_in("pip-python", "exit 0")
        self.stand_in("python3", 'if [ "$2" = venv ]; then mkdir -p "$3/bin";'
                      f' cp "{self.bin}/pip-python" "$3/bin/python"; fi')

    def stand_in(self, name, text):
        path = self.bin / name
        path.write_text(f"#!{shutil.which('bash')}\n{text}\n")
        path.chmod(0o755)

    def set_up(self, *groups, **env):
        return subprocess.run(["bash", self.root / "tools/setup.sh", *groups], text=True,
                              capture_output=True, stdin=subprocess.DEVNULL,
                              env={"PATH": str(self.bin), "TOOLS": str(self.root / "tools"), **env})

    def refuses(self, *words, groups=("study", "train"), **env):
        done = self.set_up(*groups, **env)
        last = done.stderr.splitlines()[-1] if done.stderr else ""
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertTrue(last.startswith("setup.sh: "), done.stderr)
        for word in words:
            self.assertIn(word, last)

    def test_a_good_machine_is_set_up_and_the_second_run_does_nothing(self):
        first = self.set_up("study", "train")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("requirements-torch.txt", first.stderr)
        second = self.set_up("study", "train")
        self.assertEqual((second.returncode, second.stderr), (0, ""))

    def test_a_changed_pin_is_installed_again(self):
        self.set_up("study", "train")
        with open(self.root / "tools/requirements-torch.txt", "a") as file:
            file.write("another==1.0\n")
        self.assertIn("requirements-torch.txt", self.set_up("study", "train").stderr)

    def test_the_study_half_asks_for_no_libtorch(self):
        self.assertNotIn("torch", self.set_up("study").stderr)

    def test_without_root_it_names_the_command_for_who_has_it(self):
        self.stand_in("dpkg-query", "echo 'ii |make, '")
        self.refuses("root is needed once", "apt-get install -y", "libsndfile1-dev")

    def test_without_network_packages_are_named(self):
        self.stand_in("dpkg-query", "echo 'ii |make, '")
        self.stand_in("id", "echo 0")
        self.stand_in("apt-get", "echo 'Err:1 no route to host'; exit 100")
        self.refuses("could not be installed", "no route to host", "No network?", "libfmt-dev")

    def test_without_network_a_libtorch_that_is_there_is_the_way_out(self):
        self.stand_in("pip-python", "echo 'ERROR: no matching distribution'; exit 1")
        self.refuses("no matching distribution", "LOCKSTEP_TORCH=")

    def test_without_disk_it_says_how_much_is_needed(self):
        self.stand_in("df", "echo head; echo 'disk 9 9 12 9 /'")
        self.refuses("12 MB free", "4000")

    def test_another_distribution_is_told_what_to_install(self):
        (self.bin / "apt-get").unlink()
        self.refuses("neither Debian nor Ubuntu", "tools/packages.txt", "LOCKSTEP_PACKAGES=no")
        done = self.set_up("study", LOCKSTEP_PACKAGES="no")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_old_python_and_one_without_venv_are_named(self):
        self.stand_in("python3", '[ "$1" = --version ] && echo Python 3.8; [[ $2 != *version_info* ]]')
        self.refuses("Python 3.8 is too old", "3.10")
        self.stand_in("python3", "[[ $2 != *ensurepip* ]]")
        self.refuses("python3-venv")

    def test_a_given_libtorch_downloads_nothing_and_wants_the_tools(self):
        self.refuses("holds no lib/libtorch_cpu.so", LOCKSTEP_TORCH="/nowhere")
        given = self.root / "torch"
        (given / "lib").mkdir(parents=True)
        (given / "lib/libtorch_cpu.so").touch()
        self.refuses("cmake is missing", "cmake ninja-build", LOCKSTEP_TORCH=str(given))
        self.stand_in("cmake", "")
        self.stand_in("ninja", "")
        done = self.set_up("study", "train", LOCKSTEP_TORCH=str(given))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse((self.root / ".venv").exists())


if __name__ == "__main__":
    unittest.main()
