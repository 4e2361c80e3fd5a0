"""The programs of examples/ at the sizes at which they are timed beside NumPy (example_numpy.py): arrays by the names of
inputs and parameters, as in programs.py, and what else a call is told."""
import dataclasses
import os

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples")


@dataclasses.dataclass
class Example:
    what: str    # a call does
    name: str    # of the program, and of its function in NumPy
    arrays: dict
    dims: dict = dataclasses.field(default_factory=dict)
    indices: tuple = ()  # inputs of whole numbers
    routine: str = "forward"
    fixed: dict = dataclasses.field(default_factory=dict)  # dims that the program has as numbers
    folder: str = FOLDER

    @property
    def text(self):
        with open(os.path.join(self.folder, self.name + ".tsr"), encoding="utf8") as file:
            lines = file.read().split("\n")
        named = {line.split()[1]: at for at, line in enumerate(lines) if line.startswith("dim ")}
        for dim, value in self.fixed.items():
            lines[named[dim]] = "dim %s = %d" % (dim, value)
        return "\n".join(lines)

    @property
    def arguments(self):
        return (self.routine, *("%s=%s" % item for item in self.dims.items()))


def expert_block(name):
    return {name + ".norm.gain": "32", name + ".norm.bias": "32", name + ".experts.gate": "8x32",
            name + ".experts.up": "8x64x32", name + ".experts.down": "8x32x64"}


def norm(name, width):
    return {name + ".gain": "%d" % width, name + ".bias": "%d" % width}


def affine(name, to, of):
    return {name + ".w": "%sx%s" % (to, of), name + ".b": "%s" % to}


def gpt2(layers, heads, width, vocab, longest):
    e = heads * width
    arrays = {"ids": "1<%d" % vocab, "wte.table": "%dx%d" % (vocab, e), "wpe.table": "%dx%d" % (longest, e),
              "keys": "%dx%dx%dx%d" % (layers, longest, heads, width), "values": "%dx%dx%dx%d" % (layers, longest, heads, width)}
    for layer in range(layers):
        name = "h.%d." % layer
        arrays |= norm(name + "ln_1", e) | norm(name + "ln_2", e)
        for part in "qkv":
            arrays |= affine(name + "attn." + part, "%dx%d" % (heads, width), e)
        arrays |= affine(name + "attn.proj", e, "%dx%d" % (heads, width)) | affine(name + "mlp.up", 4 * e, e)
        arrays |= affine(name + "mlp.down", e, 4 * e)
    return arrays | norm("ln_f", e)


EXAMPLES = [
    Example("edges of a picture of 512x512", "edges", {"image": "512x512x3"}, {"h": 512, "w": 512}),
    Example("100 digits", "digits", {"image": "100x28x28x1"} | affine("c1", 8, "3x3x1")
            | affine("c2", 16, "3x3x8") | affine("head", 10, "7x7x16"), {"n": 100}),
    Example("accuracy of 100,000 guesses", "accuracy", {"probs": "100000x10", "label": "100000<10"}, {"n": 100000},
            indices=("label",)),
    Example("graph of 10,000 nodes, 100,000 edges", "graph",
            {"x": "10000x16", "from": "100000<10000", "to": "100000<10000", "first.own": "32x16",
             "first.other": "32x16", "first.b": "32", "second.own": "8x32", "second.other": "8x32", "second.b": "8"},
            {"nodes": 10000}, indices=("from", "to")),
    Example("two of eight experts, 1000 rows", "experts", {"x": "1000x32"} | expert_block("first") | expert_block("second"),
            {"n": 1000}),
    Example("recurrent net, 100 steps of 16", "recurrent",
            {"x": "100x16x12", "lstm.wx": "4x32x12", "lstm.wh": "4x32x32", "lstm.b": "4x32"} | affine("classify", 5, 32),
            {"steps": 100, "n": 16}),
    Example("heat of 256x256, 100 steps", "heat", {"start": "256x256"}, {"steps": 100, "h": 256, "w": 256, "speed": 0.2}),
    Example("64 rows past weights of four bits", "int4",
            {"x": "64x256", "w": "64x8x32<16", "zero": "64x8<16", "scale": "64x8"}, {"n": 64}),
    Example("weights of 256x64 in four bits", "quantize", {"weight": "64x256"}, routine="quantize"),
    Example("Fourier transforms of 64 signals of 4096", "fourier", {"signal": "64x2x4096"}, {"n": 64}),
    Example("log-mel spectrogram of 30 seconds", "spectrogram", {"audio": "480000"}, {"samples": 480000}),
    Example("product of 512x512", "matmul", {"a": "512x512", "b": "512x512"}, {"m": 512, "k": 512, "n": 512}),
    Example("softmax of 1000 rows of 1000", "softmax", {"x": "1000x1000"}, {"n": 1000, "classes": 1000}),
    Example("perceptron, 1000 rows", "mlp", {"x": "1000x8"} | affine("first", 16, 8) | affine("second", 3, 16), {"n": 1000}),
    Example("attention, 4 of 128 positions", "attention",
            {"x": "4x128x64", "q.w": "4x16x64", "k.w": "4x16x64", "v.w": "4x16x64", "out": "64x4x16"}, {"b": 4, "s": 128}),
    Example("two vectors of 1M, in turn", "interleave", {"a": "1000000", "b": "1000000"}, {"n": 1000000}),
    Example("GPT-2 of 4 layers, a token after 1000", "gpt2_decode", gpt2(4, 12, 64, 8192, 1024), {"past": 1000}, routine="decode",
            fixed={"s": 1, "layers": 4, "vocab": 8192}, folder=os.path.join(FOLDER, "models")),
]
BY_NAME = {example.name: example for example in EXAMPLES}
