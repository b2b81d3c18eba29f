"""Sums of exact products in eight lanes, written out so that they stay in registers on any processor.

A part of `assay.kernels.dense_tiles`.
"""

from __future__ import annotations

from typing import Any

from assay.kernels.jit import emitted

LANES, SIDE_BY_SIDE = 8, 4


@emitted
def lane_sums(_typing: Any, rows: Any, number: Any, following: Any, wide: Any, blocks: Any, sums: Any) -> Any:
    """The eight sums of some rows with one query, by dimension modulo 8, over all whole blocks of eight dimensions.

    Arguments of the call, arrays without gaps:
        rows: float32, shape (rows, dimensions).
        number: A tuple of `SIDE_BY_SIDE` numbers of rows, int64.
        following: The same: rows that will be wanted next, which are fetched from memory meanwhile.
        wide: float64, the query.
        blocks: How many blocks there are, at least 0.
        sums: float64, gets the sums, row after row.
    """
    from numba import types

    signature = types.void(rows, number, following, wide, blocks, sums)

    def written(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        rows, wide, sums = (context.make_helper(builder, call.args[at], value=arguments[at]) for at in (0, 3, 5))
        width = builder.extract_value(rows.shape, 1)
        starts, next_starts = (
            [
                builder.gep(rows.data, [builder.mul(builder.extract_value(arguments[which], side), width)])
                for side in range(SIDE_BY_SIDE)
            ]
            for which in (1, 2)
        )
        _write_sums(builder, starts, next_starts, wide.data, arguments[4], sums.data)
        return context.get_dummy_value()

    return signature, written


def _write_sums(builder: Any, starts: Any, next_starts: Any, wide: Any, blocks: Any, sums: Any) -> None:
    from llvmlite import ir

    whole, lanes = ir.IntType(64), ir.VectorType(ir.DoubleType(), LANES)
    zero, none = ir.Constant(whole, 0), ir.Constant(lanes, [0.0] * LANES)
    entry = builder.block
    loop, end = (builder.append_basic_block(name) for name in ("products", "summed"))
    builder.cbranch(builder.icmp_signed(">", blocks, zero), loop, end)
    builder.position_at_end(loop)
    block = builder.phi(whole)
    totals = [builder.phi(lanes) for _ in starts]
    place = builder.mul(block, ir.Constant(whole, LANES))
    query = _eight(builder, wide, place)
    rows = [builder.fpext(_eight(builder, start, place), lanes) for start in starts]
    for start in next_starts:
        _fetch(builder, builder.gep(start, [place]))
    # Products are exact, so that it is all one whether an addition is contracted with them.
    products = [builder.fmul(row, query, flags=["contract"]) for row in rows]
    added = [builder.fadd(total, product, flags=["contract"]) for total, product in zip(totals, products, strict=True)]
    after = builder.add(block, ir.Constant(whole, 1))
    block.add_incoming(zero, entry)
    block.add_incoming(after, loop)
    for total, more in zip(totals, added, strict=True):
        total.add_incoming(none, entry)
        total.add_incoming(more, loop)
    builder.cbranch(builder.icmp_signed("<", after, blocks), loop, end)
    builder.position_at_end(end)
    found = [builder.phi(lanes) for _ in starts]
    for side, (total, more) in enumerate(zip(found, added, strict=True)):
        total.add_incoming(none, entry)
        total.add_incoming(more, loop)
        place = builder.gep(sums, [ir.Constant(whole, side * LANES)])
        builder.store(total, builder.bitcast(place, lanes.as_pointer())).align = 8


def _fetch(builder: Any, place: Any) -> None:
    from llvmlite import ir

    byte, whole = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, whole, whole, whole])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    # To be read, kept in the second cache, data: in the first one it would take the place of what is read now.
    builder.call(fetch, [builder.bitcast(place, byte), *(ir.Constant(whole, number) for number in (0, 2, 1))])


def _eight(builder: Any, array: Any, place: Any) -> Any:
    """Eight neighbours from a place on, which need not be a multiple of anything."""
    from llvmlite import ir

    kind = ir.VectorType(array.type.pointee, LANES)
    held = builder.load(builder.bitcast(builder.gep(array, [place]), kind.as_pointer()))
    held.align = 4
    return held
