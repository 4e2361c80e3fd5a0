/* Loops as text, as loops_dump prints them, back to a program: so that a test can run one pass alone
 * on a page that a person wrote.
 *
 *   text     := { "dims" NAME [">=" N] , ... | "state" size "bytes" | buffer | "check" N ":" claim
 *               | kernel | routine | "(unchanged)" }              one a line; "#" and what follows is skipped
 *   buffer   := "buffer" NAME ":" DTYPE "[" size "]" held ["scratch"] ["shared" ["swizzled"]] ["padded"] ["panels"]
 *               ["cluster" N] ["arrivals" N]
 *   held     := ("in" | "out") "of" ROUTINE | "temp" ["at" size] "of" ROUTINE
 *             | "param" "at" size "as" axes "," ("uniform" size | "constant" NUMBER | "computed") ["," "assigned"]
 *             | "const" "as" axes "=" ("..." | NUMBER , ...) | "packed" "of" PARAM ["at" size]
 *   axes     := "[" [row "|"] [row "->"] [row] "]"           row := [LABEL ":"] size , ...
 *   claim    := size "must" ("equal" | "be" "at" "least" | "be" "at" "most" | "be" "a" "multiple" "of") size ...
 *             | "the" "workspace" "," size "bytes" "," "must" "be" "at" "most" N | any other text: of indices
 *   kernel   := "kernel" NAME "(" [use , ...] ["->" use , ...] ")" ["alone"] { statement }
 *   use      := BUFFER DTYPE KIND
 *   routine  := "routine" NAME "(" [DIM | NAME ":" DTYPE [axes] , ...] ")" ["->" NAME ":" DTYPE axes , ...] ["of" "state"]
 *               { "workspace" size "bytes" | "guard" N | "run" KERNEL }
 *
 * A statement's body stands below it, further right; statements, values and indices are written as in
 * loops.h, with
 *
 *   loop     := ("for" | "unroll" | "vector" | "parallel" | "grid" | "cluster" | "block" | "warp" | "matrix" | "group") NAME "in" ix ".." ix ["step" N] [SLOT "of" N]
 *               ["outlined"] ["of" N] ["behind" N] ["independent"]
 *   any statement ends with ["disjoint"]
 *
 * A name means what was declared last where it stands. Numbers have the type of what is around them.
 * In a cast, f32(...), indices and values are told apart by the first name in it.
 *
 * A kernel that comes again is that kernel in lanes, as `--dump=loops,vector` prints it.
 */
#ifndef TSR_LOOPS_PARSE_H
#define TSR_LOOPS_PARSE_H

#include "base/diag.h"
#include "loops/loops.h"

typedef struct LoopsText {
	Program *program;
	Program *vectors; /* with the kernels that come again; the program itself where none does */
} LoopsText;

/* Reads a source into a program of `arena`, placed where the text gives workspaces. Errors are in
 * diags, and the program is NULL: what is no such text, E0610; what breaks a rule of loops.h, or an index
 * that leaves its buffer, E0611. Its schedule, `made`, is NULL. */
LoopsText loops_parse(Arena *arena, Symbols *symbols, const Sources *sources, uint32_t file,
		      Diags *diags, const LowerOptions *options);

/* Tells of a rule that the program breaks, E0611; of indices, if it has its guards and places. False:
 * there is none. */
bool loops_tell_fault(Diags *diags, const Program *program);
/* Are the elements of all constants there? A large one has none in the text: its bytes are NULL. */
bool program_is_whole(const Program *program);

#endif
