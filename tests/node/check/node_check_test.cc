// The check finds a fault where a node would refuse to start, and none where it
// would start.
#include "node/check/node_check.h"

#include <sys/stat.h>
#include <xxhash.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/index/index_format.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/undo_copy_format.h"
#include "engine/pmem/file_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "node/check/check_media.h"
#include "node/storage/device_format.h"
#include "node/storage/device_media.h"
#include "node/storage/file_media.h"
#include "node/storage/media_age.h"
#include "node/storage/stamp_format.h"
#include "node/storage/storage.h"
#include "replica/builtins.h"
#include "replica/log/node_record.h"
#include "replica/log/ring_format.h"
#include "replica/state/state_machine.h"
#include "tests/node/storage/tiny_storage.h"
#include "tests/replica/text_entry.h"

namespace kamino::node {
namespace {

using engine::CommitOptions;
using engine::FileRegion;
using engine::KaminoStore;
using engine::PmemMode;
using engine::WriteSet;
using membership::Condition;
using replica::NodeState;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Part = Media::Part;

constexpr size_t kDeviceBytes = 16 << 20;

class NodeCheckTest : public ::testing::Test {
 protected:
  NodeCheckTest() : folder_(absl::StrCat(::testing::TempDir(), "/check")) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  // A node's start; none runs at the time.
  absl::StatusOr<std::unique_ptr<Storage>> TryOpen() const {
    return Storage::Open(Tiny(),
                         *FileMedia::Open(folder_, PmemMode::kForce, false));
  }
  std::unique_ptr<Storage> Open() const {
    auto storage = TryOpen();
    EXPECT_TRUE(storage.ok()) << storage.status();
    return *std::move(storage);
  }
  bool Starts() const {
    const absl::Status status = TryOpen().status();
    EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status) ||
                absl::IsDataLoss(status) || absl::IsNotFound(status))
        << status;
    return status.ok();
  }

  std::string PathOf(Part part) const {
    return absl::StrCat(folder_, "/", FileMedia::FileName(part));
  }
  std::string device() const { return absl::StrCat(folder_, "/device"); }

  static std::unique_ptr<KaminoStore> OpenAsHead(Storage* storage) {
    auto store = *KaminoStore::Open(storage->heap(), *storage->NewUndoCopy());
    NodeState state = storage->record()->state();
    state.was_head = true;
    state.condition = Condition::kSound;
    storage->record()->Update(state);
    return store;
  }

  // A head that has committed that many mutations ends, and not in order.
  void EndAsHead(uint64_t mutations) const {
    auto storage = Open();
    auto store = OpenAsHead(storage.get());
    for (uint64_t i = 1; i <= mutations; ++i) {
      auto transaction = store->Begin(absl::ZeroDuration());
      auto id = transaction->Alloc(64);
      ASSERT_TRUE(id.ok()) << id.status();
      ASSERT_TRUE(transaction->Free(*id).ok());
      CommitOptions commit;
      commit.sequence = i;
      const auto append = [&](const WriteSet&) {
        return replica::AppendText(storage->ring(), "entry", 1);
      };
      commit.before_mark.emplace(append);
      ASSERT_TRUE(transaction->Commit(commit).ok());
      storage->ring()->MarkApplied(i);
      storage->ring()->PersistApplied();
    }
  }

  // Stores to a file of a node that does not run.
  static void Change(const std::string& path,
                     const std::function<void(engine::Region*)>& change) {
    auto region = *FileRegion::Open(path, PmemMode::kForce);
    change(region.get());
  }
  static void Flip(const std::string& path, size_t offset) {
    Change(path, [offset](engine::Region* region) {
      region->base()[offset] ^= std::byte{1};
    });
  }

