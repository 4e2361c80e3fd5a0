/* Response files: a word @FILE on the command line stands for the words in FILE. */
#ifndef TSR_BASE_RESPONSE_H
#define TSR_BASE_RESPONSE_H

typedef struct ResponseError {
	char text[256];
} ResponseError;

/* A new argv, NULL-terminated, or NULL with a text. Words are separated by blanks; '...' and "..."
 * hold blanks, a backslash takes the next character as it is. Response files may name others, 10
 * deep. */
char **response_expand(int *argc, char *const *argv, ResponseError *error);
/* Frees what response_expand made. */
void response_free(char **argv);

#endif
