"""Short forms of demangled names.

One scanner splits a name into result, head, parameters and suffix; everything else uses it. Names
are spelled as in LLVM's demangler: 'lambda'(int), not {lambda(int)#1}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sizeguard.base.dataclass import dataclass
from sizeguard.names.demangle import ANONYMOUS, MOST_SHOWN, demangle, function_text

_ANONYMOUS_SCOPE = f"{ANONYMOUS}::"

# Brackets, spaces and commas, and texts that only look like them: an unnamed namespace, an arrow,
# an operator. operator<<X> is operator< with an argument, operator<<<X> is operator<< with one.
_TOKEN = re.compile(
    r"\(anonymous namespace\)|->|[<>() ,]"
    r"|\boperator(?: |\"\" ?|(?:\(\)|\[\]|<=>|<<=?|<=?|>>=?|>=?|->\*?|[-+*/%^&|!=~,]+)"
    r"(?!\(anonymous namespace\))(?=[(<\[.]|$))"
)
# The tokens that matter inside brackets: spaces and commas do not.
_INNER_TOKEN = re.compile(_TOKEN.pattern.replace("[<>() ,]", "[<>()]"))
_PLAIN = re.compile(
    r"(?!.*\boperator)[^-<>()]*", re.DOTALL
)  # text without tokens that matter there
_GROUP_TOKEN = re.compile(r"->|\boperator\b(?:\(\)(?=[(<]))?|[<>()]")
CALL = "operator$"
_QUALIFIER = re.compile(r" (?:const|volatile|&&?)(?!\w)")
# Constraints of clang 17 and later, before a lambda's parameters, or up to what is local to the
# function: f<int>(int) requires C<T>::'lambda'(), f<int>(int) requires C<T>::Local::run(int).
_CONSTRAINTS = re.compile(
    r"(?<=>) requires .+? (?=\()"
    r"|(?<!>) requires .*?(?=::'|(?<=[>)])::[\w:<>, ]+\([^()]*\)(?: const)?\Z|\Z)",
    re.DOTALL,
)
_CLONES = re.compile(r"(?: \[clone [^\]]*\])+$")
# The ABI tags of a name, and its module, partition or version: f[abi:v2], f@rows:part, f@@V1.
TAGS = re.compile(r"\[abi:\w+\]|@+\w[\w.]*(?::\w[\w.]*)*")
_SCOPE = re.compile(r"(?:\(anonymous namespace\)|\w+)::")


@dataclass(frozen=True, slots=True)
class DemangledName:
    """The parts of a demangled name.

    result:     `void`, or `vtable for`; empty if there is none
    head:       scopes, name and template arguments
    parameters: `(int, float)`; empty for anything except a function
    suffix:     ` const`, `::'lambda'(int)::operator()(int) const`, ` [clone .cold]`
    """

    result: str
    head: str
    parameters: str
    suffix: str

    @property
    def is_special(self) -> bool:
        """Return whether `vtable for` or the like is in the place of a result."""
        return self.result.endswith((" for", " to"))


def split_name(text: str) -> DemangledName:
    """Split a demangled name, without its constraints.

    A name of another language than C++ is entirely head.
    """
    clones = _CLONES.search(text) if text.endswith("]") else None
    if clones:
        parts = split_name(text[: clones.start()])
        return replace(parts, suffix=parts.suffix + clones[0])
    text = without_constraints(text)
    start, parameters, is_operator = 0, (len(text), len(text)), False
    for token, begin, end in top_level(text):
        if parameters[0] == len(text):
            if token == " " and not is_operator:
                start = end
            elif token == "(" and begin == start and text[begin + 1 : begin + 2] in ("*", "&"):
                # bool (*find<int>(int))(char) returns a pointer to a function; void (**)(int) is
                # a type.
                inside = text[begin + 1 : end - 1]
                inner = split_name(inside.lstrip("*&") or inside)
                return DemangledName(
                    text[:begin].rstrip(), inner.head, inner.parameters, inner.suffix + text[end:]
                )
            elif token == "(" and not text.endswith("decltype", start, begin):
                parameters = begin, end
            elif token.startswith("operator"):
                is_operator = True
        elif token == " " and not _QUALIFIER.match(text, begin):
            # That was a result that is local to a function: f(int)::Local g(float).
            start, parameters, is_operator = end, (len(text), len(text)), False
    return DemangledName(
        text[:start].rstrip(),
        text[start : parameters[0]],
        text[slice(*parameters)],
        text[parameters[1] :],
    )


def without_constraints(text: str) -> str:
    """Remove the constraints of functions: f<int>(int) of `f<int>(int) requires C<T>`."""
    return _CONSTRAINTS.sub("", text) if " requires " in text else text


def top_level(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each token outside brackets with its place; a bracket extends to its end.

    A < that is not a bracket, as in an expression, ends with the ) around it.
    """
    found = _TOKEN.search(text)
    while found:
        token, (begin, end) = found[0], found.span()
        if token in ("<", "("):
            end = _end_of_bracket(text, begin)
        yield token, begin, end
        found = _TOKEN.search(text, end)


