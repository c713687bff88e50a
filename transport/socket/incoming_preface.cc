#include "transport/socket/incoming_preface.h"

#include <utility>

#include "transport/socket/tls_signs.h"

namespace kamino::transport {

IncomingPreface::IncomingPreface(SocketKind kind, SocketSide sender)
    : kind_(kind), sender_(sender), extra_(ExtraBytes(kind), '\0') {}

absl::StatusOr<bool> IncomingPreface::Read(const Receive& receive) {
  const auto head =
      absl::MakeSpan(reinterpret_cast<std::byte*>(&preface_), kPrefaceBytes);
  const auto extra = absl::MakeSpan(reinterpret_cast<std::byte*>(extra_.data()),
                                    extra_.size());
  while (received_ < head.size() + extra.size()) {
    const bool behind = received_ >= head.size();
    const absl::StatusOr<size_t> count =
        receive(behind ? extra.subspan(received_ - head.size())
                       : head.subspan(received_),
                &fd_);
    if (!count.ok()) return count.status();
    if (*count == 0) return false;
    received_ += *count;
    if (behind) continue;
    absl::Status sound = CheckPreface(preface_, received_, kind_, sender_);
    if (!sound.ok()) {
      unsound_ = true;
      return sound;
    }
  }
  return true;
}

bool IncomingPreface::wants_tls() const {
  return BeginsTls(reinterpret_cast<const std::byte&>(preface_));
}

UniqueFd IncomingPreface::TakeFd() { return std::move(fd_); }

}  // namespace kamino::transport
