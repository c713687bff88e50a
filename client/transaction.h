// An optimistic transaction: reads go to the tail and are remembered, writes
// are kept here, and one Commit at the end checks that nothing read has changed
// and does all the writes. The servers keep no state for it.
#ifndef KAMINO_CLIENT_TRANSACTION_H_
#define KAMINO_CLIENT_TRANSACTION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/client.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// Given to the body of Client::RunTransaction. Used by one thread. At most
// 1,000 keys read or scanned ranges, and 1,000 keys written.
class Transaction {
 public:
  explicit Transaction(Client* client) : client_(client) {}

  // The value, or nothing when the key is absent. Sees this transaction's own
  // writes.
  absl::StatusOr<absl::optional<std::string>> Get(absl::string_view key);

  // Objects of [start, end) in key order, an empty end meaning to the last,
  // until `visit` returns false; own writes among them. The transaction then
  // depends on the whole range.
  absl::Status Scan(
      absl::string_view start, absl::string_view end,
      absl::FunctionRef<bool(const std::string& key, const std::string& value)>
          visit);

  void Put(absl::string_view key, absl::string_view value);
  void Delete(absl::string_view key);

  // What Commit is to be sent for it.
  kamino::v1::CommitRequest ToCommit() const;

 private:
  struct Range {
    std::string start;
    std::string end;
    uint64_t sequence;  // of the scan's first part
  };

  Client* const client_;
  std::map<std::string, uint64_t> read_;       // key to version; 0: absent
  std::map<std::string, std::string> values_;  // of the keys read
  std::vector<Range> ranges_;
  std::map<std::string, absl::optional<std::string>> written_;  // none: deleted
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_TRANSACTION_H_
