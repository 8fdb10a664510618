#include "compiler/machine/sim_isa.h"

#include <array>
#include <cstring>

namespace pyasc::sim_isa {
namespace {

constexpr ScalarOpInfo kScalarOps[] = {
#define PYASC_SIM_INFO(name, form) {#name, Form::form},
    PYASC_SIM_SCALAR_OPS(PYASC_SIM_INFO)
#undef PYASC_SIM_INFO
};

struct PipeOpInfo {
  std::string_view name;
  int num_fields;
};
constexpr PipeOpInfo kPipeOps[kNumPipeOps] = {
    {"set_flag", 1},   {"wait_flag", 1},     {"pipe_barrier", 0},   {"load", 6},
    {"load_nd2nz", 7}, {"store", 6},         {"load_l0", 5},        {"mmad", 8},
    {"fixpipe", 6},    {"vbinary", 11},      {"vunary", 8},         {"vscalar", 9},
    {"vdup", 6},       {"vcast", 8},         {"vcompare", 4},       {"vcompares", 4},
    {"vselect", 5},    {"vreduce", 4},       {"vreduce_repeat", 7}, {"vbroadcast", 3},
    {"vtranspose", 5}, {"vreduce_block", 3}, {"vdeinterleave", 4},  {"cross_set", 1},
    {"cross_wait", 1}};

constexpr int kHeaderBytes = 8;
constexpr int kFieldBytes = 16;

template <typename T> void Append(std::string &to, T value) {
  unsigned char bytes[sizeof(T)];
  auto bits = static_cast<uint64_t>(value);
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes[i] = static_cast<unsigned char>(bits >> (8 * i));
  to.append(reinterpret_cast<const char *>(bytes), sizeof(T));
}

template <typename T> T Take(std::string_view bytes, size_t at) {
  uint64_t bits = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    bits |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return static_cast<T>(bits);
}

} // namespace

std::string_view PipeName(Pipe pipe) {
  constexpr std::string_view kNames[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
  return kNames[static_cast<int>(pipe)];
}

int NumScalarOps() { return static_cast<int>(std::size(kScalarOps)); }

const ScalarOpInfo &InfoOf(ScalarOp op) { return kScalarOps[static_cast<int>(op)]; }

int NumFields(PipeOp op) { return kPipeOps[static_cast<int>(op)].num_fields; }

std::string_view PipeOpName(PipeOp op) { return kPipeOps[static_cast<int>(op)].name; }

std::string EncodeInstructions(const std::vector<Instruction> &code) {
  std::string bytes;
  bytes.reserve(code.size() * kInstructionBytes);
  for (const Instruction &i : code) {
    Append(bytes, static_cast<uint16_t>(i.op));
    Append(bytes, i.a);
    Append(bytes, i.b);
    Append(bytes, i.c);
    Append(bytes, i.imm);
  }
  return bytes;
}

std::string EncodeDescriptors(const std::vector<Descriptor> &descriptors) {
  std::string bytes;
  for (const Descriptor &d : descriptors) {
    Append(bytes, static_cast<uint8_t>(d.op));
    Append(bytes, static_cast<uint8_t>(d.pipe));
    Append(bytes, static_cast<uint8_t>(d.type));
    Append(bytes, static_cast<uint8_t>(d.src_type));
    Append(bytes, static_cast<uint8_t>(d.space));
    Append(bytes, d.sub);
    Append(bytes, d.aux);
    Append(bytes, static_cast<uint8_t>(d.fields.size()));
    for (const Field &f : d.fields) {
      Append(bytes, f.value);
      Append(bytes, f.scale);
      Append(bytes, f.reg);
      Append(bytes, uint16_t{0});
    }
  }
  return bytes;
}

bool DecodeInstructions(std::string_view bytes, std::vector<Instruction> &code) {
  if (bytes.size() % kInstructionBytes != 0)
    return false;
  code.resize(bytes.size() / kInstructionBytes);
  for (size_t n = 0; n < code.size(); ++n) {
    size_t at = n * kInstructionBytes;
    uint16_t op = Take<uint16_t>(bytes, at);
    if (op >= NumScalarOps())
      return false;
    code[n] = {static_cast<ScalarOp>(op), Take<uint16_t>(bytes, at + 2),
               Take<uint16_t>(bytes, at + 4), Take<uint16_t>(bytes, at + 6),
               Take<int64_t>(bytes, at + 8)};
  }
  return true;
}

bool DecodeDescriptors(std::string_view bytes, std::vector<Descriptor> &descriptors) {
  descriptors.clear();
  size_t at = 0;
  while (at < bytes.size()) {
    if (bytes.size() - at < kHeaderBytes)
      return false;
    Descriptor d;
    uint8_t op = Take<uint8_t>(bytes, at);
    uint8_t pipe = Take<uint8_t>(bytes, at + 1);
    uint8_t type = Take<uint8_t>(bytes, at + 2);
    uint8_t src_type = Take<uint8_t>(bytes, at + 3);
    uint8_t space = Take<uint8_t>(bytes, at + 4);
    d.sub = Take<uint8_t>(bytes, at + 5);
    d.aux = Take<uint8_t>(bytes, at + 6);
    uint8_t fields = Take<uint8_t>(bytes, at + 7);
    if (op >= kNumPipeOps || pipe > static_cast<uint8_t>(Pipe::kAll) || type >= kNumTypes ||
        src_type >= kNumTypes || space >= kNumSpaces)
      return false;
    d.op = static_cast<PipeOp>(op);
    d.pipe = static_cast<Pipe>(pipe);
    d.type = static_cast<Type>(type);
    d.src_type = static_cast<Type>(src_type);
    d.space = static_cast<Space>(space);
    at += kHeaderBytes;
    if (fields != NumFields(d.op) || bytes.size() - at < size_t{fields} * kFieldBytes)
      return false;
    for (int i = 0; i < fields; ++i, at += kFieldBytes)
      d.fields.push_back({.value = Take<int64_t>(bytes, at),
                          .reg = Take<uint16_t>(bytes, at + 12),
                          .scale = Take<int32_t>(bytes, at + 8)});
    descriptors.push_back(std::move(d));
  }
  return true;
}

} // namespace pyasc::sim_isa
