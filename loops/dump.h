/* What dump.c, dump_names.c and dump_tables.c share: loops as text (loops_dump in loops.h).
 *
 * Names in the text are unique where they are seen, so that it can be read back: a loop or a local
 * inside of one of the same name is NAME1, and a buffer of a routine that shares its name with another
 * one that the routine sees is NAME_2.
 */
#ifndef TSR_LOOPS_DUMP_H
#define TSR_LOOPS_DUMP_H

#include "loops/build.h"
#include "loops/walk.h"

typedef struct Dump {
	FILE *out;
	const Program *program;
	const Kernel *kernel;
	uint32_t routine;     /* one that runs the kernel: names of scalars */
	Sym *iters, *locals;  /* of the kernel, as they are called where they are; NULL: as in its tables */
	VEC(Sym) visible;     /* of iterators and locals that are seen at the statement */
	BufferUses uses;      /* of the kernel */
	Sym *buffers;	      /* what those are called */
} Dump;

/* The kernel as in loops_dump, behind an empty line. */
void kernel_dump(FILE *out, const Program *program, KernelId kernel);

extern const char *const buffer_kind_names[];

/* A routine that runs the kernel (0 where none does). */
uint32_t kernel_routine(const Program *program, KernelId kernel);
void dump_scalar(const Dump *d, Dtype dtype, Scalar scalar);

/* ---- dump_names.c ---- */

/* Makes room for the names of d->kernel; the buffers that it touches. */
BufferUses dump_open_kernel(Dump *d);
/* Makes a name visible, from here to where d->visible is cut. */
void dump_name_iter(Dump *d, IterVar iter);
void dump_name_local(Dump *d, LocalId local);
Sym dump_iter(const Dump *d, IterVar iter);
Sym dump_local_name(const Dump *d, LocalId local);
Sym dump_buffer_name(const Dump *d, BufferId buffer);
/* What the buffer is called where a routine sees it. */
Sym buffer_shown(const Program *program, BufferId buffer);

#endif
