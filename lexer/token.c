/* The columns of tokens.def as tables. */
#include "lexer/lexer.h"

static const TokenInfo program_tokens[] = {
#define TOKEN(name, label, class) {#name, label, #class},
#include "lexer/tokens.def"
#undef TOKEN
};

static const TokenInfo spec_tokens[] = {
#define SPEC_TOKEN(name, label, class) {#name, label, #class},
#include "lexer/tokens.def"
#undef SPEC_TOKEN
};

const TokenInfo *token_info(int kind)
{
	REQUIRE(kind >= 0 && kind < TOKEN_COUNT);
	return &program_tokens[kind];
}

const TokenInfo *spec_token_info(int kind)
{
	REQUIRE(kind >= 0 && kind < SPEC_TOKEN_COUNT);
	return &spec_tokens[kind];
}
