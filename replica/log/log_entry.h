// Log entries: mutations that the head has executed as one batch and every
// other node executes again. The head makes an entry once; after that it is
// read in place, and copied as bytes.
//
// LogEntry::Check validates bytes from a peer or a medium before any use.
// Layout: replica/log/log_entry_format.h.
#ifndef KAMINO_REPLICA_LOG_LOG_ENTRY_H_
#define KAMINO_REPLICA_LOG_LOG_ENTRY_H_

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
#include "replica/log/log_entry_format.h"

namespace kamino::replica {

// One client's request at the head, before it is in an entry.
struct Mutation {
  std::string function;  // a built-in ("kv.put", ...) or a procedure
  std::string arguments;
  uint64_t client_id = 0;  // the session's id for a session's request
  uint64_t number = 0;     // a session's own number there (session_format.h)
  uint64_t since = 0;      // kamino.v1.RequestId.since; 0 for a session
  bool in_session = false;
  // Client ids whose stored outcomes it drops. The head chooses them by idle
  // times, which other nodes do not know.
  std::vector<uint64_t> dropped_clients;
  // How many numbers after its own stay unused; the head chooses it. Only the
  // last mutation of an entry has it; it belongs to the entry. Else 0.
  uint64_t skipped = 0;
};

// The same, as a view of bytes that it does not own.
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
  Mutation Copy() const;  // owns its bytes

  absl::string_view function;
  absl::string_view arguments;
  uint64_t client_id = 0;
  uint64_t number = 0;
  uint64_t since = 0;
  bool in_session = false;
  std::vector<uint64_t> dropped_clients;
};

// A checked entry. It does not own the bytes.
class LogEntry {
 public:
  // Checks that the bytes are one whole entry, of this version, undamaged, and
  // that no number in it points outside. kDataLoss: they are not; says why.
  static absl::StatusOr<LogEntry> Check(absl::string_view bytes);
  // The same, and that it carries after-images if and only if the mode requires
  // them.
  static absl::StatusOr<LogEntry> Check(absl::string_view bytes,
                                        ChainMode mode);

  // The same for bytes that were checked before, with these numbers.
  static LogEntry Checked(absl::string_view bytes, uint64_t first,
                          uint64_t last);

  absl::string_view bytes() const { return bytes_; }
  uint64_t first() const { return header_.first; }
  // Including numbers skipped after the last mutation.
  uint64_t last() const {
    return header_.first + header_.count - 1 + header_.skipped;
  }
  uint32_t count() const { return header_.count; }
  uint64_t skipped() const { return header_.skipped; }
  uint64_t chain_id() const { return header_.chain_id; }
  uint64_t view_id() const { return header_.view_id; }
  uint64_t after_image_bytes() const { return header_.after_image_bytes; }
  // The hash of the head's result; 0: unknown.
  uint64_t image_hash() const { return header_.image_hash; }

  // Visits in order until one returns an error, and returns that. kDataLoss:
  // the bytes have changed.
  absl::Status VisitMutations(
      absl::FunctionRef<absl::Status(const MutationView& mutation)> visit)
      const;
  absl::StatusOr<std::vector<MutationView>> Mutations() const;

  // Visits each object of the write set, as often as it is named, until the end
  // or an error. kDataLoss as above.
  absl::Status VisitWrittenObjects(
      absl::FunctionRef<void(engine::ObjectId object)> visit) const;

  // Whether the whole write set lies within a heap of that size.
  bool IsWithin(uint64_t heap_bytes) const;

  // An intent log in the sense of section 3: a node whose execution touches
  // anything else stops. kDataLoss as above.
  absl::StatusOr<engine::WriteSet> WriteSet() const;
  // The same, with engine::AfterImage::filled of the head's execution.
  struct Declared {
    engine::WriteSet write_set;
    std::vector<uint32_t> filled;
  };
  absl::StatusOr<Declared> ReadDeclared() const;

  // After-images: the head's result for each intent, in order. For an
  // allocation there may be fewer bytes than its length; the rest are zeros.
  // Only in modes in which entries carry them; kDataLoss also if this one does
  // not.
  absl::Status VisitImages(
      absl::FunctionRef<absl::Status(const engine::Intent& intent,
                                     absl::string_view image)>
          visit) const;
  // AfterImage::hash of those. Equal to image_hash(), unless the images are not
  // the head's result or the hash is unknown.
  absl::StatusOr<uint64_t> HashImages() const;

 private:
  LogEntry(absl::string_view bytes, const log_entry_format::EntryHeader& header)
      : bytes_(bytes), header_(header) {}

  absl::Status CheckLengths() const;
  template <typename Visit>  // void(const log_entry_format::IntentRecord&)
  absl::Status VisitIntents(const Visit& visit) const;
  // Bytes of after-images that the write set requires, without padding.
  absl::StatusOr<uint64_t> ImagesDue() const;
  absl::Status CheckImages() const;

  absl::string_view bytes_;
  log_entry_format::EntryHeader header_;
};

// The parts of a future entry. Everything that it points to must outlive it.
struct LogEntryDraft {
  uint64_t first = 0;
  uint64_t chain_id = 0;
  uint64_t view_id = 0;
  uint64_t skipped = 0;  // Mutation::skipped of the last one
  absl::Span<const Mutation* const> mutations;
  const engine::WriteSet* write_set = nullptr;
  const engine::AfterImage* image = nullptr;  // null: unknown
  // If entries carry after-images: the bytes that an intent covers, which are
  // copied from their place. Returns the same at each call.
  using ImageOf =
      absl::FunctionRef<absl::string_view(const engine::Intent& intent)>;
  std::optional<ImageOf> image_of;

  uint32_t count() const { return static_cast<uint32_t>(mutations.size()); }
  uint64_t last() const { return first + mutations.size() - 1 + skipped; }
  // Size of the entry. More than 4 GiB cannot be an entry.
  uint64_t bytes() const;
  // Stores the entry's bytes there.
  void WriteTo(char* to) const;
  std::string ToString() const;

 private:
  // For the `n`-th intent, if it is an allocation: its `filled`.
  uint32_t FilledOf(size_t n) const;
  // Bytes of the after-images, without padding.
  uint64_t ImageBytes() const;
  char* PutImages(char* to) const;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOG_LOG_ENTRY_H_
