# SPDX-License-Identifier: Apache-2.0
"""test_command.py: output, exit codes and errors of the situ command.

Usage: test_command.py FOLDER_OF_THE_BUILD [TEST]...
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "build")
K40 = "Tesla K40c@0000:05:00.0=12GiB"


def run(*args, stdin=None, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **env):
    """Runs situ without SITU_* environment variables."""
    clean = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("SITU_") and k != "CUDA_VISIBLE_DEVICES"
    }
    return subprocess.run(
        [os.path.join(BUILD, "situ"), *args],
        env={**clean, **env},
        input=stdin,
        stdout=stdout,
        stderr=stderr,
        text=True,
        timeout=1200,
        check=False,
    )


def saved(form=""):
    """Returns the graph of examples/save.c: x, two towers on /gpu:2 and /gpu:3, and sum."""
    done = subprocess.run(
        [os.path.join(BUILD, "examples", "save"), form], text=True, check=True, capture_output=True
    )
    return done.stdout


def read_terminal(ours):
    """Reads all output from a pseudo-terminal and closes it."""
    text = b""
    try:
        while more := os.read(ours, 10000):
            text += more
    except OSError:  # EIO: there is no more
        pass
    os.close(ours)
    return text.decode()


class Usage(unittest.TestCase):
    def fails(self, code, *args, **more):
        done = run(*args, **more)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        return done.stderr

    def test_help_names_every_command_and_option(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in (
            "devices",
            "ops",
            "explain",
            "plan",
            "run",
            "cluster",
            "simulate",
            "--gpus",
            "--version",
            "Exit codes",
        ):
            self.assertIn(word, done.stdout)

    def test_each_command_has_help(self):
        for command, option in (
            ("devices", "--json"),
            ("ops", "--json"),
            ("explain", "--soft"),
            ("plan", "--feed"),
            ("run", "--api"),
        ):
            for args in ((command, "--help"), (command, "-h"), ("--help", command)):
                done = run(*args)
                self.assertEqual((done.returncode, done.stderr), (0, ""), args)
                self.assertIn(f"usage: situ {command}", done.stdout)
                self.assertIn(option, done.stdout)

    def test_version(self):
        done = run("--version")
        self.assertRegex(done.stdout, r"^situ \d+\.\d+\.\d+\n$")
        self.assertEqual(done.returncode, 0)

    def test_wrong_usage_exits_with_2_and_a_hint(self):
        for args, text in (
            ((), "devices, ops, explain, plan"),
            (("devics",), "Did you mean 'devices'?"),
            (("frobnicate",), "Commands: devices"),
            (("devices", "--jsn"), "Did you mean --json?"),
            (("devices", "--json=1"), "--json takes no value"),
            (("devices", "extra"), "Unexpected argument 'extra'"),
            (("devices", "-x"), "Unknown option -x"),
            (("explain",), "Missing argument GRAPH"),
            (("devices", "--gpus"), "--gpus needs a value"),
            (("devices", "--gpus", "--json"), "--gpus needs a value"),
            (("devices", "--gpus", "1", "--gpus=2"), "given twice: 1 and 2"),
            (("plan", "a.pbtxt", "--fetch", "--json"), "--fetch needs a value"),
            (("simulate", "a.py", "--node", "4"), "Did you mean --nodes?"),
            (("simulate", "a.py", "--batch", "4"), "after --"),
            (("simulate", "a.py", "-b", "4"), "after --"),
        ):
            self.assertIn(text, self.fails(2, *args), args)

    def test_usage_lines_show_an_order_that_works(self):
        self.assertIn(
            "usage: situ run [--OPTION]... SCRIPT [ARGUMENT]...\n", run("run", "--help").stdout
        )
        self.assertIn(
            "usage: situ simulate [SCRIPT|GRAPH] [--OPTION]... [-- ARGUMENT...]\n",
            run("simulate", "--help").stdout,
        )
        for command in ("plan", "explain"):
            self.assertIn(
                f"usage: situ {command} GRAPH [--OPTION]...\n", run(command, "--help").stdout
            )
            orders = (
                ("-", "--gpus", "4", "--feed", "x=2x3"),
                ("--gpus", "4", "-", "--feed", "x=2x3"),
                ("--gpus", "4", "--feed", "x=2x3", "--", "-"),
            )
            first, *others = (run(command, *args, stdin=saved()) for args in orders)
            self.assertEqual((first.returncode, first.stderr), (0, ""))
            for other in others:
                self.assertEqual(other.stdout, first.stdout)

    def test_the_same_value_twice_is_no_contradiction(self):
        done = run("devices", "--gpus", "2", "--json", "--json", "--gpus=2")
        self.assertEqual((done.returncode, len(json.loads(done.stdout))), (0, 3))

    def test_script_instead_of_graph(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            script.write("import tensorflow as tf\n")
            script.flush()
            for command in ("plan", "explain"):
                self.assertIn("not a graph", self.fails(1, command, script.name))

    def test_a_full_disk_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = run("devices", stdout=full)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write", done.stderr)

    def test_wrong_gpus_show_the_place(self):
        text = self.fails(1, "devices", "--gpus", "Foo=3XB")
        self.assertIn("  Foo=3XB\n       ^", text)


class Devices(unittest.TestCase):
    def listed(self, *args, **env):
        done = run("devices", "--json", *args, **env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_json(self):
        cpu, gpu = self.listed("--gpus", K40)
        self.assertEqual(cpu["kind"], "CPU")
        self.assertEqual(gpu["name"], "/job:localhost/replica:0/task:0/device:GPU:0")
        self.assertEqual((gpu["model"], gpu["bus_id"]), ("Tesla K40c", "0000:05:00.0"))
        self.assertEqual(gpu["memory"], 12 << 30)
        self.assertTrue(11 << 30 < gpu["limit"] < 12 << 30)
        self.assertEqual((gpu["reserved"], gpu["in_use"], gpu["backend"]), (0, 0, "sim"))
        self.assertTrue(gpu["tested"])

    def test_gpus_before_and_after_the_command_and_from_the_environment(self):
        expected = self.listed("--gpus", "2")
        self.assertEqual(json.loads(run("--gpus=2", "devices", "--json").stdout), expected)
        self.assertEqual(self.listed(SITU_SIM_GPUS="2"), expected)
        self.assertEqual(len(self.listed("--gpus", "3", SITU_SIM_GPUS="2")), 4)

    def test_visible_devices_keep_physical_index(self):
        gpus = self.listed("--gpus", "4", CUDA_VISIBLE_DEVICES="2,0")[1:]
        self.assertEqual([(g["index"], g["physical"]) for g in gpus], [(0, 2), (1, 0)])

    def test_limits_follow_the_environment(self):
        gpu = self.listed("--gpus", K40, SITU_GPU_MEMORY="limit=2GiB")[1]
        self.assertEqual(gpu["limit"], 2 << 30)

    def test_table(self):
        lines = run("devices", "--gpus", K40).stdout.splitlines()
        self.assertEqual(lines[0].split()[:3], ["name", "kind", "model"])
        row = next(line for line in lines if "GPU:0" in line)
        for word in ("/device:GPU:0", "Tesla K40c", "0000:05:00.0", "12.00GiB", "sim"):
            self.assertIn(word, row)

    def test_missing_gpus_are_explained(self):
        out = run("devices", SITU_CUDA="0", SITU_OPENCL_DEVICES="none").stdout
        self.assertIn("No GPU is visible.\n", out)
        self.assertIn("\n  cuda: disabled by SITU_CUDA=0\n", out)
        self.assertIn("\n  opencl: disabled by SITU_OPENCL_DEVICES=none\n", out)
        out = run("devices", "--gpus", K40, CUDA_VISIBLE_DEVICES="").stdout
        self.assertIn("\n  CUDA_VISIBLE_DEVICES= shows 0 of 1 GPU\n", out)

    def test_special_characters_are_valid_json(self):
        self.assertEqual(
            self.listed("--gpus", 'Qu"o\\te\t\u00e9\U0001d11e')[1]["model"],
            'Qu"o\\te\t\u00e9\U0001d11e',
        )


class Ops(unittest.TestCase):
    def test_list(self):
        done = run("ops")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^  MatMul +matmul +CPU GPU +tf.matmul +\S")

    def test_one(self):
        done = run("ops", "MatMul")
        self.assertTrue(done.stdout.startswith("MatMul(a: T, b: T) -> (product: T)\n"), done.stdout)
        self.assertRegex(done.stdout, r"(?m)^  transpose_a +false +bool$")
        self.assertRegex(done.stdout, r"(?m)^  T +\(from the inputs\) +bfloat16, half, float")
        self.assertRegex(done.stdout, r"(?m)^devices +CPU GPU")

    def test_json(self):
        every = json.loads(run("ops", "--json").stdout)
        one = json.loads(run("ops", "AddN", "--json").stdout)
        self.assertIn(one, every)
        self.assertEqual(one["inputs"], [{"name": "inputs", "type": "T", "count": "N"}])
        for op in every:
            self.assertTrue(op["doc"] and op["devices"], op["name"])

    def test_unknown(self):
        done = run("ops", "MatMull")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("NotFoundError", done.stderr)
        self.assertIn("MatMul", done.stderr)


class Graphs(unittest.TestCase):
    def test_explain(self):
        done = run("explain", "-", "--gpus", "4", "--feed", "x=2x3", stdin=saved())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^  y +MatMul +/device:GPU:2 +/device:GPU:2 +requested ")
        self.assertRegex(done.stdout, r"(?m)^  y +/device:GPU:2 +/device:CPU:0 +16B +every run$")
        self.assertRegex(done.stdout, r"(?m)^  /device:CPU:0 +\d+ +1$")

    def test_text_json_and_file_are_equivalent(self):
        args = ("--gpus", "4", "--feed", "x=2x3", "--json")
        with tempfile.NamedTemporaryFile("w", suffix=".pbtxt") as file:
            file.write(saved())
            file.flush()
            expected = run("explain", file.name, *args)
        self.assertEqual(expected.returncode, 0, expected.stderr)
        self.assertEqual(run("explain", "-", *args, stdin=saved("json")).stdout, expected.stdout)

    def test_explain_json(self):
        done = run("explain", "-", "--gpus", "4", "--feed", "x=2x3", "--json", stdin=saved())
        result = json.loads(done.stdout)
        nodes = {node["name"]: node for node in result["nodes"]}
        self.assertEqual(set(nodes), {"x", "w", "y", "w_1", "y_1", "sum"})
        self.assertEqual(nodes["y_1"]["assigned"], "/job:localhost/replica:0/task:0/device:GPU:3")
        self.assertTrue(all(node["cause"] for node in nodes.values()))
        self.assertEqual(sum(d["nodes"] for d in result["devices"]), 6)
        self.assertIn(16, [copy["bytes"] for copy in result["copies"]])

    def test_summary(self):
        done = run("explain", "-", "--gpus", "4", "--feed", "x=2x3", "--summary", stdin=saved())
        self.assertNotIn("reason", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^  /device:GPU:3 +2 +2$")

    def test_missing_device(self):
        done = run("explain", "-", "--gpus", "1", "--feed", "x=2x3", stdin=saved())
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("Could not satisfy explicit device specification '/device:GPU:", done.stderr)
        soft = run("explain", "-", "--gpus", "1", "--feed", "x=2x3", "--soft", stdin=saved())
        self.assertEqual(soft.returncode, 0, soft.stderr)
        self.assertIn("which does not exist", soft.stdout)

    def test_plan(self):
        done = run("plan", "-", "--gpus", "4", "--feed", "x=2x3", "--json", stdin=saved())
        result = json.loads(done.stdout)
        self.assertTrue(result["fits"])
        kernels = {d["device"][-5:]: d["kernels"] for d in result["devices"]}
        self.assertEqual((kernels["GPU:2"], kernels["GPU:3"]), (1, 1))
        text = run("plan", "-", "--gpus", "4", "--feed", "x=2x3", stdin=saved()).stdout
        self.assertIn("It fits.", text)

    def test_plan_that_does_not_fit(self):
        args = ("plan", "-", "--gpus", "4", "--feed", "x=1000000000x3")
        done = run(*args, stdin=saved())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^  /device:GPU:2 +\d.* NO$")
        self.assertIn("It does not fit on /device:GPU:2", done.stdout)
        self.assertEqual(run(*args, "--check", stdin=saved()).returncode, 1)
        self.assertEqual(run(*args[:4], "--feed", "x=2x3", "--check", stdin=saved()).returncode, 0)

    def test_fetch(self):
        args = ("plan", "-", "--gpus", "4", "--feed", "x=2x3", "--json")
        result = json.loads(run(*args, "--fetch", "y", stdin=saved()).stdout)
        self.assertNotIn("GPU:3", "".join(d["device"] for d in result["devices"]))

    def test_bad_input(self):
        graph = saved()
        for args, code, text in (
            (("explain", "/no/such/file"), 1, "No such file"),
            (("explain", "-", "--fetch", "nobody"), 1, "nobody"),
            (("explain", "-", "--feed", "x"), 1, "NAME=SHAPE"),
            (("explain", "-", "--feed", "nobody=2"), 1, "'nobody'"),
            (("explain", "-", "--feed", "x=2y3"), 1, "is not a shape"),
            (("explain", "-", "--feed", "x=2x4"), 1, "x"),
            (("explain", "-", "--feed", "x=1x3:1,2"), 1, "fewer values"),
            (("explain", "-", "--feed", "x=1x3:1,2,3,4"), 1, "more values"),
            (("explain", "-", "--feed", "x=1x3:1,b,3"), 1, "'b,3'"),
        ):
            done = run(*args, "--gpus", "4", stdin=graph)
            self.assertEqual((done.returncode, done.stdout), (code, ""), (args, done.stderr))
            self.assertIn(text, done.stderr, args)

    def test_placeholder_without_shape_suggests_feed(self):
        done = run("plan", "-", "--gpus", "4", stdin=saved())
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("--feed x=", done.stderr)

    def test_bad_files(self):
        for text in (
            "",
            "{",
            "node {",
            "garbage",
            "node { name: 'a' op: 'Nope' }",
            '{"node": [{"name": "a"}]}',
            "\0\1\2",
        ):
            done = run("explain", "-", stdin=text)
            self.assertEqual(done.stdout, "", text)
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("standard input", done.stderr, text)


class Selftest(unittest.TestCase):
    ARGS = ("selftest", "--gpus", "1", "--op", "Relu")

    def test_prints_the_verdict(self):
        done = run(*self.ARGS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\nPASSED: 2 of 2 checks, 1 of 1 ops, \d+ s\n$")

    def test_terminal_shows_progress(self):
        ours, theirs = os.openpty()
        done = run(*self.ARGS, stderr=theirs)
        os.close(theirs)
        self.assertRegex(read_terminal(ours), r"^\r  ops: 1, Relu, \d+ s\x1b\[K\r\x1b\[K")
        self.assertIn("\nPASSED", done.stdout)

    def test_op_pattern(self):
        done = run("selftest", "--gpus", "1", "--op", "*Logical*")
        self.assertRegex(done.stdout, r"\nPASSED: (\d+) of \1 checks, [2-9] of [2-9] ops, ")
        done = run("selftest", "--gpus", "1", "--op", "Nonesuch")
        self.assertEqual(done.returncode, 1)
        self.assertIn("\nNO CHECKS: 0 of 0 checks, 0 of 0 ops", done.stdout)

    def test_time_limit(self):
        done = run("selftest", "--gpus", "1", "--op", "*", "--seconds", "0.01")
        self.assertRegex(
            done.stdout,
            r"--seconds \d+ should suffice for all ops\n"
            r"(PASSED \(time limit reached\)|NO CHECKS): ",
        )


class Scaling(unittest.TestCase):
    def test_single_process_is_a_cluster_of_one(self):
        done = run("cluster")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("1 rank on 1 machine", done.stdout)
        self.assertEqual(json.loads(run("cluster", "--json").stdout)["size"], 1)

    def predict(self, *args):
        done = run("simulate", "--json", "--compute", "100", *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {a["name"]: a for a in json.loads(done.stdout)["algorithms"]}

    def test_one_gpu_has_no_communication(self):
        for result in self.predict("--gpus", "1", "--gradients", "100MB").values():
            self.assertEqual((result["step_ns"], result["communication_ns"]), (100000000, 0))

    def test_ring_all_reduce_formula(self):
        args = (
            "--gpus",
            "4",
            "--link",
            "1e9/0,1e9/0",
            "--link-efficiency",
            "1",
            "--no-overlap",
            "--bucket",
            "1GB",
        )
        result = self.predict("--gradients", "100MB", *args)
        self.assertEqual(result["ring"]["communication_ns"], 150000000)  # 2 * 3/4 * 0.1 s
        self.assertEqual(result["ring"]["step_ns"], 250000000)
        self.assertEqual(result["tree"]["communication_ns"], 200000000)

    def test_step_time_grows_with_machines(self):
        last = 0
        for nodes in (1, 2, 8, 64, 128):
            step = min(
                a["step_ns"]
                for a in self.predict(
                    "--gpus", "8", "--nodes", str(nodes), "--gradients", "500MB"
                ).values()
            )
            self.assertGreaterEqual(step, last)
            last = step

    def test_graph_argument(self):
        args = ("simulate", "--gpus", "4", "--feed", "x=1000x3", "-")
        done = run(*args, stdin=saved())
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no training step", done.stderr)
        done = run(*args, "--gradients", "1MB", stdin=saved())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("a step of", done.stdout)
        self.assertIn("All-reduce algorithms", done.stdout)

    def test_wrong_arguments(self):
        for args in (
            ("--link", "tin,can"),
            ("--device", "abacus"),
            ("--algorithm", "magic"),
            ("--nodes", "0"),
            ("--nodes", "2.5"),
            ("--nodes", "4x"),
            ("--gpus", "K40"),
            ("--compute", "nan", "--gradients", "1"),
            ("--efficiency", "nan"),
            ("--compute", "10", "--gradients", "10Mi"),
            ("--gradients", "5MB"),
            ("--compute", "10"),
            ("--bucket", "0"),
            ("--link-efficiency", "2"),
            ("graph.pbtxt", "extra"),
            (),
        ):
            done = run("simulate", *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertIn("situ simulate: ", done.stderr)


class Completion(unittest.TestCase):
    """Completion scripts and the man page are generated from the command table."""

    def complete(self, *args):
        """Returns the completions of bash for the last word."""
        ask = (
            'eval "$(cat)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _situ; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "-c", ask, "-", *args],
            capture_output=True,
            check=True,
            text=True,
            input=run("completion", "bash").stdout,
        )
        return done.stdout.split()

    def test_bash(self):
        self.assertEqual(["explain"], self.complete("situ", "ex"))
        self.assertEqual(["--fetch", "--feed"], self.complete("situ", "explain", "--fe"))
        self.assertEqual(["--log-placement"], self.complete("situ", "run", "--gpus", "4", "--log"))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "train.py").touch()
            self.assertEqual([f"{folder}/train.py"], self.complete("situ", "run", f"{folder}/tr"))

    def test_bash_offers_the_allowed_words(self):
        self.assertEqual(["bash", "zsh", "fish"], self.complete("situ", "completion", ""))
        self.assertEqual(["zsh"], self.complete("situ", "completion", "z"))
        self.assertIn("--help", self.complete("situ", "completion", "--"))

    def test_zsh_and_fish_offer_the_allowed_words(self):
        self.assertIn("':SHELL:(bash zsh fish", run("completion", "zsh").stdout)
        self.assertIn("-f -a 'bash zsh fish", run("completion", "fish").stdout)

    def test_each_shell_and_the_man_page_name_every_option(self):
        help_text = run("--help").stdout.split("\n\n")[2]
        commands = [line.split()[0] for line in help_text.splitlines()]
        manual = Path(BUILD, "situ.1").read_text(encoding="utf-8").replace("\\-", "-")
        for command in commands:
            self.assertIn(f".SS {command}\n", manual)
            for line in run(command, "--help").stdout.splitlines():
                if not line.startswith("  --"):
                    continue
                option = line.split()[0]
                self.assertIn(option, manual)
                for shell in ("bash", "zsh", "fish"):
                    name = option[2:] if shell == "fish" else option
                    self.assertIn(name, run("completion", shell).stdout)

    def test_unknown_shell(self):
        done = run("completion", "tcsh")
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertIn("Supported: bash, zsh, fish", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
