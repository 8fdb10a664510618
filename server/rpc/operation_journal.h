// Operations on disk, so that they outlive the process: a file of records, each with its length and
// a checksum. What a crash cut off at its end is dropped.
#ifndef PYASC_SERVER_RPC_OPERATION_JOURNAL_H
#define PYASC_SERVER_RPC_OPERATION_JOURNAL_H

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/longrunning/operations.pb.h"
#include "server/process/fd.h"

namespace pyasc::server {

// Thread-safe. A disk that fails costs the operations their durability, nothing else: the first
// failure is logged.
class OperationJournal {
public:
  struct Stored {
    std::string owner;
    google::longrunning::Operation operation;
  };

  // Makes the file (mode 0600) or reads it; `stored` gets what it has. FAILED_PRECONDITION: another
  // process has it.
  static absl::StatusOr<std::unique_ptr<OperationJournal>> Open(const std::string &path,
                                                                std::vector<Stored> *stored);
  void Put(const std::string &owner, const google::longrunning::Operation &operation);
  void Delete(const std::string &name);
  // Writes the file anew with only these. What the file takes is bounded by doing so now and then.
  void Rewrite(const std::vector<Stored> &all);
  // Bytes that were written since the last Rewrite.
  uint64_t grown() const;

private:
  OperationJournal(std::string path, UniqueFd file)
      : path_(std::move(path)), file_(std::move(file)) {}
  void Append(const std::string &record);
  void Failed(const char *what);

  const std::string path_;
  mutable std::mutex mutex_;
  UniqueFd file_;
  uint64_t grown_ = 0;
  bool failed_ = false;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_RPC_OPERATION_JOURNAL_H
