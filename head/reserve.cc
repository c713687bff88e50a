#include "head/reserve.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/errors.h"
#include "replica/state/restore.h"
#include "replica/state/state_machine.h"

namespace kamino::head {
namespace {

constexpr uint64_t kShare = 32;
constexpr uint64_t kSmallShare = 16;
constexpr uint64_t kSmallBytes = 32u << 10;
constexpr uint64_t kMostBytes = 1u << 20;
constexpr uint64_t kPageBytes = 4096;
// While the reserve lacks pages, requests that take room must leave this many
// times its size free, so that they do not fill the small pieces that would
// merge to pages again.
constexpr uint64_t kPartsWhileBroken = 4;

// A request that frees this many bytes makes up for its stored outcome: a block
// of 128 bytes and its share of the index pages.
constexpr uint64_t kPaysForOutcome = 256;

kamino::internal::v1::OpenSession SessionIn(const replica::Mutation& mutation) {
  kamino::internal::v1::OpenSession wanted;
  CHECK(wanted.ParseFromString(mutation.arguments));
  return wanted;
}

// Names the limit that refuses a request which would leave `left` of `of`
// bytes.
std::string WhyFull(RoomUse use, uint64_t left, const std::string& of,
                    uint64_t kept) {
  const uint64_t least = use == RoomUse::kFrees     ? kept / 4
                         : use == RoomUse::kSettles ? kept / 2
                                                    : kPartsWhileBroken * kept;
  return absl::StrCat("this request would leave ", left, " of ", of,
                      " bytes; a request that ",
                      use == RoomUse::kFrees     ? "frees little room"
                      : use == RoomUse::kSettles ? "takes no room for objects"
                                                 : "takes room",
                      " must leave ", least);
}

}  // namespace

uint64_t ReserveBytes(uint64_t bytes_total) {
  const uint64_t small = std::min(kSmallBytes, bytes_total / kSmallShare);
  const uint64_t wanted = std::max(small, bytes_total / kShare);
  return std::min(kMostBytes, wanted) / kPageBytes * kPageBytes;
}

bool OpensSession(const replica::Mutation& mutation) {
  return mutation.client_id == 0 &&
         mutation.function == replica::kOpenSessionFunction;
}

bool BringsBackup(const replica::Mutation& mutation) {
  return mutation.client_id == 0 &&
         mutation.function == replica::kRestoreFunction;
}

RoomUse RoomUseOf(const replica::Mutation& mutation,
                  const replica::RoomTaken& room, size_t result_bytes) {
  if (OpensSession(mutation)) {
    return SessionIn(mutation).window() <= kNarrowWindow ? RoomUse::kSettles
                                                         : RoomUse::kTakes;
  }
  if (BringsBackup(mutation)) return RoomUse::kTakes;
  if (mutation.client_id == 0) return RoomUse::kPaysBack;
  const uint64_t taken = room.allocated + result_bytes;
  if (room.freed >= taken + kPaysForOutcome) return RoomUse::kPaysBack;
  if (room.freed > taken) return RoomUse::kFrees;
  return room.wrote || taken > 0 ? RoomUse::kTakes : RoomUse::kSettles;
}

bool MayLeave(RoomUse use, uint64_t left, uint64_t kept) {
  switch (use) {
    case RoomUse::kPaysBack:
      return true;
    case RoomUse::kFrees:
      return left >= kept / 4;
    case RoomUse::kSettles:
      return left >= kept / 2;
    case RoomUse::kTakes:
      return false;
  }
  return false;
}

HeapRoom RoomOf(const engine::Heap& heap) {
  const engine::HeapReserve reserve = heap.reserve();
  const engine::HeapStats stats = heap.stats();
  HeapRoom room;
  room.free = stats.bytes_total - stats.bytes_used;
  room.reserve = reserve.bytes_kept;
  room.reserve_whole = std::min(reserve.bytes_kept, reserve.bytes_whole);
  room.is_full = reserve.bytes_whole < reserve.bytes_kept + kPageBytes;
  return room;
}

absl::Status CheckReserve(const engine::Heap& heap,
                          const replica::Mutation& mutation,
                          const replica::RoomTaken& room, size_t result_bytes,
                          const engine::HeapReserve& before) {
  const engine::HeapReserve reserve = heap.reserve();
  const bool is_cut = reserve.cuts != before.cuts;
  if (!is_cut && reserve.bytes_whole >= reserve.bytes_kept) {
    return absl::OkStatus();
  }
  const engine::HeapStats stats = heap.stats();
  const uint64_t free = stats.bytes_total - stats.bytes_used;
  if (!is_cut && (room.allocated <= room.freed ||
                  free >= kPartsWhileBroken * reserve.bytes_kept)) {
    return absl::OkStatus();
  }
  // A reserve in small pieces counts all free space, unless the request took a
  // page.
  const uint64_t left =
      reserve.bytes_whole < before.bytes_whole ? reserve.bytes_whole : free;
  const RoomUse use = RoomUseOf(mutation, room, result_bytes);
  if (MayLeave(use, left, reserve.bytes_kept)) return absl::OkStatus();
  const std::string last = absl::StrCat("the last ", reserve.bytes_kept);
  const bool takes_pages = is_cut || left != free;
  return replica::MakeError(
      kamino::v1::REASON_HEAP_FULL,
      absl::StrCat(
          "the heap is full: ",
          use == RoomUse::kTakes && takes_pages
              ? absl::StrCat("this request would take pages of ", last,
                             " bytes, which are kept for requests "
                             "that free room")
              : WhyFull(use, left,
                        left == free ? absl::StrCat(stats.bytes_total) : last,
                        reserve.bytes_kept),
          "; ",
          BringsBackup(mutation) ? "restore into a cluster with larger heaps"
                                 : "delete something"));
}

void NarrowWindow(replica::Mutation* mutation) {
  kamino::internal::v1::OpenSession wanted = SessionIn(*mutation);
  wanted.set_window(std::min(wanted.window(), kNarrowWindow));
  mutation->arguments = wanted.SerializeAsString();
}

}  // namespace kamino::head
