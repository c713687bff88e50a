#include "node/rpc/session_rendezvous.h"

#include <utility>

namespace kamino::node {

absl::StatusOr<std::string> SessionRendezvous::Listen(
    const std::string& address, Answerer answerer) {
  absl::MutexLock lock(&mutex_);
  if (answerer_ != nullptr) {
    return absl::AlreadyExistsError("verbs links are listened for already");
  }
  answerer_ = std::move(answerer);
  return address;
}

void SessionRendezvous::StopListening(const std::string&) {
  absl::MutexLock lock(&mutex_);
  answerer_ = nullptr;
}

void SessionRendezvous::Exchange(const std::string&,
                                 const transport::VerbsEndpoint&,
                                 absl::Duration, Reply reply) {
  reply(absl::UnimplementedError("a node asks no client for a link"));
}

void SessionRendezvous::Answer(const transport::VerbsEndpoint& offer,
                               Reply reply) {
  {
    // Held for the call, which StopListening has to wait for.
    absl::MutexLock lock(&mutex_);
    if (answerer_ != nullptr) return answerer_(offer, std::move(reply));
  }
  reply(absl::UnavailableError("this node takes no verbs links of clients"));
}

}  // namespace kamino::node
