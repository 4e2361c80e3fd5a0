/* .npz: a zip of .npy members, stored or deflated; the array 'w' is the member 'w.npy'.
 *
 * A member is trusted only as far as its own header goes: its claimed length must be the header's,
 * and no more than deflate can make of its compressed bytes, before anything is allocated.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "base/array_format.h"

enum { NPZ_MEMBERS_MAX = 1 << 20, DEFLATE_RATIO = 1032, DEFLATE_SLACK = 1 << 10 };

static bool zip_fails(ArrayError *error, int code)
{
	zip_error_t why;
	zip_error_init_with_code(&why, code);
	array_fail(error, "it cannot be read as a .npz: %s", zip_error_strerror(&why));
	zip_error_fini(&why);
	return false;
}

static char *key_of(const char *member)
{
	size_t n = strlen(member);
	if (n >= 4 && strcmp(member + n - 4, ".npy") == 0)
		n -= 4;
	return strndup(member, n);
}

static bool open_archive(ArrayFile *file, ArrayError *error)
{
	int code = 0, fd = dup(fileno(file->in));
	if (fd < 0)
		return array_fail(error, "%s", strerror(errno));
	file->archive = zip_fdopen(fd, ZIP_RDONLY, &code);
	if (file->archive)
		return true;
	close(fd);
	return zip_fails(error, code);
}

static bool open_npz(ArrayFile *file, ArrayError *error)
{
	if (!file->in)
		return array_fail(error, "a .npz is read from a file only");
	if (!open_archive(file, error))
		return false;
	zip_int64_t n = zip_get_num_entries(file->archive, 0);
	if (n < 0 || n > NPZ_MEMBERS_MAX)
		return array_fail(error, "it has too many members");
	for (zip_int64_t i = 0; i < n; i++) {
		const char *name = zip_get_name(file->archive, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
		if (!name)
			return array_fail(error, "it has a member without a name");
		if (*name && name[strlen(name) - 1] == '/')
			continue;
		if (!array_file_add(file, key_of(name), (uint64_t)i, error))
			return false;
	}
	return true;
}

static void close_npz(ArrayFile *file)
{
	if (file->archive)
		zip_discard(file->archive);
}

/* Exactly n bytes, else false. */
static bool member_bytes(zip_file_t *member, void *to, uint64_t n)
{
	for (uint64_t done = 0; done < n;) {
		zip_int64_t got = zip_fread(member, (char *)to + done, n - done);
		if (got <= 0)
			return false;
		done += (uint64_t)got;
	}
	return true;
}

static bool read_header(zip_file_t *member, uint64_t len, Layout *layout, ArrayError *error)
{
	unsigned char prefix[NPY_PREFIX];
	if (len < NPY_PREFIX || !member_bytes(member, prefix, sizeof prefix))
		return array_fail(error, "the member is not a .npy");
	uint64_t header = npy_header_bytes(prefix);
	if (header < NPY_PREFIX || header > len || header > NPY_HEADER_MAX)
		return array_fail(error, "the member is not a .npy");
	unsigned char *head = malloc(header);
	if (!head)
		return array_fail(error, "out of memory");
	memcpy(head, prefix, sizeof prefix);
	bool ok = member_bytes(member, head + NPY_PREFIX, header - NPY_PREFIX)
			  ? npy_parse(head, header, layout, error)
			  : array_fail(error, "the member is damaged");
	free(head);
	return ok;
}

/* The bytes after the header; reading on to the end makes libzip compare the checksum. */
static bool read_elements(zip_file_t *member, const Layout *layout, void **raw, ArrayError *error)
{
	char end;
	*raw = array_room(layout->bytes);
	if (!*raw)
		return array_fail(error, "not enough memory for %llu bytes",
				  (unsigned long long)layout->bytes);
	if (member_bytes(member, *raw, layout->bytes) && zip_fread(member, &end, 1) == 0)
		return true;
	free(*raw);
	*raw = NULL;
	return array_fail(error, "the member is damaged or ends early");
}

static bool check_member(const zip_stat_t *stat, ArrayError *error)
{
	zip_uint64_t need = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD |
			    ZIP_STAT_ENCRYPTION_METHOD;
	if ((stat->valid & need) != need)
		return array_fail(error, "the member is damaged");
	if (stat->encryption_method != ZIP_EM_NONE)
		return array_fail(error, "the member is encrypted");
	if (stat->comp_method != ZIP_CM_STORE && stat->comp_method != ZIP_CM_DEFLATE)
		return array_fail(error, "the member is neither stored nor deflated");
	uint64_t packed = stat->comp_size, most;
	if (__builtin_mul_overflow(packed, DEFLATE_RATIO, &most) ||
	    __builtin_add_overflow(most, DEFLATE_SLACK, &most))
		most = UINT64_MAX;
	if (stat->size > (stat->comp_method == ZIP_CM_STORE ? packed : most))
		return array_fail(error, "the member claims more bytes than it can hold");
	return true;
}

/* The member, open behind its header; NULL with an error. */
static zip_file_t *open_member(ArrayFile *file, size_t index, Layout *layout, ArrayError *error)
{
	zip_stat_t stat;
	zip_uint64_t number = file->entries[index].at;
	zip_stat_init(&stat);
	if (zip_stat_index(file->archive, number, 0, &stat) != 0) {
		array_fail(error, "the member is damaged");
		return NULL;
	}
	if (!check_member(&stat, error))
		return NULL;
	zip_file_t *member = zip_fopen_index(file->archive, number, 0);
	if (!member) {
		array_fail(error, "%s", zip_strerror(file->archive));
		return NULL;
	}
	bool ok = read_header(member, stat.size, layout, error);
	bool known = layout->element != ELEMENT_OTHER; /* others are told by their type */
	if (ok && known && layout->bytes != stat.size - layout->offset)
		ok = array_fail(error,
				"the member holds %llu bytes of elements, its header says %llu",
				(unsigned long long)(stat.size - layout->offset),
				(unsigned long long)layout->bytes);
	if (ok)
		return member;
	zip_fclose(member);
	return NULL;
}

static bool measure_npz(ArrayFile *file, size_t index, Layout *layout, ArrayError *error)
{
	zip_file_t *member = open_member(file, index, layout, error);
	if (member)
		zip_fclose(member);
	return member != NULL;
}

static bool load_npz(ArrayFile *file, size_t index, const Layout *layout, void **raw,
		     ArrayError *error)
{
	Layout again;
	zip_file_t *member = open_member(file, index, &again, error);
	bool ok = member && read_elements(member, layout, raw, error);
	if (member)
		zip_fclose(member);
	return ok;
}

const Format npz_format = {open_npz, measure_npz, load_npz, close_npz, NULL};
