#include "client/transaction.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "client/error.h"
#include "client/retry.h"
#include "client/runner.h"

namespace kamino::client {

namespace {

// Applies a patch within the value; otherwise kOutOfRange, as the service
// returns it.
absl::Status Overwrite(std::string* value, uint64_t offset,
                       absl::string_view data) {
  if (offset > value->size() || data.size() > value->size() - offset) {
    return MakeError(absl::StatusCode::kOutOfRange,
                     kamino::v1::REASON_OUT_OF_RANGE,
                     absl::StrCat("bytes [", offset, ", ", offset, " + ",
                                  data.size(), ") are not within the ",
                                  value->size(), " bytes of the value"));
  }
  value->replace(offset, data.size(), data.data(), data.size());
  return absl::OkStatus();
}

absl::Status NoObject() {
  return MakeError(absl::StatusCode::kNotFound,
                   kamino::v1::REASON_KEY_NOT_FOUND,
                   "this transaction patches an object that does not exist");
}

// Whether the error comes from the service or from this library, rather than
// from the body's own decision on what it read.
bool IsOfTheService(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         ReasonOf(status) != kamino::v1::REASON_UNSPECIFIED;
}

}  // namespace

absl::StatusOr<const Transaction::Version*> Transaction::Read(
    absl::string_view key) {
  const std::string name(key);
  const auto known = read_.find(name);
  if (known != read_.end()) return &known->second;
  auto expected = expected_.extract(name);
  auto got =
      expected.empty() ? client_->Get(key) : std::move(expected.mapped()).Get();
  if (!expected.empty() && absl::IsResourceExhausted(got.status())) {
    got = client_->Get(key);  // too many calls were outstanding
  }
  if (got.ok()) {
    return &(read_[name] = Version{got->version(), got->value()});
  }
  if (ReasonOf(got.status()) != kamino::v1::REASON_KEY_NOT_FOUND) {
    return got.status();
  }
  return &(read_[name] = Version{0, ""});
}

void Transaction::Expect(absl::Span<const std::string> keys) {
  for (const std::string& key : keys) {
    if (read_.contains(key) || expected_.contains(key)) continue;
    kamino::v1::GetRequest request;
    request.set_key(key);
    expected_.emplace(key,
                      Start(*client_, &Client::GetAsync, std::move(request)));
  }
}

absl::StatusOr<std::optional<std::string>> Transaction::Apply(
    const Write& write, std::optional<std::string> base) {
  if (write.kind == Write::Kind::kPut) {
    return std::optional<std::string>(write.value);
  }
  if (write.kind == Write::Kind::kDelete) return std::optional<std::string>();
  if (!base.has_value()) return NoObject();
  for (const PatchOf& patch : write.patches) {
    RETURN_IF_ERROR(Overwrite(&*base, patch.offset, patch.data));
  }
  return base;
}

absl::StatusOr<std::optional<std::string>> Transaction::Get(
    absl::string_view key) {
  const auto own = written_.find(std::string(key));
  if (own != written_.end() && own->second.kind != Write::Kind::kPatch) {
    return Apply(own->second, std::nullopt);
  }
  ASSIGN_OR_RETURN(auto read, Read(key));
  std::optional<std::string> value;
  if (read->version != 0) value = read->value;
  if (own == written_.end()) return value;
  return Apply(own->second, std::move(value));
}

absl::Status Transaction::Scan(
    absl::string_view start, absl::string_view end,
    absl::FunctionRef<bool(const std::string&, const std::string&)> visit) {
  kamino::v1::ScanRequest request;
  request.set_start_key(std::string(start));
  request.set_end_key(std::string(end));
  // Collected first, because own writes must be merged in. Everything is fenced
  // from the moment of the earliest part on.
  std::map<std::string, std::string> objects;
  uint64_t sequence = std::numeric_limits<uint64_t>::max();
  absl::Status scanned = client_->ScanParts(request, [&](const auto& part) {
    sequence = std::min<uint64_t>(sequence, part.header().sequence());
    for (const auto& object : part.results()) {
      objects[object.key()] = object.value();
    }
    return true;
  });
  if (!scanned.ok()) return scanned;
  if (sequence == std::numeric_limits<uint64_t>::max()) {
    return absl::InternalError("a scan ended without a part");
  }
  ranges_.push_back({std::string(start), std::string(end), sequence});
  for (const auto& [key, write] : written_) {
    if (key < start || (!end.empty() && key >= end)) continue;
    const auto found = objects.find(key);
    std::optional<std::string> base;
    if (found != objects.end()) base = found->second;
    ASSIGN_OR_RETURN(auto value, Apply(write, std::move(base)));
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
  written_[std::string(key)] = {Write::Kind::kPut, std::string(value), {}};
}

absl::Status Transaction::Patch(absl::string_view key, uint64_t offset,
                                absl::string_view data) {
  const std::string name(key);
  const auto own = written_.find(name);
  if (own == written_.end()) {
    written_[name] = {
        Write::Kind::kPatch, "", {PatchOf{offset, std::string(data)}}};
    return absl::OkStatus();
  }
  switch (own->second.kind) {
    case Write::Kind::kPut:
      return Overwrite(&own->second.value, offset, data);
    case Write::Kind::kDelete:
      return NoObject();
    case Write::Kind::kPatch:
      own->second.patches.push_back({offset, std::string(data)});
  }
  return absl::OkStatus();
}

void Transaction::Delete(absl::string_view key) {
  written_[std::string(key)] = {Write::Kind::kDelete, "", {}};
}

kamino::v1::CommitRequest Transaction::ToCommit() const {
  kamino::v1::CommitRequest request;
  request.set_fail_on_conflict(true);
  for (const auto& [key, read] : read_) {
    auto* condition = request.add_preconditions();
    condition->set_key(key);
    if (read.version == 0) {
      condition->set_exists(false);
    } else {
      condition->set_version_equals(read.version);
    }
  }
  for (const Range& range : ranges_) {
    auto* unchanged = request.add_preconditions()->mutable_range_unchanged();
    unchanged->set_start_key(range.start);
    unchanged->set_end_key(range.end);
    unchanged->set_sequence(range.sequence);
  }
  for (const auto& [key, write] : written_) {
    if (write.kind == Write::Kind::kPut) {
      auto* put = request.add_then_operations()->mutable_put();
      put->set_key(key);
      put->set_value(write.value);
    } else if (write.kind == Write::Kind::kDelete) {
      auto* del = request.add_then_operations()->mutable_delete_();
      del->set_key(key);
      del->set_allow_absent(true);
    }
    for (const PatchOf& own : write.patches) {
      auto* patch = request.add_then_operations()->mutable_patch();
      patch->set_key(key);
      patch->set_offset(own.offset);
      patch->set_data(own.data);
    }
  }
  return request;
}

absl::Status Client::RunTransaction(
    absl::FunctionRef<absl::Status(Transaction&)> body) {
  const absl::Time deadline = Deadline();
  absl::Status last;
  for (int attempt = 1; attempt == 1 || MonotonicNow() < deadline; ++attempt) {
    Transaction transaction(this);
    const absl::Status wanted = body(transaction);
    if (!wanted.ok()) {
      // A single read was true at some moment. Several reads together need not
      // have been: the body may have rejected a state that never existed.
      if (transaction.reads() < 2 || IsOfTheService(wanted)) return wanted;
    }
    kamino::v1::CommitRequest request = transaction.ToCommit();
    if (!wanted.ok()) request.clear_then_operations();
    if (request.preconditions().empty() && request.then_operations().empty()) {
      return absl::OkStatus();
    }
    last = Commit(std::move(request)).status();
    if (ReasonOf(last) != kamino::v1::REASON_CONFLICT) {
      // Without the check it is unknown whether the reads are consistent, and
      // so whether the body's error is justified.
      return last.ok() ? wanted : last;
    }
    absl::Notification rested;
    runner()->timer().After(
        DecideAfter(absl::UnavailableError(""), attempt, runner()->Random())
            .delay,
        [&rested] { rested.Notify(); });
    rested.WaitForNotification();
  }
  return last;
}

}  // namespace kamino::client
