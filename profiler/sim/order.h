// What a program guarantees to happen before what: vector clocks over the pipes of all blocks.
//
// Ticks count what all pipes do, so a pipe's own tick only grows. A View says up to which tick of
// every pipe all work is known to be done; flags, barriers and flags between cores hand views on.
// The timing model's order plays no part.
#ifndef PYASC_PROFILER_SIM_ORDER_H
#define PYASC_PROFILER_SIM_ORDER_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "compiler/machine/sim_isa.h"

namespace pyasc::sim {

using Tick = uint64_t;
using PipeTicks = std::array<Tick, sim_isa::kNumPipes>;
// Of blocks on other cores, where flags between cores have told of them.
using ForeignTicks = std::map<uint32_t, PipeTicks>;

struct View {
  PipeTicks own = {};
  // Stores of the own scalar unit up to here have left its data cache.
  Tick flushed = 0;
  // Null where nothing is known of other cores; never changed once it is shared.
  std::shared_ptr<const ForeignTicks> foreign;

  bool Knows(uint32_t block, int pipe, Tick tick) const {
    if (!foreign)
      return false;
    auto it = foreign->find(block);
    return it != foreign->end() && it->second[pipe] >= tick;
  }
  void Join(const View &other) {
    for (int p = 0; p < sim_isa::kNumPipes; ++p)
      own[p] = std::max(own[p], other.own[p]);
    flushed = std::max(flushed, other.flushed);
    JoinForeign(other.foreign);
  }
  void JoinForeign(const std::shared_ptr<const ForeignTicks> &other) {
    if (!other || other == foreign)
      return;
    if (!foreign) {
      foreign = other;
      return;
    }
    auto both = std::make_shared<ForeignTicks>(*foreign);
    for (const auto &[block, ticks] : *other) {
      PipeTicks &mine = (*both)[block];
      for (int p = 0; p < sim_isa::kNumPipes; ++p)
        mine[p] = std::max(mine[p], ticks[p]);
    }
    foreign = std::move(both);
  }
};

} // namespace pyasc::sim

#endif // PYASC_PROFILER_SIM_ORDER_H
