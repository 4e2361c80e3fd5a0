/* Statements to instructions: mnemonics as words, and the instructions that compute from registers alone. */
#include "test/ptx/parse.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	uint8_t bytes, kind;
} types[] = {
	{"none", 0, 0},
#define BITS 0
#define UNSIGNED 1
#define SIGNED 2
#define FLOAT 3
#define PACKED 4
#define X(name, bytes, class) {#name, bytes, class},
#include "test/ptx/types.def"
#undef X
};

int ptx_type_bytes(PtxType type) { return types[type].bytes; }
bool ptx_type_signed(PtxType type) { return types[type].kind == SIGNED; }
bool ptx_type_float(PtxType type) { return types[type].kind == FLOAT; }

enum { WORD_TYPE = 1 << 24, WORD_FLAGS = 2 << 24, WORD_NOTHING = 3 << 24, WORD_MASK = 0xff << 24 };

static const struct {
	const char *word;
	unsigned flags;
} flag_words[] = {
	{"ftz", FLAG_FTZ},
	{"sat", FLAG_SAT},
	{"rn", FLAG_RN},
	{"rz", FLAG_RZ},
	{"rm", FLAG_RM},
	{"rp", FLAG_RP},
	{"rna", FLAG_RNA},
	{"rni", FLAG_WHOLE | FLAG_RN},
	{"rzi", FLAG_WHOLE | FLAG_RZ},
	{"rmi", FLAG_WHOLE | FLAG_RM},
	{"rpi", FLAG_WHOLE | FLAG_RP},
	{"relu", FLAG_RELU},
	{"satfinite", FLAG_FINITE},
	{"aligned", FLAG_ALIGNED},
	{"trans", FLAG_TRANS},
};

/* Words that change nothing of what is computed here: how exact a device is, who sees a store when, caches. */
static const char *const nothing[] = {
	"approx",  "full", "uni",  "volatile", "relaxed", "acquire", "release",
	"acq_rel", "weak", "mmio", "nc",       "cta",	  "gpu",     "sys",
	"ca",	   "cg",   "cs",   "lu",       "cv",	  "wb",	     "wt"};

PtxType ptx_type_named(const PtxParser *p, Sym name)
{
	if (*name == '.')
		name = sym_cstr(p->module->symbols, name + 1);
	uint64_t word = *pointer_map_at((PointerMap *)&p->words, name);
	return (word & WORD_MASK) == WORD_TYPE ? (PtxType)(word & 0xff) : TYPE_NONE;
}

/* ---- words of a mnemonic ---- */

static bool is_cache_word(const char *word)
{
	return strncmp(word, "L1::", 4) == 0 || strncmp(word, "L2::", 4) == 0 ||
	       strcmp(word, "L2") == 0;
}

static void add_word(PtxParser *p, PtxStatement *s, Sym word)
{
	if (s->nwords == MOST_WORDS)
		ptx_unknown(p, s);
	s->words[s->nwords++] = word;
	uint64_t known = *pointer_map_at(&p->words, word);
	if ((known & WORD_MASK) == WORD_FLAGS && s->nwords > 1) {
		s->flags |= (unsigned)(known & ~(uint64_t)WORD_MASK);
		return;
	}
	if ((known & WORD_MASK) == WORD_NOTHING || is_cache_word(word))
		return;
	if ((known & WORD_MASK) == WORD_TYPE && s->ntypes < 4)
		s->types[s->ntypes++] = (PtxType)(known & 0xff);
	size_t n = strlen(s->key);
	if (n + strlen(word) + 2 > sizeof s->key)
		ptx_unknown(p, s);
	snprintf(s->key + n, sizeof s->key - n, "%s%s", n ? "." : "", word);
}

static void split(PtxParser *p, PtxStatement *s)
{
	s->nwords = s->ntypes = 0;
	s->flags = 0;
	s->key[0] = 0;
	for (const char *at = s->mnemonic;;) {
		size_t n = strcspn(at, ".");
		add_word(p, s, sym_intern(p->module->symbols, at, n));
		if (at[n] == 0)
			return;
		at += n + 1;
	}
}

