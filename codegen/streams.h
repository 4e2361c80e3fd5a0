/* Where there are streaming stores. */
#ifndef TSR_CODEGEN_STREAMS_H
#define TSR_CODEGEN_STREAMS_H

#include "codegen/module.h"

/* Is it a loop of one, which is a single copy? */
bool loop_streams(const Stmt *loop);
/* Are there any in the block, outside of parallel loops? In a kernel of the module? */
bool block_streams(Block block);
bool module_has_streams(const Module *module);

#endif
