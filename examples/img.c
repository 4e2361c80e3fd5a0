/* img IN OUT: converts between pictures and arrays, by the names' suffixes.
 *
 *   picture (.png .jpg .bmp .pgm .ppm ...) -> .npy    u8 [height, width, 3], or [height, width]
 *                                                     with -g
 *   .npy -> .png .pgm .ppm                            u8, or f32 with 0 black and 1 white
 *
 * Arrays are [height, width] or [height, width, channels] with 1 or 3 channels.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-function"
#define STBI_FAILURE_USERMSG
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

#include "base/array_file.h"

static int fail(const char *path, const char *why)
{
	fprintf(stderr, "img: %s: %s\n", path, why);
	return 1;
}

static int has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);
	return n >= m && strcmp(path + n - m, suffix) == 0;
}

static int to_npy(const char *from, const char *to, int channels)
{
	int width, height, unused, status = 0;
	ArrayError why;
	unsigned char *pixels = stbi_load(from, &width, &height, &unused, channels);
	if (!pixels)
		return fail(from, stbi_failure_reason());
	Array array = {.dtype = DTYPE_U8,
		       .rank = channels == 1 ? 2 : 3,
		       .extents = {height, width, channels},
		       .bytes = (size_t)height * (size_t)width * (size_t)channels,
		       .data = pixels};
	if (!npy_write(to, &array, &why))
		status = fail(to, why.text);
	stbi_image_free(pixels);
	return status;
}

/* Bytes of a u8 or f32 array; NULL for others. */
static unsigned char *levels(const Array *array)
{
	unsigned char *out = malloc(array->nelements + 1);
	const float *real = array->data;
	if (!out || (array->dtype != DTYPE_U8 && array->dtype != DTYPE_F32)) {
		free(out);
		return NULL;
	}
	if (array->dtype == DTYPE_U8)
		return memcpy(out, array->data, array->nelements);
	for (size_t i = 0; i < array->nelements; i++)
		out[i] = (unsigned char)lrintf(255 * fminf(fmaxf(real[i], 0), 1));
	return out;
}

/* The binary PGM and PPM. */
static int write_pnm(const char *path, const int size[3], const unsigned char *pixels)
{
	size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
	FILE *out = fopen(path, "wb");
	int ok = out &&
		 fprintf(out, "P%d\n%d %d\n255\n", size[2] == 1 ? 5 : 6, size[1], size[0]) > 0 &&
		 fwrite(pixels, 1, n, out) == n;
	return out && fclose(out) == 0 && ok;
}

static int write_picture(const char *path, const int size[3], const unsigned char *pixels)
{
	int ok = has_suffix(path, ".png") ? stbi_write_png(path, size[1], size[0], size[2], pixels,
							   size[1] * size[2])
					  : write_pnm(path, size, pixels);
	return ok ? 0 : fail(path, "it cannot be written");
}

static int to_picture(const char *from, const char *to)
{
	Array array;
	ArrayError why;
	if (!array_read(from, NULL, DTYPE_NONE, &array, &why))
		return fail(from, why.text);
	int size[3] = {0, 0, 1}, ok = array.rank == 2 || array.rank == 3;
	for (int i = 0; i < array.rank && ok; i++) {
		ok = array.extents[i] > 0 && array.extents[i] <= 1 << 14;
		size[i] = (int)array.extents[i];
	}
	unsigned char *pixels = ok && (size[2] == 1 || size[2] == 3) ? levels(&array) : NULL;
	int status = pixels ? write_picture(to, size, pixels)
			    : fail(from,
				   "expected u8 or f32 [height, width] or [height, width, 1 or 3]");
	free(pixels);
	array_free(&array);
	return status;
}

int main(int argc, char **argv)
{
	int grey = argc > 1 && strcmp(argv[1], "-g") == 0;
	if (argc - grey != 3) {
		fputs("usage: img [-g] PICTURE OUT.npy\n       img IN.npy OUT.png|.pgm|.ppm\n",
		      stderr);
		return 2;
	}
	const char *from = argv[1 + grey], *to = argv[2 + grey];
	return has_suffix(from, ".npy") ? to_picture(from, to) : to_npy(from, to, grey ? 1 : 3);
}
