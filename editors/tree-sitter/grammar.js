// The grammar of tsr programs for Tree-sitter: grammar/grammar.y and lexer/lexer.re in its notation.
//
// One hidden rule a level of precedence, as there, so that no precedence is declared and no conflict is left:
// the grammar is LALR(1). What is a name elsewhere (`as`, `via`, ...) is a keyword only where one may stand, and
// `=` joins with an accumulation only where a step may have one. A specification is a string here; its operators
// are nodes of their own. tools/check_tree_sitter.py reads this file: constants, arrow functions and calls alone.
//
// Two things are taken that the compiler refuses: a number that runs into a name (`2x`), and what stands in
// a specification.

const list_from = (first, item) => seq(first, repeat(seq(',', item)), optional(','));
const list = (item) => list_from(item, item);
const binary = (left, operator, right) =>
  seq(field('left', left), field('operator', operator), field('right', right));

module.exports = grammar({
  name: 'tsr',

  word: ($) => $.name,

  extras: ($) => [/[ \t\r\n\f\v]/, $.comment],

  reserved: {
    global: ($) => [
      'dim', 'require', 'input', 'param', 'const', 'let', 'fn', 'output', 'routine', 'import', 'in', 'then',
      'else', 'for', 'if', 'iterate', 'scan', 'with', 'inf', 'nan', 'pi', '_',
    ],
  },

  rules: {
    source_file: ($) => repeat(choice($._statement, ';')),

    // ---- statements ----

    _statement: ($) =>
      choice(
        $.dim_statement,
        $.require_statement,
        $.input_statement,
        $.param_statement,
        $.const_statement,
        $.let_statement,
        $.fn_statement,
        $.output_statement,
        $.routine_statement,
        $.import_statement,
      ),

    dim_statement: ($) => seq('dim', $.dim, repeat(seq(',', $.dim))),
    dim: ($) =>
      seq(field('name', $.name), optional(seq('=', field('value', $._sum))), optional(seq('>=', $._number))),

    require_statement: ($) => seq('require', binary($._sum, choice('==', '>=', 'divides'), $._sum)),

    input_statement: ($) => seq('input', $._input, repeat(seq(',', $._input))),
    _input: ($) => seq(field('name', $.name), $._type),
    param_statement: ($) => seq('param', $._param, repeat(seq(',', $._param))),
    _param: ($) => seq(field('name', $.name), optional($._type), optional($._value)),
    const_statement: ($) => seq('const', $._const, repeat(seq(',', $._const))),
    _const: ($) => seq(field('name', $.name), optional($._type), $._value),
    output_statement: ($) => seq('output', $._output, repeat(seq(',', $._output))),
    _output: ($) =>
      choice(
        seq(field('name', $.name), optional($._ascribed), optional($._value)),
        seq(field('name', $.names), $._value),
      ),
    let_statement: ($) => seq('let', $._let, repeat(seq(',', $._let))),
    _let: ($) =>
      choice(
        seq(field('name', $.name), optional($._ascribed), $._value),
        seq(field('name', $.names), $._value),
      ),
    names: ($) => seq('(', list($.name), ')'),

    fn_statement: ($) =>
      seq(
        'fn',
        field('name', $.name),
        optional(field('configuration', $.formals)),
        field('parameters', alias($.moded_formals, $.formals)),
        $._value,
        optional($.adjoint),
      ),
    adjoint: ($) => seq('adjoint', field('name', $.names), $._value),
    formals: ($) => seq('(', optional(list($.formal)), ')'),
    moded_formals: ($) => seq('(', optional(list($.formal)), optional($.modes), ')'),
    modes: ($) => seq(';', list($.mode)),
    mode: ($) => seq(field('name', $.name), $._value),
    formal: ($) => seq(field('name', $.name), optional($._value)),

    routine_statement: ($) =>
      seq('routine', field('name', $.name), $.scalars, optional(choice($.results, $.formals)), field('body', $.steps)),
    scalars: ($) => seq('(', optional(list(choice($.scalar, $.formal))), ')'),
    scalar: ($) => seq(field('name', $.name), ':', field('type', $.name)),
    results: ($) => seq('->', $.name, repeat(seq(',', $.name))),

    import_statement: ($) =>
      seq('import', field('path', choice($.string, $.name)), optional(seq('as', field('name', $.name)))),

    _value: ($) => seq('=', field('value', $._expression)),

    // ---- shapes ----

    // of what is computed: a shape, a dtype, or both
    _ascribed: ($) => choice($._type, seq(':', field('type', $.name))),
    _type: ($) => seq(':', optional(field('type', $.name)), field('shape', $.shape)),

    shape: ($) =>
      choice(
        seq('[', optional($._rows), ']'),
        seq('[', optional(field('batch', $.row)), '|', optional($._rows), ']'),
        seq('[', optional(field('batch', $.row)), '|]'),
        seq('[|', optional($._rows), ']'),
      ),
    _rows: ($) =>
      choice(
        field('output', $.row),
        seq(optional(field('input', $.row)), '->', optional(field('output', $.row))),
      ),
    row: ($) => list(choice($.axis, $.row_variable)),
    axis: ($) => seq(optional(seq(field('label', $.name), ':')), field('size', choice($._sum, $.placeholder))),
    placeholder: ($) => '_',

    // ---- steps of routines ----

    steps: ($) => seq('{', repeat(choice($._step, ';')), '}'),
    _step: ($) =>
      choice($.assignment, $.let_step, $.call_step, $.forward_step, $.backward_step, $.update_step, $.init_step, $.for_step),
    assignment: ($) =>
      seq(
        field('target', $._place),
        field('operator', $.accumulation),
        field('value', $._expression),
        optional(seq('via', field('via', $.string))),
      ),
    call_step: ($) =>
      seq(field('function', $._place), field('arguments', $.arguments), optional(field('tensors', $.arguments))),
    let_step: ($) => seq('let', $.binding, repeat(seq(',', $.binding))),
    forward_step: ($) => seq('forward', $._place),
    backward_step: ($) => seq('backward', $._expression),
    update_step: ($) => seq('update', field('value', $._place)),
    init_step: ($) => 'init',
    for_step: ($) =>
      seq(
        'for',
        field('name', $.name),
        'in',
        'params',
        '(',
        list($._expression),
        ')',
        optional(seq('except', '(', list($._expression), ')')),
        field('body', $.steps),
      ),
    _place: ($) => choice($.name, alias('update', $.name), alias($.dotted_place, $.member)),
    dotted_place: ($) => seq(field('object', $._place), '.', field('name', $.name)),

    // ---- expressions, loosest first ----

    _expression: ($) => choice($._with, $.if_expression, $.let_expression),
    if_expression: ($) =>
      seq(
        'if',
        field('condition', $._expression),
        'then',
        field('consequence', $._expression),
        'else',
        field('alternative', $._expression),
      ),
    let_expression: ($) =>
      seq('let', $.binding, repeat(seq(choice(',', 'let'), $.binding)), 'in', field('body', $._expression)),
    binding: ($) => $._let,
    // the body of a scan: steps that write what it carries, then what the step gives
    _scanned: ($) =>
      choice($._with, $.if_expression, alias($.scanned_let, $.let_expression), $.write_expression),
    scanned_let: ($) =>
      seq('let', $.binding, repeat(seq(choice(',', 'let'), $.binding)), 'in', field('body', $._scanned)),
    write_expression: ($) =>
      seq(
        field('target', $.name),
        field('operator', $.accumulation),
        field('value', $._expression),
        optional(seq('via', field('via', $.string))),
        'in',
        field('body', $._scanned),
      ),

    _with: ($) => choice($._or, $.with_expression, $.update_expression),
    with_expression: ($) => seq(field('body', $._with), 'with', '(', list($.setting), ')'),
    update_expression: ($) => seq(field('value', $._with), 'with', 'update', field('body', $.steps)),
    setting: ($) => seq(field('name', $.name), optional($._value)),

    _or: ($) => choice($._and, alias($.or, $.binary)),
    or: ($) => binary($._or, '||', $._and),
    _and: ($) => choice($._comparison, alias($.and, $.binary)),
    and: ($) => binary($._and, '&&', $._comparison),
    _comparison: ($) => choice($._sum, alias($.comparison, $.binary)),
    comparison: ($) => binary($._sum, choice('<', '<=', '>', '>=', '==', '!='), $._sum),
    _sum: ($) => choice($._product, alias($.sum, $.binary)),
    sum: ($) => binary($._sum, choice('+', '-'), $._product),
    _product: ($) => choice($._unary, alias($.product, $.binary)),
    product: ($) => binary($._product, choice('*', '.*', '/', '%'), $._unary),
    _unary: ($) => choice($._power, $.unary),
    unary: ($) => seq(field('operator', choice('-', '!')), field('operand', $._unary)),
    _power: ($) => choice($._slice, alias($.power, $.binary)),
    power: ($) => binary($._slice, '**', $._unary),
    _slice: ($) => choice($._postfix, alias($.slice, $.binary)),
    slice: ($) => binary($._slice, '@', $._postfix),
    _postfix: ($) => choice($._path, $._literal, $._applied),
    // what begins with a name: with a shape behind it, it may be an argument
    _path: ($) => choice($.name, alias($.path_member, $.member), alias($.path_call, $.call)),
    path_member: ($) => seq(field('object', $._path), '.', field('name', $.name)),
    path_call: ($) => seq(field('function', $._path), field('arguments', alias($.moded_arguments, $.arguments))),
    _applied: ($) => choice($._primary, $.member, $.call),
    member: ($) => seq(field('object', choice($._applied, $._literal)), '.', field('name', $.name)),
    call: ($) =>
      seq(
        field('function', choice($._applied, $._literal)),
        field('arguments', alias($.moded_arguments, $.arguments)),
      ),

    _primary: ($) => choice($._number, $.string, $.labelled, $.inline_parameter, $.iterate, $.scan),

    arguments: ($) =>
      seq('(', optional(list_from(choice('input', 'output', $._argument), $._argument)), ')'),
    moded_arguments: ($) =>
      seq(
        '(',
        optional(list_from(choice('input', 'output', $._argument), $._argument)),
        optional($.modes),
        ')',
      ),
    _argument: ($) => choice($._expression, $.named_argument, $.shaped_argument),
    shaped_argument: ($) => seq(field('value', choice($._path, $._literal)), ':', field('shape', $.shape)),
    named_argument: ($) => seq(field('name', $.name), $._value),

    inline_parameter: ($) => seq('{', field('name', $.name), optional($._type), optional($._value), '}'),

    iterate: ($) =>
      seq(
        'iterate',
        '(',
        field('count', $._expression),
        ',',
        $.binding,
        optional(seq(',', field('index', $.name))),
        ')',
        '{',
        field('body', $._expression),
        '}',
      ),

    scan: ($) =>
      seq(
        'scan',
        '(',
        field('count', $._expression),
        ',',
        $.binding,
        optional(seq(',', field('index', $.name))),
        ')',
        optional(seq('until', '(', field('until', $._expression), ')')),
        '{',
        field('body', $._scanned),
        '}',
      ),

    // ---- literals: `( , )` along the input row, `[ , ]` the output row, `[| , |]` the batch row ----

    _literal: ($) => choice($.group, $.inputs, $.outputs, $.batches),
    group: ($) => seq('(', $._expression, ')'),
    inputs: ($) => seq('(', $._expression, ',', optional(list($._expression)), ')'),
    outputs: ($) => seq('[', optional(list($._expression)), ']'),
    batches: ($) => seq('[|', optional(list($._expression)), '|]'),
    labelled: ($) => seq(field('literal', $._literal), ':', field('label', $.name)),

    // ---- tokens ----

    comment: ($) => /#[^\n]*/,
    name: ($) => /[A-Za-z_][A-Za-z0-9_]*/,
    _number: ($) => choice($.number, $.constant),
    number: ($) => /[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?/,
    constant: ($) => choice('inf', 'nan', 'pi'),
    row_variable: ($) => choice('...', /\.\.[A-Za-z_][A-Za-z0-9_]*\.\./),
    accumulation: ($) => choice('=:', /=:?(\*\*|\|\||&&|[-+*\/]|max|min)/),

    string: ($) => seq('"', repeat(choice($.specification_operator, $._text)), token.immediate('"')),
    specification_operator: ($) => token.immediate(prec(1, choice('=>', '->', '|', ';'))),
    _text: ($) => token.immediate(prec(1, choice(/[^"=|;-]+/, '=', '-'))),
  },
});