  // "<part> at <offset>: <what>", without the folder.
  std::vector<std::string> Findings(const std::string& path) {
    auto media = CheckMedia::Open(path);
    EXPECT_TRUE(media.ok()) << media.status();
    std::vector<std::string> findings;
    if (!media.ok()) return findings;
    report_ = CheckNode(**media, [&](const CheckFinding& finding) {
      std::string region = finding.region;
      if (region.rfind(folder_ + "/", 0) == 0) {
        region = region.substr(folder_.size() + 1);
      }
      findings.push_back(
          absl::StrCat(region, " at ", finding.offset, ": ", finding.what));
    });
    EXPECT_EQ(report_.findings, findings.size());
    return findings;
  }
  std::vector<std::string> Findings() { return Findings(folder_); }

  const std::string folder_;
  CheckReport report_;
};

TEST_F(NodeCheckTest, NewFilesAreSound) {
  Open();
  EXPECT_THAT(Findings(), IsEmpty());
  EXPECT_EQ(report_.label, "c/1/n1");
  EXPECT_TRUE(Starts());
}

TEST_F(NodeCheckTest, ARunningNodeIsLeftAlone) {
  const auto storage = Open();
  const absl::Status status = CheckMedia::Open(folder_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("in use"));
}

TEST_F(NodeCheckTest, AFolderWithoutANodeIsRefused) {
  const absl::Status status = CheckMedia::Open(folder_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("has neither heap.pmem nor ring.pmem"));
}

// --- Ages.

TEST_F(NodeCheckTest, AnOldHeapIsFound) {
  Open();
  const std::string old = absl::StrCat(folder_, "/old");
  std::filesystem::copy(PathOf(Part::kHeap), old);
  Open();
  std::filesystem::rename(old, PathOf(Part::kHeap));
  EXPECT_THAT(Findings(),
              ElementsAre(HasSubstr(
                  "they were last opened as incarnations 1000 and 1001")));
  EXPECT_FALSE(Starts());
}

TEST_F(NodeCheckTest, AHeapThatIsBeingReceivedHasNoAge) {
  {
    auto storage = Open();
    storage->BeginReceiving();
  }
  Flip(PathOf(Part::kHeap), stamp_format::kStampOffset);
  EXPECT_THAT(Findings(),
              ElementsAre(HasSubstr("a state transfer into this heap was")));
  EXPECT_TRUE(Starts());
}

// --- The node's record.

TEST_F(NodeCheckTest, EachCopyOfTheNodeRecordIsChecked) {
  Open();
  Open();  // so that both versions are there
  for (int version = 0; version < 2; ++version) {
    for (int copy = 0; copy < 2; ++copy) {
      const size_t offset = replica::ring_format::kRecordOffsets[copy] +
                            static_cast<size_t>(version) *
                                sizeof(replica::ring_format::RecordLine);
      const size_t changed =
          offset + offsetof(replica::ring_format::RecordLine, view_id);
      Flip(PathOf(Part::kRing), changed);
      EXPECT_THAT(Findings(),
                  ElementsAre(absl::StrCat("ring.pmem at ", offset, ": copy ",
                                           copy, " of version ", version,
                                           " of the node's record has a wrong "
                                           "checksum")));
      Flip(PathOf(Part::kRing), changed);
    }
  }
  EXPECT_THAT(Findings(), IsEmpty());
}

// --- The undo copy.

TEST_F(NodeCheckTest, AHeadWithoutUndoCopyIsFound) {
  EndAsHead(1);
  EXPECT_THAT(Findings(), IsEmpty());
  std::filesystem::remove(PathOf(Part::kUndoCopy));
  EXPECT_THAT(Findings(),
              ElementsAre(HasSubstr("undo copy at 0: it is missing")));
  EXPECT_FALSE(Starts());
}

TEST_F(NodeCheckTest, ADamagedUndoCopyIsFoundWhereItIsNeeded) {
  EndAsHead(1);
  const size_t id =
      offsetof(engine::undo_copy_format::UndoCopyHeader, heap_uuid);
  Flip(PathOf(Part::kUndoCopy), id);
  EXPECT_THAT(Findings(), ElementsAre(HasSubstr("undo_copy.pmem at 0: ")));
  EXPECT_FALSE(Starts());
  Flip(PathOf(Part::kUndoCopy), id);
  EXPECT_THAT(Findings(), IsEmpty());
  std::filesystem::resize_file(PathOf(Part::kUndoCopy), 1024);
  EXPECT_THAT(Findings(),
              ElementsAre("undo_copy.pmem at 0: it has 1024 bytes"));
  EXPECT_FALSE(Starts());
}

