"""train.py TSRC TSR FOLDER: tsr train on small data: what a run that is resumed has, which rows it takes, what it says of faults."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import numpy as np

np.seterr(over="ignore")

TSRC, TSR, FOLDER = sys.argv[1:4]
NET = """
import nn
import optim
dim n
input x : [n | 6]
input ids : i32 [n |]
input scale : [6]
param step : i32 [] = 0
fn layers()(x) =
    let up = nn.linear(8), norm = nn.batch_norm(), drop = nn.dropout(0.2), out = nn.linear(3) in out(drop(relu(norm(up(x)))))
let net = layers()
let loss = nn.mean(nn.cross_entropy(net(x .* scale; training = 1, seed = step), ids))
let error = nn.mean(nn.cross_entropy(net(x .* scale), ids))
routine train(rate : f32) -> loss {
    backward loss
    update loss
    step =+ 1
    for p in params(loss) { optim.adamw(rate, step)(p) }
}
routine valid() -> right, error { right =: i32(sum(argmax("n | v => n |", net(x .* scale)) == ids)) forward error }
"""
LARGE = """
dim n
input x : [n | 4096]
param w : [4096 -> 1] = 0
let loss = sum((w * x - x) ** 2) / 4096 / n
routine train(rate : f32) -> loss { backward loss
    w =- rate * w.grad }
