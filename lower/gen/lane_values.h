/* What vector instructions compute of values. */
#ifndef TSR_LOWER_LANE_VALUES_H
#define TSR_LOWER_LANE_VALUES_H

#include "loops/loops.h"

/* Is it a load of a type of storage as its wide type? */
bool value_widens(const Value *value);
/* Is it a load that lanes convert: as its wide type, or as another (conversion_in_lanes)? */
bool value_converts(const Value *value);
/* ... or a cast to f32 of whole numbers that lanes compute? */
bool value_casts_in_lanes(const Value *value);
/* Is there a vector instruction for the operation? */
bool op_has_lanes(Op op, Dtype dtype);
/* Do lanes convert what they load of one type to the other? */
bool conversion_in_lanes(Dtype from, Dtype to);

#endif
