// A link over two rings in memory that both processes map. The Unix socket that
// set it up stays: a byte on it is the doorbell for a side that sleeps, and its
// hangup is the peer's death. (An eventfd from the peer would be a descriptor
// to trust, on which a write can be made to block; MSG_DONTWAIT cannot.)
#ifndef KAMINO_TRANSPORT_SHM_SHM_LINK_H_
#define KAMINO_TRANSPORT_SHM_SHM_LINK_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "transport/ring/ring_link.h"
#include "transport/shm/shared_rings.h"
#include "transport/socket/socket_link.h"

namespace kamino::transport {

inline constexpr Capabilities kShmCapabilities = {.name = "shm",
                                                  .same_host_only = true};

class ShmLink final : public RingLink<SocketLink> {
 public:
  // Connector's side.
  ShmLink(std::shared_ptr<LinkContext> context, std::string peer,
          SharedRings::Created created);
  // Acceptor's side: the peer brings the memory.
  ShmLink(std::shared_ptr<LinkContext> context, std::string peer);

 private:
  Offer MakeOffer() override;
  absl::StatusOr<size_t> OnPreface(const Preface& preface,
                                   UniqueFd fd) override;
  void OnOpen() override;
  void OnSocketEvents(uint32_t events) override;
  void OnStopping() override;
  void ReleaseDataLocked() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  bool Arm() override;
  void Disarm() override;

  absl::Status Move(uint64_t position, absl::Span<const std::byte> first,
                    absl::Span<const std::byte> second) override;
  uint64_t Acknowledged() override;
  absl::Status RequestCredits() override;
  uint64_t Published() override;
  void Acknowledge(uint64_t head, bool may_wake) override;

  // Rings when the peer's `flag` is up.
  void WakePeer(std::atomic<uint32_t>& flag);

  // Set up to OnPreface, then constant until the link closes. `rings_` is
  // unmapped under mu_ by the loop's thread.
  const bool connector_;
  SharedRings rings_;
  UniqueFd offered_;
  RingControl* out_ = nullptr;
  RingControl* in_ = nullptr;
  absl::Span<std::byte> out_data_;

  bool drain_posted_ = false;  // the loop's thread only
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SHM_SHM_LINK_H_