bool ptx_has(const PtxStatement *s, const char *word)
{
	for (int i = 1; i < s->nwords; i++)
		if (strcmp(s->words[i], word) == 0)
			return true;
	return false;
}

void ptx_unknown(PtxParser *p, const PtxStatement *s)
{
	ptx_fail(p, s->line, "the instruction %.200s is not interpreted", s->mnemonic);
}

/* ---- operands ---- */

void ptx_count(PtxParser *p, const PtxStatement *s, int least, int most)
{
	if (s->n < least || s->n > most)
		ptx_fail(p, s->line, "%.200s has %d operands", s->mnemonic, s->n);
}

int32_t ptx_read(PtxParser *p, const PtxStatement *s, int i)
{
	const PtxOperand *o = &s->operands[i];
	if (i >= s->n)
		return -1;
	if (o->kind == OPERAND_SYMBOL && o->offset == 0)
		return o->at;
	if (o->kind != OPERAND_VALUE)
		ptx_fail(p, s->line, "operand %d of %.200s is no register and no number", i + 1,
			 s->mnemonic);
	return o->at;
}

int32_t ptx_write(PtxParser *p, const PtxStatement *s, int i)
{
	const PtxOperand *o = &s->operands[i];
	if (i >= s->n ||
	    (o->kind != OPERAND_SINK && (o->kind != OPERAND_VALUE || o->at <= SPECIAL_COUNT)))
		ptx_fail(p, s->line, "operand %d of %.200s is no register that can be written",
			 i + 1, s->mnemonic);
	return o->at;
}

const PtxOperand *ptx_memory(PtxParser *p, const PtxStatement *s, int i)
{
	if (i >= s->n || s->operands[i].kind != OPERAND_MEMORY)
		ptx_fail(p, s->line, "operand %d of %.200s is no address", i + 1, s->mnemonic);
	return &s->operands[i];
}

uint32_t ptx_more(PtxParser *p, const int32_t *registers, int n)
{
	uint32_t first = (uint32_t)p->function->operands.n;
	for (int i = 0; i < n; i++)
		PUSH(p->arena, p->function->operands, registers[i]);
	return first;
}

/* ---- instructions that compute ---- */

/* Operands that are read, by the first word; 2 where nothing is said. */
static int operands_of(const char *base)
{
	static const char *const one[] = {"abs",  "neg",   "not",     "cnot", "popc", "clz",
					  "brev", "bfind", "mov",     "cvt",  "cvta", "sqrt",
					  "rcp",  "rsqrt", "ex2",     "lg2",  "sin",  "cos",
					  "tanh", "testp", "isspacep"};
	static const char *const three[] = {"mad", "madc", "fma", "selp", "slct", "sad",
					    "shf", "prmt", "bfe", "dp4a", "dp2a"};
	for (size_t i = 0; i < sizeof one / sizeof *one; i++)
		if (strcmp(base, one[i]) == 0)
			return 1;
	for (size_t i = 0; i < sizeof three / sizeof *three; i++)
		if (strcmp(base, three[i]) == 0)
			return 3;
	return 2;
}

/* The row of the mnemonic, or NULL. */
static const PtxEvalRow *row_of(PtxParser *p, const char *key)
{
	uint64_t row = *pointer_map_at(&p->evals, sym_cstr(p->module->symbols, key));
	return row == 0 ? NULL : ptx_eval_row((int)row - 1);
}

static void decode_eval(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	const PtxEvalRow *row = row_of(p, s->key);
	if (row == NULL)
		ptx_unknown(p, s);
	int reads = operands_of(s->words[0]);
	ptx_count(p, s, reads + 1, reads + 1);
	in->d = ptx_write(p, s, 0);
	in->a = ptx_read(p, s, 1);
	in->b = ptx_read(p, s, 2);
	in->c = ptx_read(p, s, 3);
	in->type = s->ntypes > 0 ? (uint8_t)s->types[0] : TYPE_b64;
	in->kind = KIND_EVAL;
	in->eval = row->eval;
	if (row->carry != NULL) {
		in->kind = KIND_CARRY;
		in->carry = row->carry;
	} else if (s->flags & ~(unsigned)FLAG_RN) {
		if (!ptx_type_float(in->type))
			ptx_unknown(p, s);
		in->kind = KIND_FLOAT;
	}
}

