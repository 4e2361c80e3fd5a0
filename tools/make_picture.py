"""Renders examples/picture.png: three balls on a chequered floor, by ray casting. Public domain (CC0).

    make_picture.py OUT.png
"""
import struct
import sys
import zlib

import numpy as np

WIDTH, HEIGHT, OVER = 320, 240, 3
BALLS = [  # centre, radius, colour
    ((-1.3, 0.8, 4.2), 0.8, (0.85, 0.25, 0.20)),
    ((0.5, 1.1, 5.4), 1.1, (0.20, 0.45, 0.80)),
    ((1.1, 0.5, 3.2), 0.5, (0.95, 0.75, 0.20)),
]
LIGHT = np.array([-0.5, 0.75, -0.45])
LIGHT /= np.linalg.norm(LIGHT)


def hit_ball(origin, ray, centre, radius):
    """Distance along each ray, inf where it misses."""
    to = origin - np.array(centre)
    b = (ray * to).sum(-1)
    c = (to * to).sum(-1) - radius * radius
    root = b * b - c
    t = -b - np.sqrt(np.maximum(root, 0))
    return np.where((root > 0) & (t > 1e-3), t, np.inf)


def shadow(point):
    dark = np.zeros(point.shape[:-1], bool)
    for centre, radius, _ in BALLS:
        dark |= np.isfinite(hit_ball(point, np.broadcast_to(LIGHT, point.shape), centre, radius))
    return np.where(dark, 0.35, 1.0)


def shade(point, normal, colour, eye):
    lit = np.maximum((normal * LIGHT).sum(-1), 0) * shadow(point)
    half = LIGHT - eye
    half /= np.linalg.norm(half, axis=-1, keepdims=True)
    gloss = np.maximum((normal * half).sum(-1), 0) ** 40 * 0.6 * (lit > 0)
    return colour * (0.25 + 0.75 * lit)[..., None] + gloss[..., None]


def render():
    y, x = np.mgrid[0:HEIGHT * OVER, 0:WIDTH * OVER]
    ray = np.stack([(x + 0.5 - WIDTH * OVER / 2) / (HEIGHT * OVER), (HEIGHT * OVER / 2 - y - 0.5) / (HEIGHT * OVER) - 0.12,
                    np.full(x.shape, 1.0)], -1)
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    eye = np.broadcast_to(np.array([0.0, 1.5, 0.0]), ray.shape)
    picture = np.array([0.55, 0.70, 0.90]) + (0.4 - ray[..., 1:2]) * np.array([0.35, 0.25, 0.05])
    nearest = np.where(ray[..., 1] < 0, -eye[..., 1] / np.minimum(ray[..., 1], -1e-9), np.inf)
    floor = eye + ray * np.minimum(nearest, 60)[..., None]
    tile = (np.floor(floor[..., 0]) + np.floor(floor[..., 2])) % 2
    colour = np.where(tile[..., None] > 0, [0.85, 0.85, 0.80], [0.25, 0.30, 0.28])
    ground = colour * (0.3 + 0.7 * LIGHT[1] * shadow(floor))[..., None]
    haze = np.clip(nearest / 40, 0, 1)[..., None]
    picture = np.where(np.isfinite(nearest)[..., None], ground * (1 - haze) + picture * haze, picture)
    for centre, radius, colour in BALLS:
        t = hit_ball(eye, ray, centre, radius)
        point = eye + ray * np.minimum(t, 100)[..., None]
        ball = shade(point, (point - np.array(centre)) / radius, np.array(colour), ray)
        picture = np.where((t < nearest)[..., None], ball, picture)
        nearest = np.minimum(t, nearest)
    return picture.reshape(HEIGHT, OVER, WIDTH, OVER, 3).mean((1, 3))


def png(pixels):
    """Truecolour, each row filtered by its difference from the row above."""
    rows = pixels.astype("u1").reshape(len(pixels), -1)
    above = np.vstack([np.zeros_like(rows[:1]), rows[:-1]])
    filtered = np.hstack([np.full((len(rows), 1), 2, "u1"), rows - above])

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(filtered.tobytes(), 9)) +
            chunk(b"IEND", b""))


if __name__ == "__main__":
    levels = np.clip(render(), 0, 1) ** (1 / 1.6)
    with open(sys.argv[1], "wb") as out:
        out.write(png(np.round(levels * 255)))
