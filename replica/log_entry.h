// Log entries: what the head has executed as one batch and every other node
// executes again. An entry is made once, at the head; from then on it is read
// where it lies, and copied as bytes.
//
// What comes from a peer or from a medium is looked at by LogEntry::Check, and
// nothing of it is used before. Layout: replica/log_entry_format.h.
#ifndef KAMINO_REPLICA_LOG_ENTRY_H_
#define KAMINO_REPLICA_LOG_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/chain_mode.h"
#include "engine/transaction.h"
#include "replica/log_entry_format.h"

namespace kamino::replica {

// What one client asks for. At the head, until it is in an entry.
struct Mutation {
  std::string function;  // a built-in ("kv.put", ...) or a procedure
  std::string arguments;
  uint64_t client_id = 0;  // of a session: its id
  uint64_t number = 0;     // of a session: one of its own (session_format.h)
  uint64_t since = 0;      // kamino.v1.RequestId.since; of a session: 0
  bool in_session = false;
  // Client ids whose stored outcome it drops: the head's choice, made from idle
  // times that other nodes do not know.
  std::vector<uint64_t> dropped_clients;
  // How many numbers behind its own no mutation gets: the head's choice. Of the
  // last one of an entry, and no other, and part of the entry rather than of
  // it. Else 0.
  uint64_t skipped = 0;
};

// The same, of which the bytes are somebody else's.
struct MutationView {
  MutationView() = default;
  MutationView(const Mutation& of)  // NOLINT: as a string_view
      : function(of.function),
        arguments(of.arguments),
        client_id(of.client_id),
        number(of.number),
        since(of.since),
        in_session(of.in_session),
        dropped_clients(of.dropped_clients) {}
  Mutation Copy() const;  // whose bytes are its own

  absl::string_view function;
  absl::string_view arguments;
  uint64_t client_id = 0;
  uint64_t number = 0;
  uint64_t since = 0;
  bool in_session = false;
  std::vector<uint64_t> dropped_clients;
};

// An entry that was looked at. The bytes are not its own.
class LogEntry {
 public:
  // The bytes are one whole entry, of this version, undamaged, and no number in
  // it leads outside. kDataLoss: they are not; says why.
  static absl::StatusOr<LogEntry> Check(absl::string_view bytes);
  // The same, and it carries after-images if, and only if, that is a mode in
  // which entries do.
  static absl::StatusOr<LogEntry> Check(absl::string_view bytes,
                                        ChainMode mode);

  // The same of bytes that were checked before, when they had these numbers.
  static LogEntry Checked(absl::string_view bytes, uint64_t first,
                          uint64_t last);

  absl::string_view bytes() const { return bytes_; }
  uint64_t first() const { return header_.first; }
  // Those that are skipped behind the last mutation among them.
  uint64_t last() const {
    return header_.first + header_.count - 1 + header_.skipped;
  }
  uint32_t count() const { return header_.count; }
  uint64_t skipped() const { return header_.skipped; }
  uint64_t chain_id() const { return header_.chain_id; }
  uint64_t view_id() const { return header_.view_id; }
  uint64_t after_image_bytes() const { return header_.after_image_bytes; }
  // Of what the head's execution has left; 0: not told.
  uint64_t image_hash() const { return header_.image_hash; }

  // In order, until one returns an error, which is returned. kDataLoss: the
  // bytes are not as they were.
  absl::Status VisitMutations(
      absl::FunctionRef<absl::Status(const MutationView& mutation)> visit)
      const;
  absl::StatusOr<std::vector<MutationView>> Mutations() const;

  // Each object that the write set names, as often as it does, until its end or
  // an error. kDataLoss as above.
  absl::Status VisitWrittenObjects(
      absl::FunctionRef<void(engine::ObjectId object)> visit) const;

  // Whether all that the write set names is of a heap of that size.
  bool IsWithin(uint64_t heap_bytes) const;

  // An intent log in the sense of section 3: a node whose execution touches
  // anything else stops. kDataLoss as above.
  absl::StatusOr<engine::WriteSet> WriteSet() const;
  // The same, and engine::AfterImage::filled of the head's execution.
  struct Declared {
    engine::WriteSet write_set;
    std::vector<uint32_t> filled;
  };
  absl::StatusOr<Declared> ReadDeclared() const;

  // After-images: what the head's execution has left of each intent, in order.
  // Of an allocation less than its length may be there; the rest are zeros.
  // Only where entries carry them; kDataLoss also where this one does not.
  absl::Status VisitImages(
      absl::FunctionRef<absl::Status(const engine::Intent& intent,
                                     absl::string_view image)>
          visit) const;
  // AfterImage::hash of those. It is image_hash(), unless they are not what the
  // head has left, or that was not told.
  absl::StatusOr<uint64_t> HashImages() const;

 private:
  LogEntry(absl::string_view bytes, const log_entry_format::EntryHeader& header)
      : bytes_(bytes), header_(header) {}

  absl::Status CheckLengths() const;
  template <typename Visit>  // void(const log_entry_format::IntentRecord&)
  absl::Status VisitIntents(const Visit& visit) const;
  // Of after-images, so many bytes as fit the write set, without padding.
  absl::StatusOr<uint64_t> ImagesDue() const;
  absl::Status CheckImages() const;

  absl::string_view bytes_;
  log_entry_format::EntryHeader header_;
};

// What becomes an entry. Everything that it points to must outlive it.
struct LogEntryDraft {
  uint64_t first = 0;
  uint64_t chain_id = 0;
  uint64_t view_id = 0;
  uint64_t skipped = 0;  // Mutation::skipped of the last one
  absl::Span<const Mutation* const> mutations;
  const engine::WriteSet* write_set = nullptr;
  const engine::AfterImage* image = nullptr;  // null: not told
  // Where entries carry after-images: the bytes that an intent covers, which
  // are stored from where they lie. The same each time it is asked.
  using ImageOf =
      absl::FunctionRef<absl::string_view(const engine::Intent& intent)>;
  std::optional<ImageOf> image_of;

  uint32_t count() const { return static_cast<uint32_t>(mutations.size()); }
  uint64_t last() const { return first + mutations.size() - 1 + skipped; }
  // Of the entry. More than 4 GiB are no entry.
  uint64_t bytes() const;
  // Stores the entry's bytes there.
  void WriteTo(char* to) const;
  std::string ToString() const;

 private:
  // Of an allocation, `filled` of the `n`-th.
  uint32_t FilledOf(size_t n) const;
  // Of the after-images, without padding.
  uint64_t ImageBytes() const;
  char* PutImages(char* to) const;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOG_ENTRY_H_
