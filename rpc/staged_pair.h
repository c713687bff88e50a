// Stages a certificate, its key and the authorities for gRPC's file watcher
// (grpc::experimental::FileWatcherCertificateProvider). It is the only provider
// of gRPC (1.51) that reloads, and it must never read files that do not fit
// each other, because every new handshake would fail. So each set goes to its
// own unnamed files in memory, and a folder that is replaced atomically links
// to the newest set.
//
// The process locks the folder while it lives, so that the next process can
// detect and remove the folder of a killed one.
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
  // kUnavailable: out of memory, or no folder can be made in the directory of
  // temporary files.
  static absl::StatusOr<std::unique_ptr<StagedPair>> Make(const Texts& texts);
  ~StagedPair();
  StagedPair(const StagedPair&) = delete;
  StagedPair& operator=(const StagedPair&) = delete;

  // kUnavailable: as Make; the former set stays.
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
  // The former set, which a reader may still use.
  Files old_ = {-1, -1, -1};
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_STAGED_PAIR_H_
