"""Seeded faults: each is a clean program of programs/ with one thing wrong, what kind of finding it
gives, and at which line. Edits keep the lines where they are.

Fault(name, program, edits, kind, line): an edit (old, new) replaces the only line that contains
`old`; (old, new, n) the n-th of several, counted from 0. `line` is a text, the only or the n-th one
in the changed program."""

from dataclasses import dataclass


@dataclass
class Fault:
    name: str
    program: str
    edits: list
    kind: str
    line: object
    flags: tuple = ()


def cut(old, n=None):
    """The instruction is not there."""
    return (old, "", n)


ADD, MATMUL, UNIT, SCALAR, EXCHANGE, ROWS, EPILOGUE, TURN = (
    "add", "matmul", "unit_flag", "scalar", "exchange", "rows", "epilogue", "turn")

# Without the unit flag.
MMAD_ALONE = ("npu.mmad %acc[%0], %a0[%0], %b0[%0] m %16 n %16 k %16 init %true : !l0c, !l0a, "
              "!l0b")
FIXPIPE_ALONE = ("npu.fixpipe %c[%at], %acc[%0] m %16 n %16 dst_stride %16 src_rows %16 : !gmf, "
                 "!l0c")

MMAD_OF_THE_LOOP = ("npu.mmad %acc[%0], %a0[%0], %b0[%0] m %m n %n k %k init %first : !l0c, !l0a, "
                    "!l0b")

# -------------------------------------------------------------------- flags within a core

