/* The parameters of a state on disk: a header of 128 bytes, then the bytes as they stand in memory.
 * What the state holds behind them are copies, which depend on the processor that a module is made
 * for; they are made anew. As a .safetensors: state_named.c.
 *
 *   magic "TSRSTATE", version, lengths of header and state, hash of the layout, checksum, name
 *
 * The layout is every parameter's name, type, extents and offset: an image of another program, or
 * of the same one with other sizes, is refused before its bytes are read. The checksum (XXH64) tells
 * a damaged file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"
#include "runtime/session.h"

typedef struct ImageHeader {
	char magic[8];
	uint32_t version, header_bytes;
	uint64_t state_bytes, layout, checksum;
	char name[88]; /* the module's, cut to fit, NUL-terminated */
} ImageHeader;

/* A file that is read when the sizes are known. */
struct Image {
	FILE *in;
	char *path;
	ImageHeader header;
};

enum { IMAGE_VERSION = 1 };
static const char image_magic[8] = {'T', 'S', 'R', 'S', 'T', 'A', 'T', 'E'};

_Static_assert(sizeof(ImageHeader) == 128, "the header's layout is part of the format");

uint64_t session_layout_hash(const tsr_session *s)
{
	uint64_t hash = XXH64("", 0, 0);
	for (int32_t i = 0; i < s->module->nparams; i++) {
		const tsr_tensor *t = s->params[i].tensor;
		tsr_array place;
		int64_t offset = -1;
		hash = XXH64(t->name, strlen(t->name) + 1, hash);
		hash = XXH64(t->dtype, strlen(t->dtype) + 1, hash);
		if (slot_measure(s, &s->params[i], &place, NULL) == TSR_OK)
			hash = XXH64(place.extents, (size_t)place.rank * sizeof *place.extents,
				     hash);
		tsr_size_value(&t->offset, s->module, s->values, &offset);
		hash = XXH64(&offset, sizeof offset, hash);
	}
	return hash;
}

/* Bytes of the state up to the end of its parameters; every offset is a multiple of 64. */
static uint64_t image_bytes(const tsr_session *s)
{
	uint64_t most = 0;
	for (int32_t i = 0; i < s->module->nparams; i++) {
		tsr_array place;
		int64_t offset = 0;
		if (slot_measure(s, &s->params[i], &place, NULL) != TSR_OK ||
		    tsr_size_value(&s->params[i].tensor->offset, s->module, s->values, &offset) !=
			    TSR_OK)
			return s->state_bytes;
		uint64_t end = ((uint64_t)offset + place.bytes + 63) / 64 * 64;
		most = end > most ? end : most;
	}
	return most < s->state_bytes ? most : s->state_bytes;
}

static void fill_header(const tsr_session *s, ImageHeader *h)
{
	memset(h, 0, sizeof *h);
	memcpy(h->magic, image_magic, sizeof h->magic);
	h->version = IMAGE_VERSION;
	h->header_bytes = sizeof *h;
	h->state_bytes = image_bytes(s);
	h->layout = session_layout_hash(s);
	snprintf(h->name, sizeof h->name, "%s", s->module->name);
}

void image_close(struct Image *image)
{
	if (!image)
		return;
	if (image->in)
		fclose(image->in);
	free(image->path);
	free(image);
}

/* Reads the header; NULL when it fits the file. */
static const char *image_fault(FILE *in, ImageHeader *h)
{
	struct stat st;
	if (fstat(fileno(in), &st) != 0)
		return strerror(errno);
	if (fread(h, sizeof *h, 1, in) != 1 ||
	    memcmp(h->magic, image_magic, sizeof h->magic) != 0)
		return "it is not a state written by tsr";
	if (h->version != IMAGE_VERSION || h->header_bytes != sizeof *h)
		return "its version is not known";
	return h->state_bytes == (uint64_t)st.st_size - sizeof *h ? NULL
								   : "it is cut short, or too long";
}

int tsr_load_state(tsr_session *s, const char *path, tsr_error *error)
{
	int code = session_check_stateless(s, error);
	if (code == TSR_OK)
		code = session_check_pointer(path, "path", error);
	if (code != TSR_OK)
		return code;
	if (state_is_named(path)) {
		image_close(s->image);
		s->image = NULL;
		return state_load_named(s, path, error);
	}
	struct Image *image = calloc(1, sizeof *image);
	if (!image || !(image->path = strdup(path))) {
		free(image);
		return session_fail(error, TSR_FAIL_MEMORY, "out of memory");
	}
	const char *why;
	image->in = file_open(path, &why);
	if (image->in)
		why = image_fault(image->in, &image->header);
	if (why) {
		image_close(image);
		return session_fail(error, TSR_FAIL_FILE, "%s: %s", path, why);
	}
	image_close(s->image);
	s->image = image;
	return TSR_OK;
}

int image_restore(tsr_session *s, tsr_error *error)
{
	const struct Image *image = s->image;
	const ImageHeader *h = &image->header;
	ImageHeader ours;
	fill_header(s, &ours);
	if (h->state_bytes != ours.state_bytes || h->layout != ours.layout)
		return session_fail(error, TSR_FAIL_TYPE,
				    "%s: the state was saved by module '%.87s' (%llu bytes); '%s' "
				    "has other parameters or sizes (%llu bytes)",
				    image->path, h->name, (unsigned long long)h->state_bytes,
				    s->module->name, (unsigned long long)ours.state_bytes);
	if (fseek(image->in, sizeof *h, SEEK_SET) != 0 ||
	    fread(s->state, 1, h->state_bytes, image->in) != h->state_bytes)
		return session_fail(error, TSR_FAIL_FILE, "%s: it cannot be read", image->path);
	if (h->checksum != XXH64(s->state, h->state_bytes, 0))
		return session_fail(error, TSR_FAIL_FILE,
				    "%s: its checksum is wrong: it is damaged", image->path);
	return TSR_OK;
}

bool image_write(const tsr_session *s, FILE *out)
{
	ImageHeader h;
	fill_header(s, &h);
	h.checksum = XXH64(s->state, h.state_bytes, 0);
	fwrite(&h, sizeof h, 1, out);
	fwrite(s->state, 1, h.state_bytes, out);
	return file_close(out);
}

static bool replace(const tsr_session *s, const char *path)
{
	char *name;
	int fd = file_new(path, 0666, &name);
	if (fd < 0)
		return false;
	FILE *out = fdopen(fd, "wb");
	bool good = out && state_write(s, path, out) && rename(name, path) == 0;
	int error = errno;
	if (!out)
		close(fd);
	if (!good)
		unlink(name);
	free(name);
	errno = error;
	return good;
}

/* What cannot be renamed over, a device or a pipe, is written to. */
static bool write_through(const tsr_session *s, const char *path)
{
	FILE *out = fopen(path, "wbe");
	return out && state_write(s, path, out);
}

int tsr_save_state(const tsr_session *s, const char *path, tsr_error *error)
{
	int code = session_check_state(s, error);
	if (code == TSR_OK)
		code = session_check_pointer(path, "path", error);
	if (code == TSR_OK)
		code = session_read_back(s, error);
	if (code != TSR_OK)
		return code;
	bool good = file_replaceable(path) ? replace(s, path) : write_through(s, path);
	return good ? TSR_OK
		    : session_fail(error, TSR_FAIL_FILE, "%s: %s", path, strerror(errno));
}
