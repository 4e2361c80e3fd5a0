/* What the parts of the reader of PTX share: tokens, names in scopes, operands.
 *
 *   module    := (directive | variable | function)*
 *   variable  := linkage* space [".align" n] [".v" n] type name ["[" [n] "]"]* ["=" values] ";"
 *   function  := linkage* (".entry" | ".func" [params]) name [params] directive* ("{" statement* "}" | ";")
 *   statement := label ":" | "{" statement* "}" | ".reg" type names ";" | variable | directive
 *              | ["@" ["!"] register] mnemonic [operand ("," operand)*] ";"
 *   operand   := value | "[" address "]" | "{" value, ... "}" | register "|" register | "!" register | "(" names ")"
 *   value     := register | ["-"] number | variable ["+" n] | label | function | "_"
 *
 * A parser that fails leaves by longjmp with a message; all that it made is in the module's arena.
 */
#ifndef TSR_PTX_PARSE_H
#define TSR_PTX_PARSE_H

#include <setjmp.h>

#include "base/pointer_map.h"
#include "test/ptx/code.h"
#include "test/ptx/eval.h"
#include "test/ptx/lex.h"

typedef enum PtxNameKind {
	NAME_REGISTER, /* value: its number */
	NAME_RANGE,    /* %r<8>: the first number; count */
	NAME_GLOBAL,   /* value: the address */
	NAME_SHARED,
	NAME_DYNAMIC, /* shared memory behind all other */
	NAME_LOCAL,   /* value: from the frame's start in local memory */
	NAME_PARAM,   /* of a kernel */
	NAME_FUNCTION,
	NAME_TARGETS /* value: where the list begins among the function's operands */
} PtxNameKind;

typedef struct PtxName {
	Sym name;
	PtxNameKind kind;
	PtxType type;
	uint32_t count;
	uint64_t value;
	size_t hidden; /* 1 + the name of an outer scope, or 0 */
} PtxName;

typedef enum PtxOperandKind {
	OPERAND_VALUE,	/* at: a register or a constant */
	OPERAND_SYMBOL, /* the address at + offset */
	OPERAND_MEMORY, /* the same in brackets */
	OPERAND_LIST,	/* {a, b} or (a, b): list */
	OPERAND_NAME,	/* a label, or a name that is not declared yet */
	OPERAND_SINK	/* _ */
} PtxOperandKind;

enum { MOST_LIST = 132, MOST_OPERANDS = 10, MOST_WORDS = 24 };

typedef struct PtxOperand {
	PtxOperandKind kind;
	PtxType type;	/* of the register */
	PtxSpace space; /* of a symbol */
	bool negated;
	int32_t at, other; /* other: q of p|q, or -1 */
	int64_t offset;
	Sym name;
	const PtxName *symbol;
	int32_t n;
	int32_t list[MOST_LIST];
	Sym names[MOST_LIST];
} PtxOperand;

/* An instruction as it stands there. */
typedef struct PtxStatement {
	Sym mnemonic;
	int nwords;
	Sym words[MOST_WORDS]; /* the first is the base: ld, and global, nc, f32 */
	char key[128];	       /* with words that change nothing, and flags, left out */
	unsigned flags;
	int ntypes;
	PtxType types[4];
	int n;
	PtxOperand operands[MOST_OPERANDS];
	uint32_t line;
} PtxStatement;

typedef struct PtxFixup {
	Sym name;
	uint32_t scope, at, line; /* at: the instruction, or the operand of the function's list */
	bool in_list;
} PtxFixup;

typedef struct PtxLabel {
	Sym name;
	uint32_t scope, pc;
} PtxLabel;

typedef struct PtxScope {
	uint32_t parent;
	size_t names; /* how many there were before it */
} PtxScope;