FLAGS = [
    # Both sides of a flag left out: what it ordered is a race.
    Fault("ub_load_to_vector", ADD,
          [cut("set_flag MTE2 -> V"), cut("wait_flag MTE2 -> V")],
          "race-read-after-write", "vbinary add"),
    Fault("ub_vector_to_store", ADD,
          [cut("set_flag V -> MTE3"), cut("wait_flag V -> MTE3")],
          "race-read-after-write", "npu.store"),
    Fault("ub_vector_to_load", ADD,
          [cut("set_flag V -> MTE2", 0), cut("set_flag V -> MTE2", 0),
           cut("wait_flag V -> MTE2", 0), cut("wait_flag V -> MTE2", 0)],
          "race-write-after-read", "npu.load"),
    Fault("ub_store_to_vector", ADD,
          [cut("set_flag MTE3 -> V", 0), cut("set_flag MTE3 -> V", 0),
           cut("wait_flag MTE3 -> V", 0), cut("wait_flag MTE3 -> V", 0)],
          "race-write-after-read", "vbinary add"),
    Fault("ub_load_over_vector", ADD,
          [("npu.load %xs", "npu.load %ys[%0], %x[%at] count %1 len %tile src_stride %tile "
            "dst_stride %tile : !ub, !gm")],
          "race-write-after-read", "npu.load"),
    Fault("ub_two_writers", ROWS,
          [("npu.vdup %zeros", "npu.vdup %a[%0], %zero count %832 : !ub, f32")],
          "race-write-after-write", ("npu.vdup", "npu.load")),
    Fault("l1_load_to_l0", MATMUL,
          [cut("set_flag MTE2 -> MTE1"), cut("wait_flag MTE2 -> MTE1")],
          "race-read-after-write", "load_l0 %a0"),
    Fault("l1_l0_to_load", MATMUL,
          [cut("set_flag MTE1 -> MTE2", 0), cut("set_flag MTE1 -> MTE2", 0),
           cut("wait_flag MTE1 -> MTE2", 0), cut("wait_flag MTE1 -> MTE2", 0)],
          "race-write-after-read", "load_nd2nz %al"),
    Fault("l0_load_to_cube", MATMUL,
          [cut("set_flag MTE1 -> M,"), cut("wait_flag MTE1 -> M,")],
          "race-read-after-write", "npu.mmad"),
    Fault("l0_cube_to_load", MATMUL,
          [cut("set_flag M -> MTE1", 0), cut("set_flag M -> MTE1", 0),
           cut("wait_flag M -> MTE1", 0), cut("wait_flag M -> MTE1", 0)],
          "race-write-after-read", "load_l0 %a0"),
    Fault("l0c_cube_to_fixpipe", MATMUL,
          [cut("set_flag M -> FIX"), cut("wait_flag M -> FIX")],
          "race-read-after-write", "npu.fixpipe"),
    Fault("l0c_without_unit_flag", UNIT,
          [("npu.fixpipe", FIXPIPE_ALONE), ("npu.mmad", MMAD_ALONE)],
          "race-read-after-write", "npu.fixpipe"),
    Fault("l0c_mmad_without_unit_flag_over_fixpipe", UNIT,
          [("npu.mmad", MMAD_ALONE),
           ("npu.set_flag M -> MTE1", "npu.set_flag M -> MTE1, %0 npu.set_flag M -> FIX, %0", 1),
           ("npu.fixpipe", "npu.wait_flag M -> FIX, %0 " + FIXPIPE_ALONE)],
          "race-write-after-read", "npu.mmad"),
    Fault("scalar_store_to_ub_before_store", SCALAR,
          [cut("set_flag S -> MTE3"), cut("wait_flag S -> MTE3")],
          "race-read-after-write", "npu.store"),
    Fault("scalar_load_of_ub_too_early", SCALAR,
          [cut("set_flag V -> S"), cut("wait_flag V -> S"), cut("memref.store %more")],
          "race-read-after-write", "memref.load %b"),
    Fault("gm_store_to_load_of_one_core", EXCHANGE,
          [cut("set_flag MTE3 -> MTE2"), cut("wait_flag MTE3 -> MTE2")],
          "race-read-after-write", "npu.load %b"),
    Fault("gm_load_to_store_of_one_core", EXCHANGE,
          [cut("set_flag MTE2 -> MTE3, %1"), cut("wait_flag MTE2 -> MTE3, %1")],
          "race-read-after-write", "npu.store %sum"),
    Fault("gm_scalar_reads_before_the_store", SCALAR,
          [cut("set_flag MTE3 -> S"), cut("wait_flag MTE3 -> S")],
          "race-read-after-write", "memref.load %z"),
    Fault("gm_scalar_stores_to_load", SCALAR,
          [cut("set_flag S -> MTE2"), cut("wait_flag S -> MTE2")],
          "race-read-after-write", "npu.load"),
    # One side only, or another flag.
    Fault("set_without_wait", ADD, [cut("wait_flag MTE2 -> V")],
          "race-read-after-write", "vbinary add"),
    Fault("set_without_wait_at_the_end", ADD, [cut("wait_flag MTE3 -> V", 1)],
          "flag-not-waited", ("set_flag MTE3 -> V", 1)),
    Fault("small_mmads_without_barrier", MATMUL,
          [("npu.mmad", f"{MMAD_OF_THE_LOOP} %no = arith.cmpi ne, %s, %s : index "
            + MMAD_OF_THE_LOOP.replace("%first", "%no"))],
          "missing-barrier", "npu.mmad"),
    Fault("set_twice", ADD,
          [("set_flag V -> MTE3", "npu.set_flag V -> MTE3, %e npu.set_flag V -> MTE3, %e")],
          "double-set", "set_flag V -> MTE3"),
    Fault("set_again_before_the_wait_is_known", MATMUL,
          [cut("set_flag MTE1 -> MTE2", 0), cut("set_flag MTE1 -> MTE2", 0),
           cut("wait_flag MTE1 -> MTE2", 0), cut("wait_flag MTE1 -> MTE2", 0)],
          "double-set", "set_flag MTE2 -> MTE1"),
    Fault("wait_without_set", ADD, [cut("set_flag MTE2 -> V")],
          "flag-not-set", "wait_flag MTE2 -> V"),
    Fault("wait_without_set_on_the_scalar_unit", SCALAR, [cut("set_flag V -> S")],
          "flag-not-set", "wait_flag V -> S"),
    Fault("wait_without_set_in_the_cube", MATMUL, [cut("set_flag MTE1 -> M,")],
          "flag-not-set", "wait_flag MTE1 -> M,"),
    Fault("crossed_id", ADD,
          [("set_flag MTE2 -> V", "npu.set_flag MTE2 -> V, %2")],
          "crossed-flag", "wait_flag MTE2 -> V"),
    Fault("crossed_pipes", ADD,
          [("set_flag V -> MTE3", "npu.set_flag MTE2 -> MTE3, %e")],
          "crossed-flag", "wait_flag V -> MTE3"),
    Fault("crossed_ids_in_the_cube", MATMUL,
          [("set_flag M -> FIX", "npu.set_flag M -> FIX, %1")],
          "crossed-flag", "wait_flag M -> FIX"),
    Fault("event_id_out_of_range", ADD,
          [("%tiles = arith.constant 4", "%tiles = arith.constant 4 : index %9 = arith.constant 9 "
            ": index"),
           ("set_flag V -> MTE3", "npu.set_flag V -> MTE3, %9"),
           cut("wait_flag V -> MTE3")],
          "operand-out-of-range", "set_flag V -> MTE3"),
    Fault("deadlock_of_two_pipes", ADD,
          [cut("set_flag V -> MTE2", 0)],
          "flag-deadlock", ("wait_flag V -> MTE2", "wait_flag MTE2 -> V")),
    Fault("deadlock_with_the_scalar_unit", SCALAR,
          [("npu.set_flag MTE2 -> V", "npu.wait_flag S -> MTE2, %1 npu.set_flag MTE2 -> V, %0"),
           ("%more = arith", "npu.set_flag S -> MTE2, %1 %more = arith.addf %first, %two : f32")],
          "flag-deadlock", ("wait_flag S -> MTE2, %1", "wait_flag V -> S")),
    Fault("deadlock_of_the_unit_flag", UNIT,
          [("npu.mmad", MMAD_ALONE.replace(" :", " unit_flag %false :", 1)),
           ("%true = arith", "%true = arith.constant true %false = arith.constant false")],
          "flag-deadlock", "npu.fixpipe"),
]