static void decode_mov(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 2, 2);
	const PtxOperand *to = &s->operands[0], *from = &s->operands[1];
	in->type = s->ntypes > 0 ? (uint8_t)s->types[0] : TYPE_b64;
	int bytes = ptx_type_bytes(in->type);
	const PtxOperand *list = to->kind == OPERAND_LIST ? to : from;
	if (from->kind == OPERAND_SYMBOL) {
		in->kind = KIND_ADDRESS;
		in->d = ptx_write(p, s, 0);
		in->a = from->at;
		in->offset = from->offset;
		return;
	}
	if (list->kind != OPERAND_LIST) {
		decode_eval(p, s, in);
		return;
	}
	if (list->n == 0 || bytes % list->n != 0 || list->n > 4)
		ptx_unknown(p, s);
	in->n = (uint16_t)list->n;
	in->more = ptx_more(p, list->list, list->n);
	in->width = (uint8_t)(bytes / list->n);
	if (list == to) {
		for (int i = 0; i < to->n; i++)
			if (to->list[i] < SPECIAL_COUNT)
				ptx_fail(p, s->line, "a list of %.200s has what cannot be written",
					 s->mnemonic);
		in->kind = KIND_UNPACK;
		in->a = ptx_read(p, s, 1);
	} else {
		in->kind = KIND_PACK;
		in->d = ptx_write(p, s, 0);
	}
}

/* cvt.to.from; two operands are packed to one. */
static void decode_cvt(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 2, 3);
	if (s->ntypes != 2)
		ptx_unknown(p, s);
	in->d = ptx_write(p, s, 0);
	in->a = ptx_read(p, s, 1);
	in->b = ptx_read(p, s, 2);
	in->type = (uint8_t)s->types[0];
	in->from = (uint8_t)s->types[1];
	const PtxType to = s->operands[0].type;
	in->width = (uint8_t)(to ? ptx_type_bytes(to) : ptx_type_bytes(in->type));
	char key[64];
	snprintf(key, sizeof key, "cvt.%s.%s", types[in->type].name, types[in->from].name);
	const PtxEvalRow *row = row_of(p, key);
	in->kind = KIND_CVT;
	if (row != NULL && s->flags == 0 && in->width == ptx_type_bytes(in->type)) {
		in->kind = KIND_EVAL;
		in->eval = row->eval;
	}
	bool two = in->type == TYPE_f16x2 || in->type == TYPE_bf16x2 || in->type == TYPE_e4m3x2 ||
		   in->type == TYPE_e5m2x2;
	bool packed = in->from == TYPE_e4m3x2 || in->from == TYPE_e5m2x2;
	if (strcmp(s->key, key) != 0 || s->n != (two && in->from == TYPE_f32 ? 3 : 2) ||
	    (packed && in->type != TYPE_f16x2) || (two && !packed && in->from != TYPE_f32) ||
	    in->type == TYPE_pred)
		ptx_unknown(p, s);
}

/* setp.cmp[.and|.or|.xor].type p[|q], a, b[, c] */
static void decode_setp(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	static const char *const combining[] = {"", "and", "or", "xor"};
	ptx_count(p, s, 3, 4);
	if (s->ntypes != 1 || s->nwords < 3)
		ptx_unknown(p, s);
	char key[64];
	snprintf(key, sizeof key, "setp.%.20s.%s", s->words[1], types[s->types[0]].name);
	const PtxEvalRow *row = row_of(p, key);
	in->sub = COMBINE_NONE;
	for (int i = COMBINE_AND; i <= COMBINE_XOR; i++)
		if (ptx_has(s, combining[i]))
			in->sub = (uint8_t)i;
	if (row == NULL || (in->sub == COMBINE_NONE) != (s->n == 3))
		ptx_unknown(p, s);
	in->eval = row->eval;
	in->type = (uint8_t)s->types[0];
	in->d = ptx_write(p, s, 0);
	in->a = ptx_read(p, s, 1);
	in->b = ptx_read(p, s, 2);
	in->c = ptx_read(p, s, 3);
	in->n = s->operands[0].other >= 0;
	if (in->n && s->operands[0].other < SPECIAL_COUNT)
		ptx_unknown(p, s);
	in->more = in->n ? ptx_more(p, &s->operands[0].other, 1) : 0;
	in->flags |= s->n == 4 && s->operands[3].negated ? FLAG_NEGATED : 0;
	in->kind = in->sub == COMBINE_NONE && !in->n && s->flags == 0 ? KIND_EVAL : KIND_SETP;
}

