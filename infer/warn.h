/* Warnings of a finished solution. */
#ifndef TSR_INFER_WARN_H
#define TSR_INFER_WARN_H

#include "infer/solver.h"

/* Warns of specifications (warn_spec.c). */
void warn_specs(Solver *s, Diags *diags);
/* Warns of a letter of one operand alone that has the name and the size of the steps of a loop around it. */
void warn_step_letter(Solver *s, const LetterCell *l, Diags *diags);
/* Notes which inputs or parameters give a result `few` batch axes, and its use more, with a repair where both are
 * written (warn_batch.c). */
void warn_batch_givers(Solver *s, NodeId result, NodeId use, uint32_t few, Diags *diags);
/* Warns of a letter that only a result has; `chosen`: nothing gives it a size. False: that is still
 * to be told. */
bool warn_result_letter(Solver *s, const LetterCell *l, bool chosen, Diags *diags);
/* Of shapes and projections: pairs that nobody asked for (warn_pairs.c). */
void warn_pairs(const Inference *inference, Diags *diags);
/* Of pictures whose channels come first where windows take them for a side (warn_layout.c). */
void warn_layout(const Inference *inference, Diags *diags);
/* Offers channels last of a picture that a parameter meets, where its first axis is as long as channels are (warn_layout.c). */
void suggest_channels_last(const Inference *inference, Diags *diags, NodeId param);
/* Of what routines check of dims (warn_dims.c). */
void warn_dims(const Inference *inference, Diags *diags);
void warn_chosen(const Inference *inference, Diags *diags);

#endif
