#include "node/session/connection_answers.h"

#include <utility>

#include "node/rpc/status_details.h"
#include "replica/errors.h"

namespace kamino::node {

absl::Status ConnectionAnswers::CheckRoom() {
  if (held_.HasRoom(out_.bytes())) return absl::OkStatus();
  return replica::MakeError(kamino::v1::REASON_OVERLOADED,
                            "too many answers wait to be taken");
}

char* ConnectionAnswers::Add(const session::Response& response,
                             size_t body_bytes, uint64_t session) {
  if (!out_.HasRoom(body_bytes)) Flush(session);
  return out_.Add(response, body_bytes);
}

void ConnectionAnswers::FlushIfFull(uint64_t session) {
  if (out_.bytes() >= carrier_.piece_bytes()) Flush(session);
}

void ConnectionAnswers::Flush(uint64_t session) {
  if (!out_.empty()) Send(out_.Take());
  if (!answered_.empty()) answered_.Count(session);
}

void ConnectionAnswers::Send(std::string frame) {
  held_.NoteSent(frame.size());
  carrier_.Send(std::move(frame));
  held_.CountUnsent();
}

std::string ConnectionAnswers::Explain(const absl::Status& status,
                                       const std::string& request) const {
  return ToGrpcStatus(status, *node_.view_board().current(), node_.node_id(),
                      request)
      .error_details();
}

}  // namespace kamino::node
