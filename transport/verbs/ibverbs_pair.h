// A queue pair of libibverbs with all that is its own; private to
// ibverbs_device.
#ifndef KAMINO_TRANSPORT_VERBS_IBVERBS_PAIR_H_
#define KAMINO_TRANSPORT_VERBS_IBVERBS_PAIR_H_

#include <infiniband/verbs.h>

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "transport/verbs/device.h"

namespace kamino::transport {

// Ends what a verbs call has made.
template <typename T, int (*End)(T*)>
struct IbvEnd {
  void operator()(T* made) const { End(made); }
};
using IbvDomain = std::unique_ptr<ibv_pd, IbvEnd<ibv_pd, ibv_dealloc_pd>>;
using IbvMemory = std::unique_ptr<ibv_mr, IbvEnd<ibv_mr, ibv_dereg_mr>>;
using IbvChannel =
    std::unique_ptr<ibv_comp_channel,
                    IbvEnd<ibv_comp_channel, ibv_destroy_comp_channel>>;
using IbvQueue = std::unique_ptr<ibv_cq, IbvEnd<ibv_cq, ibv_destroy_cq>>;
using IbvPair = std::unique_ptr<ibv_qp, IbvEnd<ibv_qp, ibv_destroy_qp>>;

// "what: why", for a call that has set errno.
absl::Status IbvError(absl::StatusCode code, absl::string_view what, int error);

class IbverbsPair final : public VerbsPair {
 public:
  // `device` is kept alive as long as the pair; `context` is its.
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
  absl::Status Initialize();
  absl::Status Modify(ibv_qp_attr* attributes, int mask, const char* state);

  const std::shared_ptr<VerbsDevice> device_;
  const int port_;
  size_t max_inline_ = 0;

  absl::Mutex mu_;
  // In the order that lets them be destroyed from the last.
  IbvDomain domain_;
  std::vector<IbvMemory> memory_ ABSL_GUARDED_BY(mu_);
  IbvChannel channel_;
  IbvQueue queue_;
  IbvPair pair_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_IBVERBS_PAIR_H_