TEST_F(NodeCheckTest, AnUnneededUndoCopyIsRecreated) {
  Open();
  std::filesystem::resize_file(PathOf(Part::kUndoCopy), 1024);
  EXPECT_THAT(Findings(), IsEmpty());
  EXPECT_TRUE(Starts());
  std::filesystem::remove(PathOf(Part::kUndoCopy));
  EXPECT_THAT(Findings(), IsEmpty());
  EXPECT_TRUE(Starts());
}

// Each of them is of the ring's age, and they are not of one.
TEST_F(NodeCheckTest, AnUndoCopyOfAnotherAgeThanTheHeapIsFound) {
  EndAsHead(3);
  EXPECT_THAT(Findings(), IsEmpty());
  const auto set = [this](Part part, uint64_t applied) {
    Change(PathOf(part), [applied](engine::Region* region) {
      MediaAge(region, "").mark()->Reset(applied);
    });
  };
  set(Part::kHeap, 3);
  set(Part::kUndoCopy, 2);
  EXPECT_THAT(Findings(),
              ElementsAre(HasSubstr("undo_copy.pmem is older than ")));
  EXPECT_FALSE(Starts());
}

// --- What a head executes.

// A head that formats the state, and puts one key twice. As the second put is
// about to be logged, `killed_` gets what the files are like then.
class HeadCheckTest : public NodeCheckTest {
 protected:
  HeadCheckTest() : killed_(folder_ + "-killed") {
    std::filesystem::remove_all(killed_);
    std::filesystem::create_directories(killed_);
  }

  static constexpr size_t kValueBytes = 100;

  void Kill() const { std::filesystem::copy(folder_, killed_); }

  void ExecuteAndBeKilled() {
    auto storage = Open();
    auto store = OpenAsHead(storage.get());
    replica::ProcedureRegistry registry;
    replica::StateMachine machine(&registry, storage->heap()->root());
    kamino::v1::PutRequest put;
    put.set_key("key");
    replica::Mutation mutation;
    mutation.function = replica::kFormatFunction;
    for (uint64_t i = 1; i <= 3; ++i) {
      auto transaction = store->Begin(absl::ZeroDuration());
      ASSERT_TRUE(machine.Execute(*transaction, mutation, i).ok());
      CommitOptions commit;
      commit.sequence = i;
      const auto append = [&](const WriteSet&) {
        if (i == 3) Kill();
        return replica::AppendText(storage->ring(), "entry", 1);
      };
      commit.before_mark.emplace(append);
      ASSERT_TRUE(transaction->Commit(commit).ok());
      machine.Ended(true);
      store->Quiesce();
      mutation.client_id = 7;
      mutation.number = i;
      put.set_value(std::string(kValueBytes, static_cast<char>('a' + i)));
      mutation.function = replica::kPutFunction;
      mutation.arguments = put.SerializeAsString();
    }
  }

  const std::string killed_;
};

TEST_F(HeadCheckTest, AnInterruptedTransactionIsNoFinding) {
  ExecuteAndBeKilled();
  EXPECT_THAT(Findings(killed_), IsEmpty());
  EXPECT_GT(report_.interrupted, 0u);
  EXPECT_EQ(report_.received, 2u);
  EXPECT_EQ(report_.objects, 1u);
}

