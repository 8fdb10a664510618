#include "server/cache/fail_stop_fs.h"

namespace pyasc::server {

using rocksdb::FSDirectory;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

// A file of the database; `file` is null when it was made after the stop.
class FailStopFile : public FSWritableFile {
public:
  FailStopFile(std::unique_ptr<FSWritableFile> file, std::shared_ptr<FailStop> state)
      : file_(std::move(file)), state_(std::move(state)) {}

  IOStatus Append(const Slice &data, const IOOptions &options, IODebugContext *debug) override {
    size_ += data.size();
    return Do([&] { return file_->Append(data, options, debug); });
  }
  IOStatus Append(const Slice &data, const IOOptions &options,
                  const rocksdb::DataVerificationInfo &info, IODebugContext *debug) override {
    size_ += data.size();
    return Do([&] { return file_->Append(data, options, info, debug); });
  }
  IOStatus PositionedAppend(const Slice &data, uint64_t offset, const IOOptions &options,
                            IODebugContext *debug) override {
    size_ = offset + data.size();
    return Do([&] { return file_->PositionedAppend(data, offset, options, debug); });
  }
  IOStatus PositionedAppend(const Slice &data, uint64_t offset, const IOOptions &options,
                            const rocksdb::DataVerificationInfo &info,
                            IODebugContext *debug) override {
    size_ = offset + data.size();
    return Do([&] { return file_->PositionedAppend(data, offset, options, info, debug); });
  }
  IOStatus Truncate(uint64_t size, const IOOptions &options, IODebugContext *debug) override {
    size_ = size;
    return Do([&] { return file_->Truncate(size, options, debug); });
  }
  IOStatus Close(const IOOptions &options, IODebugContext *debug) override {
    if (!file_)
      return IOStatus::OK();
    // Its descriptor goes, stopped or not.
    return state_->Hide(file_->Close(options, debug));
  }
  IOStatus Flush(const IOOptions &options, IODebugContext *debug) override {
    return Do([&] { return file_->Flush(options, debug); });
  }
  IOStatus Sync(const IOOptions &options, IODebugContext *debug) override {
    return Do([&] { return file_->Sync(options, debug); });
  }
  IOStatus Fsync(const IOOptions &options, IODebugContext *debug) override {
    return Do([&] { return file_->Fsync(options, debug); });
  }
  IOStatus RangeSync(uint64_t offset, uint64_t bytes, const IOOptions &options,
                     IODebugContext *debug) override {
    return Do([&] { return file_->RangeSync(offset, bytes, options, debug); });
  }
  // Only a hint.
  IOStatus Allocate(uint64_t, uint64_t, const IOOptions &, IODebugContext *) override {
    return IOStatus::OK();
  }
  uint64_t GetFileSize(const IOOptions &options, IODebugContext *debug) override {
    return file_ && !state_->stopped() ? file_->GetFileSize(options, debug) : size_;
  }
  bool IsSyncThreadSafe() const override { return file_ && file_->IsSyncThreadSafe(); }
  bool use_direct_io() const override { return file_ && file_->use_direct_io(); }
  size_t GetRequiredBufferAlignment() const override {
    return file_ ? file_->GetRequiredBufferAlignment()
                 : FSWritableFile::GetRequiredBufferAlignment();
  }

private:
  template <typename Operation> IOStatus Do(Operation operation) {
    if (!file_ || state_->stopped())
      return IOStatus::OK();
    return state_->Hide(operation());
  }

  std::unique_ptr<FSWritableFile> file_;
  std::shared_ptr<FailStop> state_;
  uint64_t size_ = 0;
};

class FailStopDirectory : public FSDirectory {
public:
  FailStopDirectory(std::unique_ptr<FSDirectory> directory, std::shared_ptr<FailStop> state)
      : directory_(std::move(directory)), state_(std::move(state)) {}
  IOStatus Fsync(const IOOptions &options, IODebugContext *debug) override {
    if (!directory_ || state_->stopped())
      return IOStatus::OK();
    return state_->Hide(directory_->Fsync(options, debug));
  }
  IOStatus FsyncWithDirOptions(const IOOptions &options, IODebugContext *debug,
                               const rocksdb::DirFsyncOptions &what) override {
    if (!directory_ || state_->stopped())
      return IOStatus::OK();
    return state_->Hide(directory_->FsyncWithDirOptions(options, debug, what));
  }
  IOStatus Close(const IOOptions &options, IODebugContext *debug) override {
    return directory_ ? directory_->Close(options, debug) : IOStatus::OK();
  }

private:
  std::unique_ptr<FSDirectory> directory_;
  std::shared_ptr<FailStop> state_;
};

} // namespace

