"""What Tree-sitter makes of a grammar.js, without its generator: the tables of a parser, and trees of texts.

Grammar(path) reads the file, which may use constants, arrow functions, literals and the calls of Tree-sitter's
notation. Its rules are expanded to productions as Tree-sitter does (no production is empty but the first rule's), and
LALR(1) tables are built with the method of DeRemer and Pennello; `conflicts` lists what they cannot decide, which
`tree-sitter generate` would refuse too, or leave open. Precedences between rules are not supported.

The lexer takes, as Tree-sitter does, only tokens that the parser's state accepts: of these the one of the highest
precedence, of these the longest, of these a string. A word that is a keyword is one where that is accepted, is a
name elsewhere, and an error where it is reserved."""
import collections
import re

Terminal = collections.namedtuple("Terminal", "text is_string immediate precedence")
Part = collections.namedtuple("Part", "symbol field alias")  # of a production; symbol: a Terminal or a name
Node = collections.namedtuple("Node", "name named field children start end")
END = Terminal("", True, False, 0)


class SyntaxProblem(Exception):
    """A text that the grammar does not derive; `at` is the offset of what does not fit."""

    def __init__(self, at):
        super().__init__("offset %d" % at)
        self.at = at


# ---- grammar.js ----

WORDS = re.compile(
    r"\s+|//[^\n]*|(?P<string>'(?:\\.|[^'\\])*')|(?P<pattern>/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[])+/)"
    r"|(?P<number>\d+)|(?P<name>[A-Za-z_$][\w$]*)|(?P<mark>=>|[-=(){}\[\],:;.])"
)


class Names:
    """The object `$`: every member is a symbol."""

    def __getattr__(self, name):
        return ("symbol", name)


class Token:
    def __call__(self, rule):
        return ("token", rule, False)

    def immediate(self, rule):
        return ("token", rule, True)


def optional(rule):
    return ("choice", rule, ("seq",))


CALLS = {
    "seq": lambda *rules: ("seq",) + rules,
    "choice": lambda *rules: ("choice",) + rules,
    "repeat": lambda rule: optional(("repeat", rule)),
    "repeat1": lambda rule: ("repeat", rule),
    "optional": optional,
    "field": lambda name, rule: ("field", rule, name[1]),
    "alias": lambda rule, name: ("alias", rule, name),
    "prec": lambda number, rule: ("precedence", rule, number),
    "token": Token(),
    "grammar": lambda fields: fields,
}


class Reader:
    """Expressions of JavaScript, each read as a function from the variables to its value."""

    def __init__(self, text):
        self.words, self.at = [], 0
        while self.at < len(text):
            word = WORDS.match(text, self.at)
            if not word:
                raise ValueError("grammar.js: what is this: %s" % text[self.at : self.at + 40])
            if word.lastgroup:
                self.words.append((word.lastgroup, word[0]))
            self.at = word.end()
        self.words.append(("end", ""))
        self.at = 0

    def take(self, *marks):
        """The next word if it is one of the marks."""
        if self.words[self.at][1] in marks and self.words[self.at][0] in ("mark", "name"):
            self.at += 1
            return self.words[self.at - 1][1]
        return None

    def need(self, mark):
        if not self.take(mark):
            raise ValueError("grammar.js: '%s' is missing before %s" % (mark, self.words[self.at : self.at + 5]))

    def items(self, close, item):
        found = []
        while not self.take(close):
            found.append(item())
            if not self.take(","):
                self.need(close)
                break
        return found

    def expression(self):
        start = self.at
        if self.take("("):
            formals = [word for kind, word in self.words[self.at : self.words.index(("mark", ")"), self.at)]]
            self.at = self.words.index(("mark", ")"), self.at) + 1
            if self.take("=>"):
                body = self.expression()
                formals = [formal for formal in formals if formal != ","]
                return lambda names: lambda *values: body({**names, **dict(zip(formals, values))})
            self.at = start
        return self.postfix()

    def postfix(self):
        value = self.primary()
        while mark := self.take(".", "("):
            if mark == ".":
                value = self.member(value, self.words[self.at][1])
                self.at += 1
            else:
                value = self.call(value, self.items(")", self.expression))
        return value

    @staticmethod
    def member(value, name):
        return lambda names: getattr(value(names), name)

    @staticmethod
    def call(value, values):
        return lambda names: value(names)(*(each(names) for each in values))

    def primary(self):
        if self.take("["):
            items = self.items("]", self.expression)
            return lambda names: [item(names) for item in items]
        if self.take("{"):
            pairs = self.items("}", self.pair)
            return lambda names: {key: value(names) for key, value in pairs}
        kind, word = self.words[self.at]
        self.at += 1
        if kind == "string":
            return lambda names: ("string", re.sub(r"\\(.)", r"\1", word[1:-1]))
        if kind == "pattern":
            return lambda names: ("pattern", word[1:-1])
        if kind == "number":
            return lambda names: int(word)
        return lambda names: names[word]

    def pair(self):
        self.at += 1
        self.need(":")
        return self.words[self.at - 2][1], self.expression()

    def file(self):
        names = dict(CALLS)
        while self.take("const"):
            name = self.words[self.at][1]
            self.at += 1
            self.need("=")
            names[name] = self.expression()(names)
            self.need(";")
        for word in ("module", ".", "exports", "="):
            self.need(word)
        return self.expression()(names)


