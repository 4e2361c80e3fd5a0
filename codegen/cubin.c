/* A cubin is an ELF file. Its section .nv.info has records of 4 bytes, a format, an attribute and the
 * payload's length, and the payload: of format 4 a symbol and a number, for the attributes below. The code of
 * a kernel is in .text.NAME, 16 bytes an instruction, the operation in its low 12 bits. Nothing in it is
 * trusted: every offset is held against the file's length. */
#include "codegen/cubin.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

enum {
	FORMAT_PAYLOAD = 4,
	ATTRIBUTE_FRAME = 0x11,
	ATTRIBUTE_REGCOUNT = 0x2f,
	OPCODE_MASK = 0xfff,
	OPCODE_LOAD_LOCAL = 0x983,
	OPCODE_STORE_LOCAL = 0x387,
	INSTRUCTION = 16
};

typedef struct Cubin {
	const unsigned char *bytes;
	size_t n;
	const Elf64_Ehdr *head;
} Cubin;

typedef struct Part {
	const unsigned char *at;
	size_t n;
} Part;

static bool inside(const Cubin *c, uint64_t at, uint64_t n) { return at <= c->n && n <= c->n - at; }

static Elf64_Shdr section(const Cubin *c, uint32_t index)
{
	Elf64_Shdr s = {0};
	uint64_t at = c->head->e_shoff + (uint64_t)index * sizeof s;
	if (index < c->head->e_shnum && c->head->e_shoff < c->n && inside(c, at, sizeof s))
		memcpy(&s, c->bytes + at, sizeof s);
	return s;
}

static Part part_of(const Cubin *c, const Elf64_Shdr *s)
{
	bool there = s->sh_type != SHT_NOBITS && inside(c, s->sh_offset, s->sh_size);
	return there ? (Part){c->bytes + s->sh_offset, s->sh_size} : (Part){c->bytes, 0};
}

/* A string that ends inside its table; "": there is none. */
static const char *string_at(Part table, uint64_t at)
{
	const char *text = (const char *)table.at + at;
	return at < table.n && memchr(text, 0, table.n - at) ? text : "";
}

/* The section of that name, and, where not NULL, its head. */
static Part named(const Cubin *c, const char *name, Elf64_Shdr *head)
{
	Elf64_Shdr names = section(c, c->head->e_shstrndx);
	Part table = part_of(c, &names);
	for (uint32_t i = 0; i < c->head->e_shnum; i++) {
		Elf64_Shdr s = section(c, i);
		if (strcmp(string_at(table, s.sh_name), name) != 0)
			continue;
		if (head)
			*head = s;
		return part_of(c, &s);
	}
	return (Part){c->bytes, 0};
}

static uint32_t word_at(Part part, size_t at)
{
	uint32_t word;
	memcpy(&word, part.at + at, sizeof word);
	return word;
}

/* The number of an attribute of a symbol. */
static uint32_t attribute(Part info, uint32_t which, uint32_t symbol)
{
	for (size_t at = 0; at + 4 <= info.n;) {
		uint32_t format = info.at[at], kind = info.at[at + 1];
		size_t length = format == FORMAT_PAYLOAD ? word_at(info, at) >> 16 : 0;
		if (at + 4 + length > info.n)
			return 0;
		if (kind == which && length >= 8 && word_at(info, at + 4) == symbol)
			return word_at(info, at + 8);
		at += 4 + (length + 3) / 4 * 4;
	}
	return 0;
}

static uint32_t local_accesses(Part code)
{
	uint32_t n = 0;
	for (size_t at = 0; at + INSTRUCTION <= code.n; at += INSTRUCTION) {
		uint32_t opcode = word_at(code, at) & OPCODE_MASK;
		n += opcode == OPCODE_LOAD_LOCAL || opcode == OPCODE_STORE_LOCAL;
	}
	return n;
}

CubinKernels cubin_kernels(Arena *arena, const void *bytes, size_t n)
{
	CubinKernels kernels = {0};
	Cubin c = {.bytes = bytes, .n = n};
	Elf64_Ehdr head;
	if (n < sizeof head || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return kernels;
	memcpy(&head, bytes, sizeof head);
	c.head = &head;
	Elf64_Shdr symbols = {0};
	Part table = named(&c, ".symtab", &symbols), info = named(&c, ".nv.info", NULL);
	Elf64_Shdr strings = section(&c, symbols.sh_link);
	Part names = part_of(&c, &strings);
	for (uint32_t i = 0; (i + 1) * sizeof(Elf64_Sym) <= table.n; i++) {
		Elf64_Sym symbol;
		memcpy(&symbol, table.at + i * sizeof symbol, sizeof symbol);
		const char *name = string_at(names, symbol.st_name);
		if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
		    ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL || !*name)
			continue;
		Part code = named(&c, arena_printf(arena, ".text.%s", name), NULL);
		PUSH(arena, kernels,
		     ((CubinKernel){arena_printf(arena, "%s", name),
				    attribute(info, ATTRIBUTE_REGCOUNT, i),
				    attribute(info, ATTRIBUTE_FRAME, i), local_accesses(code)}));
	}
	return kernels;
}
