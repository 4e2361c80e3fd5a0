/* What code is made for: the instructions of a processor and every number about its hardware, or
 * found by measuring, that lowering and code generation choose by. Nothing else in the compiler
 * states such numbers; `make deps` holds lower/, transform/, loops/ and codegen/ against that.
 *
 *   target := line*        printed by --dump=target, read by --target-file
 *   line   := "like" NAME ["+" FEATURE]* | "name" WORD | "tune" WORD | "features" FEATURE* | FIELD NUMBER
 *   NUMBER := digits ["K" | "M"]
 *
 * FIELD is a row of target.def. Lines that are missing stand as in what `like` names, which is the
 * first line where there is one, else as in what -march names. `features` says vector_bytes and
 * registers too, unless lines behind it do. "#" starts a comment.
 */
#ifndef TSR_TARGET_TARGET_H
#define TSR_TARGET_TARGET_H

#include <stdio.h>

#include "base/diag.h"
#include "target/features.h"

typedef struct Target {
	const char *name;
	const char *tune;  /* what gcc's -mtune takes: its model for what is left to it */
	uint64_t features; /* FEATURE_BIT of each instruction set that code may use */
#define GROUP(text)
#define NUMBER(name, value, least, most, unit, meaning) int64_t name; /* target.def says of what */
#include "target/target.def"
#undef GROUP
#undef NUMBER
} Target;

/* march: "native", a name of target_list, or either with "+feature" behind it, as often as wanted.
 * False, and nothing stored, when there is none of that name. The name is not copied. */
bool target_find(const char *march, Target *target);
/* "aarch64-linux-gnu", for which a cross compiler makes code of C; NULL: the machine that this runs
 * on, or one like it. */
const char *target_triple(const Target *target);
/* The names that there are, for messages. */
void target_list(FILE *out);
size_t target_names(Arena *arena, const char ***names);
/* What `tune` may be. */
size_t target_tunes(Arena *arena, const char ***names);

/* Changes what lines of the file say. Errors go to diags: a word that is none (E0608), a processor that
 * there is not (E0506), a number that is out of range or does not fit the features (E0608).
 * Requires: target is one that target_find stored. */
void target_read(Target *target, const Sources *sources, uint32_t file, Arena *arena, Diags *diags);
/* The text that target_read takes, all of it. */
void target_dump(FILE *out, const Target *target);
/* A line for each number that `given` has otherwise than `usual`. */
void target_compare(FILE *out, const Target *given, const Target *usual);
/* Brings numbers that are out of their ranges to the nearest end. */
void target_limit(Target *target);
/* Aborts (BUG) where a number is out of its range. */
void target_verify(const Target *target);

/* The widest vectors that the features allow, in bytes, and the registers for vectors. GCC prefers
 * 32 bytes before Sapphire Rapids, where few wide instructions among many slow the clock, but a
 * tile is nothing else, and two units of 64 bytes do twice as much. */
int64_t features_vector_bytes(uint64_t features);
int64_t features_registers(uint64_t features);
/* Have they vdpbf16ps, for vectors of every width? */
bool features_have_pairs(uint64_t features);
/* Registers for tiles of matrices: 0 without AMX, or without vectors of 64 bytes for what goes beside them. */
int64_t features_matrix_tiles(uint64_t features);
/* ... elements of a row that are unrolled: `most` where lanes are permuted between vectors, else 0. */
int64_t features_row_columns(uint64_t features, int64_t most);
/* Does the processor multiply matrices in tiles, of bf16 or of bytes? */
bool target_has_matrix(const Target *target, bool bf16);

#endif
