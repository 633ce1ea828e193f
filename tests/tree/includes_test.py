# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: the folders are stages, and the study half knows no LibTorch."""
import re
import unittest

import tree

# Each folder with the folders it may include besides itself. What a folder may
# use, it may use through others too: `uses` below closes the table.
USES = {
    "core": [],
    "config": ["core"],
    "measure": ["core"],
    "plan": ["config"],
    "hardware": ["config"],
    "store": ["config"],
    "batch": ["core"],
    "predict": ["plan", "hardware"],
    "analyse": ["store", "batch"],
    "advise": ["predict", "batch", "analyse"],
    "sweep": ["predict", "batch", "analyse"],
    "report": tree.STUDY,
    "serve": tree.STUDY,
    # Kernels are loops over plain arrays and tensors; a device calls them.
    "kernels": ["core"],
    "device": ["core", "measure", "kernels"],
    "comm": ["config", "plan", "device"],
    "data": ["config", "plan", "device"],
    "model": ["config", "plan", "device"],
    "optim": ["comm", "data", "model", "kernels"],
    "strategy": ["comm", "data", "model", "kernels", "optim"],
    # The spine and what belongs to the trainer see everything.
    "train": tree.STUDY + tree.TRAIN,
    # liblockstep_cuda.so implements the seams of device and comm for CUDA.
    "cuda": ["device", "comm", "kernels", "optim"],
}
TORCH = re.compile(r"(torch|ATen|c10|caffe2)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def uses(folder, table=None):
    table = table or USES
    seen, todo = set(), [folder]
    while todo:
        for other in table[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def includes(path):
    """(spelling, target) of each #include of a file."""
    return INCLUDE.findall((tree.ROOT / path).read_text())


def ours():
    """(folder, path) of each library source in a folder of lockstep/."""
    for path in tree.sources():
        if path.parts[0] == "lockstep" and len(path.parts) > 2:
            yield path.parts[1], path


def wrong_edges(folder, path, found):
    allowed = uses(folder) | {folder}
    for _, target in found:
        parts = target.split("/")
        if parts[0] != "lockstep" or len(parts) < 3:
            continue
        if parts[1] not in allowed:
            yield f"{path} includes {target}: {folder} may not use {parts[1]}"


class Includes(unittest.TestCase):
    def test_every_folder_is_in_the_table(self):
        self.assertEqual({folder for folder, _ in ours()} - set(USES), set())

    def test_folders_include_only_what_they_may_use(self):
        wrong = [w for folder, path in ours() for w in wrong_edges(folder, path, includes(path))]
        self.assertEqual(wrong, [])

    def test_the_study_half_includes_neither_torch_nor_the_train_half(self):
        wrong = []
        for folder, path in ours():
            if folder in tree.STUDY:
                wrong += [f"{path}: {t}" for _, t in includes(path)
                          if TORCH.match(t) or t.split("/")[:1] == ["lockstep"]
                          and t.split("/")[1] in tree.TRAIN]
        self.assertEqual(wrong, [])

    def test_the_program_reaches_torch_only_in_cli_train(self):
        wrong = [f"{path}: {t}" for path in tree.sources()
                 if path.parts[0] == "cli" and path.parts[1] != "train"
                 for _, t in includes(path)
                 if TORCH.match(t) or t.split("/")[0] == "lockstep"
                 and (t.split("/")[1] in tree.TRAIN or t == "lockstep/run.h")]
        self.assertEqual(wrong, [])

    def test_nobody_includes_the_program_and_nobody_climbs(self):
        wrong = [f"{path}: {t}" for path in tree.sources() for quote, t in includes(path)
                 if ".." in t.split("/")
                 or quote == '"' and t.startswith("cli/") and path.parts[0] not in ("cli", "tests")]
        self.assertEqual(wrong, [])

    def test_the_table_has_no_cycles(self):
        # report, serve and train list their whole half, themselves included.
        table = {f: [o for o in others if o != f] for f, others in USES.items()}
        for name in ("report", "serve"):
            table[name] = [o for o in table[name] if o not in ("report", "serve")]
        table["train"] = [o for o in table["train"] if o not in ("train", "cuda")]
        for folder in table:
            self.assertNotIn(folder, uses(folder, table), f"{folder} uses itself")

    def test_headers_have_no_cycles(self):
        edges = {str(p): [t for q, t in includes(p) if q == '"'] for p in tree.sources()
                 if p.suffix == ".h"}
        done, stack = set(), []

        def visit(header):
            if header in stack:
                self.fail(" -> ".join(stack[stack.index(header):] + [header]))
            if header in done or header not in edges:
                return
            stack.append(header)
            for other in edges[header]:
                visit(other)
            stack.pop()
            done.add(header)

        for header in edges:
            visit(header)

    def test_a_forbidden_edge_is_seen(self):
        seen = list(wrong_edges("plan", "x.h", [('"', "lockstep/store/run_record.h")]))
        self.assertEqual(len(seen), 1)
        self.assertTrue(TORCH.match("torch/torch.h"))


if __name__ == "__main__":
    unittest.main()