# ------------------------------------------------------------------ barriers and global memory

ORDER = [
    Fault("barrier_in_a_vector_chain", ADD, [cut("pipe_barrier V")],
          "missing-barrier", "vscalar muls"),
    Fault("barrier_between_compare_and_select", ROWS, [cut("pipe_barrier V", 0)],
          "missing-barrier", "vselect"),
    Fault("barrier_before_a_reduction", ROWS, [cut("pipe_barrier V", 1)],
          "missing-barrier", "vrow_reduce"),
    Fault("barrier_between_stores", EXCHANGE, [cut("pipe_barrier MTE3")],
          "missing-barrier", ("npu.store %t", 2)),
    Fault("barrier_between_loads", EXCHANGE,
          [("npu.load %a[%128]", "npu.load %a[%0], %x[%at] count %4 len %128 src_stride %256 "
            "dst_stride %256 : !ub, !gm")],
          "missing-barrier", ("npu.load %a", 1)),
    Fault("cores_write_one_place", ADD,
          [("npu.store %y[%at]", "npu.store %y[%0], %ys[%0] count %1 len %tile dst_stride %tile "
            "src_stride %tile : !gm, !ub")],
          "core-race", "npu.store"),
    Fault("cores_read_what_others_write", EXCHANGE,
          [("npu.load %b[%0]", "npu.load %b[%0], %t[%0] count %4 len %64 src_stride %256 "
            "dst_stride %64 : !ub, !gm")],
          "core-race", ("npu.load %b", "npu.store %t")),
    Fault("cores_overwrite_what_others_read", EXCHANGE,
          [(", %x[%at] count %4", "npu.load %a[%0], %t[%0] count %4 len %128 src_stride %256 "
            "dst_stride %256 : !ub, !gm", 0)],
          "core-race", ("npu.store %t", "npu.load %a[%0]")),
    Fault("sum_of_cores_without_atomic", EXCHANGE,
          [("npu.store %sum", "npu.store %sum[%0], %b[%0] count %1 len %256 dst_stride %256 "
            "src_stride %256 : !sum, !ub")],
          "core-race", "npu.store %sum"),
    Fault("atomic_and_plain_of_two_cores", EXCHANGE,
          [("npu.load %b[%0]", "npu.load %b[%0], %sum[%0] count %1 len %64 src_stride %256 "
            "dst_stride %64 : !ub, !sum")],
          "core-race", ("npu.load %b", "npu.store %sum")),
    Fault("cube_cores_write_one_place", MATMUL,
          [("npu.fixpipe", "npu.fixpipe %c[%0], %acc[%0] m %m n %n dst_stride %size src_rows %m : "
            "!gmf, !l0c")],
          "core-race", "npu.fixpipe"),
    Fault("cores_overlap_by_one_row", MATMUL,
          [("%row = arith", "%row = arith.muli %core, %31 : index"),
           ("%m = arith", "%m = arith.constant 32 : index %31 = arith.constant 31 : index")],
          "core-race", "npu.fixpipe"),
    Fault("scalar_units_write_one_element", SCALAR,
          [("memref.store %d", "memref.store %d, %y[%0] : !gm")],
          "core-race", "memref.store %d"),
    Fault("scalar_units_share_a_cache_line", SCALAR,
          [("%mine = arith", "%mine = arith.constant 8 : index")],
          "shared-cache-line", ("memref.store %d", "memref.store %back")),
    Fault("load_before_the_cache_is_flushed", SCALAR, [cut("dcache_flush", 0)],
          "missing-cache-flush", "npu.load"),
    Fault("end_before_the_cache_is_flushed", SCALAR, [cut("dcache_flush", 2)],
          "missing-cache-flush", "memref.store %back"),
    Fault("stale_line_in_the_cache", SCALAR,
          [cut("dcache_flush", 1),
           ("%first = memref.load", "%first = memref.load %b[%0] : !ub %old = memref.load %z[%at] "
            ": !gm")],
          "stale-cache-line", "memref.load %z[%at] : !gm"),
]

