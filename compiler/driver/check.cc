#include "compiler/driver/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/driver/compile.h"
#include "compiler/sema/build_kernel.h"
#include "compiler/sema/samples.h"
#include "mlir/IR/MLIRContext.h"

namespace pyasc::compiler {
namespace {

// Diagnostics of different samples are the same when they say the same kind of thing of the same
// place: messages may differ in a size.
using Place = std::tuple<std::string, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;

Place PlaceOf(const v1::Diagnostic &d) {
  const v1::SourceRange &r = d.range();
  return {d.code(), r.file(), r.line(), r.column(), r.end_line(), r.end_column()};
}

// What one sample came to.
struct Trial {
  std::string sample;
  bool ok = false;
  bool compiler_failed = false;
  std::vector<v1::Diagnostic> diagnostics;
  std::set<Place> late; // what was found behind semantic analysis, where only some trials come
};

void Report(diag::DiagnosticList &to, v1::Severity severity, const v1::Diagnostic &d,
            const std::string &note) {
  diag::DiagnosticBuilder added =
      to.Report(severity, d.code(), diag::SourceRange::FromProto(d.range()), d.message());
  for (const v1::Diagnostic &n : d.notes())
    added.Note(diag::SourceRange::FromProto(n.range()), n.message());
  for (const v1::FixIt &fix : d.fixits())
    added.FixIt(diag::SourceRange::FromProto(fix.range()), fix.replacement());
  if (!note.empty())
    added.Note(note);
}

// Each is compiled for several sizes, which takes some 10 ms.
constexpr size_t kMaxKernels = 256;

// What was said of which place: a kernel that others call is wrong in all of them, which is said
// once.
using Said = std::set<std::pair<Place, std::string>>;

class KernelCheck {
public:
  KernelCheck(const v1::CompileRequest &base, const sema::KernelSamples &samples,
              diag::DiagnosticList &out, Said &said)
      : base_(base), samples_(samples), out_(out), said_(said) {}

  v1::CheckedKernel Run() {
    v1::CheckedKernel kernel;
    kernel.set_name(samples_.name);
    for (const std::string &name : samples_.guessed)
      kernel.add_open_parameters(name);
    kernel.set_outcome(samples_.guessed.empty() ? TryAll(kernel) : Search(kernel));
    return kernel;
  }

private:
  void Say(v1::Severity severity, const v1::Diagnostic &d, const std::string &note) {
    if (said_.emplace(PlaceOf(d), d.message()).second)
      Report(out_, severity, d, note);
  }

  Trial Try(const sema::Sample &sample, bool to_the_end) const {
    v1::CompileRequest request = base_;
    request.set_kernel(samples_.name);
    request.mutable_arguments()->Assign(sample.arguments.begin(), sample.arguments.end());
    Trial trial;
    trial.sample = sample.text;
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    diag::DiagnosticList diags;
    trial.ok = sema::BuildKernel(context, request, diags).has_value();
    trial.diagnostics = diags.Take();
    if (trial.ok && to_the_end) {
      std::set<Place> early;
      for (const v1::Diagnostic &d : trial.diagnostics)
        early.insert(PlaceOf(d));
      v1::CompileReply reply = Compile(request);
      trial.ok = reply.outcome() == v1::OUTCOME_OK;
      trial.compiler_failed = reply.outcome() == v1::OUTCOME_FAILED;
      trial.diagnostics.assign(reply.diagnostics().begin(), reply.diagnostics().end());
      for (const v1::Diagnostic &d : trial.diagnostics)
        if (!early.count(PlaceOf(d)))
          trial.late.insert(PlaceOf(d));
    }
    return trial;
  }

  // Every sample has to be right. What only comes out behind semantic analysis, such as a demand
  // for memory, is looked for in all of them when the general one shows it.
  v1::Outcome TryAll(v1::CheckedKernel &kernel) {
    std::vector<Trial> trials;
    for (const sema::Sample &sample : samples_.samples) {
      trials.push_back(Try(sample, /*to_the_end=*/trials.empty() || !trials[0].late.empty()));
      kernel.add_samples(sample.text);
    }
    std::map<Place, std::vector<const Trial *>> met;
    for (const Trial &trial : trials)
      for (const v1::Diagnostic &d : trial.diagnostics) {
        std::vector<const Trial *> &in = met[PlaceOf(d)];
        if (in.empty() || in.back() != &trial)
          in.push_back(&trial);
      }
    bool general_wrong = !trials[0].ok, wrong = false, failed = false;
    for (const Trial &trial : trials) {
      failed |= trial.compiler_failed;
      for (const v1::Diagnostic &d : trial.diagnostics) {
        // At one place, the first trial's messages alone: it may have two of one kind there.
        const std::vector<const Trial *> &in = met[PlaceOf(d)];
        if (in[0] != &trial)
          continue;
        bool is_error = d.severity() == v1::SEVERITY_ERROR;
        // How much memory there is is no fault of the kernel's for sizes that nobody asked for.
        bool special = is_error && (&trial != &trials[0] || (trial.late.count(PlaceOf(d)) &&
                                                             in.size() < trials.size() && !failed));
        // Where the general sizes are wrong already, special ones tell nothing new.
        if (special && general_wrong && &trial != &trials[0])
          continue;
        std::string note;
        if (is_error && !trial.sample.empty()) {
          if (in.size() < trials.size())
            note = "found when " + trial.sample + "; not when " + FirstWithout(trials, in);
          else if (Mentions(d.message(), trial.sample))
            note = "found with all sizes tried; here " + trial.sample;
        }
        wrong |= is_error && !special;
        Say(special ? v1::SEVERITY_WARNING : d.severity(), d, note);
      }
    }
    return failed ? v1::OUTCOME_FAILED : wrong ? v1::OUTCOME_REJECTED : v1::OUTCOME_OK;
  }

