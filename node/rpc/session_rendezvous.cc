#include "node/rpc/session_rendezvous.h"

#include <utility>

namespace kamino::node {

absl::StatusOr<std::string> SessionRendezvous::Listen(
    const std::string& address, Answerer answerer) {
  absl::MutexLock lock(&mutex_);
  if (answerer_ != nullptr) {
    return absl::AlreadyExistsError("the node already listens for verbs links");
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
  reply(absl::UnimplementedError("a node cannot request a link from a client"));
}

void SessionRendezvous::Answer(const transport::VerbsEndpoint& offer,
                               Reply reply) {
  {
    // Held for the call, which StopListening has to wait for.
    absl::MutexLock lock(&mutex_);
    if (answerer_ != nullptr) return answerer_(offer, std::move(reply));
  }
  reply(
      absl::UnavailableError("this node accepts no verbs links from clients"));
}

}  // namespace kamino::node
