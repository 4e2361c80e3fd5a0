"""Whole models against PyTorch and ONNX Runtime on the same random weights, and what they cost to compile."""
import dataclasses
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WEIGHTS = os.path.join(ROOT, "tools", "make_weights.py")


@dataclasses.dataclass
class ModelCase:
    """`peer` are the numbers that peer_model.py makes the same inputs from; `defines` fix dims. `like`: the model whose
    weights and peers it has, if not its own; `routine`: which is measured."""
    name: str
    model: str
    arguments: tuple
    peer: tuple
    flops: float = 0
    nbytes: float = 0
    defines: tuple = ()
    bounded: bool = True
    rounds: int = 1
    like: str = ""
    routine: str = "forward"

    def weights(self, folder):
        return os.path.join(folder, self.like or self.model) + ".safetensors"

    @property
    def peers(self):
        return tuple(("model", who, self.weights(self.folder), way, self.like or self.model, *self.peer)
                     for who, way in (("PyTorch", "eager"), ("PyTorch compiled", "compile"),
                                      ("ONNX Runtime", "onnx")))

    def module(self, build, folder, python, march="native"):
        """The words for tsr bench; compiles, and makes the weights on the first call, with a Python that has NumPy."""
        self.folder = folder
        stem = os.path.join(folder, self.model) + "".join("_" + define for define in self.defines)
        self.artefact = stem + ".so"
        words = [word for define in self.defines for word in ("-D", define)]
        source = f"{ROOT}/examples/models/{self.model}.tsr"
        words += ["-march=" + march, "-I", f"{ROOT}/lib"]
        subprocess.run([f"{build}/tsrc", *words, source, "-o", stem + ".so"], check=True)
        weights, like = self.weights(folder), self.like or self.model
        if not os.path.exists(weights) or os.path.getmtime(weights) < os.path.getmtime(WEIGHTS):
            subprocess.run([python, WEIGHTS, like, weights], check=True)
        return [stem + ".so", "--params=" + weights, f"--params-map={ROOT}/examples/models/{like}.map", self.routine,
                *self.arguments]


def whole():
    """Multiplications and additions are those of the convolutions and matrix products alone."""
    body = 85e6       # weights of 12 layers of width 768, each used once a position
    yield ModelCase("ResNet-50, 1 picture", "resnet50", ("n=1",), (1,), flops=8.178e9)
    yield ModelCase("MobileNetV2, 1 picture", "mobilenet_v2", ("n=1",), (1,), flops=0.602e9)
    s = 128
    yield ModelCase("BERT-base, 128 positions", "bert", ("b=1", "s=128"), (1, s),
                    flops=s * 2 * body + 12 * 4.0 * s * s * 768)
    s = 64
    yield ModelCase("GPT-2 124M, prefill of 64", "gpt2", ("s=64", "past=0"), (s, 0),
                    flops=s * 2 * (body + 50257 * 768) + 12 * 4.0 * s * s * 768)
    yield ModelCase("GPT-2 124M, a token after 64", "gpt2", ("past=64",), (1, 64), defines=("s=1",),
                    nbytes=4 * (body + 50257 * 768), rounds=3)
    long = 4 * (body + 50257 * 768 + 2 * 12 * 1000 * 768)
    yield ModelCase("GPT-2 124M, a token after 1000", "gpt2", ("past=1000",), (1, 1000), defines=("s=1",), nbytes=long,
                    rounds=3)
    yield ModelCase("GPT-2 124M, the same with its cache in the state", "gpt2_decode", ("past=1000",), (1, 1000),
                    defines=("s=1",), nbytes=long, rounds=3, like="gpt2", routine="decode")
    yield ModelCase("LeNet, 1 picture", "lenet", ("n=1",), (1,), flops=0.833e6)


SUITES = {"models": whole}
