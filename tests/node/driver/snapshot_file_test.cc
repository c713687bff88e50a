// A snapshot of a chain that serves, into a file, and a fresh node's heap from
// it.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "node/storage/storage_copy.h"
#include "replica/state/snapshot_reader.h"
#include "replica/state/snapshot_writer.h"
#include "tests/node/driver/chain_rig.h"
#include "tests/node/storage/sim_media.h"

namespace kamino::node {
namespace {

using replica::SnapshotReader;
using replica::SnapshotScope;
using replica::SnapshotWriter;

class FileSink final : public replica::ByteSink {
 public:
  explicit FileSink(const std::string& path) : file_(path, std::ios::binary) {}

  absl::Status Append(absl::string_view bytes) override {
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file_.flush();
    if (file_) return absl::OkStatus();
    return absl::ResourceExhaustedError("cannot write");
  }

 private:
  std::ofstream file_;
};

class SnapshotFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rig_.StartAll();
    rig_.InstallView({"n1", "n2", "n3"});
    rig_.Settle(3);
    for (int i = 0; i < 12; ++i) {
      Submit(Put(absl::StrCat("zeros", i), std::string(8192, '\0')));
      Submit(Put(absl::StrCat("bytes", i), std::string(6000, 'a' + i)));
      rig_.Settle(1);
    }
    rig_.Settle();
  }

  void Submit(const kamino::v1::Operation& operation) {
    rig_.Submit(++client_, {operation});
  }

  // Writes a snapshot of the tail, while operations go on after every record.
  void Write() {
    Storage& tail = rig_.storage("n3");
    SnapshotWriter writer(tail.heap_region(), Scope(tail),
                          tail.ring()->applied(),
                          tail.heap()->UnusedRanges(64 << 10));
    FileSink file(path_);
    const size_t first = writer.BytesLeft();
    size_t written = 0;
    for (int i = 0; writer.BytesLeft() > 0 && i < 200; ++i) {
      auto record = writer.WriteRecord(&file);
      ASSERT_TRUE(record.ok()) << record.status();
      written += *record;
      if (i >= 40) continue;
      if (i % 4 == 0) Submit(Delete(absl::StrCat("zeros", i / 4)));
      if (i % 4 == 1)
        Submit(Put(absl::StrCat("new", i), std::string(900, 'n')));
      if (i % 4 == 2) Submit(Patch(absl::StrCat("bytes", i / 4), 9, "patched"));
      rig_.Settle(1);
    }
    EXPECT_GT(written, first);  // some more than once
    rig_.Settle();
    sequence_ = rig_.ring("n3").applied();
    ASSERT_TRUE(writer.Finish(sequence_, &file).ok());
  }

  static SnapshotScope Scope(Storage& storage) {
    return {.begin = storage.heap()->objects_begin()};
  }

  std::unique_ptr<Storage> NewStorage(SimDisk* disk) {
    StorageOptions options = rig_.storage("n3").options();
    options.node_id = "restored";
    return *Storage::Open(options, std::make_unique<SimMedia>(disk));
  }

  ChainRig rig_;
  uint64_t client_ = 0;
  uint64_t sequence_ = 0;
  const std::string path_ =
      absl::StrCat(std::getenv("TEST_TMPDIR"), "/snapshot");
};

TEST_F(SnapshotFileTest, ASnapshotMakesAFreshHeap) {
  ASSERT_NO_FATAL_FAILURE(Write());
  ASSERT_EQ(rig_.Difference(), "");
  // The snapshot has no later operations.
  const ChainRig::Contents expected = rig_.Expected();
  Submit(Put("later", "x"));
  rig_.Settle();

  SimDisk disk;
  std::unique_ptr<Storage> storage = NewStorage(&disk);
  storage->BeginReceiving();
  SnapshotReader reader(storage->heap_region(), Scope(*storage));
  std::ifstream file(path_, std::ios::binary);
  char piece[1000];
  while (file.read(piece, sizeof(piece)), file.gcount() > 0) {
    const absl::Status taken =
        reader.Append({piece, static_cast<size_t>(file.gcount())});
    ASSERT_TRUE(taken.ok()) << taken;
  }
  const auto sequence = reader.Finish();
  ASSERT_TRUE(sequence.ok()) << sequence.status();
  EXPECT_EQ(*sequence, sequence_);
  ASSERT_TRUE(storage->FinishReceiving(*sequence).ok());
  EXPECT_EQ(storage->ring()->applied(), sequence_);

  // Durable at once.
  storage.reset();
  disk.Crash(/*seed=*/1);
  storage = NewStorage(&disk);
  const auto contents = rig_.ReadAll(storage->heap());
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(*contents, expected);
}

// Half of one is no heap, whatever is done with it.
TEST_F(SnapshotFileTest, ATruncatedFileLeavesNoHeap) {
  ASSERT_NO_FATAL_FAILURE(Write());
  std::ifstream file(path_, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  SimDisk disk;
  std::unique_ptr<Storage> storage = NewStorage(&disk);
  storage->BeginReceiving();
  SnapshotReader reader(storage->heap_region(), Scope(*storage));
  ASSERT_TRUE(reader.Append(bytes.substr(0, bytes.size() - 1)).ok());
  EXPECT_TRUE(absl::IsDataLoss(reader.Finish().status()));
  storage.reset();
  storage = NewStorage(&disk);
  EXPECT_EQ(storage->record()->state().condition,
            membership::Condition::kReceiving);
}

TEST_F(SnapshotFileTest, ASnapshotNamesItsChain) {
  SimDisk disk;
  StorageOptions options = rig_.storage("n3").options();
  options.chain_id = 2;
  const auto storage =
      *Storage::Open(options, std::make_unique<SimMedia>(&disk));
  StorageCopy copy(
      storage.get(), [] {}, [] {});
  copy.BeginSending(0);
  std::string chunk;
  EXPECT_GT(copy.NextChunk(&chunk), 0u);
  replica::snapshot_format::Header header;
  ASSERT_GE(chunk.size(), sizeof(header));
  std::memcpy(&header, chunk.data(), sizeof(header));
  EXPECT_EQ(header.chain_id, 2u);
  // Thus a node of another chain refuses it.
  StorageCopy other(
      &rig_.storage("n3"), [] {}, [] {});
  other.BeginReceiving();
  EXPECT_TRUE(absl::IsFailedPrecondition(other.Take(chunk).status()));
}

// The end goes as one chunk, which has a bound.
TEST_F(SnapshotFileTest, ACopyEndsOnlyWhenNothingIsLeft) {
  SimDisk disk;
  const std::unique_ptr<Storage> storage = NewStorage(&disk);
  StorageCopy copy(
      storage.get(), [] {}, [] {});
  copy.BeginSending(0);
  std::string chunk;
  EXPECT_DEATH(copy.FinishSending(0, &chunk), "BytesLeft");
  while (copy.NextChunk(&chunk) > 0) chunk.clear();
  chunk.clear();
  copy.FinishSending(0, &chunk);
  EXPECT_EQ(chunk.size(), sizeof(replica::snapshot_format::Record));
}

}  // namespace
}  // namespace kamino::node