def _end_of_bracket(text: str, begin: int) -> int:
    """Return the end of the bracket that begins there; the end of the text if it has none."""
    # Most brackets have none inside: 1,000 names of a runtime take 9 ms instead of 14.
    close = text.find(">" if text[begin] == "<" else ")", begin + 1)
    inside = text[begin + 1 : close]
    if close > 0 and _PLAIN.fullmatch(inside) and "operator" not in inside:
        return close + 1
    depth = [text[begin]]
    for match in _INNER_TOKEN.finditer(text, begin + 1):
        token = match[0]
        if token in ("<", "("):
            depth.append(token)
        elif token == ">" and depth[-1] == "<":
            depth.pop()
        elif token == ")" and "(" in depth:
            while depth.pop() != "(":
                pass
        if not depth:
            return match.end()
    return len(text)


def qualified_name(text: str) -> str:
    """Return the head: std::add<T> of `void std::add<T>(int) const`."""
    return split_name(text).head


def bare_name(text: str) -> str:
    """Return only the name: floating of std::(anonymous namespace)::floating<Exp>(int)."""
    head = TAGS.sub("", without_templates(qualified_name(text)))
    return head.rpartition("::")[2].partition(".")[0].partition("[")[0]


def without_parameters(text: str) -> str:
    """Remove result and parameters: f<T>::table of `void f<T>(int)::table`."""
    parts = split_name(text)
    return parts.head + _without(parts.suffix, "(") or text


def without_templates(text: str) -> str:
    """Remove template arguments at all levels of scopes: std::add::f of std::add<T>::f<R>."""
    return _without(text, "<")


def _without(text: str, bracket: str) -> str:
    """Remove groups in such brackets, and the qualifiers of functions."""
    kept = []
    at = 0
    for token, begin, end in top_level(text):
        qualifier = _QUALIFIER.match(text, begin) if token == " " else None
        if token == bracket or qualifier:
            kept.append(text[at:begin])
            at = qualifier.end() if qualifier else end
    return "".join([*kept, text[at:]])


def without_groups(text: str) -> str | None:
    """Remove template arguments and parameters, in a third of the time of `_without`.

    None if brackets may be anything else: operators other than the call, pointers to functions. The
    call operator is spelled CALL.
    """
    kept = []
    opened = ""
    at = 0
    for match in _GROUP_TOKEN.finditer(text):
        token = match[0]
        if token == "->":
            continue
        if token in "<(":
            if not opened:
                kept.append(text[at : match.start()])
                if token == "(" and text[match.end() : match.end() + 1] in "*&":
                    return None
            opened += token
        elif token in ">)":
            if opened[-1:] != ("<" if token == ">" else "("):
                return None
            opened = opened[:-1]
            at = match.end()
        elif token == "operator()" and not opened:
            kept.append(text[at : match.start()] + CALL)
            at = match.end()
        elif token != "operator()":
            return None
    return None if opened else "".join([*kept, text[at:]])


def short_name(name: str, namespaces: Sequence[str] = ()) -> str:
    """Shorten a mangled name to conv_body<float>; return other names unchanged.

    namespaces: namespaces to leave out in addition to unnamed ones, each with its `::`
    """
    demangled = demangle(name)
    if demangled == name:
        return name
    text = without_parameters(demangled.replace(_ANONYMOUS_SCOPE, ""))
    if not namespaces:
        return text
    longest_first = sorted(namespaces, key=len, reverse=True)
    return re.sub(rf"\b(?:{'|'.join(map(re.escape, longest_first))})", "", text)


