// A file system for RocksDB that stops at its first failed write.
//
// RocksDB (7.8, with the assertions that Debian leaves in) aborts the process when it touches a
// file again after a write to it failed. Here no failure reaches it: the first failed write is
// remembered, and from then on nothing that changes the disk is done any more, though all of it
// seems to succeed. What lies on the disk is then what a crash at that moment would have left,
// which opening the database again recovers from. The owner looks at error() after each call,
// believes none after the first error, and closes the database.
#ifndef PYASC_SERVER_CACHE_FAIL_STOP_FS_H
#define PYASC_SERVER_CACHE_FAIL_STOP_FS_H

#include <atomic>
#include <memory>
#include <mutex>

#include <rocksdb/file_system.h>

namespace pyasc::server {

// What all files of one database share. Thread-safe.
class FailStop {
public:
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  // OK, or the first failure.
  rocksdb::IOStatus error() const;
  void Stop(const rocksdb::IOStatus &why);
  // Remembers a failure and hides it.
  rocksdb::IOStatus Hide(const rocksdb::IOStatus &status);

private:
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  rocksdb::IOStatus error_;
};

class FailStopFileSystem : public rocksdb::FileSystemWrapper {
public:
  explicit FailStopFileSystem(std::shared_ptr<rocksdb::FileSystem> base)
      : FileSystemWrapper(std::move(base)), state_(std::make_shared<FailStop>()) {}
  const char *Name() const override { return "FailStopFileSystem"; }

  bool stopped() const { return state_->stopped(); }
  rocksdb::IOStatus error() const { return state_->error(); }
  void Stop(const rocksdb::IOStatus &why) { state_->Stop(why); }

  rocksdb::IOStatus NewWritableFile(const std::string &name, const rocksdb::FileOptions &options,
                                    std::unique_ptr<rocksdb::FSWritableFile> *result,
                                    rocksdb::IODebugContext *debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string &name, const rocksdb::FileOptions &options,
                                       std::unique_ptr<rocksdb::FSWritableFile> *result,
                                       rocksdb::IODebugContext *debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string &name, const std::string &old_name,
                                      const rocksdb::FileOptions &options,
                                      std::unique_ptr<rocksdb::FSWritableFile> *result,
                                      rocksdb::IODebugContext *debug) override;
  rocksdb::IOStatus NewDirectory(const std::string &name, const rocksdb::IOOptions &options,
                                 std::unique_ptr<rocksdb::FSDirectory> *result,
                                 rocksdb::IODebugContext *debug) override;
  rocksdb::IOStatus DeleteFile(const std::string &name, const rocksdb::IOOptions &options,
                               rocksdb::IODebugContext *debug) override;
  rocksdb::IOStatus Truncate(const std::string &name, size_t size,
                             const rocksdb::IOOptions &options,
                             rocksdb::IODebugContext *debug) override;
  rocksdb::IOStatus RenameFile(const std::string &from, const std::string &to,
                               const rocksdb::IOOptions &options,
                               rocksdb::IODebugContext *debug) override;
  rocksdb::IOStatus LinkFile(const std::string &from, const std::string &to,
                             const rocksdb::IOOptions &options,
                             rocksdb::IODebugContext *debug) override;
  rocksdb::IOStatus DeleteDir(const std::string &name, const rocksdb::IOOptions &options,
                              rocksdb::IODebugContext *debug) override;

private:
  rocksdb::IOStatus Wrap(const rocksdb::IOStatus &status,
                         std::unique_ptr<rocksdb::FSWritableFile> *result);

  std::shared_ptr<FailStop> state_;
};

} // namespace pyasc::server

#endif // PYASC_SERVER_CACHE_FAIL_STOP_FS_H
