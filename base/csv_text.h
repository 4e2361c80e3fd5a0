/* The text of a table: its lines and their fields (csv.c has what they mean). */
#ifndef TSR_BASE_CSV_TEXT_H
#define TSR_BASE_CSV_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Field {
	const char *at;
	size_t n;
} Field;

/* Where a text that ends with '\0' is read. Of a line that was read: */
typedef struct Lines {
	const char *at, *end;
	char delimiter;	 /* '\0': any */
	uint32_t number; /* it begins in this one, from 1 */
	uint32_t next;	 /* the one behind it */
	bool open;	 /* a quotation mark of it is not closed */
} Lines;

/* From the text's beginning. */
Lines lines_of(const char *text, const char *end, char delimiter);
/* The next line, without what ends it, a CR, LF or both, which a field in quotation marks may hold; false at the end. */
bool lines_next(Lines *lines, Field *line);
/* Without blanks around it. */
Field field_trim(Field field);
/* The next field of the line, which loses it and the delimiter behind it; `more` says whether there is one behind that. In
 * quotation marks, which begin it, a field holds delimiters and, doubled, quotation marks. */
Field field_next(Field *line, char delimiter, bool *more);
/* Is the line blank; does it begin with '#'? */
bool line_is_blank(Field line);
bool line_is_comment(Field line);

#endif