def shortened(text: str, width: int) -> str:
    """Shorten a demangled name just enough to fit `width`, if possible.

    Unnamed namespaces are removed first, then result and parameters, then the deepest template
    arguments.
    """
    if len(text) > width:
        text = text.replace(_ANONYMOUS_SCOPE, "")
    if len(text) > width:
        text = without_parameters(text)
    for depth in (3, 2, 1, 0):
        if len(text) > width:
            text = _elided(text, depth)
    return text


def _elided(text: str, depth: int) -> str:
    """Write <…> for template arguments that are nested at least `depth` deep."""
    kept = []
    at = inside = 0
    for match in _TOKEN.finditer(text):
        if match[0] == "<":
            if inside == depth:
                kept.append(f"{text[at : match.start()]}<…>")
            inside += 1
        elif match[0] == ">" and inside:
            inside -= 1
            if inside == depth:
                at = match.end()
    return "".join([*kept, text[at:] if inside <= depth else ""])


def template_of(symbol: str) -> tuple[str, tuple[str, ...]]:
    """Split off template arguments: binary_loop and (float, bool, Greater).

    Scopes, ABI tags and modules are removed; without a template there are no arguments. int64_t is
    written long on all systems.
    """
    text = _untagged(symbol)
    for token, begin, end in top_level(text):
        if token == "<":
            arguments = tuple(_unscoped(argument) for argument in _arguments(text[begin:end]))
            return text[:begin].rpartition("::")[2], arguments
    return text.rpartition("::")[2], ()


def member_of_template(symbol: str) -> tuple[str, tuple[str, ...]]:
    """Split a member into its name and the arguments around it: f and (int) of Of<int>::A::f.

    Without a template around it, and for operators and lambdas, there are no arguments.
    """
    text = _untagged(symbol)
    groups = [(begin, end) for token, begin, end in top_level(text) if token == "<"]
    scope, _, name = text.rpartition("::")
    if not groups or groups[-1][1] > len(scope) or not name.isidentifier():
        return name, ()
    if name.startswith("operator"):
        return name, ()
    return name, tuple(_unscoped(argument) for argument in _arguments(text[slice(*groups[-1])]))


def _untagged(symbol: str) -> str:
    """Return a function's name without parameters, clones, ABI tags and modules."""
    text = without_parameters(function_text(symbol, MOST_SHOWN))
    return TAGS.sub("", text)


def last_arguments(text: str) -> tuple[str, ...]:
    """Return the template arguments at the end of a demangled name, before its parameters."""
    if ">" not in text:
        return ()
    name = without_parameters(text)
    groups = [(begin, end) for token, begin, end in top_level(name) if token == "<"]
    return _arguments(name[slice(*groups[-1])]) if groups and name.endswith(">") else ()


def _arguments(group: str) -> tuple[str, ...]:
    """Split <float, bool> at its commas."""
    inside = group[1:].removesuffix(">")
    commas = [(begin, end) for token, begin, end in top_level(inside) if token == ","]
    starts = [0, *(end for _, end in commas)]
    ends = [*(begin for begin, _ in commas), len(inside)]
    return tuple(inside[i:j].strip() for i, j in zip(starts, ends, strict=True))


def _unscoped(text: str) -> str:
    """Remove scopes: Foo<Half> of std::Foo<std::Half>, &add of &std::add."""
    scope = text.rfind("::")
    if scope < 0:
        return text
    for _, begin, end in reversed(list(top_level(text))):
        if begin <= scope < end:
            scope = text.rfind("::", 0, begin)
    address = "&" if scope > 0 and text.startswith("&") else ""
    return address + _SCOPE.sub("", text[scope + 2 :] if scope >= 0 else text)


def has_open_brackets(text: str) -> bool:
    """Return whether brackets do not match, as in `f(*`; arrows and operators do not count."""
    plain = re.sub(r"->|\boperator(?:\(\)|[-<>=]+)", "", text)
    return plain.count("(") != plain.count(")") or plain.count("<") != plain.count(">")
