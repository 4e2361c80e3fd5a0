/* Operands of instructions. */
#include "test/ptx/parse.h"

#include <string.h>

static const struct {
	const char *name;
	int at;
} specials[] = {
	{"%tid.x", SPECIAL_TID},
	{"%tid.y", SPECIAL_TID + 1},
	{"%tid.z", SPECIAL_TID + 2},
	{"%ntid.x", SPECIAL_NTID},
	{"%ntid.y", SPECIAL_NTID + 1},
	{"%ntid.z", SPECIAL_NTID + 2},
	{"%ctaid.x", SPECIAL_CTAID},
	{"%ctaid.y", SPECIAL_CTAID + 1},
	{"%ctaid.z", SPECIAL_CTAID + 2},
	{"%nctaid.x", SPECIAL_NCTAID},
	{"%nctaid.y", SPECIAL_NCTAID + 1},
	{"%nctaid.z", SPECIAL_NCTAID + 2},
	{"%cluster_ctaid.x", SPECIAL_CLUSTER_CTAID},
	{"%cluster_ctaid.y", SPECIAL_CLUSTER_CTAID + 1},
	{"%cluster_ctaid.z", SPECIAL_CLUSTER_CTAID + 2},
	{"%cluster_nctaid.x", SPECIAL_CLUSTER_NCTAID},
	{"%cluster_nctaid.y", SPECIAL_CLUSTER_NCTAID + 1},
	{"%cluster_nctaid.z", SPECIAL_CLUSTER_NCTAID + 2},
	{"%clusterid.x", SPECIAL_CLUSTERID},
	{"%clusterid.y", SPECIAL_CLUSTERID + 1},
	{"%clusterid.z", SPECIAL_CLUSTERID + 2},
	{"%nclusterid.x", SPECIAL_NCLUSTERID},
	{"%nclusterid.y", SPECIAL_NCLUSTERID + 1},
	{"%nclusterid.z", SPECIAL_NCLUSTERID + 2},
	{"%cluster_ctarank", SPECIAL_CLUSTER_CTARANK},
	{"%cluster_nctarank", SPECIAL_CLUSTER_NCTARANK},
	{"%laneid", SPECIAL_LANEID},
	{"%warpid", SPECIAL_WARPID},
	{"%nwarpid", SPECIAL_NWARPID},
	{"%smid", SPECIAL_SMID},
	{"%nsmid", SPECIAL_NSMID},
	{"%gridid", SPECIAL_GRIDID},
	{"%lanemask_eq", SPECIAL_MASK_EQ},
	{"%lanemask_lt", SPECIAL_MASK_LT},
	{"%lanemask_le", SPECIAL_MASK_LE},
	{"%lanemask_gt", SPECIAL_MASK_GT},
	{"%lanemask_ge", SPECIAL_MASK_GE},
	{"%dynamic_smem_size", SPECIAL_DYNAMIC_SIZE},
	{"%total_smem_size", SPECIAL_TOTAL_SIZE},
};

static int special_named(Sym name)
{
	for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
		if (strcmp(specials[i].name, name) == 0)
			return specials[i].at;
	return -1;
}

/* The address of a variable: a constant, or what a register of the frame adds to. */
static void symbol_operand(PtxParser *p, const PtxName *name, PtxOperand *o)
{
	o->kind = OPERAND_SYMBOL;
	o->symbol = name;
	switch (name->kind) {
	case NAME_GLOBAL:
		o->space = SPACE_GLOBAL;
		o->at = ptx_constant(p, name->value);
		break;
	case NAME_SHARED:
		o->space = SPACE_SHARED;
		o->at = ptx_constant(p, name->value);
		break;
	case NAME_DYNAMIC:
		o->space = SPACE_SHARED;
		o->at = SPECIAL_DYNAMIC;
		break;
	case NAME_LOCAL:
		o->space = SPACE_LOCAL;
		o->at = SPECIAL_STACK;
		o->offset = (int64_t)name->value;
		break;
	case NAME_PARAM:
		o->space = SPACE_PARAM;
		o->at = ptx_constant(p, name->value);
		break;
	default: o->kind = OPERAND_NAME;
	}
}

