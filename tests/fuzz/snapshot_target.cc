// Files, and a tail's messages, that claim to be snapshots.
#include <cstring>
#include <string>
#include <vector>

#include "engine/pmem/sim_region.h"
#include "glog/logging.h"
#include "replica/state/snapshot_reader.h"
#include "replica/state/snapshot_writer.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace kamino::fuzz {
namespace {

using engine::SimRegion;
using engine::TrackedRegion;
using replica::SnapshotReader;
using replica::SnapshotScope;
using replica::snapshot_format::Header;
using replica::snapshot_format::Kind;
using replica::snapshot_format::kMaxDataBytes;
using replica::snapshot_format::Record;

constexpr size_t kPage = TrackedRegion::kPageBytes;
constexpr size_t kHeap = 8 * kPage;
constexpr SnapshotScope kScope = {.begin = kPage};

// Corrects every checksum, like a deliberate forgery.
std::string Forge(absl::string_view bytes) {
  std::string forged(bytes);
  if (forged.size() < sizeof(Header)) return forged;
  Header header;
  std::memcpy(&header, forged.data(), sizeof(header));
  uint64_t before = header.checksum = ChecksumOf(header);
  std::memcpy(forged.data(), &header, sizeof(header));
  size_t at = sizeof(Header);
  while (forged.size() - at >= sizeof(Record)) {
    Record record;
    std::memcpy(&record, &forged[at], sizeof(record));
    const bool has_data =
        record.kind == Kind::kData || record.kind == Kind::kBlocks;
    const auto data = absl::string_view(forged)
                          .substr(at + sizeof(Record))
                          .substr(0, has_data ? record.length : 0);
    record.data = replica::snapshot_format::ChecksumOf(data);
    before = record.checksum = ChecksumOf(before, record);
    std::memcpy(&forged[at], &record, sizeof(record));
    at += sizeof(Record) + data.size();
  }
  return forged;
}

struct Read {
  absl::Status status;
  std::string heap;
};

Read ReadIn(absl::string_view bytes, size_t piece, bool of_changes) {
  SimRegion region(kHeap);
  engine::BlockMap blocks(kHeap);
  SnapshotReader reader(&region, kScope, of_changes ? &blocks : nullptr);
  Read read;
  while (!bytes.empty() && read.status.ok()) {
    read.status = reader.Append(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    CHECK_LE(reader.bytes_kept(), kMaxDataBytes + sizeof(Record));
  }
  if (read.status.ok()) read.status = reader.Finish().status();
  CHECK(read.status.ok() || absl::IsDataLoss(read.status) ||
        absl::IsFailedPrecondition(read.status))
      << read.status;
  read.heap.assign(reinterpret_cast<const char*>(region.base()), kHeap);
  return read;
}

// However it is cut, the same comes of it; before its begin nothing is stored.
void Run(absl::string_view bytes) {
  Input input(bytes);
  const uint64_t how = input.Number(1);
  const bool forged = how % 2 == 1;
  const bool of_changes = how / 2 % 2 == 1;
  const size_t piece = 1 + input.Number(2) % (2 * kPage);
  const absl::string_view rest = input.Bytes(bytes.size());
  const std::string snapshot = forged ? Forge(rest) : std::string(rest);
  const Read whole = ReadIn(snapshot, SIZE_MAX, of_changes);
  const Read pieces = ReadIn(snapshot, piece, of_changes);
  CHECK(whole.status == pieces.status) << whole.status << pieces.status;
  CHECK(whole.heap == pieces.heap);
  CHECK(whole.heap.substr(0, kPage) == std::string(kPage, '\0'));
}

std::vector<std::string> Seeds() {
  TrackedRegion region(std::make_unique<SimRegion>(kHeap));
  std::vector<std::string> seeds;
  for (const char how : {0, 1}) {
    std::string seed = {how, 100, 0};
    replica::SnapshotWriter writer(&region, kScope, 3);
    region.CopyFlush(region.base() + 3 * kPage, "some", 4);
    replica::StringSink sink(&seed);
    CHECK(writer.Finish(4, &sink).ok());
    seeds.push_back(std::move(seed));
  }
  engine::PageSet changed(region.pages());
  changed.Add(3);
  engine::BlockChanges states(kHeap);
  states.Note(3 * kPage + 128, true);
  for (const char how : {2, 3}) {
    std::string seed = {how, 100, 0};
    replica::SnapshotWriter writer(&region, kScope, 3, changed, &states);
    replica::StringSink sink(&seed);
    CHECK(writer.Finish(4, &sink).ok());
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace

Target SnapshotTarget() { return {"snapshot", Run, Seeds, MutateBytes}; }

}  // namespace kamino::fuzz
