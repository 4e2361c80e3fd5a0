; Later patterns win in Neovim and in `tree-sitter highlight`.

(name) @variable
(member name: (name) @property)
(named_argument name: (name) @variable.parameter)
(formal name: (name) @variable.parameter)
(setting name: (name) @variable.parameter)
(labelled label: (name) @label)
(axis label: (name) @label)

(call function: (name) @function)
(call_step function: (name) @function)
(fn_statement name: (name) @function)
(routine_statement name: (name) @function)
((name) @function.builtin
  (#any-of? @function.builtin
    "max" "min" "relu_gate" "sat01_gate" "id" "neg" "not" "relu" "sat01" "exp" "log" "exp2" "log2" "sin" "cos" "tan"
    "log1p" "expm1" "asin" "acos" "atan" "atan2" "sinh" "cosh" "asinh" "acosh"
    "atanh" "softplus" "hypot" "copysign" "erfc" "lgamma" "trunc" "isnan" "isinf"
    "tanh" "sigmoid" "erf" "gelu" "sqrt" "rsqrt" "recip" "abs" "sign" "floor" "ceil" "round" "where" "fma" "einsum"
    "sum" "reduce" "argmax" "argmin" "cumulate" "sort" "argsort" "topk" "grad" "vjp" "jvp" "recompute" "stop" "to_batch" "to_output" "permute" "concat" "stack" "gather" "scatter" "reshape" "range"
    "offsets" "file" "uniform" "normal" "self_id" "threefry4x32" "uint4x32_to_uniform" "uint4x32_to_uniforms"))
((name) @type.builtin
  (#any-of? @type.builtin "f64" "f32" "bf16" "f16" "f8e4m3" "f8e5m2" "i64" "i32" "i8" "u8" "i4" "u4" "u32" "u4x32" "bool"))

[
  "dim" "require" "input" "param" "const" "let" "fn" "output" "routine" "import" "in" "then" "else" "for" "if"
  "iterate" "scan" "until" "with" "as" "divides" "via" "forward" "backward" "update" "init" "params" "except" "adjoint"
] @keyword

(comment) @comment
(string) @string
(specification_operator) @operator
(number) @number
(constant) @constant.builtin
(row_variable) @variable.builtin
(placeholder) @variable.builtin

(accumulation) @operator
(binary operator: _ @operator)
(unary operator: _ @operator)
["=" "==" ">=" "->"] @operator
["(" ")" "[" "]" "[|" "|]" "{" "}"] @punctuation.bracket
["," ";" ":" "." "|"] @punctuation.delimiter
