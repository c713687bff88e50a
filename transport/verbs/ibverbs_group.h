// A group of queue pairs of libibverbs; private to ibverbs_device.
#ifndef KAMINO_TRANSPORT_VERBS_IBVERBS_GROUP_H_
#define KAMINO_TRANSPORT_VERBS_IBVERBS_GROUP_H_

#include <infiniband/verbs.h>

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "transport/verbs/ibverbs_state.h"
#include "transport/verbs/verbs_group.h"

namespace kamino::transport {

class IbverbsGroup final : public VerbsGroup,
                           public std::enable_shared_from_this<IbverbsGroup> {
 public:
  // The group keeps `device` alive; `context` belongs to it.
  static absl::StatusOr<std::shared_ptr<VerbsGroup>> Create(
      std::shared_ptr<VerbsDevice> device, ibv_context* context, int port,
      const GroupSize& size);

  int max_pairs() const override { return size_.max_pairs; }
  absl::StatusOr<std::unique_ptr<GroupPair>> CreatePair() override;
  absl::StatusOr<uint32_t> Register(absl::Span<std::byte> memory) override;
  absl::Status PostReceives(absl::Span<const GroupReceive> receives) override;
  absl::StatusOr<size_t> Poll(absl::Span<GroupCompletion> completions) override;
  absl::Status Arm() override;
  int event_fd() const override { return channel_->fd; }
  void TakeEvents() override;

 private:
  IbverbsGroup(std::shared_ptr<VerbsDevice> device, int port,
               const GroupSize& size)
      : device_(std::move(device)), port_(port), size_(size) {}

  // Reduces the sizes to the device's limits.
  absl::Status FitTo(ibv_context* context);
  absl::Status Allocate(ibv_context* context);

  const std::shared_ptr<VerbsDevice> device_;
  const int port_;
  GroupSize size_;  // constant after Create

  absl::Mutex mu_;
  // In an order that lets them be destroyed from the last.
  IbvDomain domain_;
  std::vector<IbvMemory> memory_ ABSL_GUARDED_BY(mu_);
  IbvChannel channel_;
  IbvQueue queue_;
  IbvShared receives_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_IBVERBS_GROUP_H_
