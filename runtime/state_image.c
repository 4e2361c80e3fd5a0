/* The parameters of a state on disk: a header of 128 bytes, then the bytes as they stand in memory.
 * What the state holds behind them are copies, which depend on the processor that a module is made
 * for; they are made anew.
 *
 *   magic "TSRSTATE", version, lengths of header and state, hash of the layout, checksum, name
 *
 * The layout is every parameter's name, type, extents and offset: an image of another program, or
 * of the same one with other sizes, is refused. The checksum (XXH64) tells a damaged file.
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

int tsr_load_state(tsr_session *s, const char *path, tsr_error *error)
{
	struct stat st;
	if (s->state)
		return session_fail(error, TSR_FAIL_ORDER, "the session has a state already");
	FILE *in = fopen(path, "rbe");
	if (!in || fstat(fileno(in), &st) != 0 || !S_ISREG(st.st_mode)) {
		int code = session_fail(error, TSR_FAIL_FILE, "%s: %s", path,
					in ? "it is not a regular file" : strerror(errno));
		if (in)
			fclose(in);
		return code;
	}
	free(s->image);
	s->image_bytes = (size_t)st.st_size;
	s->image = malloc(s->image_bytes + 1);
	bool ok = s->image && fread(s->image, 1, s->image_bytes, in) == s->image_bytes;
	fclose(in);
	const ImageHeader *h = (const ImageHeader *)s->image;
	const char *why =
		!ok ? "it cannot be read"
		: s->image_bytes < sizeof *h || memcmp(h->magic, image_magic, sizeof h->magic) != 0
			? "it is not a state written by tsr"
		: h->version != IMAGE_VERSION || h->header_bytes != sizeof *h
			? "its version is not known"
		: h->state_bytes != s->image_bytes - sizeof *h ? "it is cut short, or too long"
		: h->checksum != XXH64(h + 1, h->state_bytes, 0)
			? "its checksum is wrong: it is damaged"
			: NULL;
	if (!why)
		return TSR_OK;
	free(s->image);
	s->image = NULL;
	return session_fail(error, TSR_FAIL_FILE, "%s: %s", path, why);
}

int image_restore(tsr_session *s, tsr_error *error)
{
	const ImageHeader *h = (const ImageHeader *)s->image;
	ImageHeader ours;
	fill_header(s, &ours);
	if (h->state_bytes != ours.state_bytes || h->layout != ours.layout)
		return session_fail(
			error, TSR_FAIL_TYPE,
			"the state was saved by module '%.87s' (%llu bytes); '%s' has other parameters or sizes (%llu bytes)",
			h->name, (unsigned long long)h->state_bytes, s->module->name,
			(unsigned long long)ours.state_bytes);
	memcpy(s->state, h + 1, h->state_bytes);
	free(s->image);
	s->image = NULL;
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
	bool good = out && image_write(s, out) && rename(name, path) == 0;
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
	return out && image_write(s, out);
}

int tsr_save_state(const tsr_session *s, const char *path, tsr_error *error)
{
	if (!s->state)
		return session_fail(error, TSR_FAIL_ORDER, "the session has no state yet");
	bool good = file_replaceable(path) ? replace(s, path) : write_through(s, path);
	return good ? TSR_OK
		    : session_fail(error, TSR_FAIL_FILE, "%s: %s", path, strerror(errno));
}
