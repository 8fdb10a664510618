// The compiler core's one public entry.
//
// The core is a library without I/O, threads or globals: it reads no file, no clock but the
// monotonic one (for stage times), no environment, and keeps nothing between calls. Calls from
// several threads are safe; each uses an MLIRContext of its own.
#ifndef PYASC_COMPILER_DRIVER_COMPILE_H
#define PYASC_COMPILER_DRIVER_COMPILE_H

#include <string>

#include "pyasc/v1/compile.pb.h"

namespace pyasc::compiler {

// Compiles `request.kernel` for `request.target`. Never fails as a call: a wrong kernel, a wrong
// argument or an unsupported feature is a reply with OUTCOME_REJECTED and diagnostics in source
// order. On OUTCOME_OK, `reply.artifact` holds a serialised, validated pyasc.v1.Artifact.
// The cache and key fields of the reply are left empty, except semantic_key.
v1::CompileReply Compile(const v1::CompileRequest &request);

// The semantic key of a request, 64 hexadecimal digits: equal for requests whose kernel slice,
// folded constants and signature are equal, and whose statements stand on the same lines, whatever
// their comments or unrelated functions. "" when the request does not get through semantic
// analysis.
std::string SemanticKey(const v1::CompileRequest &request);

} // namespace pyasc::compiler

#endif // PYASC_COMPILER_DRIVER_COMPILE_H
