// Queries about sessions in the state.
#include <optional>

#include "base/status_macros.h"
#include "replica/state/state_machine.h"

namespace kamino::replica {

absl::StatusOr<Sessions::Place> StateMachine::FindPlace(engine::Reader& reader,
                                                        uint64_t session_id,
                                                        uint64_t number) {
  ASSIGN_OR_RETURN(auto trees, ReadTrees(reader));
  return sessions_.FindPlace(reader, trees.sessions, session_id, number);
}

absl::StatusOr<std::optional<bool>> StateMachine::IsTaken(
    engine::Reader& reader, uint64_t session_id, uint64_t number) {
  ASSIGN_OR_RETURN(auto trees, ReadTrees(reader));
  return sessions_.IsTaken(reader, trees.sessions, session_id, number);
}

absl::Status StateMachine::CheckSessionOwner(engine::Reader& reader,
                                             uint64_t session_id,
                                             const Principal* who) {
  if (who == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(auto trees, ReadTrees(reader));
  return sessions_.CheckOwner(reader, trees.sessions, session_id, who);
}

absl::Status StateMachine::VisitSessions(
    engine::Reader& reader,
    absl::FunctionRef<void(const Sessions::Session&)> visit) {
  ASSIGN_OR_RETURN(auto trees, ReadTrees(reader));
  return sessions_.Visit(reader, trees.sessions, visit);
}

}  // namespace kamino::replica
