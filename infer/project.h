/* Internal to the derivation of projections (infer/project*.c).
 *
 *   first stratum   every axis of every tensor of one operation gets a map; the axes that run
 *                   together share a class (union-find over fresh ids: equal sizes elsewhere
 *                   mean nothing here)
 *   second stratum  classes become iterators, maps become indices, one piece for each choice of
 *                   blocks
 *
 *   map := FIXED offset | CLASS c | AFFINE stride*c + dilation*kernel + offset | CONCAT parts
 *        | GATHER arg
 */
#ifndef TSR_INFER_PROJECT_H
#define TSR_INFER_PROJECT_H

#include "infer/infer.h"

typedef uint32_t ClassId;
#define CLASS_NONE UINT32_MAX

typedef struct Class {
	ClassId parent; /* union-find; itself: a root */
	ClassId group;  /* union-find over concatenated axes; CLASS_NONE: in no such axis */
	Size extent;    /* SIZE_BAD: not known yet */
	Sym name;       /* NULL: gets i0, i1, ... */
	Span span;
	bool unit;      /* one operand of a stack: always at 0, never an iterator */
	bool keep;      /* iterates even when its extent is the constant 1 */
} Class;

typedef struct MapPart {
	ClassId cls; /* CLASS_NONE: a skipped part */
	PartRun run;
	Size extent; /* of a skipped part, or a STILL one; SIZE_BAD: what the others leave of the axis */
} MapPart;

typedef enum MapKind { MAP_FIXED, MAP_CLASS, MAP_AFFINE, MAP_CONCAT, MAP_GATHER } MapKind;

typedef struct AxisMap {
	MapKind kind;
	Size size;        /* of the axis */
	Size offset;      /* FIXED: the index; AFFINE: without the left padding */
	ClassId cls;      /* CLASS, AFFINE */
	ClassId kernel;   /* AFFINE; CLASS_NONE: none */
	int64_t stride, dilation;
	SpecMark mark;
	bool padded;	  /* AFFINE: with margins, which the offset has already */
	MapPart *parts;   /* CONCAT */
	uint32_t nparts;
	int32_t gather;   /* GATHER: the operand that holds the index */
} AxisMap;

/* The maps of one tensor's axes in storage order. */
typedef struct TensorMap {
	AxisMap *axes;
	uint32_t naxes;
	ClassId needs; /* present only where this class is active (operands of a stack); or CLASS_NONE */
} TensorMap;

typedef struct Projector {
	const Inference *inference;
	const Node *node;
	NodeId id;
	Sizes *sizes;
	Arena *perm;
	Diags *diags;
	VEC(Class) classes;
	TensorMap result;
	TensorMap *args;
} Projector;

static inline const Shape *result_shape(const Projector *p)
{
	return &p->inference->shapes[p->id];
}

static inline const Shape *arg_shape(const Projector *p, uint32_t arg)
{
	return &p->inference->shapes[p->node->args[arg]];
}

/* project_class.c */
ClassId class_new(Projector *p, Size extent, Sym name, Span span);
ClassId class_root(Projector *p, ClassId c);
/* Makes them one; a's extent and name win where both are known. BUG where constants disagree. */
void class_join(Projector *p, ClassId a, ClassId b);
/* Makes the parts of a concatenated axis alternatives of each other. */
void class_group(Projector *p, const AxisMap *concat);
ClassId class_group_root(Projector *p, ClassId c);
/* Does an axis of the tensor run over one of these alternatives, or its presence depend on one? */
bool map_mentions_group(Projector *p, const TensorMap *map, ClassId group);
/* Letters keep their names, with underscores where an earlier one has it; the others are i0, i1,
 * ... */
void project_name_iters(const Projector *p, Proj *proj);
/* An axis for every axis of the shape, all FIXED at 0. */
TensorMap map_new(Projector *p, const Shape *shape);
/* Where axis i of a row of that kind stands in storage order. */
uint32_t storage_slot(const Shape *shape, RowKind kind, uint32_t i);
_Noreturn void project_bug(const Projector *p, const char *what);

/* project_spec.c: the maps of NODE_SPEC, NODE_BLOCK, NODE_ARGMAX, NODE_CUMULATE and NODE_SORT. */
void project_spec(Projector *p);

/* project_build.c: the second stratum. NULL after an error. */
Proj *project_build(Projector *p);

/* project_facts.c: fills injective, surjective and clear. */
void project_facts(Sizes *sizes, const Shape *result, Proj *proj);

#endif
