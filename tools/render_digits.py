"""Pictures of digits from installed fonts: examples/digits_test.npz, and a training set.

    render_digits.py TRAIN.npz TEST.npz

Each picture is 28 x 28 bytes, white on black, a digit of a font turned, sheared, scaled and moved at random.
The families in HELD_OUT appear in the test set alone. Debian packages: fonts-dejavu fonts-freefont-ttf
fonts-urw-base35 fonts-open-sans fonts-roboto fonts-hack fonts-noto-core; held out: fonts-liberation
fonts-lato fonts-cantarell fonts-inconsolata.
"""
import glob
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

FONTS = "/usr/share/fonts/"
TRAINED = [
    "truetype/dejavu/*.ttf", "truetype/freefont/*.ttf", "opentype/urw-base35/[CNPU]*.otf",
    "truetype/open-sans/*.ttf", "truetype/roboto/unhinted/RobotoTTF/*.ttf", "truetype/hack/*.ttf",
    "truetype/noto/NotoSans-*.ttf", "truetype/noto/NotoSerif-*.ttf", "truetype/noto/NotoSansMono-*.ttf",
    "truetype/noto/NotoSansDisplay-*.ttf", "truetype/noto/NotoSerifDisplay-*.ttf",
]
HELD_OUT = [
    "truetype/liberation/*.ttf", "truetype/lato/*.ttf", "opentype/cantarell/*.otf", "truetype/inconsolata/*.otf",
]
SIDE, OVER = 28, 4  # pixels of a picture; drawn this many times larger
WITHOUT_DIGITS = ("MathTeX", "Symbol", "Dingbats", "D050000L")


def font_files(patterns):
    files = sorted(f for p in patterns for f in glob.glob(FONTS + p))
    return [f for f in files if not any(word in f for word in WITHOUT_DIGITS)]


def draw(path, digit, random):
    side = SIDE * OVER
    font = ImageFont.truetype(path, int(random.uniform(19, 26) * OVER))
    picture = Image.new("L", (side, side))
    pen = ImageDraw.Draw(picture)
    left, top, right, bottom = pen.textbbox((0, 0), str(digit), font=font)
    x = (side - right - left) / 2 + random.uniform(-1.5, 1.5) * OVER
    y = (side - bottom - top) / 2 + random.uniform(-1.5, 1.5) * OVER
    pen.text((x, y), str(digit), fill=255, font=font)
    angle, shear = random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2)
    cos, sin, middle = np.cos(angle), np.sin(angle), side / 2
    a, b = cos + shear * sin, -sin + shear * cos
    turned = picture.transform(
        (side, side), Image.AFFINE,
        (a, b, middle - a * middle - b * middle, sin, cos, middle - sin * middle - cos * middle), Image.BILINEAR)
    return np.asarray(turned.resize((SIDE, SIDE), Image.BOX))


def render(files, count, random):
    labels = np.arange(count) % 10
    images = [draw(files[random.integers(len(files))], d, random) for d in labels]
    return np.stack(images)[..., None].astype("u1"), labels.astype("i4")


def main():
    trained, held_out = font_files(TRAINED), font_files(HELD_OUT)
    if len(trained) < 50 or len(held_out) < 20:
        sys.exit("fonts are missing: see the head of this file")
    for path, files, count, seed in ((sys.argv[1], trained, 30000, 1), (sys.argv[2], held_out, 1000, 2)):
        images, labels = render(files, count, np.random.default_rng(seed))
        np.savez_compressed(path, images=images, labels=labels)
        print(f"{path}: {count} pictures of {len(files)} fonts")


if __name__ == "__main__":
    main()
