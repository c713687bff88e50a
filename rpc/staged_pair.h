// A certificate, its key and the authorities, where gRPC's watcher of files
// finds them (grpc::experimental::FileWatcherCertificateProvider). It is the
// only one of gRPC's providers (1.51) that takes changes up, and it must never
// see what does not belong together: every new handshake would fail. So each
// set is put into files of its own, which have no name and are in memory, and a
// folder leads to the newest: it is replaced as one.
//
// The folder is locked for as long as its process lives. So one that a process
// has left that was killed is known, and removed by the next one.
#ifndef KAMINO_RPC_STAGED_PAIR_H_
#define KAMINO_RPC_STAGED_PAIR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kamino::rpc {

// Not thread-safe.
class StagedPair {
 public:
  struct Texts {
    std::string certificate_pem;
    std::string key_pem;
    std::string authorities_pem;
  };
  // kUnavailable: there is no room in memory, or no folder can be made where
  // temporary files are.
  static absl::StatusOr<std::unique_ptr<StagedPair>> Make(const Texts& texts);
  ~StagedPair();
  StagedPair(const StagedPair&) = delete;
  StagedPair& operator=(const StagedPair&) = delete;

  // kUnavailable: as Make; what was there before stays.
  absl::Status Replace(const Texts& texts);

  std::string certificate_path() const;
  std::string key_path() const;
  std::string authorities_path() const;

 private:
  using Files = std::array<int, 3>;

  StagedPair(std::string folder, int lock)
      : folder_(std::move(folder)), lock_(lock) {}
  absl::Status Fill(const Texts& texts, Files* files) const;

  const std::string folder_;
  const int lock_;  // the folder, open and locked
  int64_t generation_ = 0;
  Files files_ = {-1, -1, -1};
  // Of the set before: a reader may still be at it.
  Files old_ = {-1, -1, -1};
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_STAGED_PAIR_H_
