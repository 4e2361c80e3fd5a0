/* A loss that is no number: which parameter was the first to have such an element.
 *
 * Once the loss is one, all parameters are mostly, and where it began may be some steps before. So the state is kept now and
 * then, and the steps since are gone again, which gives the same bits; after each all parameters are looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/session.h"
#include "runtime/cli_train.h"

void replay_keep(Replay *replay, const tsr_session *session, int64_t step)
{
	if (session->model->gpu)
		return;
	if (!replay->state)
		replay->state = malloc(session->state_bytes + 1);
	if (replay->state)
		memcpy(replay->state, session->state, session->state_bytes);
	replay->first = step;
}

int replay_tell(const Replay *replay, tsr_session *session, int64_t step, const char *loss,
		bool (*again)(void *of, int64_t step), void *of)
{
	int64_t element = 0, at = replay->state ? replay->first : step;
	if (replay->state)
		memcpy(session->state, replay->state, session->state_bytes);
	int32_t param = replay->state ? find_not_finite(session, &element) : -1;
	for (; param < 0 && at <= step; at++) {
		if (replay->state && !again(of, at))
			return STATUS_ERROR;
		param = find_not_finite(session, &element);
	}
	report("step %lld: %s is no finite number", (long long)step, loss);
	if (param < 0) {
		fputs("  all parameters are finite behind it\n", stderr);
		return STATUS_ERROR;
	}
	bool before = replay->state && at == replay->first;
	fprintf(stderr, "  %s step %lld it was the first: ", before ? "before" : "behind",
		(long long)(before ? at : at - 1));
	print_not_finite(session, param, element);
	return STATUS_ERROR;
}
