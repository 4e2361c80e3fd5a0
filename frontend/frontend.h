/* Syntax tree to tensor graph. */
#ifndef TSR_FRONTEND_FRONTEND_H
#define TSR_FRONTEND_FRONTEND_H

#include "base/diag.h"
#include "frontend/graph.h"
#include "grammar/parse.h"

/* Builds the graph of a program: `main_file` has been parsed to `ast`; imports are read and parsed
 * through `parse`. Never NULL; errors are in parse->diags (the graph is then not to be used
 * further). Ensures: graph_verify passes when no error was reported; dead nodes are marked by
 * `used`. */
Graph *frontend_build(Parse *parse, Sources *sources, const AstFile *ast,
		      const FrontendOptions *options);

#endif
