(source_file) @local.scope
(fn_statement) @local.scope
(routine_statement) @local.scope
(let_expression) @local.scope
(iterate) @local.scope
(scan) @local.scope
(for_step) @local.scope

(dim name: (name) @local.definition)
(input_statement name: (name) @local.definition)
(param_statement name: (name) @local.definition)
(const_statement name: (name) @local.definition)
(let_statement name: (name) @local.definition)
(output_statement name: (name) @local.definition)
(fn_statement name: (name) @local.definition)
(routine_statement name: (name) @local.definition)
(import_statement path: (name) @local.definition)
(import_statement name: (name) @local.definition)
(names (name) @local.definition)
(formal name: (name) @local.definition)
(scalar name: (name) @local.definition)
(binding name: (name) @local.definition)
(iterate index: (name) @local.definition)
(scan index: (name) @local.definition)
(for_step name: (name) @local.definition)

(name) @local.reference