/* set.cmp.to.type d, a, b */
static void decode_set(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	char key[64];
	ptx_count(p, s, 3, 3);
	if (s->ntypes != 2)
		ptx_unknown(p, s);
	snprintf(key, sizeof key, "setp.%.20s.%s", s->words[1], types[s->types[1]].name);
	const PtxEvalRow *row = row_of(p, key);
	if (row == NULL)
		ptx_unknown(p, s);
	in->kind = KIND_SET;
	in->eval = row->eval;
	in->type = (uint8_t)s->types[0];
	in->d = ptx_write(p, s, 0);
	in->a = ptx_read(p, s, 1);
	in->b = ptx_read(p, s, 2);
}

/* Four operands: bfi d, a, b, at, n and lop3 d, a, b, c, table. */
static void decode_four(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 5, 5);
	bool lop3 = strcmp(s->key, "lop3.b32") == 0;
	if (!lop3 && strcmp(s->key, "bfi.b32") != 0 && strcmp(s->key, "bfi.b64") != 0)
		ptx_unknown(p, s);
	in->kind = KIND_FOUR;
	in->sub = lop3;
	in->type = (uint8_t)s->types[0];
	in->d = ptx_write(p, s, 0);
	in->a = ptx_read(p, s, 1);
	in->b = ptx_read(p, s, 2);
	in->c = ptx_read(p, s, 3);
	int32_t fourth = ptx_read(p, s, 4);
	in->more = ptx_more(p, &fourth, 1);
}

/* ---- control ---- */

static void decode_bra(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 1, 1);
	if (s->operands[0].kind != OPERAND_NAME)
		ptx_unknown(p, s);
	in->kind = KIND_BRA;
	PtxFixup fixup = {s->operands[0].name, p->scope, (uint32_t)p->function->code.n, s->line,
			  false};
	PUSH(p->arena, p->fixups, fixup);
}

static void decode_brx(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	ptx_count(p, s, 2, 2);
	const PtxName *list = s->operands[1].name ? ptx_name_find(p, s->operands[1].name) : NULL;
	if (list == NULL || list->kind != NAME_TARGETS)
		ptx_unknown(p, s);
	in->kind = KIND_BRX;
	in->a = ptx_read(p, s, 0);
	in->target = (uint32_t)list->value;
}

/* Places in the frame of what is handed over, held against the callee's. */
static void add_arguments(PtxParser *p, const PtxStatement *s, const PtxOperand *list, size_t n)
{
	if ((size_t)(list ? list->n : 0) != n)
		ptx_fail(p, s->line, "a call has %d arguments or results, and the function %zu",
			 list ? list->n : 0, n);
	for (size_t i = 0; i < n; i++) {
		const PtxName *name = list->names[i] ? ptx_name_find(p, list->names[i]) : NULL;
		if (name == NULL || name->kind != NAME_LOCAL)
			ptx_fail(p, s->line, "an argument of a call is no parameter in memory");
		int32_t at = (int32_t)name->value;
		ptx_more(p, &at, 1);
	}
}

