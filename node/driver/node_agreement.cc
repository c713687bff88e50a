#include "node/driver/node_agreement.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_format.h"
#include "replica/builtins.h"
#include "replica/log_entry_format.h"
#include "replica/ring_format.h"
#include "replica/snapshot_format.h"
#include "replica/state_format.h"

namespace kamino::node {
namespace {

// In front of a log entry: replica/chain_frame.h, with an Append in it.
constexpr size_t kEnvelopeBytes = 256;

std::string Megabytes(size_t bytes) {
  constexpr size_t kMegabyte = 1u << 20;
  if (bytes % kMegabyte == 0) return absl::StrCat(bytes / kMegabyte);
  return absl::StrCat(
      bytes / kMegabyte, ".",
      absl::Dec(bytes % kMegabyte * 1000 / kMegabyte, absl::kZeroPad3));
}

}  // namespace

membership::Agreement AgreementOf(const Storage& storage,
                                  const replica::ProcedureRegistry& procedures,
                                  size_t max_message) {
  membership::Agreement agreement;
  agreement["ring_mb"] = Megabytes(storage.ring_bytes());
  agreement["largest message"] = absl::StrCat(max_message);
  agreement["heap format"] = absl::StrCat(engine::heap_format::kHeapVersion);
  agreement["ring format"] = absl::StrCat(replica::ring_format::kRingVersion);
  agreement["log entry format"] =
      absl::StrCat(replica::log_entry_format::kEntryVersion);
  agreement["state format"] =
      absl::StrCat(absl::Hex(replica::state_format::kStateMagic));
  agreement["snapshot format"] =
      absl::StrCat(replica::snapshot_format::kVersion);
  agreement["built-in functions' version"] =
      absl::StrCat(replica::kBuiltinsVersion);
  for (const std::string& name : procedures.Names()) {
    agreement[absl::StrCat("procedure ", name)] = "there";
  }
  return agreement;
}

size_t MaxEntryBytes(size_t max_message) {
  return max_message > kEnvelopeBytes ? max_message - kEnvelopeBytes : 1;
}

}  // namespace kamino::node
