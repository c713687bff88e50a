#include "client/cli/heap_line.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "client/cli/table.h"

namespace kamino::client {

std::string HeapLine(const kamino::v1::GetNodeStatusResponse& status) {
  if (!status.has_heap_room()) return "";
  const kamino::v1::HeapRoomStatus& room = status.heap_room();
  const uint64_t kept =
      std::min<uint64_t>(room.free_bytes(), room.reserve_bytes());
  std::string line = absl::StrCat(
      "heap of ", status.node_id(), ": ", room.full() ? "full, " : "",
      FormatBytes(room.free_bytes()), " free, ", FormatBytes(kept),
      " of it the reserve for requests that free room");
  if (room.reserve_free_bytes() < room.reserve_bytes()) {
    absl::StrAppend(&line, " (", FormatBytes(room.reserve_free_bytes()), " of ",
                    FormatBytes(room.reserve_bytes()), " in whole pages)");
  }
  if (room.full()) {
    absl::StrAppend(&line,
                    "; writes that take room are refused: delete something "
                    "(docs/operate/operations.md, A full heap)");
  }
  return line + "\n";
}

}  // namespace kamino::client
