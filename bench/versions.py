"""The versions of the peers that this Python and the system have: versions.py [NAMES...]. Prints JSON by name, null for
those that are not there or not asked for; OpenBLAS says which kernels it chose."""
import ctypes
import importlib
import json
import re
import subprocess
import sys


class Dnnl(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("major", "minor", "patch")]


def text(library, function):
    call = getattr(ctypes.CDLL(library), function)
    call.restype = ctypes.c_char_p
    return call().decode()


def openblas():
    return "%s %s" % (text("libopenblas.so.0", "openblas_get_config").split()[1],
                      text("libopenblas.so.0", "openblas_get_corename"))


def blis():
    return text("libblis.so.4", "bli_info_get_version_str")


def dnnl():
    call = ctypes.CDLL("libdnnl.so.2").dnnl_version
    call.restype = ctypes.POINTER(Dnnl)
    version = call().contents
    return "%d.%d.%d" % (version.major, version.minor, version.patch)


def torch():
    module = importlib.import_module("torch")
    parts = re.findall(r"(Math Kernel Library|MKL-DNN) (?:Version )?v?([\d.]+)", module.__config__.show())
    names = {"Math Kernel Library": "MKL", "MKL-DNN": "oneDNN"}
    orders = ", opt_einsum %s" % importlib.import_module("opt_einsum").__version__ if (
        module.backends.opt_einsum.is_available()) else ""
    return module.__version__ + "".join(", %s %s" % (names[name], number) for name, number in parts) + orders


def numpy():
    module = importlib.import_module("numpy")
    try:
        blas = module.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return "%s, %s %s" % (module.__version__, blas["name"], blas["version"])
    except (TypeError, KeyError):  # older
        return module.__version__


def onnx():
    importlib.import_module("onnx")
    return importlib.import_module("onnxruntime").__version__


def gcc():
    return subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()


found = {}
for name, version in (("OpenBLAS", openblas), ("BLIS", blis), ("oneDNN", dnnl), ("PyTorch", torch), ("NumPy", numpy),
                      ("ONNX Runtime", onnx), ("gcc", gcc)):
    try:
        found[name] = version() if name in sys.argv[1:] or not sys.argv[1:] else None
    except (OSError, ImportError, subprocess.CalledProcessError):
        found[name] = None
print(json.dumps(found))
