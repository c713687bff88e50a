// A queue pair of libibverbs with its own resources; private to ibverbs_device.
#ifndef KAMINO_TRANSPORT_VERBS_IBVERBS_PAIR_H_
#define KAMINO_TRANSPORT_VERBS_IBVERBS_PAIR_H_

#include <infiniband/verbs.h>

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "transport/verbs/device.h"
#include "transport/verbs/ibverbs_state.h"

namespace kamino::transport {

class IbverbsPair final : public VerbsPair {
 public:
  // The pair keeps `device` alive; `context` belongs to it.
  static absl::StatusOr<std::unique_ptr<VerbsPair>> Create(
      std::shared_ptr<VerbsDevice> device, ibv_context* context, int port,
      const PairSize& size);
  ~IbverbsPair() override;

  uint32_t number() const override { return pair_->qp_num; }
  size_t max_inline() const override { return max_inline_; }
  absl::StatusOr<MemoryKeys> Register(absl::Span<std::byte> memory,
                                      bool peer_writes) override;
  void Deregister(const MemoryKeys& keys) override;
  absl::Status Connect(const GidEntry& own_gid, const PairAddress& own,
                       const PairAddress& peer,
                       const PairPatience& patience) override;
  absl::Status PostReceives(int count) override;
  absl::Status PostWrites(absl::Span<const RdmaWrite> writes) override;
  absl::StatusOr<size_t> Poll(absl::Span<Completion> completions) override;
  absl::Status Arm() override;
  int event_fd() const override { return channel_->fd; }
  void TakeEvents() override;

 private:
  IbverbsPair(std::shared_ptr<VerbsDevice> device, int port)
      : device_(std::move(device)), port_(port) {}

  absl::Status CreatePair(const PairSize& size);

  const std::shared_ptr<VerbsDevice> device_;
  const int port_;
  size_t max_inline_ = 0;

  absl::Mutex mu_;
  // In an order that lets them be destroyed from the last.
  IbvDomain domain_;
  std::vector<IbvMemory> memory_ ABSL_GUARDED_BY(mu_);
  IbvChannel channel_;
  IbvQueue queue_;
  IbvPair pair_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_IBVERBS_PAIR_H_
