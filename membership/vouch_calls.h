// Vouches (membership/vouching.h) over gRPC.
#ifndef KAMINO_MEMBERSHIP_VOUCH_CALLS_H_
#define KAMINO_MEMBERSHIP_VOUCH_CALLS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"
#include "kamino/internal/v1/membership.grpc.pb.h"
#include "membership/vouching.h"

namespace kamino::membership {

// Carries calls out. Not thread-safe.
class VouchCalls {
 public:
  // At once, and waits for all; none takes longer than `deadline`. Answers are
  // in the order of their calls.
  std::vector<Vouching::Answer> CarryOut(
      const std::vector<Vouching::Call>& calls, absl::Duration deadline);

 private:
  using Stub = kamino::internal::v1::VouchService::Stub;

  std::map<std::string, std::unique_ptr<Stub>> stubs_;  // by address
};

// Who answers those of others. Thread-safe.
class Voucher {
 public:
  virtual ~Voucher() = default;
  virtual Vouching::Answer Vouch(
      const kamino::internal::v1::VouchRequest& request) = 0;
};

class VouchServer final
    : public kamino::internal::v1::VouchService::CallbackService {
 public:
  // Outlives it.
  explicit VouchServer(Voucher* voucher) : voucher_(voucher) {}

  grpc::ServerUnaryReactor* Vouch(
      grpc::CallbackServerContext* context,
      const kamino::internal::v1::VouchRequest* request,
      kamino::internal::v1::VouchResponse* response) override;

 private:
  Voucher* const voucher_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_VOUCH_CALLS_H_