# -------------------------------------------------------------------------------------- ranges

RANGES = [
    Fault("gm_load_past_the_end", ADD,
          [("%first = arith.muli", "%first = arith.muli %core, %7 : index"),
           ("%tiles = arith", "%tiles = arith.constant 4 : index %7 = arith.constant 7 : index")],
          "out-of-bounds", "npu.load"),
    Fault("gm_store_past_the_end", ADD,
          [("npu.store %y[%at]", "npu.store %y[%last], %ys[%0] count %1 len %tile dst_stride %tile "
            "src_stride %tile : !gm, !ub"),
           ("%tiles = arith", "%tiles = arith.constant 4 : index %last = arith.constant 7200 : "
            "index")],
          "out-of-bounds", "npu.store"),
    Fault("gm_before_the_start", ADD,
          [("npu.load %xs", "npu.load %xs[%0], %x[%back] count %1 len %tile src_stride %tile "
            "dst_stride %tile : !ub, !gm"),
           ("%tiles = arith", "%tiles = arith.constant 4 : index %back = arith.constant -16 : "
            "index")],
          "out-of-bounds", "npu.load"),
    Fault("gm_last_row_of_a_strided_load", EXCHANGE,
          [(", %x[%at] count %4", "npu.load %a[%128], %x[%at] count %4 len %128 src_stride %1024 "
            "dst_stride %256 : !ub, !gm", 1)],
          "out-of-bounds", "npu.load %a[%128]"),
    Fault("gm_last_row_of_a_strided_store", EXCHANGE,
          [("npu.store %t", "npu.store %t[%at], %a[%0] count %4 len %256 dst_stride %1024 "
            "src_stride %256 : !gm, !ub", 0)],
          "out-of-bounds", ("npu.store %t", 0)),
    Fault("gm_past_the_end_nd2nz", MATMUL,
          [("load_nd2nz %bl", "npu.load_nd2nz %bl[%0], %b[%size] rows %n cols %k src_stride %size "
            "dst_rows %n : !l1b, !gmh")],
          "out-of-bounds", "load_nd2nz %bl"),
    Fault("gm_past_the_end_fixpipe", MATMUL,
          [("npu.fixpipe", "npu.fixpipe %c[%rowAt], %acc[%0] m %m n %n dst_stride %128 src_rows %m "
            ": !gmf, !l0c"),
           ("%m = arith", "%m = arith.constant 32 : index %128 = arith.constant 128 : index")],
          "out-of-bounds", "npu.fixpipe"),
    Fault("ub_past_the_end", ADD,
          [("npu.vbinary add", "npu.vbinary add %ys[%big], %xs[%0], %xs[%0] count %tile : !ub, !ub, "
            "!ub"),
           ("%tiles = arith", "%tiles = arith.constant 4 : index %big = arith.constant 98304 : "
            "index")],
          "out-of-bounds", "vbinary add"),
    Fault("ub_last_row_of_a_strided_load", EXCHANGE,
          [(", %x[%at] count %4", "npu.load %a[%128], %x[%at] count %4 len %128 src_stride %256 "
            "dst_stride %far : !ub, !gm", 1),
           ("%64 = arith", "%64 = arith.constant 64 : index %far = arith.constant 16384 : index")],
          "out-of-bounds", "npu.load %a[%128]"),
    Fault("l1_past_the_end", MATMUL,
          [("load_nd2nz %bl", "npu.load_nd2nz %bl[%0], %b[%kk] rows %n cols %k src_stride %size "
            "dst_rows %16384 : !l1b, !gmh"),
           ("%m = arith", "%m = arith.constant 32 : index %16384 = arith.constant 16384 : index")],
          "out-of-bounds", "load_nd2nz %bl"),
    Fault("l0a_past_the_end", MATMUL,
          [("load_l0 %a0", "npu.load_l0 %a0[%far], %al[%0] extent %m k %k src_rows %m : !l0a, !l1a"),
           ("%m = arith", "%m = arith.constant 32 : index %far = arith.constant 32512 : index")],
          "out-of-bounds", "load_l0 %a0"),
    Fault("l0b_past_the_end", MATMUL,
          [("load_l0 %b0", "npu.load_l0 %b0[%far], %bl[%0] extent %n k %k src_rows %n : !l0b, !l1b"),
           ("%m = arith", "%m = arith.constant 32 : index %far = arith.constant 32512 : index")],
          "out-of-bounds", "load_l0 %b0"),
    Fault("l0c_past_the_end", MATMUL,
          [("npu.fixpipe", "npu.fixpipe %c[%rowAt], %acc[%far] m %m n %n dst_stride %size src_rows "
            "%m : !gmf, !l0c"),
           ("%m = arith", "%m = arith.constant 32 : index %far = arith.constant 32000 : index")],
          "out-of-bounds", "npu.fixpipe"),
    Fault("scalar_load_past_the_end", SCALAR,
          [("%v = memref.load", "%v = memref.load %x[%far] : !gm"),
           ("%two = arith", "%two = arith.constant 2.0 : f32 %far = arith.constant 64 : index")],
          "out-of-bounds", "memref.load %x"),
    Fault("scalar_index_of_ub_past_the_end", SCALAR,
          [("%first = memref.load", "%first = memref.load %b[%far] : !ub"),
           ("%two = arith", "%two = arith.constant 2.0 : f32 %far = arith.constant 49152 : index")],
          "out-of-bounds", "memref.load %b"),
    # Alignment and fields.
    Fault("ub_address_of_a_vector", ADD,
          [("npu.vbinary add", "npu.vbinary add %ys[%1], %xs[%0], %xs[%0] count %tile : !ub, !ub, "
            "!ub")],
          "misaligned-address", "vbinary add"),
    Fault("ub_address_of_a_load", ADD,
          [("npu.load %xs", "npu.load %xs[%2], %x[%at] count %1 len %tile src_stride %tile "
            "dst_stride %tile : !ub, !gm")],
          "misaligned-address", "npu.load"),
    Fault("ub_address_of_a_store", ADD,
          [("npu.store %y[%at]", "npu.store %y[%at], %ys[%1] count %1 len %tile dst_stride %tile "
            "src_stride %tile : !gm, !ub")],
          "misaligned-address", "npu.store"),
    Fault("ub_stride_of_a_load", EXCHANGE,
          [(", %x[%at] count %4", "npu.load %a[%128], %x[%at] count %4 len %128 src_stride %256 "
            "dst_stride %odd : !ub, !gm", 1),
           ("%64 = arith", "%64 = arith.constant 64 : index %odd = arith.constant 260 : index")],
          "misaligned-address", "npu.load %a[%128]"),
    Fault("l0a_address", MATMUL,
          [("load_l0 %a0", "npu.load_l0 %a0[%k], %al[%0] extent %m k %k src_rows %m : !l0a, !l1a")],
          "misaligned-address", "load_l0 %a0"),
    Fault("l0c_address_of_mmad", MATMUL,
          [("npu.mmad", "npu.mmad %acc[%k], %a0[%0], %b0[%0] m %m n %n k %k init %first : !l0c, "
            "!l0a, !l0b")],
          "misaligned-address", "npu.mmad"),
    Fault("l1_height_of_fractals", MATMUL,
          [("load_nd2nz %bl", "npu.load_nd2nz %bl[%0], %b[%kk] rows %n cols %k src_stride %size "
            "dst_rows %odd : !l1b, !gmh"),
           ("%m = arith", "%m = arith.constant 32 : index %odd = arith.constant 72 : index")],
          "misaligned-address", "load_nd2nz %bl"),
    Fault("compare_of_half_a_repeat", ROWS,
          [("npu.vcompares", "npu.vcompares gt %mask[%0], %a[%0], %bound count %100 : !mask, !ub, "
            "f32")],
          "misaligned-address", "vcompares"),
    Fault("too_many_bursts", EXCHANGE,
          [("npu.load %b[%0]", "npu.load %b[%0], %t[%0] count %4096 len %1 src_stride %1 dst_stride "
            "%8 : !ub, !gm"),
           ("%64 = arith", "%64 = arith.constant 64 : index %8 = arith.constant 8 : index %4096 = "
            "arith.constant 4096 : index")],
          "operand-out-of-range", "npu.load %b"),
    Fault("burst_too_long", ADD,
          [("npu.load %xs", "npu.load %xs[%0], %x[%at] count %1 len %big src_stride %big "
            "dst_stride %big : !ub, !gm"),
           ("%tiles = arith", "%tiles = arith.constant 4 : index %big = arith.constant 1048576 : "
            "index")],
          "operand-out-of-range", "npu.load"),
    Fault("bursts_that_overlap", EXCHANGE,
          [(", %x[%at] count %4", "npu.load %a[%128], %x[%at] count %4 len %128 src_stride %64 "
            "dst_stride %256 : !ub, !gm", 1)],
          "operand-out-of-range", "npu.load %a[%128]"),
    Fault("too_many_repeats", ROWS,
          [("npu.vcopy", "npu.vcopy %part[%0], %a[%0] count %8 repeats %256 dst_block %1 dst_repeat "
            "%0 a_block %1 a_repeat %0 : !few, !ub"),
           ("%64 = arith", "%64 = arith.constant 64 : index %256 = arith.constant 256 : index")],
          "operand-out-of-range", "npu.vcopy"),
    Fault("repeat_stride_too_large", ROWS,
          [("npu.vcopy", "npu.vcopy %part[%0], %a[%0] count %8 repeats %8 dst_block %1 dst_repeat "
            "%1 a_block %1 a_repeat %256 : !few, !ub"),
           ("%64 = arith", "%64 = arith.constant 64 : index %256 = arith.constant 256 : index")],
          "operand-out-of-range", "npu.vcopy"),
    Fault("mask_of_more_than_a_repeat", ROWS,
          [("npu.vcopy", "npu.vcopy %part[%0], %a[%0] count %100 repeats %1 dst_block %1 dst_repeat "
            "%1 a_block %1 a_repeat %13 : !few, !ub")],
          "operand-out-of-range", "npu.vcopy"),
    Fault("cube_extent_too_large", MATMUL,
          [("npu.mmad", "npu.mmad %acc[%0], %a0[%0], %b0[%0] m %m n %4096 k %k init %first : !l0c, "
            "!l0a, !l0b"),
           ("%m = arith", "%m = arith.constant 32 : index %4096 = arith.constant 4096 : index")],
          "operand-out-of-range", "npu.mmad"),
    Fault("rows_of_l1_too_few", MATMUL,
          [("load_nd2nz %bl", "npu.load_nd2nz %bl[%0], %b[%kk] rows %n cols %k src_stride %size "
            "dst_rows %m : !l1b, !gmh")],
          "operand-out-of-range", "load_nd2nz %bl"),
    Fault("operands_that_overlap_in_part", ADD,
          [("npu.vbinary add", "npu.vbinary add %xs[%16], %xs[%0], %xs[%0] count %tile : !ub, !ub, "
            "!ub"),
           ("%tiles = arith", "%tiles = arith.constant 4 : index %16 = arith.constant 16 : index")],
          "overlapping-operands", "vbinary add"),
    # What the compiler of the text sees.
    Fault("buffers_that_overlap", ADD,
          [("%yu = npu.buffer", "%yu = npu.buffer depth 2 addr 2048 : !ub")],
          "buffer-overlap", "%yu = npu.buffer"),
    Fault("buffers_of_l0_that_overlap", MATMUL,
          [("%bl = npu.buffer", "%bl = npu.buffer addr 1024 : !l1b")],
          "buffer-overlap", "%bl = npu.buffer"),
    Fault("buffer_past_the_end_of_ub", ADD,
          [("%yu = npu.buffer", "%yu = npu.buffer depth 2 addr 194560 : !ub")],
          "buffer-out-of-bounds", "%yu = npu.buffer"),
]

