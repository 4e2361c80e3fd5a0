/* What libtsr's files share: models and sessions from the inside.
 *
 * A session is one routine with its arguments. `values` has the dims of the module as the table's
 * functions take them; each known one remembers in `dims`, in words, what made it known, so that a
 * conflict can name both.
 */
#ifndef TSR_RUNTIME_SESSION_H
#define TSR_RUNTIME_SESSION_H

#include <stdbool.h>
#include <string.h>

#include "base/array_file.h"
#include "base/size.h"
#include "runtime/tsr.h"

struct tsr_model {
	const tsr_module *table;
	void *handle; /* of dlopen; NULL for a linked module */
	struct Gpu *gpu; /* whose table it is; NULL: code of a CPU */
	const tsr_module *
		cpu; /* of a model with a GPU's: what is called where there is no device; NULL: nothing */
};

typedef struct DimCell {
	bool given; /* by tsr_set_dim or a shared state, not by an array */
	char by[160];
} DimCell;

/* A tensor of the routine or a parameter, and the array given for it. */
typedef struct Slot {
	const tsr_tensor *tensor;
	const char *role; /* "input", "parameter", "output" */
	bool set;
	tsr_array array;
	Array loaded; /* owned: an array from a file of parameters, */
	uint32_t load; /* the how-many-th file; 0: it is not from one */
} Slot;

struct tsr_session {
	const tsr_model *model;
	const tsr_module *module;
	const tsr_routine *routine;
	DimCell *dims;   /* module->ndims */
	int64_t *values; /* likewise; -1: unknown */
	Slot *inputs, *outputs;
	Slot *params;     /* module->nparams */
	int64_t *scalars; /* cells of 8 bytes; the value stands in the first bytes */
	bool *scalar_set;
	uint32_t nloads; /* files of parameters */
	uint64_t seed;
	struct Image *image; /* of a state file, until it is read; NULL: none */
	bool prepared;
	void *state, *own_state, *workspace;
	size_t state_bytes;
	const tsr_session *lender; /* whose state it is, NULL: its own */
	/* what invoke takes */
	int64_t *call_dims;
	const void **call_scalars, **call_inputs;
	void **call_outputs;
	tsr_pool *pool; /* NULL: one thread */
	bool no_graph;
};

/* Of a name that a caller looks for: nothing is called NULL. */
static inline bool name_is(const char *name, const char *wanted)
{
	return wanted && strcmp(name, wanted) == 0;
}

/* Fills *error when it is not NULL; returns the code. */
int session_fail(tsr_error *error, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* TSR_FAIL_ARGUMENT where a pointer that is needed is NULL: "the session is NULL". */
int session_check_pointer(const void *pointer, const char *what, tsr_error *error);
/* Is the session there, and not prepared yet? */
int session_check_open(const tsr_session *session, tsr_error *error);
/* Is it there, and without a state; with one? */
int session_check_stateless(const tsr_session *session, tsr_error *error);
int session_check_state(const tsr_session *session, tsr_error *error);
/* table.c: the part of the table that makes no sense; NULL: all does. */
const char *table_fault(const tsr_module *module);
/* "2 x 3", "one number", into text. */
void extents_text(const int64_t *extents, int rank, char *text, size_t room);
/* "f32 [n | 28], an array n x 28" */
void session_tensor_text(const tsr_tensor *tensor, char *text, size_t room);
int tensor_rank(const tsr_tensor *tensor);
/* Bytes of an array; false where an extent is negative or they are too many to count. */
bool extents_bytes(const char *dtype, const int64_t *extents, int rank, uint64_t *bytes);
/* The array's dtype and rank against the table. */
int slot_check_type(const Slot *slot, const tsr_array *array, tsr_error *error);
/* The same, and the extents as far as the dims known so far give them; the array's data are not
 * looked at. */
int slot_check_known(const tsr_session *session, const Slot *slot, const tsr_array *array,
		     tsr_error *error);
/* Of an input or a parameter by its name: takes the extents, which count for the dims from then on,
 * after they have been checked as above. The array itself must be set before the session is
 * prepared. */
int session_see_array(tsr_session *session, const char *name, const tsr_array *array,
		      tsr_error *error);
int session_resolve(tsr_session *session, tsr_error *error);
/* The same without arrays of earlier files, which those of the file at hand may replace. */
int session_resolve_file(tsr_session *session, tsr_error *error);
/* Every extent of every set array against the table, the dims being known. */
int session_check_extents(const tsr_session *session, tsr_error *error);
/* Those of the set parameters alone. */
int session_check_params(const tsr_session *session, tsr_error *error);
/* A hash of every parameter's name, dtype, extents and place for the session's dims. */
uint64_t session_layout_hash(const tsr_session *session);
/* The first guard that fails for the dims, all known, of a session that is not prepared: its code,
 * with the module's text. The routine is called without arrays, so that it ends at its checks. */
int session_check_guards(const tsr_session *session, tsr_error *error);
/* dtype, rank, extents and bytes from the table and the dims. */
int slot_measure(const tsr_session *session, const Slot *slot, tsr_array *out, tsr_error *error);
/* The same of a parameter, with its place in the state. */
int param_place(const tsr_session *session, const Slot *slot, tsr_array *out, tsr_error *error);
/* Its own, which others may have too. */
void session_free_state(tsr_session *session);
/* The parameters as routines left them, in the host's copy of the state. */
int session_read_back(const tsr_session *session, tsr_error *error);
/* tsr_load_params, of the file at that path, which is open and stays so. */
int params_load(tsr_session *session, ArrayFile *file, const char *path, const char *map,
		tsr_error *error);
/* Reads the image into the state after checking that it is of this module and these sizes. */
int image_restore(tsr_session *session, tsr_error *error);
/* Closes its file and frees it; NULL will do. */
void image_close(struct Image *image);
/* Writes the image of a prepared session's state, and closes the stream; false with errno. */
bool image_write(const tsr_session *session, FILE *out);
/* The same, as a .safetensors where the path is one's. */
bool state_write(const tsr_session *session, const char *path, FILE *out);
/* As a .safetensors with one more array behind the parameters; NULL: without. */
bool state_write_named(const tsr_session *session, const NamedArray *more, FILE *out);
bool state_is_named(const char *path);
/* Takes all parameters from a .safetensors, which has each; what is set afterwards goes before it. */
int state_load_named(tsr_session *session, const char *path, tsr_error *error);

#endif
