// An optimistic transaction: reads go to the tail and are remembered, writes
// are kept here, and one Commit at the end checks that nothing read has changed
// and does all the writes. The servers keep no state for it.
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

// Given to the body of Client::RunTransaction. Used by one thread. At most
// 1,000 keys read or ranges scanned, and 1,000 writes (a patch is one each).
//
// Every read is linearizable by itself; that all of them belong to one moment
// is known only once the transaction has committed. A body must bear what
// cannot be (two accounts whose sum is wrong): it is run again then.
class Transaction {
 public:
  explicit Transaction(Client* client) : client_(client) {}

  // The value, or nothing when the key is absent. Sees this transaction's own
  // writes. kOutOfRange: an own patch goes past the end of the value.
  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key);

  // These are likely to be read: they are asked for at once, together, and a
  // Get waits for its own only. What is not read does not count.
  void Expect(absl::Span<const std::string> keys);

  // Objects of [start, end) in key order, an empty end meaning to the last,
  // until `visit` returns false; own writes among them. The whole range is
  // read, and the transaction then depends on all of it.
  absl::Status Scan(
      absl::string_view start, absl::string_view end,
      absl::FunctionRef<bool(const std::string& key, const std::string& value)>
          visit);

  void Put(absl::string_view key, absl::string_view value);
  // Overwrites bytes of an object in place; reads nothing, so that transactions
  // that patch the same object do not conflict by it. An absent key or a range
  // past the value's end fails the commit (kNotFound, kOutOfRange), or this
  // call when it is an own write that shows it.
  absl::Status Patch(absl::string_view key, uint64_t offset,
                     absl::string_view data);
  // An absent key is no error.
  void Delete(absl::string_view key);

  // What Commit is to be sent for it.
  kamino::v1::CommitRequest ToCommit() const;

  // Reads that could disagree with each other.
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
  // What a key was last written with.
  struct Write {
    enum class Kind { kPut, kDelete, kPatch } kind;
    std::string value;             // kPut
    std::vector<PatchOf> patches;  // kPatch, in order
  };

  // The value as of the service's, remembered as read.
  absl::StatusOr<const Version*> Read(absl::string_view key);
  // The value as this transaction left it, where `base` was.
  static absl::StatusOr<std::optional<std::string>> Apply(
      const Write& write, std::optional<std::string> base);

  Client* const client_;
  std::map<std::string, Version> read_;
  // Asked for, and not read yet.
  std::map<std::string, Future<kamino::v1::GetResponse>> expected_;
  std::vector<Range> ranges_;
  std::map<std::string, Write> written_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_TRANSACTION_H_
