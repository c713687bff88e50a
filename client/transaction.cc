#include "client/transaction.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/error.h"
#include "client/retry.h"
#include "client/runner.h"

namespace kamino::client {

absl::StatusOr<absl::optional<std::string>> Transaction::Get(
    absl::string_view key) {
  const std::string name(key);
  const auto own = written_.find(name);
  if (own != written_.end()) return own->second;
  const auto known = read_.find(name);
  if (known != read_.end()) {
    if (known->second == 0) return absl::optional<std::string>();
    return absl::optional<std::string>(values_[name]);
  }
  auto got = client_->Get(key);
  if (absl::IsNotFound(got.status())) {
    read_[name] = 0;
    return absl::optional<std::string>();
  }
  if (!got.ok()) return got.status();
  read_[name] = got->version();
  values_[name] = got->value();
  return absl::optional<std::string>(got->value());
}

absl::Status Transaction::Scan(
    absl::string_view start, absl::string_view end,
    absl::FunctionRef<bool(const std::string&, const std::string&)> visit) {
  kamino::v1::ScanRequest request;
  request.set_start_key(std::string(start));
  request.set_end_key(std::string(end));
  // Collected first: own writes have to be merged in, and the range's sequence
  // is the first part's.
  std::map<std::string, std::string> objects;
  uint64_t sequence = 0;
  bool any = false;
  absl::Status scanned =
      client_->Scan(request, [&](const auto& object, const auto& header) {
        sequence = any ? std::min<uint64_t>(sequence, header.sequence())
                       : header.sequence();
        any = true;
        objects[object.key()] = object.value();
        return true;
      });
  if (!scanned.ok()) return scanned;
  if (!any) {
    // An empty answer tells no sequence; that of a read before it is safe only
    // if it is older, so ask once more, now knowing the range to be checked.
    auto probe = client_->BatchGet({});
    if (!probe.ok()) return probe.status();
    sequence = probe->header().sequence();
    scanned = client_->Scan(request, [&](const auto&, const auto&) {
      any = true;
      return false;
    });
    if (!scanned.ok()) return scanned;
    if (any) return Scan(start, end, visit);  // came in between
  }
  ranges_.push_back({std::string(start), std::string(end), sequence});
  for (const auto& [key, value] : written_) {
    if (key < start || (!end.empty() && key >= end)) continue;
    if (value.has_value()) {
      objects[key] = *value;
    } else {
      objects.erase(key);
    }
  }
  for (const auto& [key, value] : objects) {
    if (!visit(key, value)) break;
  }
  return absl::OkStatus();
}

void Transaction::Put(absl::string_view key, absl::string_view value) {
  written_[std::string(key)] = std::string(value);
}

void Transaction::Delete(absl::string_view key) {
  written_[std::string(key)] = absl::nullopt;
}

kamino::v1::CommitRequest Transaction::ToCommit() const {
  kamino::v1::CommitRequest request;
  request.set_fail_on_conflict(true);
  for (const auto& [key, version] : read_) {
    auto* condition = request.add_preconditions();
    condition->set_key(key);
    if (version == 0) {
      condition->set_exists(false);
    } else {
      condition->set_version_equals(version);
    }
  }
  for (const Range& range : ranges_) {
    auto* unchanged = request.add_preconditions()->mutable_range_unchanged();
    unchanged->set_start_key(range.start);
    unchanged->set_end_key(range.end);
    unchanged->set_sequence(range.sequence);
  }
  for (const auto& [key, value] : written_) {
    auto* operation = request.add_then_operations();
    if (value.has_value()) {
      operation->mutable_put()->set_key(key);
      operation->mutable_put()->set_value(*value);
    } else {
      operation->mutable_delete_()->set_key(key);
      operation->mutable_delete_()->set_allow_absent(true);
    }
  }
  return request;
}

absl::Status Client::RunTransaction(
    absl::FunctionRef<absl::Status(Transaction&)> body) {
  const absl::Time deadline = Deadline();
  absl::Status last;
  for (int attempt = 1; attempt == 1 || absl::Now() < deadline; ++attempt) {
    Transaction transaction(this);
    if (absl::Status done = body(transaction); !done.ok()) return done;
    kamino::v1::CommitRequest request = transaction.ToCommit();
    if (request.preconditions().empty() && request.then_operations().empty()) {
      return absl::OkStatus();
    }
    last = Commit(std::move(request)).status();
    if (ReasonOf(last) != kamino::v1::REASON_CONFLICT) return last;
    absl::Notification rested;
    runner_->timer().After(
        DecideAfter(absl::UnavailableError(""), attempt, runner_->Random())
            .delay,
        [&rested] { rested.Notify(); });
    rested.WaitForNotification();
  }
  return last;
}

}  // namespace kamino::client
