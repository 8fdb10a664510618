"""The measured rows: which program stands for each, with which arguments, and what was measured.

A row's figures are microseconds: `total` of the slowest core with its launch, the others means
over the cores. `None` where nothing was published or where the source says not to compare.
`extrapolate`: (name, low, high, whole): the program is run for two values of one argument and the
figures are continued linearly to the whole.

Sources: A, B, D, E, F: mirror-cann/asc-devkit@82b89a15, examples/01_simd_cpp_api/05_best_practices;
G: Ascend/msopprof@d6c29dfa, example. Measured on Atlas A2 devices (A, B, D, E: 1.85 GHz; F: not
said, 1.8 GHz follows from the difference of two rows) and an Ascend 910B4 at 1.65 GHz (G).
"""

from dataclasses import dataclass, field


@dataclass
class Row:
    name: str
    program: str
    soc: str
    what: str
    total: float
    pipes: dict
    arguments: dict = field(default_factory=dict)
    extrapolate: tuple = None
    # Multiplies the model's means: the published ones are over fewer cores.
    mean_factor: float = 1.0
    # The figures of `pipes` that stand for the total: the row times a loop, not a launch.
    total_is: str = None
    # Reported beside the others and not judged.
    loose: dict = field(default_factory=dict)


def matmul(cores, row_cores, core_m, core_n, m, n, n_tiles):
    return dict(cores=cores, rowCores=row_cores, coreM=core_m, coreN=core_n, m=m, n=n,
                nTiles=n_tiles, scalar=400)


def queues(cores, tile, tiles, depth=1, adds=1, scalar=0):
    return dict(cores=cores, tile=tile, tiles=tiles, part=tile * tiles, depth=depth, adds=adds,
                scalar=scalar)