# ---- productions ----

TOKENS = ("string", "pattern", "token")


def terminal_of(rule, immediate=False, precedence=0):
    """The terminal of a rule that makes one token."""
    kind, inner = rule[0], rule[1]
    if kind == "token":
        return terminal_of(inner, rule[2], precedence)
    if kind == "precedence":
        return terminal_of(inner, immediate, rule[2])
    if kind == "choice":
        inners = [terminal_of(each) for each in rule[1:]]
        text = "|".join("(?:%s)" % (re.escape(t.text) if t.is_string else t.text) for t in inners)
        return Terminal(text, False, immediate, precedence)
    return Terminal(inner, kind == "string", immediate, precedence)


class Productions:
    """list[i] = (left side, (Part, ...)); alternatives are written out, repetitions are symbols of their own, and a
    rule of one token is a terminal."""

    def __init__(self, rules):
        self.list, self.of, self.repeats = [], collections.defaultdict(list), {}
        self.tokens = {name: terminal_of(rule) for name, rule in rules.items() if rule[0] in TOKENS}
        start = next(iter(rules))
        self.add("", [Part(start, None, None), Part(END, None, None)])
        for name, rule in rules.items():
            for parts in self.expand(rule) if name not in self.tokens else ():
                self.add(name, parts)

    def add(self, left, parts):
        self.of[left].append(len(self.list))
        self.list.append((left, tuple(parts)))

    def repetition(self, rule):
        if rule not in self.repeats:
            name = self.repeats[rule] = "_repeat%d" % len(self.repeats)
            for parts in self.expand(rule[1]):
                self.add(name, parts)
                self.add(name, [Part(name, None, None)] + parts)
        return self.repeats[rule]

    def expand(self, rule):
        kind = rule[0]
        if kind in TOKENS:
            return [[Part(terminal_of(rule), None, None)]]
        if kind == "symbol":
            return [[Part(self.tokens.get(rule[1], rule[1]), None, None)]]
        if kind == "repeat":
            return [[Part(self.repetition(rule), None, None)]]
        if kind == "seq":
            found = [[]]
            for each in rule[1:]:
                found = [before + parts for before in found for parts in self.expand(each)]
            return found
        if kind == "choice":
            found = [parts for each in rule[1:] for parts in self.expand(each)]
            return [parts for i, parts in enumerate(found) if parts not in found[:i]]
        if kind == "field":
            return [[part._replace(field=rule[2]) for part in parts] for parts in self.expand(rule[1])]
        if kind == "alias":
            return [[part._replace(alias=rule[2][1]) for part in parts] for parts in self.expand(rule[1])]
        raise ValueError("grammar.js: '%s' is not supported between rules" % kind)