// However lately the head has written it.
TEST_F(HeadCheckTest, AVersionThatNoEntryCanHaveIsFound) {
  ExecuteAndBeKilled();
  const auto set = [this](uint64_t from, uint64_t to) {
    Change(killed_ + "/heap.pmem", [from, to](engine::Region* region) {
      const absl::string_view all(reinterpret_cast<const char*>(region->base()),
                                  region->size());
      const size_t value = all.find(std::string(kValueBytes, 'c'));
      ASSERT_NE(value, absl::string_view::npos);
      std::byte* const version =
          region->base() + value - sizeof(engine::index_format::RecordHeader);
      ASSERT_EQ(std::memcmp(version, &from, sizeof(from)), 0);
      std::memcpy(version, &to, sizeof(to));
    });
  };
  set(3, 2 + 64);
  EXPECT_THAT(Findings(killed_), IsEmpty());
  set(2 + 64, 2 + 65);
  EXPECT_THAT(Findings(killed_),
              ElementsAre(HasSubstr("an object has version 67, but the node's "
                                    "ring ends at mutation 2")));
}

TEST_F(HeadCheckTest, ANewerVersionAtAReplicaIsFound) {
  ExecuteAndBeKilled();
  Change(killed_ + "/ring.pmem", [](engine::Region* region) {
    replica::NodeRecord record(region);
    ASSERT_TRUE(record.Open().ok());
    NodeState state = record.state();
    state.was_head = false;
    record.Update(state);
  });
  EXPECT_THAT(Findings(killed_),
              Contains(HasSubstr("an object has version 3, but the node's ring "
                                 "ends at mutation 2")));
}

// --- A device.

class DeviceCheckTest : public NodeCheckTest {
 protected:
  DeviceCheckTest() {
    std::ofstream(device()).close();
    std::filesystem::resize_file(device(), kDeviceBytes);
    EXPECT_TRUE(Storage::Open(Tiny(), *DeviceMedia::Open(
                                          device(), PmemMode::kForce, false))
                    .ok());
  }
  void ChangeDirectory(
      size_t copy,
      const std::function<void(device_format::Directory*)>& change) {
    Change(device(), [copy, &change](engine::Region* region) {
      change(reinterpret_cast<device_format::Directory*>(
          region->base() + copy * device_format::kCopyBytes));
    });
  }
};

TEST_F(DeviceCheckTest, ANewDeviceIsSound) {
  EXPECT_THAT(Findings(device()), IsEmpty());
  EXPECT_EQ(report_.label, "c/1/n1");
}

TEST_F(DeviceCheckTest, BothCopiesOfTheDirectoryAreChecked) {
  for (size_t copy = 0; copy < device_format::kCopies; ++copy) {
    const auto flip = [](device_format::Directory* directory) {
      directory->sequence ^= 1 << 20;
    };
    ChangeDirectory(copy, flip);
    EXPECT_THAT(
        Findings(device()),
        ElementsAre(absl::StrCat("device at 0: copy ", copy,
                                 " of the device's directory is damaged")));
    ChangeDirectory(copy, flip);
  }
  for (size_t copy = 0; copy < device_format::kCopies; ++copy) {
    ChangeDirectory(copy, [](device_format::Directory* directory) {
      directory->version = 2;
    });
  }
  const absl::Status status = CheckMedia::Open(device()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("both copies of its directory are damaged"));
}

TEST_F(DeviceCheckTest, AnExtentMustLieInTheDevice) {
  for (size_t copy = 0; copy < device_format::kCopies; ++copy) {
    ChangeDirectory(copy, [](device_format::Directory* directory) {
      for (device_format::Slot& slot : directory->slots) {
        if (std::strcmp(slot.name, "heap") == 0) slot.length = kDeviceBytes;
      }
      directory->checksum =
          XXH3_64bits(directory, offsetof(device_format::Directory, checksum));
    });
  }
  EXPECT_THAT(Findings(device()),
              ElementsAre(HasSubstr("the extent of heap lies outside"),
                          HasSubstr("heap at 0: it is missing")));
}

// Opening a pipe would block until a writer opens it.
TEST_F(NodeCheckTest, APipeIsRefused) {
  const std::string pipe = absl::StrCat(folder_, "/heap.pmem");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {folder_, pipe}) {
    const auto media = CheckMedia::Open(path);
    EXPECT_TRUE(absl::IsFailedPrecondition(media.status())) << media.status();
    EXPECT_THAT(media.status().message(),
                HasSubstr("neither a file nor a device"));
  }
}

}  // namespace
}  // namespace kamino::node
