/* The line behind a file is "//tsr: digest " and 16 digits. What loads the file does not look at it. */
#include "base/digest.h"

#include <string.h>
#include <xxhash.h>

enum { LINE = 31 }; /* with the end of the line */

uint64_t text_digest(const void *bytes, size_t n) { return XXH3_64bits(bytes, n); }

/* Of the next n bytes of a file; false: it has fewer. */
static bool digest_of(FILE *in, uint64_t n, uint64_t *digest)
{
	unsigned char bytes[1 << 14];
	XXH3_state_t *state = XXH3_createState();
	bool good = state && XXH3_64bits_reset(state) == XXH_OK;
	while (good && n > 0) {
		size_t some = n < sizeof bytes ? (size_t)n : sizeof bytes;
		good = fread(bytes, 1, some, in) == some &&
		       XXH3_64bits_update(state, bytes, some) == XXH_OK;
		n -= some;
	}
	*digest = good ? XXH3_64bits_digest(state) : 0;
	XXH3_freeState(state);
	return good;
}

static void line_of(uint64_t digest, char line[LINE + 1])
{
	snprintf(line, LINE + 1, "//tsr: digest %016llx\n", (unsigned long long)digest);
}

bool digest_append(const char *path)
{
	uint64_t digest;
	char line[LINE + 1];
	FILE *file = fopen(path, "r+");
	if (!file)
		return false;
	bool good = fseeko(file, 0, SEEK_END) == 0;
	off_t size = ftello(file);
	good = good && size >= 0 && fseeko(file, 0, SEEK_SET) == 0 &&
	       digest_of(file, (uint64_t)size, &digest) && fseeko(file, 0, SEEK_END) == 0;
	if (good) {
		line_of(digest, line);
		good = fputs(line, file) >= 0;
	}
	return fclose(file) == 0 && good;
}

bool digest_holds(FILE *in)
{
	char line[LINE + 1] = {0}, own[LINE + 1];
	uint64_t digest;
	if (fseeko(in, -LINE, SEEK_END) != 0)
		return true;
	off_t size = ftello(in);
	if (fread(line, 1, LINE, in) != LINE || memcmp(line, "//tsr: digest ", 14) != 0)
		return true;
	if (fseeko(in, 0, SEEK_SET) != 0 || !digest_of(in, (uint64_t)size, &digest))
		return false;
	line_of(digest, own);
	return memcmp(line, own, LINE) == 0;
}
