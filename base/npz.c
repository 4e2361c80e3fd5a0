/* .npz: a zip of .npy members, stored or deflated; the array 'w' is the member 'w.npy'.
 *
 * A member is trusted only as far as its own header goes: its claimed length must be the header's,
 * and no more than deflate can make of its compressed bytes, before anything is allocated.
 */
#include <stdlib.h>
#include <string.h>
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

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool check_unique(const ArrayFile *file, ArrayError *error)
{
	char **names = calloc(file->nentries + 1, sizeof *names);
	bool ok = true;
	if (!names)
		return array_fail(error, "out of memory");
	for (size_t i = 0; i < file->nentries; i++)
		names[i] = file->entries[i].name;
	qsort(names, file->nentries, sizeof *names, by_name);
	for (size_t i = 1; i < file->nentries && ok; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			ok = array_fail(error, "the array '%.100s' is in it twice", names[i]);
	free(names);
	return ok;
}

static bool open_npz(ArrayFile *file, ArrayError *error)
{
	int code = 0;
	if (!file->path)
		return array_fail(error, "a .npz is read from a file only");
	file->archive = zip_open(file->path, ZIP_RDONLY, &code);
	if (!file->archive)
		return zip_fails(error, code);
	zip_int64_t n = zip_get_num_entries(file->archive, 0);
	if (n < 0 || n > NPZ_MEMBERS_MAX)
		return array_fail(error, "it has too many members");
	file->entries = calloc((size_t)n + 1, sizeof *file->entries);
	if (!file->entries)
		return array_fail(error, "out of memory");
	for (zip_int64_t i = 0; i < n; i++) {
		const char *name = zip_get_name(file->archive, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
		if (!name)
			return array_fail(error, "it has a member without a name");
		if (*name && name[strlen(name) - 1] == '/')
			continue;
		Entry *entry = &file->entries[file->nentries];
		entry->member = (uint64_t)i;
		entry->name = key_of(name);
		if (!entry->name)
			return array_fail(error, "out of memory");
		file->nentries++;
	}
	return check_unique(file, error);
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

static bool load_member(zip_file_t *member, uint64_t len, Layout *layout, void **raw,
			ArrayError *error)
{
	if (!read_header(member, len, layout, error))
		return false;
	if (layout->bytes != len - layout->offset)
		return array_fail(error,
				  "the member holds %llu bytes of elements, its header says %llu",
				  (unsigned long long)(len - layout->offset),
				  (unsigned long long)layout->bytes);
	return read_elements(member, layout, raw, error);
}

static bool load_npz(ArrayFile *file, size_t index, Layout *layout, void **raw, ArrayError *error)
{
	zip_stat_t stat;
	zip_uint64_t number = file->entries[index].member;
	zip_stat_init(&stat);
	if (zip_stat_index(file->archive, number, 0, &stat) != 0)
		return array_fail(error, "the member is damaged");
	if (!check_member(&stat, error))
		return false;
	zip_file_t *member = zip_fopen_index(file->archive, number, 0);
	if (!member)
		return array_fail(error, "%s", zip_strerror(file->archive));
	bool ok = load_member(member, stat.size, layout, raw, error);
	zip_fclose(member);
	return ok;
}

const Format npz_format = {open_npz, load_npz, close_npz};