static void parse_named(PtxParser *p, PtxOperand *o)
{
	uint32_t line = p->token.line;
	o->name = ptx_take_name(p);
	int special = special_named(o->name);
	const PtxName *name = special < 0 ? ptx_name_find(p, o->name) : NULL;
	if (special >= 0) {
		o->at = special;
		o->type = TYPE_b32;
	} else if (strcmp(o->name, "_") == 0) {
		o->kind = OPERAND_SINK;
		o->at = SPECIAL_COUNT;
	} else if (strcmp(o->name, "WARP_SZ") == 0) {
		o->at = ptx_constant(p, 32);
	} else if (name == NULL) {
		if (*o->name == '%')
			ptx_fail(p, line, "there is no register %.200s", o->name);
		o->kind = OPERAND_NAME;
	} else if (name->kind == NAME_REGISTER) {
		o->at = (int32_t)name->value;
		o->type = name->type;
	} else {
		symbol_operand(p, name, o);
	}
}

static void parse_number(PtxParser *p, PtxOperand *o)
{
	bool negative = ptx_accept(p, "-"), inverted = !negative && ptx_accept(p, "~");
	if (p->token.kind != TOKEN_INTEGER && p->token.kind != TOKEN_F32 &&
	    p->token.kind != TOKEN_F64)
		ptx_fail(p, p->token.line, "expected an operand before '%.*s'",
			 (int)(p->token.n < 64 ? p->token.n : 64), p->token.at);
	uint64_t value = p->token.value;
	o->type = p->token.kind == TOKEN_F32 ? TYPE_f32 : p->token.kind == TOKEN_F64 ? TYPE_f64 : 0;
	ptx_next(p);
	o->at = ptx_constant(p, negative ? 0 - value : inverted ? ~value : value);
}

/* +16, +-16 or -16 behind a register or a variable. */
static int64_t parse_offset(PtxParser *p)
{
	if (ptx_accept(p, "+"))
		return (int64_t)ptx_take_number(p, INT64_MAX);
	return ptx_at(p, "-") ? (int64_t)ptx_take_number(p, INT64_MAX) : 0;
}

static void parse_value(PtxParser *p, PtxOperand *o)
{
	*o = (PtxOperand){.kind = OPERAND_VALUE, .other = -1};
	o->negated = ptx_accept(p, "!");
	if (p->token.kind != TOKEN_NAME) {
		parse_number(p, o);
		return;
	}
	parse_named(p, o);
	if (o->kind == OPERAND_SYMBOL)
		o->offset = (int64_t)((uint64_t)o->offset + (uint64_t)parse_offset(p));
}

static void parse_operand(PtxParser *p, PtxOperand *o);

static void parse_list(PtxParser *p, PtxOperand *list, const char *end)
{
	*list = (PtxOperand){.kind = OPERAND_LIST, .other = -1};
	PtxOperand one;
	while (!ptx_accept(p, end)) {
		parse_value(p, &one);
		if (list->n == MOST_LIST)
			ptx_fail(p, p->token.line, "a list has more than %d items", MOST_LIST);
		list->names[list->n] = one.name;
		list->type = one.type ? one.type : list->type;
		list->list[list->n++] = one.at;
		if (!ptx_at(p, end))
			ptx_expect(p, ",");
	}
}

static void parse_address(PtxParser *p, PtxOperand *o)
{
	parse_value(p, o);
	if (o->kind == OPERAND_NAME || o->kind == OPERAND_SINK)
		ptx_fail(p, p->token.line, "%.200s is no address", o->name);
	o->kind = OPERAND_MEMORY;
	o->offset = (int64_t)((uint64_t)o->offset + (uint64_t)parse_offset(p));
	if (ptx_accept(p, ",")) { /* coordinates of a tensor map */
		ptx_expect(p, "{");
		PtxOperand list;
		parse_list(p, &list, "}");
		o->n = list.n;
		memcpy(o->list, list.list, sizeof list.list);
	}
	ptx_expect(p, "]");
}

static void parse_operand(PtxParser *p, PtxOperand *o)
{
	if (ptx_accept(p, "[")) {
		parse_address(p, o);
	} else if (ptx_accept(p, "{")) {
		parse_list(p, o, "}");
	} else if (ptx_accept(p, "(")) {
		parse_list(p, o, ")");
	} else {
		parse_value(p, o);
		if (ptx_accept(p, "|")) {
			PtxOperand second;
			parse_value(p, &second);
			o->other = second.at;
		}
	}
}

void ptx_parse_operands(PtxParser *p, PtxStatement *s)
{
	s->n = 0;
	while (!ptx_at(p, ";")) {
		if (s->n == MOST_OPERANDS)
			ptx_fail(p, p->token.line, "an instruction has more than %d operands",
				 MOST_OPERANDS);
		parse_operand(p, &s->operands[s->n++]);
		if (!ptx_at(p, ";"))
			ptx_expect(p, ",");
	}
}