"""
ROWS = """
dim n
input ids : i32 [n |]
param count : i32 [103] = 0
param order : i32 [] = 1
routine train() -> loss {
    count =+ scatter("n |; n | => [v]", 1 + 0 * ids, ids) with (v = 103)
    order =: order * 31 + (ids @ 0) * 7 + sum(ids)
    loss =: 0.5
}
"""


def at(name):
    return os.path.join(FOLDER, name)


def compile_program(name, text):
    with open(at(name + ".tsr"), "w", encoding="utf8") as out:
        out.write(text)
    subprocess.run([TSRC, at(name + ".tsr"), "-o", at(name + ".so")], check=True)


def train(name, *words, fails=False, data=None):
    """What it printed, where it should have succeeded; else what it said."""
    data = ["x=" + at("x.npy"), "ids=" + at("ids.npy"), "scale=" + at("scale.npy"), "rate=0.05"] if data is None else data
    done = subprocess.run([TSR, "train", at(name + ".so"), *data, *words], capture_output=True, text=True)
    if (done.returncode != 0) != fails:
        sys.exit("%s: %d\n%s%s" % (words, done.returncode, done.stdout, done.stderr))
    return done.stderr.replace(FOLDER + "/", "") if fails else done.stdout


def read(name):
    """The arrays of a .safetensors"""
    with open(at(name), "rb") as file:
        raw = file.read()
    length = int.from_bytes(raw[:8], "little")
    types = {"F32": np.float32, "I32": np.int32, "I64": np.int64}
    return {key: np.frombuffer(raw[8 + length:][slice(*of["data_offsets"])], types[of["dtype"]]).reshape(of["shape"])
            for key, of in json.loads(raw[8:8 + length]).items() if key != "__metadata__"}


def same(a, b):
    a, b = read(a), read(b)
    return a.keys() == b.keys() and all((a[key] == b[key]).all() for key in a)


def resumed():
    """A run, and the same in two or three parts"""
    how = ["--shuffle=5", "--batch=16"]
    for more in ([], ["--keep-last"]):
        train("net", *how, *more, "--epochs=4", "--save=" + at("whole.safetensors"), "--threads=1", "--log=" + at("whole.csv"))
        train("net", *how, *more, "--epochs=1", "--save=" + at("part.safetensors"), "--threads=2", "--log=" + at("part.csv"))
        train("net", *how, *more, "--epochs=4", "--save=" + at("part.safetensors"), "--resume=" + at("part.safetensors"),
              "--log=" + at("part.csv"))
        print("resumed, as if it had not stopped:", same("whole.safetensors", "part.safetensors"),
              open(at("whole.csv")).read() == open(at("part.csv")).read())
    slots = [key for key in read("whole.safetensors") if key.endswith(".square")]
    print("counters, moments and means are in it:", len(slots), int(read("whole.safetensors")["step"]),
          bool((read("whole.safetensors")["net.norm.mean"] != 0).all()))


def stopped():
    """By a signal at any time; the run that goes on has the bits of one that was not stopped"""
    words = [TSR, "train", at("net.so"), "x=" + at("x.npy"), "ids=" + at("ids.npy"), "scale=" + at("scale.npy"), "rate=0.05",
             "--shuffle=5", "--batch=16", "--epochs=2000000", "--save=" + at("stopped.safetensors")]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdout.readline()
    time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    said = child.communicate()[1].replace(FOLDER + "/", "")
    steps = int(read("stopped.safetensors")["train:position"][0])
    epochs = "--epochs=%d" % (steps // 6 + 1)
    train("net", *words[7:9], epochs, "--resume=" + at("stopped.safetensors"), "--save=" + at("stopped.safetensors"))
    train("net", *words[7:9], epochs, "--save=" + at("whole.safetensors"))
    print("stopped:", child.returncode, re.sub(r"\d+", "N", said.strip()), same("whole.safetensors", "stopped.safetensors"))


def in_order(batch, keeps):
    """`order` behind three epochs in the order of the file"""
    order = np.int32(1)
    for first in 3 * list(range(0, 103 if keeps else 103 - 103 % batch, batch)):
        ids = np.arange(first, min(first + batch, 103), dtype=np.int32)
        order = order * np.int32(31) + ids[0] * np.int32(7) + ids.sum(dtype=np.int32)
    return int(order)


def rows():
    ids = ["ids=" + at("all.npy")]
    for words in (["--batch=10", "--keep-last"], ["--batch=103"], ["--batch=10", "--keep-last", "--shuffle=1"],
                  ["--batch=10", "--keep-last", "--shuffle=2"], ["--batch=10"]):
        train("rows", *words, "--epochs=3", "--save=" + at("rows.safetensors"), data=ids)
        got = read("rows.safetensors")
        print("rows", " ".join(words), np.unique(got["count"]), got["count"][:100].sum(), int(got["order"]),
              "" if "--shuffle" in words[-1] else int(got["order"]) == in_order(int(words[0][8:]), len(words) > 1))


def validated():
    out = train("net", "--batch=16", "--valid=valid", "x=" + at("x.npy"), "ids=" + at("ids.npy"), "scale=" + at("scale.npy"),
                "--save=" + at("valid.safetensors"))
    one = subprocess.run([TSR, "run", at("net.so"), "valid", "x=" + at("x.npy"), "ids=" + at("ids.npy"),
                          "scale=" + at("scale.npy"), "--state=" + at("valid.safetensors")], capture_output=True, text=True)
    error, right = re.search(r"valid: error (\S+), right (\S+)", out).groups()
    run_right, run_error = re.findall(r"\n(\d\S*)", one.stdout)
    # a mean of counts over 16, 16, ... and 7 rows
    print("validation:", abs(float(error) - float(run_error)) < 1e-5, out.split(":")[0])


def generated():
    """Inputs that no file gives, in each of the sessions"""
    x, ids, scale = ("%s=%s" % (name, at(name + ".npy")) for name in ("x", "ids", "scale"))
    how = ["--batch=16", "--keep-last", "--valid=valid", x, ids]
    print("ones as those of a file:", train("net", *how, scale) ==
          train("net", *how, "scale=ones", data=[x, ids, "scale=[1, 1, 1, 1, 1, 1]", "rate=0.05"]) ==
          train("net", *how, "scale=ones", data=[x, ids, "scale=ones", "rate=0.05"]))


def large():
    """More than is read at once: rows come from the file, converted, and from a .npz, which is read whole, the same"""
    x = np.random.default_rng(3).integers(0, 3, (1100, 4096)).astype(np.uint8)
    np.save(at("large.npy"), x)
    np.savez_compressed(at("large.npz"), x)
    losses = [train("large", "--batch=100", "--epochs=1", "--shuffle=1", data=["x=" + at(name), "rate=0.0001"])
              for name in ("large.npy", "large.npz")]
    print("rows of a large file:", losses[0] == losses[1], "loss" in losses[0])


def read_plot(path):
    """The lines of a plot, by the ticks beside it"""
    svg = {"svg": "http://www.w3.org/2000/svg"}
    root = xml.etree.ElementTree.parse(path).getroot()
    texts = root.findall("svg:text", svg)
    along = [(float(t.text), float(t.get("x"))) for t in texts if t.get("text-anchor") == "middle" and t.text != "step"]
    up = np.array([(float(t.text), float(t.get("y")) - 4) for t in texts if t.get("text-anchor") == "end"])
    assert all(40 <= y <= 352 for y in up[:, 1]) and all(64 <= x <= 580 for _, x in along), (up, along)
    slopes = np.diff(up[:, 1]) / np.diff(up[:, 0])
    linear = np.allclose(slopes, slopes[0], rtol=0.05)
    to, back = (np.array, np.array) if linear else (np.log, np.exp)
    up[:, 0] = to(up[:, 0])

    def values(at, ticks):
        (a, x), (b, y) = ticks[0], ticks[-1]
        return a + (at - x) * (b - a) / (y - x)
    lines = [np.array([point.split(",") for point in line.get("points").split()], float) for line in root.findall("svg:polyline", svg)]
    return [t.text for t in texts if "name" in t.get("class", "")], [
        (values(line[:, 0], along), back(values(line[:, 1], up))) for line in lines]


def plotted():
    """The picture has what the table has"""
    x, ids, scale = ("%s=%s" % (name, at(name + ".npy")) for name in ("x", "ids", "scale"))
    for epochs, tenth in (("--epochs=30", 1), ("--epochs=200", 10)):
        train("net", "--batch=8", epochs, "--every=1", "--log=" + at("plot.csv"), "--plot=" + at("plot.svg"), "--valid=valid", x, ids, scale)
        table = np.genfromtxt(at("plot.csv"), delimiter=",", names=True)
        names, ((steps, loss), (ends, error)) = read_plot(at("plot.svg"))
        by = -(-len(table) // 200)
        means = [table["loss"][i:i + by].mean() for i in range(0, len(table), by)]
        valid = table[~np.isnan(table["valid_error"])]
        print("plotted:", *names, len(loss) == len(means), np.allclose(loss, means, rtol=0.01), np.allclose(error, valid["valid_error"], rtol=0.01),
              abs(ends - valid["step"]).max() < len(table) / 400, abs(steps[-1] - len(table)) <= by)
    train("net", "--plot=" + at("one.svg"), "--valid=valid", x, ids, scale)
    once = xml.etree.ElementTree.parse(at("one.svg")).getroot()
    print("of one validation a dot:", len(once.findall("{*}circle")), len(once.findall("{*}polyline")[1].get("points").split()))
    print(train("net", "--plot=" + at("no/plot.svg"), "--log=" + at("no.csv"), fails=True), end="")
    print(train("net", "--save=" + at("no/a.safetensors"), "--log=" + at("no.csv"), fails=True), end="")
    if not os.path.lexists(at("null.svg")):
        os.symlink("/dev/null", at("null.svg"))
    train("net", "--plot=" + at("null.svg"))
    print("told before the first step, and a device stays one:", not os.path.exists(at("no.csv")), os.path.islink(at("null.svg")))


def faults():
    bad = np.load(at("x.npy"))
    bad[40, 3] = np.nan
    np.save(at("nan.npy"), bad)
    x, ids, scale = ("%s=%s" % (name, at(name + ".npy")) for name in ("x", "ids", "scale"))
    print(train("net", "--batch=16", "--save=" + at("none.safetensors"), fails=True,
                data=["x=" + at("nan.npy"), ids, scale, "rate=0.05"]), end="")
    print(train("net", "--batch=16", "--every=4", fails=True, data=[x, ids, scale, "rate=1e39"]), end="")
    print("nothing is saved then:", not os.path.exists(at("none.safetensors")))
    print(train("net", "--batch=200", fails=True), end="")
    print(train("net", fails=True, data=[x, "ids=" + at("all.npy") + "x", scale, "rate=0.05"]), end="")
    np.save(at("few.npy"), np.load(at("ids.npy"))[:50])
    print(train("net", fails=True, data=[x, "ids=" + at("few.npy"), scale, "rate=0.05"]), end="")
    np.save(at("column.npy"), np.load(at("ids.npy"))[:, None].astype(np.int64))
    print(train("net", fails=True, data=[x, "ids=" + at("column.npy"), scale, "rate=0.05"]), end="")
    print(train("net", fails=True, data=[scale, "rate=0.05"]), end="")
    print(train("net", "--valid=test", fails=True), end="")
    np.save(at("no.npy"), np.zeros((0, 6), np.float32))
    print(train("net", "--valid=valid", "x=" + at("no.npy"), "scale=ones", fails=True), end="")
    print(train("net", fails=True, data=["x=" + at("no.npy"), "scale=ones", "rate=0.05"]), end="")
    print(train("net", "--valid=valid", x, ids, scale, "step=1", fails=True), end="")
    print(train("net", "--save=a.npz", fails=True).splitlines()[0])
    print(train("net", "--plot=a.png", fails=True).splitlines()[0])
    print(train("net", "--batch=8", "--resume=" + at("part.safetensors"), fails=True), end="")
    print(train("net", "--batch=16", "--shuffle=6", "--keep-last", "--resume=" + at("part.safetensors"), fails=True), end="")
    print(train("net", "--batch=16", "--shuffle=5", "--epochs=4", "--keep-last", "--resume=" + at("part.safetensors"), fails=True), end="")
    print(train("rows", "--resume=" + at("part.safetensors"), fails=True, data=["ids=" + at("all.npy")]), end="")


def main():
    os.makedirs(FOLDER, exist_ok=True)
    random = np.random.default_rng(1)
    np.save(at("x.npy"), random.standard_normal((103, 6)).astype(np.float32))
    np.save(at("ids.npy"), random.integers(0, 3, 103).astype(np.int32))
    np.save(at("all.npy"), np.arange(103, dtype=np.int32))
    np.save(at("scale.npy"), np.ones(6, np.float32))
    compile_program("net", NET)
    compile_program("rows", ROWS)
    compile_program("large", LARGE)
    for part in (resumed, stopped, rows, validated, generated, large, plotted, faults):
        part()


main()
