"""Attention in float64, which that of a GPU is held against."""
import numpy as np


def softmax(scores):
    """NaN where all keys of a row are hidden, or one is infinitely near."""
    if scores.shape[-1] == 0:
        return scores
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)


def attention(scores, v):
    return softmax(scores) @ v.astype(np.float64)


def near(name, got, want):
    got = np.asarray(got).astype(np.float64)
    assert got.shape == want.shape, (name, got.shape, want.shape)
    assert np.array_equal(np.isnan(got), np.isnan(want)), name
    worst = np.abs(np.nan_to_num(got - want)).max(initial=0)
    assert worst <= 2e-5, (name, worst)