IOStatus FailStop::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

void FailStop::Stop(const IOStatus &why) {
  std::lock_guard lock(mutex_);
  if (!stopped_) {
    error_ = why;
    stopped_.store(true, std::memory_order_release);
  }
}

IOStatus FailStop::Hide(const IOStatus &status) {
  if (!status.ok())
    Stop(status);
  return IOStatus::OK();
}

IOStatus FailStopFileSystem::Wrap(const IOStatus &status, std::unique_ptr<FSWritableFile> *result) {
  if (!status.ok()) {
    state_->Stop(status);
    result->reset();
  }
  *result = std::make_unique<FailStopFile>(std::move(*result), state_);
  return IOStatus::OK();
}

IOStatus FailStopFileSystem::NewWritableFile(const std::string &name,
                                             const rocksdb::FileOptions &options,
                                             std::unique_ptr<FSWritableFile> *result,
                                             IODebugContext *debug) {
  result->reset();
  return Wrap(stopped() ? IOStatus::OK() : target()->NewWritableFile(name, options, result, debug),
              result);
}

IOStatus FailStopFileSystem::ReopenWritableFile(const std::string &name,
                                                const rocksdb::FileOptions &options,
                                                std::unique_ptr<FSWritableFile> *result,
                                                IODebugContext *debug) {
  result->reset();
  return Wrap(stopped() ? IOStatus::OK()
                        : target()->ReopenWritableFile(name, options, result, debug),
              result);
}

IOStatus FailStopFileSystem::ReuseWritableFile(const std::string &name, const std::string &old_name,
                                               const rocksdb::FileOptions &options,
                                               std::unique_ptr<FSWritableFile> *result,
                                               IODebugContext *debug) {
  result->reset();
  return Wrap(stopped() ? IOStatus::OK()
                        : target()->ReuseWritableFile(name, old_name, options, result, debug),
              result);
}

IOStatus FailStopFileSystem::NewDirectory(const std::string &name, const IOOptions &options,
                                          std::unique_ptr<FSDirectory> *result,
                                          IODebugContext *debug) {
  result->reset();
  if (!stopped())
    if (IOStatus status = target()->NewDirectory(name, options, result, debug); !status.ok()) {
      state_->Stop(status);
      result->reset();
    }
  *result = std::make_unique<FailStopDirectory>(std::move(*result), state_);
  return IOStatus::OK();
}

IOStatus FailStopFileSystem::DeleteFile(const std::string &name, const IOOptions &options,
                                        IODebugContext *debug) {
  // Left to RocksDB: a file that cannot be deleted is no lost write.
  return stopped() ? IOStatus::OK() : target()->DeleteFile(name, options, debug);
}

IOStatus FailStopFileSystem::Truncate(const std::string &name, size_t size,
                                      const IOOptions &options, IODebugContext *debug) {
  return stopped() ? IOStatus::OK() : state_->Hide(target()->Truncate(name, size, options, debug));
}

IOStatus FailStopFileSystem::RenameFile(const std::string &from, const std::string &to,
                                        const IOOptions &options, IODebugContext *debug) {
  return stopped() ? IOStatus::OK() : state_->Hide(target()->RenameFile(from, to, options, debug));
}

IOStatus FailStopFileSystem::LinkFile(const std::string &from, const std::string &to,
                                      const IOOptions &options, IODebugContext *debug) {
  return stopped() ? IOStatus::OK() : state_->Hide(target()->LinkFile(from, to, options, debug));
}

IOStatus FailStopFileSystem::DeleteDir(const std::string &name, const IOOptions &options,
                                       IODebugContext *debug) {
  return stopped() ? IOStatus::OK() : target()->DeleteDir(name, options, debug);
}

} // namespace pyasc::server
