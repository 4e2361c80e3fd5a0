/* What is read of a cubin: a file made here by hand, cut off everywhere, and with any byte changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/cubin.h"

enum { SECTIONS = 6, AT_CODE = 1024, SIZE = 1024 + 48 };

static const char names[] = "\0.shstrtab\0.strtab\0.symtab\0.nv.info\0.text.k";
static const char strings[] = "\0k";

static uint32_t name_at(const char *name)
{
	for (uint32_t i = 0; i < sizeof names; i++)
		if (strcmp(names + i, name) == 0)
			return i;
	fail();
	return 0;
}

static void put_section(unsigned char *file, int index, const char *name, uint32_t type, size_t at,
			const void *bytes, size_t n)
{
	Elf64_Shdr head = {
		.sh_name = name_at(name), .sh_type = type, .sh_offset = at, .sh_size = n};
	head.sh_link = type == SHT_SYMTAB ? 2 : 0;
	memcpy(file + sizeof(Elf64_Ehdr) + (size_t)index * sizeof head, &head, sizeof head);
	memcpy(file + at, bytes, n);
}

/* A kernel k of 40 registers and 16 bytes of stack, three instructions, of which two are on it. */
static void make(unsigned char *file)
{
	const Elf64_Sym symbols[2] = {
		{0}, {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 5}};
	const uint32_t info[] = {0x00080000 | 0x2f04, 1, 40, 0x00080000 | 0x1104, 1, 16};
	const uint32_t code[12] = {[0] = 0x983, [4] = 0x223, [8] = 0x7387};
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F'},
			   .e_shoff = sizeof head,
			   .e_shnum = SECTIONS,
			   .e_shstrndx = 1};
	memset(file, 0, SIZE);
	memcpy(file, &head, sizeof head);
	put_section(file, 1, ".shstrtab", SHT_STRTAB, 512, names, sizeof names);
	put_section(file, 2, ".strtab", SHT_STRTAB, 640, strings, sizeof strings);
	put_section(file, 3, ".symtab", SHT_SYMTAB, 704, symbols, sizeof symbols);
	put_section(file, 4, ".nv.info", SHT_LOPROC, 800, info, sizeof info);
	put_section(file, 5, ".text.k", SHT_PROGBITS, AT_CODE, code, sizeof code);
}

static void test_a_kernel_is_read(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	unsigned char file[SIZE];
	make(file);
	CubinKernels kernels = cubin_kernels(arena, file, SIZE);
	assert_int_equal(kernels.n, 1);
	assert_string_equal(kernels.at[0].name, "k");
	assert_int_equal(kernels.at[0].registers, 40);
	assert_int_equal(kernels.at[0].stack, 16);
	assert_int_equal(kernels.at[0].local, 2);
	arena_free(arena);
}

/* In memory of its own length, so that a sanitizer sees a read behind it. */
static void read_copy(const unsigned char *file, size_t n)
{
	Arena *arena = arena_new();
	unsigned char *copy = malloc(n + 1);
	assert_non_null(copy);
	unsigned char *end = copy + 1;
	memcpy(end, file, n);
	cubin_kernels(arena, end, n);
	free(copy);
	arena_free(arena);
}

static void test_nothing_in_it_is_trusted(void **state)
{
	(void)state;
	unsigned char file[SIZE];
	make(file);
	for (size_t n = 0; n < SIZE; n++)
		read_copy(file, n);
	for (size_t at = 0; at < SIZE; at++)
		for (int value = 0; value < 256; value += 51) {
			unsigned char before = file[at];
			file[at] = (unsigned char)value;
			read_copy(file, SIZE);
			file[at] = before;
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_kernel_is_read),
		cmocka_unit_test(test_nothing_in_it_is_trusted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
