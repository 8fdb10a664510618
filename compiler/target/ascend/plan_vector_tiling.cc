// Tile sizes of a phase of the vector unit.
#include <algorithm>
#include <numeric>

#include "compiler/target/ascend/plan_vector_emit.h"

namespace pyasc::npu {

using namespace mlir;

namespace {

// The longest row that row-wise instructions repeat over: a repeat stride is at most 255 blocks.
constexpr int64_t kRepeatedPitch = 2016;
// From here on rows are folded before they are reduced.
constexpr int64_t kLongRow = 512;
// Elements below which a transfer costs more than it moves.
constexpr int64_t kShortTile = 256;
// Elements from which longer tiles gain little; they leave room to overlap transfers and work.
constexpr int64_t kGoodTile = 4096;
// Tiles a core should have, so that transfers hide behind work.
constexpr int64_t kGoodRounds = 4;
constexpr int64_t kLineElements = 512;
constexpr int64_t kMostBursts = 4095;
constexpr int64_t kMostBlocks = 8;

int64_t ceilDiv(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t roundUp(int64_t value, int64_t unit) { return ceilDiv(value, unit) * unit; }

struct Extents {
  int64_t column, row, block, outer;

  Extents(const VectorNest &nest, const VectorLoops &loops)
      : column(nest.extents[loops.column]), row(loops.row < 0 ? 1 : nest.extents[loops.row]),
        block(loops.block < 0 ? 1 : nest.extents[loops.block]), outer(1) {
    for (int64_t d : loops.outer)
      outer *= nest.extents[d];
  }
};

// The largest value in [least, most] for which `fits` holds, or least - 1; `fits` is monotonic.
int64_t largest(int64_t least, int64_t most, llvm::function_ref<bool(int64_t)> fits) {
  int64_t low = least - 1, high = most;
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    if (fits(middle))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// Elements of f32 of which two tiles, or both slots of one, fill the last of UB's banks, which is
// the smallest, each from either half of its groups: there is room to lay what meets in an
// instruction into banks of its own. That is worth more than tiles up to a seventh longer.
int64_t bankTile(const machine::Soc &soc) {
  const int64_t bank = soc.ub_bank_bytes * soc.ub_bank_groups;
  const int64_t last = soc.ub_bytes - (soc.ub_bytes - 1) / bank * bank;
  const int64_t halfOfGroups = soc.ub_align * soc.ub_bank_groups / 2;
  return last / 2 / halfOfGroups * halfOfGroups / int64_t{sizeof(float)};
}

void count(Tiling &tiling, const Extents &extents, const VectorLoops &loops, int64_t cores) {
  tiling.size.hasRows = loops.row >= 0;
  tiling.rowTiles = ceilDiv(extents.row, tiling.size.rows);
  tiling.columnTiles = ceilDiv(extents.column, tiling.size.pitch);
  tiling.blockTiles = ceilDiv(extents.block, tiling.size.blocks);
  tiling.tasks = extents.outer * tiling.blockTiles *
                 (loops.form == VectorForm::lineReduce ? 1 : tiling.rowTiles) *
                 (loops.form == VectorForm::rowReduce ? 1 : tiling.columnTiles);
  tiling.cores = std::min(tiling.tasks, cores);
}

// A length per tile so that `extent` in `others` equal parallel strips keeps all cores busy.
int64_t balanced(int64_t extent, int64_t others, int64_t cores, int64_t good, int64_t most) {
  int64_t share = std::max<int64_t>(1, ceilDiv(extent * others, cores));
  int64_t size = std::max(std::min(good, share), ceilDiv(share, kGoodRounds));
  size = std::clamp<int64_t>(size, 1, std::min(most, extent));
  // The same number of rounds with equal tiles.
  int64_t rounds = ceilDiv(ceilDiv(extent, size) * others, cores);
  int64_t tiles = std::max<int64_t>(1, rounds * cores / others);
  return std::min(size, ceilDiv(extent, tiles));
}

} // namespace

// A tile that is transposed: both its sides are lengths of bursts, so it is as square as the
// extents allow. False: not even the smallest one fits.
static bool squareTile(const Extents &extents, int64_t cores,
                       llvm::function_ref<bool(int64_t, int64_t, int64_t)> fits, TileSize &size) {
  constexpr int64_t kSide = 128;
  int64_t columns = roundUp(extents.column, kPitchUnit), rows = roundUp(extents.row, kPitchUnit);
  size.pitch = std::min(columns, std::max(kSide, kSide * kSide / rows));
  size.rows = std::min(rows, std::max(kSide, kSide * kSide / columns));
  size.pitch =
      std::min(size.pitch / kPitchUnit * kPitchUnit, kMostBursts / kPitchUnit * kPitchUnit);
  size.rows = std::min(size.rows / kPitchUnit * kPitchUnit, kMostBursts / kPitchUnit * kPitchUnit);
  auto halve = [](int64_t &side) { side = roundUp(side / 2, kPitchUnit); };
  auto tasks = [&] {
    return extents.outer * extents.block * ceilDiv(extents.row, size.rows) *
           ceilDiv(extents.column, size.pitch);
  };
  while (tasks() < cores || !fits(size.rows, size.pitch, 1)) {
    int64_t &longer = size.rows > size.pitch ? size.rows : size.pitch;
    if (longer == kPitchUnit)
      break;
    halve(longer);
  }
  size.rows = std::min(size.rows, extents.row);
  return fits(size.rows, size.pitch, 1);
}

// Rows that are folded into one line: short lines, so that all cores have some, and many rows, so
// that transfers are long. False: not even the smallest one fits.
static bool foldedTile(const Extents &extents, int64_t cores, int64_t longest,
                       llvm::function_ref<bool(int64_t, int64_t, int64_t)> fits, TileSize &size) {
  constexpr int64_t kShortLine = 128, kGoodLine = 512, kRowsTile = 8192;
  int64_t length =
      balanced(extents.column, extents.outer, cores, kGoodLine, std::min(longest, kRowsTile));
  length = std::max(length, std::min(extents.column, kShortLine));
  size.pitch = std::min(roundUp(length, length > kShortLine ? kShortLine : kPitchUnit),
                        std::max(kPitchUnit, longest / kPitchUnit * kPitchUnit));
  while (!fits(1, size.pitch, 1) && size.pitch > kPitchUnit)
    size.pitch = roundUp(size.pitch / 2, kPitchUnit);
  int64_t most = std::min({extents.row, kMostBursts, ceilDiv(kRowsTile, size.pitch)});
  size.rows = largest(1, most, [&](int64_t n) { return fits(n, size.pitch, 1); });
  if (size.rows < 1)
    return false;
  size.rows = ceilDiv(extents.row, ceilDiv(extents.row, size.rows));
  return true;
}

// Rows of which an instruction reads several: a tile that is transposed.
static int64_t rowUnitOf(const VectorNest &nest, const VectorLoops &loops) {
  constexpr int64_t kTransposedRows = 16;
  std::string reason;
  if (loops.form != VectorForm::rowReduce)
    return 1;
  auto reduction = findReduction(nest, reason);
  return succeeded(reduction) && !reduction->rowInstruction() ? kTransposedRows : 1;
}

Tiling trialTiling(const VectorNest &nest, const VectorLoops &loops) {
  Extents extents(nest, loops);
  Tiling tiling;
  tiling.size.rows = std::max<int64_t>(1, extents.row / 2);
  // Single long rows need more buffers than short ones.
  tiling.size.pitch =
      loops.row < 0 ? std::min(kLongRow, roundUp(extents.column, kPitchUnit)) : kPitchUnit;
  tiling.size.blocks = std::min<int64_t>(2, extents.block);
  tiling.size.rowUnit = rowUnitOf(nest, loops);
  count(tiling, extents, loops, 1);
  return tiling;
}

FailureOr<Tiling> chooseTiling(const VectorNest &nest, const VectorLoops &loops,
                               llvm::function_ref<int64_t(TileSize)> bytes, int64_t budget,
                               int64_t cores, const machine::Soc &soc) {
  Extents extents(nest, loops);
  bool reduces = loops.form == VectorForm::rowReduce;
  bool rowWise = reduces;
  for (const VectorOperand &operand : nest.operands) {
    TileKind kind = kindOf(operand, loops);
    if (!operand.isOutput || loops.form != VectorForm::lineReduce)
      rowWise |= loops.row >= 0 && (kind == TileKind::row || kind == TileKind::column);
  }
  Tiling tiling;
  TileSize &size = tiling.size;
  size.hasRows = loops.row >= 0;
  size.rowUnit = rowUnitOf(nest, loops);
  auto fits = [&](int64_t rows, int64_t pitch, int64_t blocks) {
    TileSize trial = size;
    trial.rows = rows;
    trial.pitch = pitch;
    trial.blocks = blocks;
    return bytes(trial) <= budget;
  };

  if (llvm::any_of(nest.operands, [&](const VectorOperand &operand) {
        return (operand.isOutput || operand.used) && isTransposed(operand, loops);
      })) {
    if (!squareTile(extents, cores, fits, size))
      return failure();
    count(tiling, extents, loops, cores);
    return tiling;
  }

  if (loops.form == VectorForm::lineReduce) {
    int64_t longest = roundUp(extents.column, kPitchUnit);
    if (!foldedTile(extents, cores, rowWise ? std::min(longest, kRepeatedPitch) : longest, fits,
                    size))
      return failure();
    count(tiling, extents, loops, cores);
    return tiling;
  }

  size.blocks = std::min(extents.block, kMostBlocks);
  while (size.blocks > 1 &&
         extents.outer * extents.row * ceilDiv(extents.block, size.blocks) < cores)
    size.blocks = ceilDiv(size.blocks, 2);

  // Whole rows if they fit; else pieces of rows, in whole repeats.
  int64_t wholeRow = roundUp(extents.column, kPitchUnit);
  int64_t most = rowWise && loops.row >= 0 ? std::min(wholeRow, kRepeatedPitch) : wholeRow;
  while (size.blocks > 1 && !fits(1, std::min<int64_t>(most, kGoodTile), size.blocks))
    size.blocks = ceilDiv(size.blocks, 2);
  int64_t units = largest(1, ceilDiv(most, kPitchUnit),
                          [&](int64_t n) { return fits(1, n * kPitchUnit, size.blocks); });
  if (units < 1)
    return failure();
  if (const int64_t tile = bankTile(soc);
      loops.row < 0 && !reduces && 7 * units * kPitchUnit < 8 * tile)
    units = std::min(units, tile / kPitchUnit);
  size.pitch = units * kPitchUnit;

  int64_t blockTiles = ceilDiv(extents.block, size.blocks);
  if (!reduces) {
    // Rows alone may be too few for the cores, or there are none.
    int64_t strips = extents.outer * extents.row * blockTiles;
    if (loops.row < 0 || size.pitch < wholeRow || 2 * strips <= cores) {
      int64_t shortest = std::min<int64_t>(kShortTile, size.pitch);
      int64_t good = loops.row < 0 ? kGoodTile : shortest;
      int64_t length = balanced(extents.column, strips, cores, good, size.pitch);
      length = std::max(length, shortest);
      // Long tiles start at the lines of L2, whatever the element type.
      int64_t unit = length > kLineElements ? kLineElements : length > 128 ? 128 : kPitchUnit;
      int64_t longest = size.pitch > unit ? size.pitch / unit * unit : size.pitch;
      size.pitch = std::min(roundUp(length, unit), size.pitch < wholeRow ? longest : size.pitch);
    }
  } else if (size.pitch < wholeRow) {
    // Equal pieces.
    int64_t pieces = ceilDiv(extents.column, size.pitch);
    size.pitch = roundUp(ceilDiv(extents.column, pieces), kPitchUnit);
  }

  if (loops.row >= 0) {
    int64_t mostRows = largest(1, std::min(extents.row, kMostBursts),
                               [&](int64_t n) { return fits(n, size.pitch, size.blocks); });
    if (mostRows < 1)
      return failure();
    int64_t strips =
        extents.outer * blockTiles * (reduces ? 1 : ceilDiv(extents.column, size.pitch));
    int64_t good = ceilDiv(kGoodTile, size.pitch);
    size.rows = balanced(extents.row, strips, cores, good, mostRows);
  }
  // Interleaved results are transposed in pieces of 16 rows.
  if (llvm::any_of(nest.operands, [&](const VectorOperand &operand) {
        return operand.isOutput && stepOf(operand, loops) > 1;
      })) {
    while (size.pitch > kPitchUnit && !fits(roundUp(size.rows, 16), size.pitch, 1))
      size.pitch = roundUp(size.pitch / 2, kPitchUnit);
    size.rows = roundUp(size.rows, 16);
    if (!fits(size.rows, size.pitch, 1))
      return failure();
  }
  count(tiling, extents, loops, cores);
  return tiling;
}

} // namespace pyasc::npu
