// A link over two rings in memory that both processes map. With certificates
// each side first authenticates the other by a pass (transport/passes.h). The
// Unix socket that set the link up stays open: a byte on it is the doorbell for
// a side that sleeps, and its hangup means that the peer died. (An eventfd from
// the peer would be an untrusted descriptor, on which a write can be made to
// block; MSG_DONTWAIT cannot.)
#ifndef KAMINO_TRANSPORT_SHM_SHM_LINK_H_
#define KAMINO_TRANSPORT_SHM_SHM_LINK_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "transport/passes.h"
#include "transport/ring/ring_link.h"
#include "transport/shm/shared_rings.h"
#include "transport/shm/shm_transport.h"
#include "transport/socket/socket_link.h"

namespace kamino::transport {

inline constexpr Capabilities kShmCapabilities = {.name = "shm",
                                                  .same_host_only = true};

class ShmLink final : public RingLink<SocketLink> {
 public:
  // Connector's side. `address`: as used to ask for passes. `passes`: unused
  // without certificates.
  ShmLink(std::shared_ptr<LinkContext> context, std::string peer,
          std::string address, SharedRings::Created created, ShmPasses passes);
  // Acceptor's side: the peer brings the memory.
  ShmLink(std::shared_ptr<LinkContext> context, std::string peer,
          ShmPasses passes);

 private:
  void Prepare() override;
  bool Secure() override;
  Offer MakeOffer() override;
  absl::StatusOr<size_t> OnPreface(const Preface& preface,
                                   absl::string_view extra,
                                   UniqueFd fd) override;
  bool with_pass() const { return options().certificates != nullptr; }
  void OnGranted(const absl::StatusOr<PassSource::Granted>& granted);
  absl::Status CheckPeerProcess() const;
  absl::Status TakePass(absl::string_view extra);
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
  const std::string address_;
  const ShmPasses passes_;
  std::optional<PassSource::Granted> granted_;  // the connector's
  std::string proof_;                           // the acceptor's
  SharedRings rings_;
  UniqueFd offered_;
  RingControl* out_ = nullptr;
  RingControl* in_ = nullptr;
  absl::Span<std::byte> out_data_;

  bool drain_posted_ = false;  // the loop's thread only
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SHM_SHM_LINK_H_
