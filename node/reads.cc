#include "node/reads.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "replica/errors.h"

namespace kamino::node {
namespace {

using engine::KeyValueReader;
using kamino::v1::ReadResult;
using replica::MakeError;

// A scan's message: small enough not to hold up the core thread.
constexpr size_t kScanBytes = 256u << 10;
constexpr int kScanObjects = 256;
constexpr size_t kMaxBoundBytes = engine::kMaxKeyBytes + 1;

}  // namespace

absl::Status ReadOne(KeyValueReader& objects,
                     const kamino::v1::GetRequest& request,
                     kamino::v1::GetResponse* response) {
  auto entry = objects.Get(request.key());
  if (!entry.ok())
    return replica::ExplainKeyError(entry.status(), request.key());
  const absl::string_view value = entry->value;
  const uint64_t size = value.size();
  const bool within =
      request.offset() <= size && request.length() <= size - request.offset();
  if (!within) {
    return MakeError(
        kamino::v1::REASON_OUT_OF_RANGE,
        absl::StrCat(
            request.length() == 0
                ? absl::StrCat("bytes from ", request.offset(), " on")
                : absl::StrCat("bytes [", request.offset(), ", ",
                               request.offset(), " + ", request.length(), ")"),
            " are not within the ", size, " bytes of ",
            replica::Printable(request.key())),
        {request.key()});
  }
  const uint64_t length =
      request.length() == 0 ? size - request.offset() : request.length();
  response->set_value(value.data() + request.offset(), length);
  response->set_version(entry->version);
  response->set_value_size(size);
  return absl::OkStatus();
}

absl::Status CheckBatch(const kamino::v1::BatchGetRequest& request) {
  if (request.keys_size() <= kMaxBatchKeys) return absl::OkStatus();
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                   absl::StrCat(request.keys_size(), " keys; at most ",
                                kMaxBatchKeys, " in one BatchGet"));
}

absl::Status CheckScan(const kamino::v1::ScanRequest& request) {
  const size_t longest =
      std::max(request.start_key().size(), request.end_key().size());
  if (longest <= kMaxBoundBytes) return absl::OkStatus();
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                   absl::StrCat("a bound of the scan has ", longest,
                                " bytes; at most ", kMaxBoundBytes));
}

absl::Status ReadBatch(KeyValueReader& objects,
                       const kamino::v1::BatchGetRequest& request,
                       kamino::v1::BatchGetResponse* response) {
  size_t bytes = 0;
  for (const std::string& key : request.keys()) {
    ReadResult* result = response->add_results();
    result->set_key(key);
    auto entry = objects.Get(key);
    if (absl::IsNotFound(entry.status())) continue;
    if (!entry.ok()) return replica::ExplainKeyError(entry.status(), key);
    bytes += entry->value.size();
    if (bytes > kMaxAnswerBytes) {
      return MakeError(
          kamino::v1::REASON_TOO_LARGE,
          absl::StrCat("the values are more than ", kMaxAnswerBytes,
                       " bytes; ask for fewer keys at a time"));
    }
    result->set_found(true);
    result->set_value(entry->value.data(), entry->value.size());
    result->set_version(entry->version);
  }
  return absl::OkStatus();
}

ScanCursor::ScanCursor(const kamino::v1::ScanRequest& request)
    : start(request.start_key()),
      end(request.end_key()),
      remaining(request.limit()),
      keys_only(request.keys_only()) {}

absl::Status ReadNext(KeyValueReader& objects, ScanCursor* cursor,
                      kamino::v1::ScanResponse* response) {
  size_t bytes = 0;
  bool more = false;
  const auto visit = [&](absl::string_view key,
                         const KeyValueReader::Entry& entry) {
    // One object always fits, so that the scan makes progress.
    if (response->results_size() >= kScanObjects || bytes >= kScanBytes) {
      cursor->start = std::string(key);
      more = true;
      return false;
    }
    ReadResult* result = response->add_results();
    result->set_key(key.data(), key.size());
    result->set_found(true);
    result->set_version(entry.version);
    bytes += key.size();
    if (!cursor->keys_only) {
      result->set_value(entry.value.data(), entry.value.size());
      bytes += entry.value.size();
    }
    return true;
  };
  absl::Status scanned =
      objects.Scan(cursor->start, cursor->end, cursor->remaining, visit);
  if (!scanned.ok()) return replica::ExplainKeyError(scanned, cursor->start);
  const uint64_t count = static_cast<uint64_t>(response->results_size());
  cursor->done = !more;
  if (cursor->remaining != 0) {
    cursor->remaining -= std::min(cursor->remaining, count);
    if (cursor->remaining == 0) cursor->done = true;
  }
  return absl::OkStatus();
}

}  // namespace kamino::node
