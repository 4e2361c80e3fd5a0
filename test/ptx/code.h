/* PTX as the interpreter runs it: every instruction a record of fixed size, its operands numbers of registers.
 *
 *   Module   := functions, variables with an address each
 *   Function := registers, bytes of parameters and of local and shared memory, instructions
 *   Instr    := [guard] kind, type, operands d a b c, more operands where it has them, an offset or a target
 *   operand  := n >= 0: register n of the frame | n < 0: constant ~n of the function
 *
 * A register has 64 bits. One of fewer bits keeps its value with zeros above, whatever its type. The first registers of a
 * frame are the special ones (PtxSpecial). Addresses of .global and .const variables are addresses of the device;
 * those in .shared, .local and .param begin anew for each block, thread and call.
 */
#ifndef TSR_PTX_CODE_H
#define TSR_PTX_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/symbol.h"
#include "test/ptx/memory.h"

typedef enum PtxType {
	TYPE_NONE,
#define X(name, bytes, class) TYPE_##name,
#include "test/ptx/types.def"
#undef X
	TYPE_COUNT
} PtxType;

int ptx_type_bytes(PtxType type);
bool ptx_type_signed(PtxType type);
bool ptx_type_float(PtxType type);

typedef enum PtxSpace {
	SPACE_GENERIC,
	SPACE_GLOBAL, /* and .const */
	SPACE_SHARED,
	SPACE_LOCAL, /* and parameters of functions */
	SPACE_PARAM  /* of a kernel */
} PtxSpace;

typedef enum PtxSpecial {
	SPECIAL_TID,
	SPECIAL_NTID = SPECIAL_TID + 3,
	SPECIAL_CTAID = SPECIAL_NTID + 3,
	SPECIAL_NCTAID = SPECIAL_CTAID + 3,
	SPECIAL_CLUSTER_CTAID = SPECIAL_NCTAID + 3,
	SPECIAL_CLUSTER_NCTAID = SPECIAL_CLUSTER_CTAID + 3,
	SPECIAL_CLUSTERID = SPECIAL_CLUSTER_NCTAID + 3,
	SPECIAL_NCLUSTERID = SPECIAL_CLUSTERID + 3,
	SPECIAL_CLUSTER_CTARANK = SPECIAL_NCLUSTERID + 3,
	SPECIAL_CLUSTER_NCTARANK,
	SPECIAL_LANEID,
	SPECIAL_WARPID,
	SPECIAL_NWARPID,
	SPECIAL_SMID,
	SPECIAL_NSMID,
	SPECIAL_GRIDID,
	SPECIAL_MASK_EQ,
	SPECIAL_MASK_LT,
	SPECIAL_MASK_LE,
	SPECIAL_MASK_GT,
	SPECIAL_MASK_GE,
	SPECIAL_DYNAMIC,      /* the address of shared memory whose size the launch says */
	SPECIAL_DYNAMIC_SIZE, /* its bytes */
	SPECIAL_TOTAL_SIZE,   /* of shared memory of both kinds */
	SPECIAL_STACK,	      /* the address of the frame in local memory */
	SPECIAL_COUNT
} PtxSpecial;

typedef enum PtxKind {
	KIND_NOP,
	KIND_EVAL,  /* d = eval(a, b, c) */
	KIND_FLOAT, /* the same, with what the flags say of rounding, subnormals and saturation */
	KIND_CARRY, /* the same, with the thread's carry */
	KIND_SETP,  /* d = eval(a, b), more[0] = not that; each with predicate c by `sub` */
	KIND_SET,   /* d = eval(a, b) as all ones, or 1.0 */
	KIND_FOUR,  /* bfi, or, with sub, lop3: a, b, c, more[0] */
	KIND_CVT,   /* d = a, of type `from`, as `type` */
	KIND_PACK,  /* d = more[0 .. n], lowest first */
	KIND_UNPACK,
	KIND_ADDRESS, /* d = a + offset */
	KIND_LD,
	KIND_ST,
	KIND_ATOM, /* d = [a + offset], which becomes op(that, b, c) */
	KIND_BRA,
	KIND_BRX,  /* to targets[a] */
	KIND_CALL, /* n: results; width: arguments; more: their places in the frame */
	KIND_RET,
	KIND_EXIT,
	KIND_TRAP,
	KIND_BAR,	 /* a: which; b: how many threads, or constant 0 for all; sub: PtxBar */
	KIND_COLLECTIVE, /* done once for all threads of a warp that take part; sub: PtxCollective */
	KIND_CP_ASYNC, /* a: shared, b: global, c: bytes that are read; n: bytes that are written */
	KIND_CP_COMMIT,
	KIND_CP_WAIT, /* offset: groups that may be under way; -1: none, even not committed */
	KIND_ACTIVEMASK,
	KIND_CLUSTER,  /* d: address a of shared memory in block b of the cluster */
	KIND_RANK,     /* d: the block of the cluster that has the shared address a */
	KIND_MBARRIER, /* a: the address; sub: PtxMbarrier */
	KIND_BULK, /* to a + offset from b + more[0], c bytes; loads tell the mbarrier at more[1] + more[2]; sub: PtxBulk */
	KIND_TENSOR, /* to a + offset from the map at b + more[0], with n indices from more[3] on; the mbarrier as above */
	KIND_BULK_COMMIT,
	KIND_BULK_WAIT, /* offset: groups that may be under way */
	KIND_GROUP_MULTIPLY, /* n columns, width terms; a, b: descriptors; c: are products added? more: the sums */
	KIND_GROUP_COMMIT,
	KIND_GROUP_WAIT, /* offset: groups that may be under way */
	KIND_NANOSLEEP,
	KIND_PROXY_FENCE,
	KIND_GRID_WAIT /* for the launch in front */
} PtxKind;