typedef struct PtxParser {
	PtxModule *module;
	Arena *arena;
	PtxLexer lexer;
	PtxToken token; /* the next one */
	jmp_buf failed;
	char *error;
	size_t error_size;
	PointerMap known;     /* from a Sym: 1 + its newest name */
	PointerMap words;     /* from a Sym: a type, flags, or a word that changes nothing */
	PointerMap evals;     /* from the Sym of a mnemonic: 1 + its row */
	PointerMap decoders;  /* from the first word of a mnemonic */
	PointerMap constants; /* of the function, from its 64 bits as an address: 1 + its number */
	VEC(PtxName) names;
	VEC(PtxScope) scopes;
	VEC(PtxFixup) fixups;
	VEC(PtxLabel) labels;
	uint32_t scope;
	PtxFunction *function; /* NULL: outside */
	PtxStatement statement;
} PtxParser;

/* parse.c */
_Noreturn void ptx_fail(PtxParser *p, uint32_t line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void ptx_next(PtxParser *p);
bool ptx_at(const PtxParser *p, const char *text);
/* Takes the token where it stands there. */
bool ptx_accept(PtxParser *p, const char *text);
void ptx_expect(PtxParser *p, const char *text);
Sym ptx_take_name(PtxParser *p);
/* An integer with its sign, below `most`. */
uint64_t ptx_take_number(PtxParser *p, uint64_t most);
/* .f32 or f32; TYPE_NONE: none of this name. */
PtxType ptx_type_named(const PtxParser *p, Sym name);
void ptx_reset_function(PtxParser *p, PtxFunction *function);

/* names.c */
PtxName *ptx_name_find(PtxParser *p, Sym name);
void ptx_name_add(PtxParser *p, PtxName name);
void ptx_scope_open(PtxParser *p);
void ptx_scope_close(PtxParser *p);
void ptx_label_add(PtxParser *p, Sym name);
/* What branches go to, once the function has ended. */
void ptx_labels_resolve(PtxParser *p);
/* A register of the frame that is not yet another's. */
int32_t ptx_register_new(PtxParser *p, PtxType type, uint64_t count);
int32_t ptx_constant(PtxParser *p, uint64_t bits);

/* variable.c: from its space on; is_extern: it has its place elsewhere. */
void ptx_parse_variable(PtxParser *p, bool is_extern);
bool ptx_at_variable(const PtxParser *p);
/* A list of parameters in parentheses. */
void ptx_parse_params(PtxParser *p, PtxFunction *f, bool results);

/* operand.c */
void ptx_parse_operands(PtxParser *p, PtxStatement *s);

/* decode.c: the statement as an instruction of the function. */
void ptx_decode_init(PtxParser *p);
void ptx_decode(PtxParser *p, PtxStatement *s, int32_t guard);
/* For decoders: operand i as a register that is read or a constant, or as one that is written. */
int32_t ptx_read(PtxParser *p, const PtxStatement *s, int i);
int32_t ptx_write(PtxParser *p, const PtxStatement *s, int i);
const PtxOperand *ptx_memory(PtxParser *p, const PtxStatement *s, int i);
bool ptx_has(const PtxStatement *s, const char *word);
/* Registers behind each other in the function's list: where they begin. */
uint32_t ptx_more(PtxParser *p, const int32_t *registers, int n);
void ptx_count(PtxParser *p, const PtxStatement *s, int least, int most);
_Noreturn void ptx_unknown(PtxParser *p, const PtxStatement *s);

typedef void (*PtxDecoder)(PtxParser *p, const PtxStatement *s, PtxInstr *in);
typedef struct PtxDecoderRow {
	const char *base;
	PtxDecoder decode;
} PtxDecoderRow;
/* decode_memory.c: the first operand as a constant, of groups that may be under way. */
int64_t ptx_groups(PtxParser *p, const PtxStatement *s);
/* decode_memory.c, decode_warp.c; NULL behind the last. */
extern const PtxDecoderRow ptx_memory_decoders[], ptx_warp_decoders[];

#endif
