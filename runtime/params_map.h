/* The lines of a map from a file's names and axes to a module's parameters.
 *
 *   map  := line*                            # to the end of a line is a comment
 *   line := OURS '=' THEIRS [arrangement]    arrange.h has the last
 *         | 'prefix' TEXT                    names of theirs further down may stand behind it in the file
 *
 * `{i}` in OURS stands for a run of digits of a parameter's name; THEIRS has the same number at
 * `{i}`, and one that is larger by 2 at `{i+2}`. Of several lines for one parameter the first
 * counts whose array the file has.
 */
#ifndef TSR_RUNTIME_PARAMS_MAP_H
#define TSR_RUNTIME_PARAMS_MAP_H

#include "runtime/arrange.h"
#include "runtime/tsr.h"

enum { MAP_NAME_BYTES = 256, MAP_LINES_MAX = 1 << 16 };

typedef struct MapLine {
	int number;
	char *text;		   /* owned; the others point into it */
	const char *ours, *theirs; /* ours is NULL in a line that says a prefix */
	const char *axes;	   /* the text of an arrangement, NULL without one */
	const char *prefix;	   /* of a line above, or "" */
} MapLine;

typedef struct ParamsMap {
	MapLine *lines;
	int n, room;
} ParamsMap;

/* The map needs to be freed after a failure as well. */
int params_map_read(const char *path, ParamsMap *map, tsr_error *error);
void params_map_free(ParamsMap *map);
/* Is the line for the parameter of this name? Then *theirs is the name in the file, without the
 * prefix. */
bool map_line_matches(const MapLine *line, const char *name, char theirs[MAP_NAME_BYTES]);

#endif