/* call[.uni] [(results),] function[, (arguments)]; */
static void decode_call(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	int at = s->n > 0 && s->operands[0].kind == OPERAND_LIST;
	ptx_count(p, s, at + 1, at + 2);
	const PtxOperand *callee = &s->operands[at];
	const PtxName *name = callee->kind == OPERAND_NAME ? ptx_name_find(p, callee->name) : NULL;
	if (name == NULL || name->kind != NAME_FUNCTION)
		ptx_fail(p, s->line, "what is called is no function");
	const PtxFunction *f = p->module->functions.at[name->value];
	in->kind = KIND_CALL;
	in->target = f->index;
	in->n = (uint16_t)f->results.n;
	in->width = (uint8_t)f->params.n;
	if (f->results.n + f->params.n > UINT8_MAX)
		ptx_unknown(p, s);
	in->more = (uint32_t)p->function->operands.n;
	add_arguments(p, s, at ? &s->operands[0] : NULL, f->results.n);
	add_arguments(p, s, at + 1 < s->n ? &s->operands[at + 1] : NULL, f->params.n);
}

static void decode_plain(PtxParser *p, const PtxStatement *s, PtxInstr *in)
{
	const char *base = s->words[0];
	bool waits = strcmp(base, "griddepcontrol") == 0 && ptx_has(s, "wait");
	bool proxies = strcmp(base, "fence") == 0 && ptx_has(s, "proxy") && ptx_has(s, "async");
	in->kind = waits		       ? KIND_GRID_WAIT
		   : proxies		       ? KIND_PROXY_FENCE
		   : strcmp(base, "ret") == 0  ? KIND_RET
		   : strcmp(base, "exit") == 0 ? KIND_EXIT
		   : strcmp(base, "trap") == 0 ? KIND_TRAP
					       : KIND_NOP;
	if (in->kind == KIND_RET && p->function->entry)
		in->kind = KIND_EXIT;
	if (in->kind != KIND_NOP)
		ptx_count(p, s, 0, 0);
}

static const PtxDecoderRow decoders[] = {
	{"mov", decode_mov},
	{"cvt", decode_cvt},
	{"setp", decode_setp},
	{"set", decode_set},
	{"bfi", decode_four},
	{"lop3", decode_four},
	{"bra", decode_bra},
	{"brx", decode_brx},
	{"call", decode_call},
	{"ret", decode_plain},
	{"exit", decode_plain},
	{"trap", decode_plain},
	{"fence", decode_plain},
	{"membar", decode_plain},
	{"setmaxnreg", decode_plain},
	{"griddepcontrol", decode_plain},
	{"brkpt", decode_plain},
	{"pmevent", decode_plain},
	{NULL, NULL},
};

static void know_word(PtxParser *p, const char *word, uint64_t value)
{
	*pointer_map_at(&p->words, sym_cstr(p->module->symbols, word)) = value;
}

static void know_decoders(PtxParser *p, const PtxDecoderRow *row)
{
	for (; row->base != NULL; row++)
		*pointer_map_at(&p->decoders, sym_cstr(p->module->symbols, row->base)) =
			(uint64_t)(uintptr_t)row;
}

void ptx_decode_init(PtxParser *p)
{
	for (int i = 1; i < TYPE_COUNT; i++)
		know_word(p, types[i].name, WORD_TYPE | (uint64_t)i);
	for (size_t i = 0; i < sizeof flag_words / sizeof *flag_words; i++)
		know_word(p, flag_words[i].word, WORD_FLAGS | flag_words[i].flags);
	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
		know_word(p, nothing[i], WORD_NOTHING);
	for (int i = 0; ptx_eval_row(i) != NULL; i++)
		*pointer_map_at(&p->evals, sym_cstr(p->module->symbols, ptx_eval_row(i)->name)) =
			(uint64_t)i + 1;
	know_decoders(p, decoders);
	know_decoders(p, ptx_memory_decoders);
	know_decoders(p, ptx_warp_decoders);
}

void ptx_decode(PtxParser *p, PtxStatement *s, int32_t guard)
{
	split(p, s);
	PtxInstr in = {.guard = guard, .d = SPECIAL_COUNT, .a = -1, .b = -1, .c = -1};
	in.line = s->line;
	in.flags = (uint16_t)s->flags;
	const PtxDecoderRow *row =
		(const PtxDecoderRow *)(uintptr_t)*pointer_map_at(&p->decoders, s->words[0]);
	if (row != NULL)
		row->decode(p, s, &in);
	else
		decode_eval(p, s, &in);
	PUSH(p->arena, p->function->code, in);
}
