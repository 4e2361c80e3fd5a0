/* Tensors of the file that a routine computes anew, behind a step that has written what they are computed from.
 *
 *   forward y, backward y    y, from what parameters are there: the nodes between them and y, made again
 *
 * The copy stands for y then, until such a step evaluates y again.
 */
#ifndef TSR_FRONTEND_ANEW_H
#define TSR_FRONTEND_ANEW_H

#include "frontend/build.h"

/* What names of the file stand for: what was evaluated, the tensor as the routine found it otherwise; what was computed last; what the
 * file has. */
typedef enum AnewReads { READS_EVALUATED, READS_LAST, READS_FILE } AnewReads;

/* Of one tensor. */
typedef struct AnewCopy {
	NodeId made;	  /* NODE_NONE: none yet */
	uint32_t nwrites; /* that there had been when it was made */
	bool keeps;	  /* it was evaluated */
} AnewCopy;

typedef struct AnewMade {
	NodeId of, made;
} AnewMade;

/* Of one routine. */
typedef struct Anew {
	NodeId start;	  /* tensors below belong to the file */
	uint32_t nwrites; /* steps that have written a parameter, so far */
	AnewReads reads;
	AnewCopy *copies; /* by node */
	NodeId ncopies;
	VEC(AnewMade) made; /* all copies, in order */
} Anew;

/* What the tensor stands for at this place. `anew`: NULL outside of a routine. */
static inline NodeId anew_read(const Anew *anew, NodeId id)
{
	if (!anew || id >= anew->start || id >= anew->ncopies || anew->reads == READS_FILE)
		return id;
	const AnewCopy *copy = &anew->copies[id];
	bool stands = copy->made != NODE_NONE && (copy->keeps || anew->reads == READS_LAST);
	return stands ? copy->made : id;
}

/* The copy that node y, which was evaluated, has read in place of the tensor or of another copy of it; the tensor itself where there
 * had been none. */
static inline NodeId anew_before(const Anew *anew, NodeId id, NodeId y)
{
	NodeId of = id;
	for (size_t i = 0; i < anew->made.n; i++)
		of = anew->made.at[i].made == id ? anew->made.at[i].of : of;
	NodeId last = of;
	for (size_t i = 0; i < anew->made.n && anew->made.at[i].made < y; i++)
		last = anew->made.at[i].of == of ? anew->made.at[i].made : last;
	return last;
}

/* Copies what lies between the tensor and those that were written, of the file and of nodes from `first` on, whole loops where they read
 * it; returns the tensor's copy, the tensor where nothing lies there. */
NodeId anew_copy(Build *b, NodeId id, NodeId first, const NodeId *written, size_t nwritten);
/* The tensor is evaluated: its last copy, or it itself, stands for it from here on. */
void anew_keep(Build *b, NodeId id);

#endif