/* What an instruction of kind KIND_SETP does with its third operand. */
typedef enum PtxCombine { COMBINE_NONE, COMBINE_AND, COMBINE_OR, COMBINE_XOR } PtxCombine;

typedef enum PtxBar {
	BAR_SYNC,
	BAR_ARRIVE,
	BAR_RED_POPC,
	BAR_RED_AND,
	BAR_RED_OR,
	BAR_CLUSTER_ARRIVE,
	BAR_CLUSTER_WAIT
} PtxBar;

typedef enum PtxCollective {
	COLLECTIVE_SYNC, /* bar.warp.sync */
	COLLECTIVE_SHFL_UP,
	COLLECTIVE_SHFL_DOWN,
	COLLECTIVE_SHFL_BFLY,
	COLLECTIVE_SHFL_IDX,
	COLLECTIVE_VOTE_ALL,
	COLLECTIVE_VOTE_ANY,
	COLLECTIVE_VOTE_UNI,
	COLLECTIVE_VOTE_BALLOT,
	COLLECTIVE_MATCH_ANY,
	COLLECTIVE_MATCH_ALL,
	COLLECTIVE_REDUX,
	COLLECTIVE_ELECT,
	COLLECTIVE_LDMATRIX,
	COLLECTIVE_STMATRIX,
	COLLECTIVE_MMA
} PtxCollective;

typedef enum PtxAtom {
	ATOM_EXCH,
	ATOM_CAS,
	ATOM_ADD,
	ATOM_MIN,
	ATOM_MAX,
	ATOM_AND,
	ATOM_OR,
	ATOM_XOR,
	ATOM_INC,
	ATOM_DEC
} PtxAtom;

typedef enum PtxMbarrier {
	MBARRIER_INIT, /* b: arrivals of a phase */
	MBARRIER_INVAL,
	MBARRIER_ARRIVE, /* b: how often; d: the phase that it arrives in */
	MBARRIER_EXPECT, /* b: bytes */
	MBARRIER_ARRIVE_EXPECT,
	MBARRIER_WAIT,	   /* d: has the phase b, or of parity b, ended? */
	MBARRIER_CP_ASYNC, /* arrives when the thread's copies have landed */
	MBARRIER_CP_ASYNC_NOINC
} PtxMbarrier;

typedef enum PtxBulk { BULK_LOAD, BULK_STORE, BULK_WINDOWS } PtxBulk;

enum {
	FLAG_FTZ = 1 << 0,
	FLAG_SAT = 1 << 1,
	FLAG_RN = 1 << 2, /* to the nearest, ties to even */
	FLAG_RZ = 1 << 3,
	FLAG_RM = 1 << 4,
	FLAG_RP = 1 << 5,
	FLAG_RNA = 1 << 6,   /* ties away from zero */
	FLAG_WHOLE = 1 << 7, /* to an integer, as the bits above say */
	FLAG_RELU = 1 << 8,
	FLAG_FINITE = 1 << 9,	/* satfinite */
	FLAG_NEGATED = 1 << 10, /* predicate c counts negated */
	FLAG_ALIGNED = 1 << 11, /* all threads of a warp run the same instruction */
	FLAG_TRANS = 1 << 12,
	FLAG_TRANS_B = 1 << 13
};

typedef uint64_t (*PtxEval)(uint64_t a, uint64_t b, uint64_t c);
typedef uint64_t (*PtxCarryEval)(uint64_t a, uint64_t b, uint64_t c, bool *carry);

typedef struct PtxInstr {
	uint8_t kind, type, from, space, sub,
		width;	   /* width: bytes of the register that is written */
	uint16_t flags, n; /* n: elements of a vector, or bytes */
	int32_t guard;	   /* -1: none; else 2*register, and 1 for @! */
	int32_t d, a, b, c;
	uint32_t more;	 /* where its further operands begin in the function's list */
	uint32_t target; /* of a branch, or a function's number, or a list of targets */
	uint32_t line;
	uint32_t hint; /* the allocation that it met last */
	int64_t offset;
	union {
		PtxEval eval;
		PtxCarryEval carry;
	};
} PtxInstr;

typedef struct PtxParam {
	Sym name;
	uint32_t at, bytes;
} PtxParam;

typedef struct PtxFunction {
	Sym name;
	bool entry, defined;
	uint32_t index, line;
	VEC(PtxParam) results; /* at: from the frame's start in local memory */
	VEC(PtxParam) params;  /* of a kernel, from the start of its parameters */
	uint32_t param_bytes;
	uint32_t
		local_bytes; /* of the frame: parameters, results, local variables, arguments of calls */
	uint32_t shared_bytes;			     /* without what the launch adds */
	uint32_t maxntid[3], reqntid[3], cluster[3]; /* 0: not said */
	VEC(uint64_t) image;			     /* the registers of a new frame */
	VEC(uint64_t) consts;
	VEC(int32_t) operands; /* of instructions with more than four, and lists of targets */
	VEC(PtxInstr) code;
	/* with the functions that it calls, see ptx_module_stacks */
	uint32_t stack_regs, stack_local, depth;
} PtxFunction;

typedef struct PtxVariable {
	Sym name;
	uint64_t address, bytes;
} PtxVariable;

typedef struct PtxModule {
	Arena *arena;
	Symbols *symbols;
	PtxMemory *memory;     /* where its variables are */
	int version, target;   /* .version 7.8 as 78, .target sm_90a as 90 */
	char suffix;	       /* 'a' of sm_90a, or 0 */
	uint32_t shared_bytes; /* of variables outside of functions */
	VEC(PtxFunction *) functions;
	VEC(PtxVariable) variables; /* in global memory */
} PtxModule;

#endif
