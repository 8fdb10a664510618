#include "profiler/sim/assembler.h"

#include "proto/contract/schema.h"

namespace pyasc::sim {

using namespace sim_isa;

void Assembler::Issue(PipeOp op, Pipe pipe, Kind kind, std::initializer_list<Value> fields) {
  Descriptor d;
  d.op = op;
  d.pipe = pipe;
  d.type = kind.type;
  d.src_type = kind.src_type;
  d.space = kind.space;
  d.sub = static_cast<uint8_t>(kind.sub);
  d.aux = static_cast<uint8_t>(kind.aux);
  for (const Value &v : fields)
    d.fields.push_back(v.field);
  // What is left out is zero.
  d.fields.resize(NumFields(op));
  Emit(ScalarOp::kIssue, 0, 0, 0, static_cast<int64_t>(descriptors_.size()));
  descriptors_.push_back(std::move(d));
}

void Assembler::SetFlag(Pipe from, Pipe to, Value id) {
  Issue(PipeOp::kSetFlag, from, {.sub = static_cast<int>(from), .aux = static_cast<int>(to)}, {id});
}

void Assembler::WaitFlag(Pipe from, Pipe to, Value id) {
  Issue(PipeOp::kWaitFlag, to, {.sub = static_cast<int>(from), .aux = static_cast<int>(to)}, {id});
}

void Assembler::Barrier(Pipe pipe) { Issue(PipeOp::kBarrier, pipe, {}, {}); }

v1::SimFunction Assembler::Finish() {
  Emit(ScalarOp::kHalt);
  v1::SimFunction f;
  f.set_name(name_);
  f.set_core(cube_ ? v1::CORE_KIND_AIC : v1::CORE_KIND_AIV);
  f.set_num_registers(static_cast<uint32_t>(num_registers_));
  f.set_num_arguments(static_cast<uint32_t>(num_arguments_));
  f.set_code(EncodeInstructions(code_));
  f.set_descriptors(EncodeDescriptors(descriptors_));
  for (uint32_t line : lines_)
    f.add_lines(line);
  return f;
}

v1::Artifact MakeArtifact(v1::SimFunction function, std::vector<int64_t> bytes, int64_t blocks,
                          bool error) {
  v1::Artifact a;
  a.set_schema_version(contract::kArtifactSchemaVersion);
  a.set_kernel(function.name());
  a.set_target("sim");
  a.set_soc("ascend910b3");
  v1::LaunchContract &launch = *a.mutable_launch();
  launch.set_schema_version(contract::kLaunchSchemaVersion);
  v1::Phase &phase = *launch.add_phases();
  phase.set_core(function.core());
  phase.set_entry(function.name());
  auto *step = phase.mutable_blocks()->add_steps();
  step->set_op(v1::LaunchExpr::OP_CONST);
  step->set_value(blocks);
  for (size_t i = 0; i < bytes.size(); ++i) {
    v1::Parameter &p = *launch.add_parameters();
    p.set_name("p" + std::to_string(i));
    p.mutable_tensor()->set_dtype(v1::DTYPE_UINT8);
    p.mutable_tensor()->add_shape(bytes[i]);
    phase.add_arguments()->set_parameter(static_cast<uint32_t>(i));
  }
  if (error)
    phase.add_arguments()->set_error_buffer(true);
  a.mutable_sim()->set_isa_version(kSimIsaVersion);
  *a.mutable_sim()->add_functions() = std::move(function);
  return a;
}

} // namespace pyasc::sim
