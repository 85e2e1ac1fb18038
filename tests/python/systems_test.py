"""Files, recipes, circuits and rules: what Python gets of them is what is known from elsewhere."""
import itertools
import struct
import sys

import numpy as np
import pytest

import ingot


def test_safetensors(tmp_path):
    path = tmp_path / "a.safetensors"
    tensors = {"x": ingot.tensor([[1.0, 2.0]]), "y": np.arange(3)}
    ingot.io.save_safetensors(path, tensors, {"by": "a test"})
    for read in (ingot.io.load_safetensors, ingot.io.map_safetensors):
        back = read(path)
        assert sorted(back) == ["x", "y"] and back["x"].tolist() == [[1, 2]] and back["y"].dtype == "i64"
    header = path.read_bytes()
    size = struct.unpack("<Q", header[:8])[0]
    assert b'"by":"a test"' in header[8:8 + size]  # as the format's own description has it
    path.write_bytes(header[:20])
    with pytest.raises(ingot.FileError, match="a.safetensors"):
        ingot.io.load_safetensors(path)
    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    ingot.io.save_png(tmp_path / "a.png", ingot.tensor(picture))
    assert np.array_equal(ingot.io.load_png(tmp_path / "a.png").numpy(), picture)


def test_a_recipe_and_its_model(tmp_path):
    assert "digits" in ingot.recipes() and "gol" in ingot.recipes()
    seen = []
    run = ingot.Recipe("digits").set("train.epochs=2").run(tmp_path / "run", on_epoch=lambda e: seen.append(e["epoch"]))
    assert run.finished and run.folder == str(tmp_path / "run") and seen == [1, 2] and run.score > 0.8
    model = ingot.load_model(tmp_path / "run")
    assert model.evaluate()["accuracy"] == pytest.approx(run.score)
    sample = np.zeros((8, 8), np.float32)
    answer = model.predict(sample)
    assert 0 <= answer["label"] <= 9 and sum(answer["probabilities"]) == pytest.approx(1, abs=1e-5)
    assert len(model.net) > 0 and model.net.parameter_count() > 0
    with pytest.raises(ingot.Error):
        ingot.Recipe("no such recipe")
    with pytest.raises(ingot.Error):
        ingot.Recipe("digits").set("train.epoch=2").run(tmp_path / "other")


RUN = """
import os, signal, sys, threading, ingot
threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    ingot.Recipe("digits").set("train.epochs=100000").run(sys.argv[1])
except KeyboardInterrupt:
    print("stopped in order", os.listdir(sys.argv[1]))
"""


def test_ctrl_c_leaves_a_run_to_go_on_with(run_child, tmp_path):
    done = run_child(RUN, str(tmp_path / "run"))
    assert "stopped in order" in done.stdout and "checkpoint" in done.stdout, done.stdout + done.stderr


def life(board):
    """Conway's rule on a torus, in NumPy."""
    neighbours = sum(np.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(np.float32)


def test_circuits():
    circuit = ingot.gates.Circuit.life_like("B3/S23")
    assert circuit.inputs == 9 and circuit.outputs == 1
    small = circuit.simplify()
    assert small.gates <= circuit.gates and circuit.prove_equal(small)["equal"]
    other = ingot.gates.Circuit.life_like("B36/S23")
    proof = circuit.prove_equal(other)
    assert not proof["equal"] and circuit.evaluate(proof["counterexample"]) != other.evaluate(proof["counterexample"])
    boards = np.random.default_rng(1).integers(0, 2, (2, 1, 12, 17)).astype(np.float32)
    runner = ingot.gates.Runner(small)
    want = boards.copy()
    for _ in range(3):
        want = np.stack([life(b[0])[None] for b in want])
    assert np.array_equal(runner.step(boards, 3).numpy(), want)
    every = np.array(list(itertools.product((0, 1), repeat=9)), np.float32)
    assert np.array_equal(runner.evaluate(every).numpy()[:, 0], [life(b.reshape(3, 3))[1, 1] for b in every])
    for form, sign in (("c", "uint64_t"), ("verilog", "module"), ("blif", ".model"), ("aiger", "aag"), ("svg", "<svg"), ("json", "{")):
        assert sign in small.to(form)
    with pytest.raises(ingot.ArgumentError, match="no form"):
        small.to("pdf")


def test_circuits_as_files(tmp_path):
    circuit = ingot.gates.Circuit.life_like("B3/S23")
    circuit.save(tmp_path / "life.json")
    assert ingot.gates.Circuit.load(tmp_path / "life.json") == circuit
    with pytest.raises(ingot.FileError):
        ingot.gates.Circuit.load(tmp_path / "missing.json")


PATHS = "edge(1, 2). path(x, y) <- edge(x, y). path(x, z) <- edge(x, y), path(y, z)."


def test_rules():
    engine = ingot.logic.Engine(PATHS)
    edges = {(1, 2)} | {(int(a), int(b)) for a, b in np.random.default_rng(2).integers(0, 12, (15, 2))}
    for a, b in edges:
        engine.add("edge", a, b)
    engine.run()
    closed = set(edges)
    while True:
        more = closed | {(a, d) for a, b in closed for c, d in closed if b == c}
        if more == closed:
            break
        closed = more
    assert set(engine.facts("path")) == closed and engine.size("path") == len(closed)
    assert engine.contains("path", 1, 2) and "path(1, 2)" in engine.explain("path(1, 2)")
    engine.add("edge", 100, 1)
    engine.run()
    assert engine.contains("path", 100, 2)
    engine.remove("edge", 100, 1)
    engine.run()
    assert set(engine.facts("path")) == closed
    with pytest.raises(ingot.Error):
        ingot.logic.Engine("path(x) <- .")
    with pytest.raises(ingot.Error):
        engine.facts("nothing")
