/* For emulated.py, on the other processor: loads the module that argv[1] names and answers calls until
 * the input ends. A call: the length of the function's name, the name, the number of arguments, and
 * for each a tag and a number: 0, an integer; 1, that many bytes, which follow, to be read and
 * written. All numbers are int64, and so are arguments on the stack of AAPCS64. The answer: the result and the bytes of every argument. Every
 * array ends in front of a page that can be neither read nor written. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST = 96, PAGE = 65536 };

static void take(void *to, size_t n)
{
	if (n && fread(to, 1, n, stdin) != n)
		exit(feof(stdin) ? 0 : 3);
}

static int64_t number(void)
{
	int64_t n;
	take(&n, sizeof n);
	return n;
}

static size_t inside(int64_t bytes)
{
	return ((size_t)bytes + PAGE - 1) / PAGE * PAGE;
}

static char *guarded(int64_t bytes)
{
	size_t room = inside(bytes);
	char *base = mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED || mprotect(base + room, PAGE, PROT_NONE) != 0)
		exit(6);
	return base + room - bytes;
}

#define FOUR(i) a[i], a[i + 1], a[i + 2], a[i + 3]
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)

static void answer(void *library)
{
	char name[4096];
	int64_t a[MOST] = {0}, bytes[MOST], n = number();
	take(name, (size_t)n);
	name[n] = 0;
	int64_t count = number();
	if (count > MOST)
		exit(5);
	for (int64_t i = 0; i < count; i++) {
		int64_t tag = number();
		bytes[i] = -1;
		a[i] = number();
		if (tag == 0)
			continue;
		bytes[i] = a[i];
		char *memory = guarded(bytes[i]);
		take(memory, (size_t)bytes[i]);
		a[i] = (int64_t)memory;
	}
	int64_t (*function)() = (int64_t(*)())dlsym(library, name);
	if (!function)
		exit(4);
	/* What is too many stays on the stack, where nobody looks. */
	int64_t result = function(SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48), SIXTEEN(64), SIXTEEN(80));
	fwrite(&result, sizeof result, 1, stdout);
	for (int64_t i = 0; i < count; i++) {
		if (bytes[i] < 0)
			continue;
		fwrite((char *)a[i], 1, (size_t)bytes[i], stdout);
		munmap((char *)a[i] + bytes[i] - inside(bytes[i]), inside(bytes[i]) + PAGE);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	for (;;)
		answer(library);
}