# ---- tables ----


class Tables:
    """States of LR(0) items; action[state][terminal] is a state to go to, or ~production."""

    def __init__(self, productions):
        self.productions = productions.list
        self.of = productions.of
        self.states, self.index, self.goto, self.closures = [], {}, [], []
        self.state(frozenset([(0, 0)]))
        at = 0
        while at < len(self.states):  # grows
            self.go(at)
            at += 1
        self.action = [{s: t for s, t in goto.items() if isinstance(s, Terminal)} for goto in self.goto]
        self.conflicts = []
        self.reduce(self.lookaheads())

    def state(self, kernel):
        if kernel not in self.index:
            self.index[kernel] = len(self.states)
            self.states.append(kernel)
            self.goto.append({})
            self.closures.append(())
        return self.index[kernel]

    def go(self, state):
        items, next_kernels = list(self.states[state]), {}
        seen = set(items)
        for production, dot in items:  # grows
            parts = self.productions[production][1]
            if dot == len(parts):
                continue
            symbol = parts[dot].symbol
            next_kernels.setdefault(symbol, []).append((production, dot + 1))
            if not isinstance(symbol, Terminal):
                more = [(each, 0) for each in self.of[symbol] if (each, 0) not in seen]
                seen.update(more)
                items += more
        self.closures[state] = items
        for symbol, kernel in next_kernels.items():
            self.goto[state][symbol] = self.state(frozenset(kernel))

    def lookaheads(self):
        """{(state, production): terminals behind it}. Nothing is empty but the first rule, so that what may follow
        a nonterminal is what the state behind it takes, and what follows a rule that it ends."""
        follow, includes, lookback = {}, collections.defaultdict(set), collections.defaultdict(set)
        for state, goto in enumerate(self.goto):
            for symbol, to in goto.items():
                if not isinstance(symbol, Terminal):
                    follow[state, symbol] = {s for s in self.goto[to] if isinstance(s, Terminal)}
        for state, items in enumerate(self.closures):
            for production, dot in items:
                left, parts = self.productions[production]
                if dot or not left:
                    continue
                at = state
                for part in parts:
                    last, at = at, self.goto[at][part.symbol]
                lookback[at, production].add((state, left))
                if parts and not isinstance(parts[-1].symbol, Terminal):
                    includes[state, left].add((last, parts[-1].symbol))
        work = list(follow)
        while work:
            above = work.pop()
            for below in includes[above]:
                if not follow[above] <= follow[below]:
                    follow[below] |= follow[above]
                    work.append(below)
        return {item: set().union(*(follow[place] for place in places)) for item, places in lookback.items()}

    def reduce(self, lookaheads):
        for (state, production), terminals in lookaheads.items():
            for terminal in sorted(terminals):
                if terminal in self.action[state]:
                    self.conflicts.append("'%s' before '%s'" % (self.productions[production][0], terminal.text))
                self.action[state].setdefault(terminal, ~production)


# ---- texts ----