def f_row(name, what, ticks, src0, src1, dst):
    us = ticks / 50.0
    return Row(name, "bank_conflict", "ascend910b3", what, us, {"vector": us},
               dict(src0=src0 // 4, src1=src1 // 4, dst=dst // 4), total_is="vector")


ROWS = [
    Row("A0", "add_scalar", "ascend910b1", "add, scalar loop, 1 core", 1239689.1,
        {"mte2": 5916.341}, extrapolate=("tiles", 20, 40, 16384), loose={"scalar": 1233742.494}),
    Row("A1", "add_one_buffer", "ascend910b1", "add, 8 KB tiles, 1 core", 6909.6,
        {"vector": 761.65, "mte2": 6208.762}, dict(cores=1), loose={"mte3": 2613.205}),
    Row("A2", "add_one_buffer", "ascend910b1", "add, 8 KB tiles, 48 cores", 306.58,
        {"vector": 15.885}, dict(cores=48), loose={"mte2": 215.485, "mte3": 54.33}),
    Row("A5", "add_two_buffers", "ascend910b1", "add, 32 KB tiles, 48 cores, past L2", 187.68,
        {"vector": 12.846, "mte2": 175.997}, dict(cores=48), loose={"mte3": 160.291}),
    Row("B0", "matmul_one_buffer", "ascend910b1", "matmul, base 64x64x64, 1 core", 759363.98,
        {"cube": 141699.459, "mte1": 162104.184, "mte2": 582515.828},
        matmul(1, 1, 8192, 8192, 64, 64, 128), ("nTiles", 2, 3, 128),
        loose={"fixpipe": 34303.063}),
    Row("B1", "matmul_one_buffer", "ascend910b1", "matmul, base 128x256x64, 1 core", 249467.08,
        {"cube": 81477.188, "mte1": 52003.703, "mte2": 195613.432},
        matmul(1, 1, 8192, 8192, 128, 256, 32), ("nTiles", 2, 3, 32),
        loose={"fixpipe": 11313.746}),
    Row("B3", "matmul_one_buffer", "ascend910b1", "matmul, base 128x256x64, 24 cores", 12283.84,
        {"cube": 3394.884, "mte1": 2166.824, "mte2": 8616.671},
        matmul(24, 4, 2048, 1536, 128, 256, 6), loose={"fixpipe": 488.829}),
    Row("B5", "matmul_deep_l1", "ascend910b1", "matmul, L1 8/4 steps deep, 24 cores", 4156.76,
        {"cube": 3352.087, "mte1": 2750.454, "mte2": 3778.555}, dict(scalar=200),
        mean_factor=1.0893, loose={"fixpipe": 47.853}),
    Row("DU1", "copy_to_ub", "ascend910b1", "GM to UB, 1 x 128 B, 48 cores", 564.84,
        {"mte2": 548.161}, dict(rows=1, cols=64)),
    Row("DU2", "copy_to_ub", "ascend910b1", "GM to UB, 64 x 128 B, 48 cores", 233.54,
        {"mte2": 220.772}, dict(rows=64, cols=64)),
    Row("DU3", "copy_to_ub", "ascend910b1", "GM to UB, 64 x 2048 B, 48 cores", 215.82,
        {"mte2": 202.657}, dict(rows=64, cols=1024)),
    Row("DU8", "copy_to_ub_shared", "ascend910b1", "GM to UB, all read all, staggered", 328.88,
        {"mte2": 307.38}),
    Row("DL1", "copy_to_l1", "ascend910b1", "GM to L1, 64 x 128 B, 24 cores", 300.7,
        {"mte2": 283.508}, dict(cols=64)),
    Row("DL2", "copy_to_l1", "ascend910b1", "GM to L1, 64 x 512 B, 24 cores", 230.24,
        {"mte2": 214.519}, dict(cols=256)),
    Row("DL6", "copy_to_l1_shared", "ascend910b1", "GM to L1, all read all, same order", 278.56,
        {"mte2": 240.198}),
    Row("E144", "nd_to_nz", "ascend910b1", "ND to NZ in UB, 8-way bank conflict", 151.42,
        {"vector": 47.79, "mte2": 113.856}, loose={"mte3": 76.76}),
    f_row("F1", "add fp32, no bank conflict", 2390, 0x0, 0x10100, 0x20000),
    f_row("F2", "add fp32, reads meet", 4167, 0x0, 0x4000, 0x10000),
    f_row("F5", "add fp32, read meets write", 3751, 0x0, 0x10100, 0x4020),
    Row("G1", "add_queues", "ascend910b4", "add, 4 KB tiles, 1 core", 14975.22,
        {"vector": 0.1111 * 14974.34, "mte2": 0.8504 * 14974.34}, queues(1, 2048, 40960),
        loose={"mte3": 0.3956 * 14974.34}),
    Row("G8b", "add_queues", "ascend910b4", "add, 4 KB tiles, 8 cores", 2041.4,
        {"vector": 0.1028 * 2022.9, "mte2": 0.86145 * 2022.9}, queues(8, 2048, 5120),
        loose={"mte3": 0.379 * 2022.9}),
    Row("G8m", "add_queues", "ascend910b4", "the same, measured again", 2049.78,
        {"vector": 0.10255 * 2027.9, "mte2": 0.86185 * 2027.9}, queues(8, 2048, 5120),
        loose={"mte3": 0.3981 * 2027.9}),
    Row("G20", "add_queues", "ascend910b4", "add, 40 KB tiles, 8 cores", 892.02,
        {"vector": 0.13215 * 831.3, "mte2": 0.8573 * 831.3}, queues(8, 20480, 512),
        loose={"mte3": 0.27105 * 831.3}),
    Row("G20x8", "add_queues", "ascend910b4", "8 adds, 40 KB tiles, 8 cores", 1378.09,
        {"vector": 844.04, "mte2": 509.3}, queues(8, 20480, 512, adds=8),
        loose={"mte3": 203.9}),
    Row("G10db", "add_queues", "ascend910b4", "8 adds, 20 KB tiles, 2 buffers", 959.62,
        {"vector": 888.2, "mte2": 793.4}, queues(8, 10240, 1024, depth=2, adds=8),
        loose={"mte3": 249.2}),
    Row("Govh_in", "add_queues", "ascend910b4", "10 tiles of 1 KB, pipe inside the class", 5.9,
        {"vector": 0.279, "mte2": 2.96}, queues(1, 512, 10, scalar=1200),
        loose={"mte3": 1.62}),
    Row("Govh_out", "add_queues", "ascend910b4", "10 tiles of 1 KB, pipe outside", 5.18,
        {"vector": 0.284, "mte2": 2.51}, queues(1, 512, 10), loose={"mte3": 1.62}),
]
