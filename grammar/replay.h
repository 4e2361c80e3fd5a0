/* What a Lemon parser would do, asked without doing it. Included in the %code section of both
 * grammars: it reads the generated tables and stack.
 *
 * A token is tried on a copy of the top of the state stack, through all reductions, to the shift
 * that accepts it. The parser itself is never fed a token that it does not accept, so a stack at
 * an error is exactly the stack before it, and every token of the list of expected ones is one
 * that would go on. */
#ifndef TSR_GRAMMAR_REPLAY_H
#define TSR_GRAMMAR_REPLAY_H

enum { REPLAY_LIMIT = 64 }; /* entries beyond the parser's: rules with empty bodies make some */

static bool replay_accepts(const yyParser *parser, int token)
{
	YYACTIONTYPE pushed[REPLAY_LIMIT];
	const yyStackEntry *top = parser->yytos;
	int n = 0;
	for (;;) {
		YYACTIONTYPE state = n > 0 ? pushed[n - 1] : top->stateno;
		YYACTIONTYPE act = yy_find_shift_action((YYCODETYPE)token, state);
		if (act <= YY_MAX_SHIFTREDUCE || act == YY_ACCEPT_ACTION)
			return true;
		if (act < YY_MIN_REDUCE)
			return false;
		int pops = -yyRuleInfoNRhs[act - YY_MIN_REDUCE];
		int from_pushed = pops < n ? pops : n;
		n -= from_pushed;
		top -= pops - from_pushed;
		REQUIRE(n < REPLAY_LIMIT);
		state = n > 0 ? pushed[n - 1] : top->stateno;
		pushed[n++] = yy_find_reduce_action(state, yyRuleInfoLhs[act - YY_MIN_REDUCE]);
	}
}

#endif