# ------------------------------------------------------------------- undefined bytes, no end

VALUES = [
    Fault("ub_never_written", ADD,
          [("npu.load %xs", "npu.load %xs[%0], %x[%at] count %1 len %16 src_stride %tile dst_stride "
            "%tile : !ub, !gm"),
           ("%tiles = arith", "%tiles = arith.constant 4 : index %16 = arith.constant 16 : index")],
          "uninitialised-read", "vbinary add"),
    Fault("ub_stored_unwritten", EXCHANGE,
          [cut(", %x[%at] count %4", 1)],
          "uninitialised-read", ("npu.store %t", 0)),
    Fault("ub_padding_of_a_load", ROWS,
          [("npu.vrow_reduce", "npu.vrow_reduce sum %sums[%0], %b[%0] tmp %tmp[%0] rows %8 cols %104 "
            "row_stride %104 : !few, !ub, !ub"),
           ("%8 = arith", "%8 = arith.constant 8 : index %99 = arith.constant 99 : index"),
           ("npu.load %a", "npu.load %a[%0], %x[%0] count %8 len %99 src_stride %100 dst_stride %104 "
            ": !ub, !gm")],
          "uninitialised-read", ("vselect", "vcompares")),
    Fault("ub_rest_of_a_reduction", ROWS,
          [("npu.vrow_reduce", "npu.vreduce sum %sums[%0], %b[%0] tmp %tmp[%0] count %100 : !few, "
            "!ub, !ub")],
          "uninitialised-read", "npu.store %y"),
    Fault("ub_read_by_the_scalar_unit", SCALAR,
          [("%first = memref.load", "%first = memref.load %b[%mine] : !ub")],
          "uninitialised-read", "memref.load %b"),
    Fault("ub_of_the_block_before", ADD,
          [cut("npu.load %xs"), ("npu.blocks = 2", "attributes {npu.core = \"aiv\", npu.blocks = 2 "
                                 ": i64} {")],
          "uninitialised-read", "vbinary add"),
    Fault("l1_never_written", MATMUL,
          [cut("load_nd2nz %bl")],
          "uninitialised-read", ("npu.fixpipe", "npu.mmad", "load_l0 %b0")),
    Fault("l1_rows_never_written", MATMUL,
          [("load_nd2nz %al", "npu.load_nd2nz %al[%0], %a[%aAt] rows %1 cols %k src_stride %size "
            "dst_rows %m : !l1a, !gmh")],
          "uninitialised-read", ("npu.fixpipe", "npu.mmad", "load_l0 %a0")),
    Fault("l0_never_written", MATMUL,
          [cut("load_l0 %a0")],
          "uninitialised-read", ("npu.fixpipe", "npu.mmad")),
    Fault("l0c_added_to_nothing", MATMUL,
          [("%first = arith.cmpi", "%first = arith.cmpi eq, %s, %2 : index")],
          "uninitialised-read", "npu.mmad"),
    Fault("gm_output_read_before_it_is_written", EXCHANGE,
          [("npu.store %t", "npu.store %t[%at], %a[%0] count %4 len %64 dst_stride %256 src_stride "
            "%256 : !gm, !ub", 0),
           ("npu.load %b[%0]", "npu.load %b[%0], %t[%at] count %1 len %256 src_stride %256 "
            "dst_stride %256 : !ub, !gm")],
          "uninitialised-read", ("npu.store %sum", "npu.load %b")),
    Fault("remainder_by_zero", SCALAR,
          [("%end = arith.addi", "    %end = arith.addi %at, %mine : index %r = arith.remui %at, %core : "
            "index")], "undefined-arithmetic", "%r ="),
    Fault("shift_by_more_than_the_width", SCALAR,
          [("%end = arith.addi", "    %end = arith.addi %at, %mine : index %m = arith.muli %mine, %mine "
            ": index %r = arith.shli %at, %m : index")], "undefined-arithmetic", "%r ="),
    Fault("loop_without_end", SCALAR,
          [("scf.for %i", "scf.for %i = %at to %end step %0 {")],
          "instruction-limit", ("memref.load %x", "memref.store %d", "scf.for", "%d = arith"),
          ("--max-instructions", "100000")),
    Fault("loop_of_instructions_without_end", ADD,
          [("scf.for %i", "scf.for %i = %0 to %tiles step %0 {")],
          "instruction-limit", None, ("--max-instructions", "100000")),
]