  // Whether a message names one of the sample's sizes.
  static bool Mentions(const std::string &message, const std::string &sample) {
    auto numbers = [](const std::string &text) {
      std::set<std::string> found;
      std::string number;
      for (size_t i = 0; i <= text.size(); ++i) {
        bool digit = i < text.size() && text[i] >= '0' && text[i] <= '9';
        // float32 is a name.
        bool in_name =
            number.empty() && i > 0 && ((text[i - 1] | 32) >= 'a' && (text[i - 1] | 32) <= 'z');
        if (digit && !in_name) {
          number += text[i];
        } else if (!digit) {
          if (!number.empty())
            found.insert(number);
          number.clear();
        }
      }
      return found;
    };
    std::set<std::string> named = numbers(message);
    for (const std::string &number : numbers(sample))
      if (named.count(number))
        return true;
    return false;
  }

  static std::string FirstWithout(const std::vector<Trial> &trials,
                                  const std::vector<const Trial *> &in) {
    for (const Trial &trial : trials)
      if (std::find(in.begin(), in.end(), &trial) == in.end())
        return trial.sample;
    return "";
  }

  // One guess has to be right. When none is, only what all of them say is sure.
  v1::Outcome Search(v1::CheckedKernel &kernel) {
    std::map<Place, size_t> counts;
    std::vector<v1::Diagnostic> first;
    for (const sema::Sample &sample : samples_.samples) {
      Trial trial = Try(sample, /*to_the_end=*/false);
      if (trial.ok)
        trial = Try(sample, /*to_the_end=*/true);
      if (trial.ok) {
        kernel.add_samples(sample.text);
        for (const v1::Diagnostic &d : trial.diagnostics)
          Say(d.severity(), d, "");
        return v1::OUTCOME_OK;
      }
      std::map<Place, bool> here;
      for (const v1::Diagnostic &d : trial.diagnostics)
        if (d.severity() == v1::SEVERITY_ERROR && !here[PlaceOf(d)]) {
          here[PlaceOf(d)] = true;
          ++counts[PlaceOf(d)];
        }
      if (first.empty())
        first = trial.diagnostics;
    }
    bool wrong = false;
    for (const v1::Diagnostic &d : first)
      if (counts[PlaceOf(d)] == samples_.samples.size()) {
        wrong = true;
        Say(d.severity(), d, "");
      }
    if (wrong)
      return v1::OUTCOME_REJECTED;
    std::string names;
    for (const std::string &name : samples_.guessed)
      names += (names.empty() ? "'" : ", '") + name + "'";
    out_.Warning("unchecked-kernel", samples_.name_range,
                 "kernel '" + samples_.name +
                     "' was not checked: say the types of its parameters " + names +
                     ", by annotations or arguments");
    return v1::OUTCOME_UNSPECIFIED;
  }

  const v1::CompileRequest &base_;
  const sema::KernelSamples &samples_;
  diag::DiagnosticList &out_;
  Said &said_;
};

} // namespace

v1::CheckReply Check(const v1::CheckRequest &request) {
  v1::CompileRequest base;
  *base.mutable_files() = request.files();
  base.set_kernel(request.kernel());
  *base.mutable_constants() = request.constants();
  *base.mutable_arguments() = request.arguments();
  base.set_target(request.target());
  base.set_soc(request.soc());
  *base.mutable_options() = request.options();

  v1::CheckReply reply;
  diag::DiagnosticList diags({.max_errors = 100});
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  bool failed = false;
  Said said;
  const std::vector<sema::KernelSamples> kernels = sema::SampleSignatures(context, base, diags);
  if (kernels.size() > kMaxKernels)
    diags.Error("too-many-kernels", kernels[kMaxKernels].name_range,
                "this file has " + std::to_string(kernels.size()) + " kernels, more than the " +
                    std::to_string(kMaxKernels) + " that are checked at a time; split it");
  for (const sema::KernelSamples &samples : kernels) {
    if (kernels.size() > kMaxKernels)
      break;
    v1::CheckedKernel &kernel = *reply.add_kernels();
    kernel = KernelCheck(base, samples, diags, said).Run();
    failed |= kernel.outcome() == v1::OUTCOME_FAILED;
  }
  reply.set_outcome(failed              ? v1::OUTCOME_FAILED
                    : diags.HasErrors() ? v1::OUTCOME_REJECTED
                                        : v1::OUTCOME_OK);
  for (v1::Diagnostic &d : diags.Take())
    *reply.add_diagnostics() = std::move(d);
  return reply;
}

} // namespace pyasc::compiler
