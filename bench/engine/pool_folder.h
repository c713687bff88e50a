// A fresh folder for pool files, which is gone when the program is.
#ifndef KAMINO_BENCH_ENGINE_POOL_FOLDER_H_
#define KAMINO_BENCH_ENGINE_POOL_FOLDER_H_

#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace kamino::bench {

// Made before any other thread: from then on SIGINT and SIGTERM are this
// object's, which removes the folder with all that is in it and ends the
// process with 128 and the signal's number.
class PoolFolder {
 public:
  // `parent` must exist.
  static absl::StatusOr<std::unique_ptr<PoolFolder>> Create(
      const std::string& parent);
  ~PoolFolder();
  PoolFolder(const PoolFolder&) = delete;
  PoolFolder& operator=(const PoolFolder&) = delete;

  const std::string& path() const { return path_; }

  // Removes the names of all files in it. A process that has a file open or
  // mapped keeps it.
  void Unlink();

  // Bytes that can be put there.
  uint64_t FreeBytes() const;

 private:
  explicit PoolFolder(std::string path);
  void AwaitSignal();

  const std::string path_;
  std::thread signals_;
};

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_POOL_FOLDER_H_
