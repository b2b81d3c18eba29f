"""Products of bytes on x86 processors that multiply 64 pairs of them with one instruction (AVX-512 VNNI).

`vpdpbusd` multiplies 64 unsigned bytes by 64 signed ones and adds each four neighbours to one of 16 whole numbers of 32
bits. Parts of `assay.kernels.dense_bytes`: rows stand in panels of `ROWS`, queries in groups of `QUERIES`, four
dimensions side by side, so that a panel and a group are multiplied without leaving the registers.
"""

from __future__ import annotations

from typing import Any

from assay.kernels.jit import emitted

ROWS, QUERIES, LANES = 32, 12, 16
"""Of one product: 24 registers hold its sums, the other 8 what they are made of."""


def has_byte_products() -> bool:
    """Whether this processor has the instruction, and numba compiles for this processor."""
    from llvmlite import binding
    from numba.core import config

    settings = vars(config)
    if settings["DISABLE_JIT"] or settings["CPU_NAME"] or settings["CPU_FEATURES"] or not settings["ENABLE_AVX"]:
        return False
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:
        return False
    return all(features.get(name, False) for name in ("avx512f", "avx512bw", "avx512vl", "avx512vnni"))


@emitted
def byte_products(
    _typing: Any, panels: Any, panel: Any, groups: Any, group: Any, words: Any, start: Any, step: Any, rest: Any,
    length: Any, floor: Any, score: Any, mask: Any,
) -> Any:  # fmt: skip
    """All products of a panel of rows with a group of queries; which queries have any that could reach their floors.

    Arguments of the call, arrays without gaps:
        panels: int32, shape (panels, `words` times `ROWS`): four unsigned bytes of a row each.
        panel: Which of them.
        groups: int32, shape (groups, `words` times `QUERIES`): four signed bytes of a query each.
        group: Which of them.
        words: How many times four dimensions there are, at least 1.
        start: int32, shape (groups, `QUERIES`): what the sums begin with.
        step: float32, shape (panels, `ROWS`): what the sums are multiplied with.
        rest: float32, shape (panels, `ROWS`): times `length`, what a product is taken to be too small by.
        length: float32, shape (groups, `QUERIES`).
        floor: float32, shape (groups, `QUERIES`).
        score: float32, gets the `ROWS` products of each query.
        mask: uint32, gets per query a bit per row: its product could reach the floor.

    The call returns a bit per query, uint64.
    """
    from llvmlite import ir
    from numba import types

    signature = types.uint64(panels, panel, groups, group, words, start, step, rest, length, floor, score, mask)

    def written(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        def data(at: int, of: int | None = None, size: Any = None) -> Any:
            array = context.make_helper(builder, call.args[at], value=arguments[at]).data
            if of is None:
                return array
            return builder.gep(array, [builder.mul(arguments[of], size)])

        rows, queries = (ir.Constant(ir.IntType(64), size) for size in (ROWS, QUERIES))
        words = arguments[4]
        given = [
            data(0, 1, builder.mul(words, rows)), data(2, 3, builder.mul(words, queries)), words,
            data(5, 3, queries), data(6, 1, rows), data(7, 1, rows), data(8, 3, queries), data(9, 3, queries),
            data(10), data(11),
        ]  # fmt: skip
        return builder.call(_product_function(builder.module, given), given)

    return signature, written


def _product_function(module: Any, given: Any) -> Any:
    """The function of a module that takes the given values; written at its first use."""
    from llvmlite import ir

    name = "assay_byte_products"
    if name not in module.globals:
        kind = ir.FunctionType(ir.IntType(64), [value.type for value in given])
        function = ir.Function(module, kind, name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        _write_products(function)
    return module.globals[name]


def _write_products(function: Any) -> None:
    """A loop over the words, whose sums stay in registers, and the comparison after it."""
    from llvmlite import ir

    panel, group, words, start, *_ = function.args
    entry, loop, end = (function.append_basic_block(name) for name in ("entry", "loop", "end"))
    builder = ir.IRBuilder(entry)
    first = [_spread(builder, _item(builder, start, query)) for query in range(QUERIES)]
    builder.branch(loop)
    builder.position_at_end(loop)
    word = builder.phi(ir.IntType(64))
    word.add_incoming(ir.Constant(word.type, 0), entry)
    sums = [[builder.phi(first[0].type) for _ in range(ROWS // LANES)] for _ in range(QUERIES)]
    rows, queries = (builder.mul(word, ir.Constant(word.type, size)) for size in (ROWS, QUERIES))
    held = [
        _lanes(builder, panel, builder.add(rows, ir.Constant(word.type, LANES * at))) for at in range(ROWS // LANES)
    ]
    after = []
    for query, own in enumerate(sums):
        place = builder.add(queries, ir.Constant(word.type, query))
        bytes_ = _spread(builder, builder.load(builder.gep(group, [place])))
        after.append([_products_added(builder, total, row, bytes_) for total, row in zip(own, held, strict=True)])
        for total, more in zip(own, after[-1], strict=True):
            total.add_incoming(first[query], entry)
            total.add_incoming(more, loop)
    following = builder.add(word, ir.Constant(word.type, 1))
    word.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, words), loop, end)
    builder.position_at_end(end)
    _write_comparison(builder, after, *function.args[4:])


def _write_comparison(
    builder: Any, sums: Any, step: Any, rest: Any, length: Any, floor: Any, score: Any, mask: Any
) -> None:
    from llvmlite import ir

    whole = ir.IntType(32)
    steps, rests = (
        [_lanes(builder, array, ir.Constant(ir.IntType(64), LANES * at)) for at in range(ROWS // LANES)]
        for array in (step, rest)
    )
    found = ir.Constant(ir.IntType(64), 0)
    for query, own in enumerate(sums):
        low, times = (_spread(builder, _item(builder, array, query)) for array in (floor, length))
        bits = ir.Constant(whole, 0)
        for at, total in enumerate(own):
            product = builder.fmul(builder.sitofp(total, steps[at].type), steps[at])
            place = builder.gep(score, [ir.Constant(ir.IntType(64), query * ROWS + LANES * at)])
            builder.store(product, builder.bitcast(place, product.type.as_pointer())).align = 4
            most = builder.fadd(builder.fmul(times, rests[at], flags=["contract"]), product, flags=["contract"])
            near = builder.bitcast(builder.fcmp_ordered(">=", most, low), ir.IntType(LANES))
            bits = builder.or_(bits, builder.shl(builder.zext(near, whole), ir.Constant(whole, LANES * at)))
        builder.store(bits, builder.gep(mask, [ir.Constant(ir.IntType(64), query)]))
        any_ = builder.zext(builder.icmp_unsigned("!=", bits, ir.Constant(whole, 0)), found.type)
        found = builder.or_(found, builder.shl(any_, ir.Constant(found.type, query)))
    builder.ret(found)


def _products_added(builder: Any, total: Any, row: Any, query: Any) -> Any:
    """`vpdpbusd`; LLVM before 22 names the bytes by the words that they stand in."""
    from llvmlite import binding, ir

    wide = total.type if binding.llvm_version_info[0] < 22 else ir.VectorType(ir.IntType(8), 4 * LANES)
    kind = ir.FunctionType(total.type, [total.type, wide, wide])
    instruction = builder.module.declare_intrinsic("llvm.x86.avx512.vpdpbusd.512", fnty=kind)
    return builder.call(instruction, [total, builder.bitcast(row, wide), builder.bitcast(query, wide)])


def _item(builder: Any, array: Any, place: int) -> Any:
    from llvmlite import ir

    return builder.load(builder.gep(array, [ir.Constant(ir.IntType(64), place)]))


def _lanes(builder: Any, array: Any, place: Any) -> Any:
    """A register of neighbours, from any place that holds one of them."""
    from llvmlite import ir

    kind = ir.VectorType(array.type.pointee, LANES)
    held = builder.load(builder.bitcast(builder.gep(array, [place]), kind.as_pointer()))
    held.align = 4
    return held


def _spread(builder: Any, value: Any) -> Any:
    """A register that holds one value in every lane."""
    from llvmlite import ir

    none, places = ir.VectorType(value.type, LANES), ir.VectorType(ir.IntType(32), LANES)
    one = builder.insert_element(ir.Constant(none, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, ir.Constant(none, ir.Undefined), ir.Constant(places, [0] * LANES))


@emitted
def lowest_bit(_typing: Any, _bits: Any) -> Any:
    """The place of the lowest bit that is set in a number; it is uint64 and not 0."""
    from llvmlite import ir
    from numba import types

    def written(_context: Any, builder: Any, _call: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), written
