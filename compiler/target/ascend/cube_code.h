// The cube unit's code for a contraction: tiles of the result, panels along k, pieces in L0.
//
// Panels of A and B along k go GM -> L1 (NZ) and, in shorter pieces, L1 -> L0A / L0B, two slots
// each so that loads run ahead; mmad accumulates in L0C; fixpipe writes the tile out.
#ifndef PYASC_COMPILER_TARGET_ASCEND_CUBE_CODE_H
#define PYASC_COMPILER_TARGET_ASCEND_CUBE_CODE_H

#include "compiler/target/ascend/contraction.h"
#include "compiler/target/ascend/cube_tiling.h"
#include "compiler/target/ascend/plan.h"

namespace pyasc::npu {

// Which tiles of a product a cube core takes: a run of consecutive ones, as long as those of the
// others or one longer. Whoever works with the tiles on another core asks the same.
class TileWalk {
public:
  TileWalk(const Contraction &contraction, const CubeTiling &tiling);

  int64_t tiles() const { return tilesM * tilesN * batches; }
  // The most tiles that a core takes.
  int64_t most() const { return (tiles() + tiling.blocks - 1) / tiling.blocks; }

  // Of cube core `core`: the first of its tiles, and how many they are.
  std::pair<mlir::Value, mlir::Value> share(mlir::OpBuilder &builder, mlir::Location loc,
                                            mlir::Value core) const;
  // Where a tile lies; m and n extents are constants where no tile is cut short.
  struct Place {
    mlir::Value m, n, rows, columns, batch;
  };
  // `rows`: the product's where they are not the contraction's, or null.
  Place place(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tile,
              mlir::Value rows = {}) const;

  int64_t tilesM, tilesN, batches;

private:
  const Contraction &contraction;
  CubeTiling tiling;
};

CubeProblem problemOf(const Contraction &contraction);

// Memory of a phase for contractions one after the other.
struct CubeBuffers {
  mlir::Value l1a, l1b, l0a, l0b, l0c;
};
CubeBuffers makeCubeBuffers(Phase &phase, mlir::Type element, const CubeTiling &tiling);

// The pieces that tiles are made of, for whoever orders them otherwise. A panel of a matrix to L1,
// its rows as they lie in GM, `stride` apart (on the chip `rowStep`, from element `target` on,
// null: 0); and of it, k elements from kStart on to L0.
void loadCubePanel(Phase &phase, mlir::Value l1, const GmView &gm, mlir::Value start,
                   mlir::Value rows, mlir::Value columns, int64_t stride, int64_t paddedRows,
                   mlir::Value target = {}, int64_t rowStep = 1);
void loadCubePiece(Phase &phase, mlir::Value l0, mlir::Value l1, mlir::Value extent,
                   mlir::Value kStart, mlir::Value k, bool transpose, int64_t l1Rows);

// A run of tiles of a product.
struct CubeRun {
  GmView a, b, c;
  mlir::Value first = {}, count = {}; // tiles
  // Tiles that the core has done before with the same buffers: slots alternate. Null: none.
  mlir::Value before = {};
  // Rows of A and C where they are not the contraction's; null: they are.
  mlir::Value rows = {};
  bool accumulate = false;
  // All tiles have the same panel of A, which is loaded once. REQUIRES: one panel along k.
  bool keepsA = false;
  // The tile, and the panel along k, to begin with: cores that read the same at different times do
  // not wait for each other's lines of L2. Null: 0. REQUIRES for a tile: the run is all tiles.
  mlir::Value firstTile = {}, firstPanel = {};
  // A C that is no tensor but a ring of tiles: the start of the tile in it, given the number of the
  // tile, and what a row of it is long. Null: C's tile lies where the tensor has it.
  std::function<mlir::Value(mlir::Value round)> ringStart = {};
  int64_t rowStride = 0;
  // Called with the number of the tile in this run, around the store of a tile.
  std::function<void(mlir::Value round)> beforeStore = {}, afterStore = {};
};

// Emits at the phase's insertion point, and leaves it behind the loop.
void emitCubeTiles(Phase &phase, const Contraction &contraction, const CubeTiling &tiling,
                   const CubeBuffers &buffers, const CubeRun &run);

} // namespace pyasc::npu

#endif // PYASC_COMPILER_TARGET_ASCEND_CUBE_CODE_H
