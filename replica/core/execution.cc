#include "replica/core/execution.h"

#include "absl/strings/str_cat.h"
#include "replica/errors.h"

namespace kamino::replica {

bool Execution::AwaitsAdoption(const Place& place) const {
  return place.index > 0 && ring_->applied() < ring_->received() &&
         quarantined_->Has(ring_->EntryOf(ring_->applied() + 1));
}

std::optional<Execution::Dissent> Execution::Run(const Place& place) {
  if (place.is_head()) return RunAgain();
  while (more() && !AwaitsAdoption(place)) {
    if (auto dissent = ExecuteNext()) return dissent;
  }
  return std::nullopt;
}

std::optional<Execution::Dissent> Execution::RunAgain() {
  std::optional<Dissent> dissent;
  while (more() && !dissent.has_value()) {
    quarantined_->SetRedone(ring_->applied() + 1);
    dissent = ExecuteNext();
    ring_->PersistApplied();
  }
  if (!outbox_->failed() && !dissent.has_value()) quarantined_->SetRedone(0);
  return dissent;
}

std::optional<Execution::Dissent> Execution::ExecuteNext() {
  const LogEntry entry = ring_->EntryOf(ring_->applied() + 1);
  const auto executed = executor_->Execute(entry);
  if (absl::IsDataLoss(executed.status())) {
    return Dissent{entry, executed.status()};
  }
  if (ReasonOf(executed.status()) == kamino::v1::REASON_UNKNOWN_PROCEDURE) {
    outbox_->Fail(absl::FailedPreconditionError(absl::StrCat(
        "mutation ", entry.first(), ": ", executed.status().message(),
        " in this program; the chain may have executed the mutation: start "
        "this "
        "node with a release that has the procedure")));
    return std::nullopt;
  }
  if (!executed.ok()) {
    // Lack of room for undo data loses nothing.
    const auto code = absl::IsResourceExhausted(executed.status())
                          ? absl::StatusCode::kResourceExhausted
                          : absl::StatusCode::kDataLoss;
    outbox_->Fail(
        absl::Status(code, absl::StrCat("mutation ", entry.first(), ": ",
                                        executed.status().message())));
    return std::nullopt;
  }
  if (*executed != entry.image_hash()) {
    return Dissent{entry, absl::OkStatus(), *executed};
  }
  ring_->MarkApplied(entry.last());
  return std::nullopt;
}

}  // namespace kamino::replica
