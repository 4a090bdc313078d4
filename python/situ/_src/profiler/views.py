# SPDX-License-Identifier: Apache-2.0
"""views.py: the views of a profile: by name scope, by dependency, by op."""

from __future__ import annotations

import re

from situ._src.profiler.node_stats import ROOT, Node
from situ._src.profiler.option_builder import FIELDS

# Fields whose minimum does not hide nodes with unknown values.
BYTES = ("requested_bytes", "peak_bytes", "residual_bytes", "output_bytes")
NEVER_KNOWN = ("peak_bytes", "residual_bytes")


def _matches(name, regexes):
    return any(r == ".*" or re.fullmatch(r, name) for r in regexes)


def _accounted(node, options):
    regexes = options["account_type_regexes"]
    return any(r == ".*" for r in regexes) or any(_matches(t, regexes) for t in node.types)


def scope_tree(nodes):
    """Returns the nodes as a tree by name scope."""
    every = dict(nodes)
    for name in nodes:
        while "/" in name:
            name = name.rpartition("/")[0]
            every.setdefault(name, Node(name))
    root = Node(ROOT)
    for name in sorted(every):
        above = every[name.rpartition("/")[0]] if "/" in name else root
        above.children.append(every[name])
    return root


def graph_tree(nodes):
    """Returns the nodes as a tree by dependency, each under one of its consumers."""
    root, read = Node(ROOT), {name for node in nodes.values() for name in node.reads}
    stack, seen = [(nodes[n], root) for n in sorted(nodes, reverse=True) if n not in read], set()
    while stack:
        node, above = stack.pop()
        if node.name in seen:
            continue
        seen.add(node.name)
        above.children.append(node)
        stack.extend((nodes[below], node) for below in reversed(node.reads) if below in nodes)
    return root


def _down(root):
    """Returns all nodes, parents first; without recursion, because the tree may be deep."""
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(node.children))
    return order


def _add_up(node, below):
    node.total = dict(node.own) if node.account else dict.fromkeys(node.own, 0)
    node.definitions = 1
    for other in below:
        node.definitions += other.definitions
        node.vague = node.vague or other.vague
        for field, value in other.total.items():
            node.total[field] += value


def _account(root, options, keep_parents):
    """Removes nodes that are not counted; with keep_parents, ancestors of counted nodes stay."""
    given = {}
    for node in reversed(_down(root)):
        below = [n for child in node.children for n in given[child.name]]
        node.account = node is not root and _accounted(node, options)
        kept = node.account or node is root or (keep_parents and below)
        given[node.name] = [node] if kept else below
        if kept:
            node.children = below
            _add_up(node, below)


def _start(root, regexes):
    """Starts the tree at nodes whose names match."""
    if ".*" in regexes:
        return
    found, stack = [], list(reversed(root.children))
    while stack:
        node = stack.pop()
        if _matches(node.name, regexes):
            found.append(node)
        else:
            stack.extend(reversed(node.children))
    root.children = found


def _large_enough(node, options, fields, of):
    for word, field in FIELDS.items():
        if field not in fields or field in NEVER_KNOWN or (field in BYTES and node.vague):
            continue
        if of[field] < options["min_" + word]:
            return False
    return True


def _shown(node, options):
    own = ("parameters", "float_ops", "run_count")
    rest = [f for f in FIELDS.values() if f not in own]
    return (
        _large_enough(node, options, own, node.own)
        and _large_enough(node, options, rest, node.total)
        and node.depth <= options["max_depth"]
        and _named(node, options)
    )


def _named(node, options):
    return _matches(node.name, options["show_name_regexes"]) and not _matches(
        node.name, options["hide_name_regexes"]
    )


def _ordered(nodes, options):
    if options["order_by"] == "name":
        return sorted(nodes, key=lambda n: n.name)
    field = FIELDS[options["order_by"]]
    return sorted(
        nodes,
        key=lambda n: (
            -(len(n.members) if field == "run_count" and n.members else n.total[field]),
            n.name,
        ),
    )


def show_tree(root, options, keep_parents):
    """Returns the tree to display, with totals and depths."""
    _account(root, options, keep_parents)
    _start(root, options["start_name_regexes"])
    root.depth, order, stack = 1, [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        if _matches(node.name, options["trim_name_regexes"]) or node.depth > options["max_depth"]:
            node.children = []
        for child in node.children:
            child.depth = node.depth + 1
        stack.extend(reversed(node.children))
    given, shown = {}, {n.name for n in order if n is root or _shown(n, options)}
    for node in reversed(order):
        below = [n for child in node.children for n in given[child.name]]
        given[node.name] = [node] if node.name in shown else below
        if node.name in shown:
            node.children = below
            if options["account_displayed_op_only"]:
                _add_up(node, below)
            node.children = _ordered(below, options)
    return root


def _by_op(nodes, options):
    """Returns one node per op, with the sums of its operations."""
    kinds = {}
    for node in nodes.values():
        if not _accounted(node, options):
            continue
        kind = kinds.setdefault(node.op, Node(node.op, node.op))
        kind.account, kind.vague = True, kind.vague or node.vague
        kind.members.append(node)
        kind.types |= node.types
        kind.devices |= node.devices
        for field, value in node.own.items():
            kind.own[field] += value
    return list(kinds.values())


def _chain(nodes):
    """Sets the totals of a list of nodes: each includes the nodes after it."""
    behind = []
    for node in reversed(nodes):
        _add_up(node, behind)
        behind = [node]


def show_ops(nodes, options):
    """Returns (root, displayed ops); totals accumulate from the last one."""
    root, kinds = Node(ROOT), _by_op(nodes, options)
    for kind in kinds:
        _add_up(kind, [])
    kinds = _ordered(kinds, options)
    _chain(kinds)
    _add_up(root, kinds[:1])
    starts = options["start_name_regexes"]
    begin = (
        0
        if not starts or ".*" in starts
        else next((i for i, kind in enumerate(kinds) if _matches(kind.name, starts)), len(kinds))
    )
    shown = []
    for depth, kind in enumerate(kinds[begin:]):
        if _matches(kind.name, options["trim_name_regexes"]) or depth > options["max_depth"]:
            break
        if (
            len(kind.members) >= options["min_occurrence"]
            and _named(kind, options)
            and _large_enough(kind, {**options, "min_occurrence": 0}, kind.total, kind.total)
        ):
            shown.append(kind)
    if options["account_displayed_op_only"]:
        _chain(shown)
        _add_up(root, shown[:1])
    return root, shown
