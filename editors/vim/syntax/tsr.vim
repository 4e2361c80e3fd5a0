" Vim syntax file of .tsr programs. tools/check_syntax.py holds its words against the compiler's tables.
if exists("b:current_syntax")
  finish
endif

syntax keyword tsrStatement dim require input param const let fn output routine import
syntax keyword tsrKeyword in then else for if iterate scan until with as divides via forward backward update init params except adjoint
syntax keyword tsrType f64 f32 bf16 f16 f8e4m3 f8e5m2 i64 i32 i8 u8 i4 u4 u32 u4x32 bool
syntax keyword tsrFunction max min relu_gate sat01_gate id neg not relu sat01 exp log exp2 log2 sin cos tan tanh
syntax keyword tsrFunction log1p expm1 asin acos atan atan2 sinh cosh asinh acosh atanh softplus hypot copysign erfc lgamma trunc isnan isinf
syntax keyword tsrFunction sigmoid erf gelu sqrt rsqrt recip abs sign floor ceil round where fma
syntax keyword tsrFunction einsum sum reduce argmax argmin cumulate sort argsort topk grad vjp jvp recompute stop to_batch to_output permute concat stack gather scatter reshape
syntax keyword tsrFunction range offsets file uniform normal self_id threefry4x32 uint4x32_to_uniform uint4x32_to_uniforms
syntax keyword tsrConstant inf nan pi
syntax match tsrNumber "\<\d\+\(\.\d\+\)\?\([eE][-+]\?\d\+\)\?"
syntax match tsrOperator "=[:]\?\(\*\*\|max\|min\|||\|&&\|[-+*/]\)\|=:"
syntax region tsrString start=+"+ end=+"+ contains=tsrArrow
syntax match tsrArrow "=>\|->\|[|;]" contained
syntax keyword tsrTodo TODO FIXME contained
syntax match tsrComment "#.*$" contains=tsrTodo

highlight default link tsrStatement Statement
highlight default link tsrKeyword Keyword
highlight default link tsrType Type
highlight default link tsrFunction Function
highlight default link tsrConstant Constant
highlight default link tsrNumber Number
highlight default link tsrOperator Operator
highlight default link tsrString String
highlight default link tsrArrow Special
highlight default link tsrTodo Todo
highlight default link tsrComment Comment

setlocal commentstring=#\ %s
let b:current_syntax = "tsr"