# ------------------------------------------------------------------------- flags between cores

CORES = [
    Fault("vector_cores_do_not_wait_for_the_cube", EPILOGUE, [cut("cross_wait MTE2, %0")],
          "core-race", ("npu.load %xu", "npu.fixpipe")),
    Fault("cube_does_not_wait_for_a_free_slot", EPILOGUE, [cut("cross_wait FIX, %1")],
          "core-race", ("npu.fixpipe", "npu.load %xu")),
    Fault("cube_waits_on_the_wrong_pipe", EPILOGUE,
          [("npu.cross_wait FIX, %1", "npu.cross_wait MTE2, %1")],
          "core-race", ("npu.fixpipe", "npu.load %xu")),
    Fault("set_before_the_result_is_written", EPILOGUE,
          [("npu.cross_set FIX mode 2, %0", "npu.cross_set M mode 2, %0")],
          "core-race", ("npu.load %xu", "npu.fixpipe")),
    Fault("cube_never_sets", EPILOGUE, [cut("cross_set FIX")],
          "flag-not-set", "cross_wait MTE2, %0"),
    Fault("vector_cores_never_free_a_slot", EPILOGUE, [cut("cross_set MTE2")],
          "flag-not-set", "cross_wait FIX, %1"),
    Fault("one_vector_core_never_frees_a_slot", EPILOGUE,
          [("%free = arith.cmpi", "%free = arith.cmpi ult, %me, %2 : index")],
          "flag-deadlock", "cross_wait FIX, %1"),
    Fault("flags_of_cube_and_vector_crossed", EPILOGUE,
          [("cross_wait MTE2, %0", "npu.cross_wait MTE2, %1")],
          "flag-deadlock", ("cross_wait MTE2, %1", "cross_wait FIX, %1")),
    Fault("sets_that_nobody_waits_for", EPILOGUE,
          [("%free = arith.cmpi", "%free = arith.cmpi ult, %i, %4 : index")],
          "flag-not-waited", "cross_set MTE2"),
    Fault("a_flag_counts_to_fifteen", EPILOGUE,
          [("scf.for %i = %0 to %4 step %1 {", "scf.for %i = %0 to %n16 step %1 {", 0),
           ("%at = arith.muli %pair", "%at = arith.muli %0, %size : index"),
           ("%true = arith", "%true = arith.constant true %n16 = arith.constant 20 : index"),
           cut("cross_wait FIX, %1"), cut("cross_wait MTE2, %0")],
          "cross-flag-overflow", ("cross_set FIX", "cross_set MTE2")),
    Fault("no_cube_core_in_the_group", TURN,
          [("npu.cross_set MTE3 mode 0", "npu.cross_set MTE3 mode 2, %2")],
          "cross-flag-without-partner", "cross_set MTE3 mode 2"),
    Fault("cores_do_not_meet", TURN, [cut("cross_set MTE3 mode 0"), cut("cross_wait MTE2, %2")],
          "core-race", ("npu.load %a[%0], %w", "npu.store %w")),
    Fault("only_a_pair_meets", TURN,
          [("npu.cross_set MTE3 mode 0", "npu.cross_set MTE3 mode 1, %2")],
          "core-race", ("npu.load %a[%0], %w", "npu.store %w")),
    Fault("a_pair_does_not_meet", TURN, [cut("cross_set MTE3 mode 1"), cut("cross_wait MTE2, %3")],
          "core-race", ("npu.load %a[%0], %v", "npu.store %v")),
    Fault("cores_wait_before_they_set", TURN,
          [("npu.cross_set MTE3 mode 0", "npu.cross_wait S, %2"),
           ("npu.cross_wait MTE2, %2", "npu.cross_set MTE3 mode 0, %2")],
          "flag-deadlock", "cross_wait S, %2"),
]

FAULTS = FLAGS + ORDER + RANGES + VALUES + CORES
PROGRAMS = (ADD, MATMUL, UNIT, SCALAR, EXCHANGE, ROWS, EPILOGUE, TURN)
