// An optimistic transaction. Reads go to the tail and are recorded, writes are
// buffered here, and one Commit at the end checks that no read data has changed
// and does all writes. The servers keep no state for it.
#ifndef KAMINO_CLIENT_TRANSACTION_H_
#define KAMINO_CLIENT_TRANSACTION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/client.h"
#include "client/future.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// The argument of the body of Client::RunTransaction. Used by one thread. At
// most 1,000 keys read or ranges scanned, and 1,000 writes (each patch is one).
//
// Each read is linearizable by itself, but only the commit confirms that all
// reads belong to one moment. The body must tolerate impossible states (two
// accounts whose sum is wrong); it is then run again.
class Transaction {
 public:
  explicit Transaction(Client* client) : client_(client) {}

  // The value, or nothing if the key is absent. Includes this transaction's own
  // writes. kOutOfRange: one of its patches exceeds the value.
  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key);

  // Prefetches keys that are likely to be read, in parallel. A later Get waits
  // for its own key only. Unread keys do not count.
  void Expect(absl::Span<const std::string> keys);

  // Visits the objects of [start, end) in key order, including own writes,
  // until `visit` returns false; an empty `end` is the end of the key space.
  // Reads the whole range, on which the transaction then depends.
  absl::Status Scan(
      absl::string_view start, absl::string_view end,
      absl::FunctionRef<bool(const std::string& key, const std::string& value)>
          visit);

  void Put(absl::string_view key, absl::string_view value);
  // Overwrites bytes of an object in place without reading it, so that
  // transactions that patch the same object do not conflict. If the key is
  // absent or the range exceeds the value, the commit fails (kNotFound,
  // kOutOfRange), or this call does if an own write already shows it.
  absl::Status Patch(absl::string_view key, uint64_t offset,
                     absl::string_view data);
  // An absent key is no error.
  void Delete(absl::string_view key);

  // The Commit request of this transaction.
  kamino::v1::CommitRequest ToCommit() const;

  // The number of reads whose consistency only the commit confirms.
  size_t reads() const { return read_.size() + ranges_.size(); }

 private:
  struct Range {
    std::string start;
    std::string end;
    uint64_t sequence;  // of the scan's first part
  };
  struct Version {
    uint64_t version;   // 0: absent
    std::string value;  // as read, without own patches
  };
  struct PatchOf {
    uint64_t offset;
    std::string data;
  };
  // The last write to a key.
  struct Write {
    enum class Kind { kPut, kDelete, kPatch } kind;
    std::string value;             // kPut
    std::vector<PatchOf> patches;  // kPatch, in order
  };

  // The service's value, recorded as read.
  absl::StatusOr<const Version*> Read(absl::string_view key);
  // Applies this transaction's writes to `base`.
  static absl::StatusOr<std::optional<std::string>> Apply(
      const Write& write, std::optional<std::string> base);

  Client* const client_;
  std::map<std::string, Version> read_;
  // Prefetched, and not read yet.
  std::map<std::string, Future<kamino::v1::GetResponse>> expected_;
  std::vector<Range> ranges_;
  std::map<std::string, Write> written_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_TRANSACTION_H_