class Grammar:
    def __init__(self, path):
        with open(path, encoding="utf8") as file:
            fields = Reader(file.read()).file()
        names = Names()
        self.rules = {name: rule(names) for name, rule in fields["rules"].items()}
        self.reserved = {word for _, word in fields["reserved"]["global"](names)}
        productions = Productions(self.rules)
        self.tables = Tables(productions)
        self.conflicts = self.tables.conflicts
        self.token_names = {terminal: name for name, terminal in productions.tokens.items()}
        extras = [productions.tokens[each[1]] if each[0] == "symbol" else terminal_of(each)
                  for each in fields["extras"](names)]
        self.extras = [re.compile(terminal.text) for terminal in extras]
        self.word = productions.tokens[fields["word"](names)[1]]
        used = {part.symbol for _, parts in self.tables.productions for part in parts}
        self.strings = {t.text for t in used if isinstance(t, Terminal) and t.is_string} - {""}
        self.keywords = {text for text in self.strings if re.fullmatch(self.word.text, text)}
        self.fields = {part.field for _, parts in self.tables.productions for part in parts}
        self.nodes = {part.alias for _, parts in self.tables.productions for part in parts} | set(self.rules)
        self.lexers = {}

    def lexer(self, state):
        """The tokens that a state accepts: their patterns, and the keywords among them."""
        if state not in self.lexers:
            accepted = [t for t in self.tables.action[state] if t != END]
            keywords = {t.text: t for t in accepted if t.text in self.keywords and t.is_string}
            others = [t for t in accepted if t.text not in keywords]
            if self.word not in others:
                others.append(self.word)
            patterns = [(t, re.compile(re.escape(t.text) if t.is_string else t.text)) for t in others]
            self.lexers[state] = patterns, keywords, self.word in accepted
        return self.lexers[state]

    def token(self, state, text, at):
        """The next token: (terminal, start, end)."""
        patterns, keywords, takes_names = self.lexer(state)
        skipped = False
        while True:
            best = None
            for terminal, pattern in patterns:
                match = (not skipped or not terminal.immediate) and pattern.match(text, at)
                if match:
                    key = (terminal.precedence, match.end(), terminal.is_string)
                    best = max(best, (key, terminal)) if best else (key, terminal)
            extra = max((match.end() for match in (each.match(text, at) for each in self.extras) if match), default=0)
            if not extra or best and best[0] > (0, extra):
                break
            at, skipped = extra, True
        if at == len(text):
            return END, at, at
        if not best:
            raise SyntaxProblem(at)
        (_, end, _), terminal = best
        if terminal == self.word:
            word = text[at:end]
            if word in keywords:
                terminal = keywords[word]
            elif not takes_names or word in self.reserved:
                raise SyntaxProblem(at)
        return terminal, at, end

    def parse(self, text):
        """The tree of a text: its root's Node. Raises SyntaxProblem."""
        states, values = [0], []
        at = 0
        terminal, start, end = self.token(0, text, at)
        while True:
            actions = self.tables.action[states[-1]]
            if terminal not in actions and terminal.text in self.keywords - self.reserved:
                terminal = self.word  # a keyword where it was read, and a name after reductions
            action = actions.get(terminal)
            if action is None:
                raise SyntaxProblem(start)
            if action >= 0:
                if terminal == END:
                    return self.splice(Part(values[0].name, None, None), values[0])[0]
                states.append(action)
                name = self.token_names.get(terminal)
                values.append(Node(name or terminal.text, name is not None, None, (), start, end))
                at = end
                terminal, start, end = self.token(states[-1], text, at)
                continue
            left, parts = self.tables.productions[~action]
            n = len(parts)
            children = [node for part, value in zip(parts, values[len(values) - n :])
                        for node in self.splice(part, value)]
            begin = children[0].start if children else start
            del states[len(states) - n :], values[len(values) - n :]
            states.append(self.tables.goto[states[-1]][left])
            values.append(Node(left, True, None, children, begin, at))

    @staticmethod
    def splice(part, value):
        """A symbol's nodes in the tree: a hidden symbol's are its children."""
        name = part.alias or value.name
        if value.named and name.startswith("_"):
            return [node._replace(field=node.field or part.field) for node in value.children]
        return [value._replace(name=name, field=part.field)]


def expression(node):
    """A tree as `tree-sitter parse` prints it, on one line."""
    inner = "".join(" " + expression(child) for child in node.children if child.named)
    return "%s(%s%s)" % (node.field + ": " if node.field else "", node.name, inner)


def leaves(node):
    """The places of a tree's tokens, a string as one."""
    if not node.children or node.name == "string":
        return [(node.start, node.end)] if node.end > node.start else []
    return [place for child in node.children for place in leaves(child)]
