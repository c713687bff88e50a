#include "replica/log/log_entry.h"

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kamino/checksum.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/replica/change_entry.h"

namespace kamino::replica {
namespace {

using engine::IntentKind;
using log_entry_format::EntryHeader;
using log_entry_format::IntentRecord;
using log_entry_format::MutationHeader;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two mutations, the second of which drops two clients and belongs to a
// session, and three intents.
struct Sample {
  Sample() {
    put.function = "kv.put";
    put.arguments = std::string("a value\0of bytes", 16);
    put.client_id = 0x1122334455667788;
    put.number = 9;
    put.since = 4;
    call.function = "bank.transfer";
    call.arguments = "from to 5";
    call.client_id = 7;
    call.number = 1;
    call.in_session = true;
    call.dropped_clients = {70, 71};
  }
  std::string Entry() const {
    const std::vector<const Mutation*> mutations = {&put, &call};
    LogEntryDraft draft;
    draft.first = 41;
    draft.chain_id = 1;
    draft.view_id = 3;
    draft.mutations = mutations;
    draft.write_set = &write_set;
    draft.image = &image;
    return draft.ToString();
  }

  Mutation put;
  Mutation call;
  engine::WriteSet write_set = {{4096, 16, 100, IntentKind::kWrite},
                                {8192, 0, 192, IntentKind::kAlloc},
                                {640, 0, 64, IntentKind::kFree}};
  engine::AfterImage image = {0x123456789abcdef0, {150}};
};

TEST(LogEntryTest, ReturnsAllFields) {
  const Sample sample;
  const std::string bytes = sample.Entry();
  const auto entry = LogEntry::Check(bytes);
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->first(), 41u);
  EXPECT_EQ(entry->last(), 42u);
  EXPECT_EQ(entry->count(), 2u);
  EXPECT_EQ(entry->chain_id(), 1u);
  EXPECT_EQ(entry->view_id(), 3u);
  const auto mutations = entry->Mutations();
  ASSERT_TRUE(mutations.ok()) << mutations.status();
  ASSERT_EQ(mutations->size(), 2u);
  const MutationView& put = (*mutations)[0];
  EXPECT_EQ(put.function, "kv.put");
  EXPECT_EQ(put.arguments, sample.put.arguments);
  EXPECT_EQ(put.client_id, sample.put.client_id);
  EXPECT_EQ(put.number, 9u);
  EXPECT_EQ(put.since, 4u);
  EXPECT_FALSE(put.in_session);
  EXPECT_TRUE(put.dropped_clients.empty());
  EXPECT_EQ((*mutations)[1].function, "bank.transfer");
  EXPECT_TRUE((*mutations)[1].in_session);
  EXPECT_THAT((*mutations)[1].dropped_clients, ElementsAre(70, 71));
  EXPECT_EQ(*entry->WriteSet(), sample.write_set);
  EXPECT_EQ(entry->image_hash(), 0x123456789abcdef0);
  EXPECT_THAT(entry->ReadDeclared()->filled, ElementsAre(150));
}

TEST(LogEntryTest, ACopyEncodesTheSame) {
  const Sample sample;
  const std::string bytes = sample.Entry();
  const auto mutations = LogEntry::Check(bytes)->Mutations();
  ASSERT_TRUE(mutations.ok()) << mutations.status();
  Sample copied;
  copied.put = (*mutations)[0].Copy();
  copied.call = (*mutations)[1].Copy();
  EXPECT_EQ(copied.Entry(), bytes);
}

TEST(LogEntryTest, RefusesAFillBeyondTheObject) {
  Sample sample;
  sample.image.filled = {193};
  const std::string bytes = sample.Entry();
  EXPECT_TRUE(absl::IsDataLoss(LogEntry::Check(bytes).status()));
}

// The page's worked example.
TEST(LogEntryTest, MatchesTheDocumentedLayout) {
  Mutation put;
  put.function = "kv.put";
  put.arguments = "abc";
  put.client_id = 7;
  put.number = 1;
  const std::vector<const Mutation*> mutations = {&put};
  const engine::WriteSet write_set = {{4096, 0, 19, IntentKind::kWrite}};
  LogEntryDraft draft;
  draft.first = 2;
  draft.chain_id = 1;
  draft.view_id = 3;
  draft.mutations = mutations;
  draft.write_set = &write_set;
  const engine::AfterImage image = {0xa5, {}};
  draft.image = &image;
  std::string expected;
  const auto add = [&expected](uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      expected.push_back(static_cast<char>(number >> (8 * i)));
    }
  };
  add(0x5952544e, 4);
  add(2, 2);
  add(128, 2);
  add(128 + 56 + 24, 4);  // length
  add(1, 4);              // count
  add(2, 8);              // first
  add(1, 8);              // chain
  add(3, 8);              // view
  add(0, 8);
  add(0xa5, 8);  // image hash
  add(56, 4);
  add(1, 4);
  add(0, 4);
  add(0, 4);
  expected.append(48, '\0');
  add(7, 8);
  add(1, 8);
  add(0, 8);
  add(3, 4);
  add(0, 4);
  add(6, 2);
  add(0, 2);  // flags
  add(0, 4);
  expected += "kv.putabc";
  expected.append(7, '\0');
  add(4096, 8);
  add(0, 4);
  add(19, 4);
  add(1, 8);
  EXPECT_EQ(draft.ToString().substr(8), expected);
}

TEST(LogEntryTest, EveryBitCounts) {
  const std::string entry = Sample().Entry();
  for (size_t bit = 0; bit < 8 * entry.size(); ++bit) {
    std::string damaged = entry;
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(LogEntry::Check(damaged).status())) << bit;
  }
}

TEST(LogEntryTest, MissingOrTrailingBytesAreRefused) {
  const std::string entry = Sample().Entry();
  for (size_t length = 0; length < entry.size(); ++length) {
    std::string cut = entry.substr(0, length);
    EXPECT_TRUE(absl::IsDataLoss(LogEntry::Check(cut).status())) << length;
    // Nor when its length is corrected.
    FixLength(&cut);
    EXPECT_TRUE(absl::IsDataLoss(LogEntry::Check(cut).status())) << length;
  }
  for (size_t more = 1; more < 300; ++more) {
    std::string longer = entry + std::string(more, '\0');
    EXPECT_TRUE(absl::IsDataLoss(LogEntry::Check(longer).status())) << more;
    FixLength(&longer);
    EXPECT_TRUE(absl::IsDataLoss(LogEntry::Check(longer).status())) << more;
  }
}

std::string Refusal(const std::function<void(EntryHeader*)>& change) {
  std::string entry = Sample().Entry();
  ChangeHeader(&entry, change);
  const absl::Status status = LogEntry::Check(entry).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  return std::string(status.message());
}

TEST(LogEntryTest, WrongHeaderFieldsAreRefused) {
  EXPECT_THAT(Refusal([](auto* h) { h->magic = 0; }),
              HasSubstr("wrong magic number"));
  EXPECT_THAT(Refusal([](auto* h) { h->version = 1; }),
              HasSubstr("format version 1; this program reads version 2"));
  EXPECT_THAT(Refusal([](auto* h) { h->header_bytes = 120; }),
              HasSubstr("unknown kind"));
  EXPECT_THAT(Refusal([](auto* h) { h->flags = 1; }),
              HasSubstr("unknown kind"));
  EXPECT_THAT(Refusal([](auto* h) { h->count = 0; }), HasSubstr("0 mutations"));
  EXPECT_THAT(Refusal([](auto* h) { h->first = 0; }), HasSubstr("number 0"));
  EXPECT_THAT(Refusal([](auto* h) { h->first = ~uint64_t{0} - 1; }),
              HasSubstr("mutations from number"));
  EXPECT_THAT(Refusal([](auto* h) { h->count = 1; }),
              HasSubstr("behind its mutations"));
  EXPECT_THAT(Refusal([](auto* h) { h->count = 3; }),
              HasSubstr("ends within mutation 2"));
  EXPECT_THAT(Refusal([](auto* h) { h->count = ~uint32_t{0}; }),
              HasSubstr("ends within mutation 2"));
  for (const uint32_t lie : {0u, 1u, 8u, 1u << 31, ~0u}) {
    Refusal([lie](auto* h) { h->length = lie; });
    Refusal([lie](auto* h) { h->mutation_bytes = lie; });
    Refusal([lie](auto* h) { h->intent_count = lie; });
    if (lie != 0) Refusal([lie](auto* h) { h->after_image_bytes = lie; });
  }
}

TEST(LogEntryTest, WrongMutationFieldsAreRefused) {
  const std::string entry = Sample().Entry();
  for (const size_t at : {offsetof(MutationHeader, argument_bytes),
                          offsetof(MutationHeader, dropped_count),
                          offsetof(MutationHeader, name_bytes)}) {
    const size_t bytes =
        at == offsetof(MutationHeader, name_bytes) ? 2 : sizeof(uint32_t);
    for (const uint32_t lie : {9u, 24u, 1u << 12, 1u << 31, ~0u}) {
      std::string changed = entry;
      std::memcpy(changed.data() + sizeof(EntryHeader) + at, &lie, bytes);
      FixChecksum(&changed);
      EXPECT_TRUE(absl::IsDataLoss(LogEntry::Check(changed).status()))
          << at << " " << lie;
    }
  }
}

TEST(LogEntryTest, AnUnknownFlagIsRefused) {
  const std::string entry = Sample().Entry();
  for (int bit = 1; bit < 16; ++bit) {
    std::string changed = entry;
    const auto flags = static_cast<uint16_t>(1 << bit);
    std::memcpy(
        changed.data() + sizeof(EntryHeader) + offsetof(MutationHeader, flags),
        &flags, sizeof(flags));
    FixChecksum(&changed);
    const absl::Status refused = LogEntry::Check(changed).status();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << bit;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("unknown flags"));
  }
}

TEST(LogEntryTest, AnUnknownIntentKindIsRefused) {
  const std::string entry = Sample().Entry();
  for (const uint32_t kind : {0u, 4u, ~0u}) {
    std::string changed = entry;
    std::memcpy(changed.data() + changed.size() - sizeof(IntentRecord) +
                    offsetof(IntentRecord, kind),
                &kind, sizeof(kind));
    FixChecksum(&changed);
    EXPECT_TRUE(absl::IsDataLoss(LogEntry::Check(changed).status())) << kind;
  }
}

// --- After-images.

// The sample's: 100 bytes of a write, 150 of an allocation, none of a free.
std::string EntryWithImages() {
  const Sample sample;
  const std::vector<const Mutation*> mutations = {&sample.put, &sample.call};
  const auto image_of = [](const engine::Intent& intent) {
    static const std::string* const kBytes =
        new std::string(std::string(100, 'w') + std::string(150, 'a'));
    return intent.kind == IntentKind::kWrite
               ? absl::string_view(*kBytes).substr(0, intent.length)
               : absl::string_view(*kBytes).substr(100, intent.length);
  };
  LogEntryDraft draft;
  draft.first = 41;
  draft.mutations = mutations;
  draft.write_set = &sample.write_set;
  draft.image = &sample.image;
  draft.image_of.emplace(image_of);
  const std::string entry = draft.ToString();
  EXPECT_EQ(entry.size(), draft.bytes());
  return entry;
}

std::vector<std::string> ImagesOf(const LogEntry& entry) {
  std::vector<std::string> images;
  const absl::Status visited = entry.VisitImages(
      [&](const engine::Intent& intent, absl::string_view image) {
        images.push_back(absl::StrCat(intent.object, " ", image));
        return absl::OkStatus();
      });
  if (!visited.ok()) images.push_back(visited.ToString());
  return images;
}

TEST(AfterImagesTest, HoldTheBytesThatTheHeadWrote) {
  const std::string bytes = EntryWithImages();
  EXPECT_EQ(bytes.size(), Sample().Entry().size() + 256);
  const auto entry = LogEntry::Check(bytes, ChainMode::kImages);
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_THAT(ImagesOf(*entry),
              ElementsAre("4096 " + std::string(100, 'w'),
                          "8192 " + std::string(150, 'a'), "640 "));
  EXPECT_EQ(*entry->WriteSet(), Sample().write_set);
}

TEST(AfterImagesTest, AreOnlyInModeImages) {
  const std::string with = EntryWithImages();
  const std::string without = Sample().Entry();
  for (const ChainMode mode : {ChainMode::kKamino, ChainMode::kTraditional}) {
    EXPECT_TRUE(LogEntry::Check(without, mode).ok());
    const absl::Status refused = LogEntry::Check(with, mode).status();
    EXPECT_TRUE(absl::IsDataLoss(refused));
    EXPECT_THAT(refused.message(), HasSubstr("carries after-images"));
  }
  const absl::Status refused =
      LogEntry::Check(without, ChainMode::kImages).status();
  EXPECT_TRUE(absl::IsDataLoss(refused));
  EXPECT_THAT(refused.message(), HasSubstr("lacks its after-images"));
  // A reader outside of a chain accepts both.
  EXPECT_TRUE(LogEntry::Check(with).ok());
  EXPECT_TRUE(LogEntry::Check(without).ok());
}

TEST(AfterImagesTest, AreAbsentForFreesAlone) {
  Sample sample;
  sample.write_set = {{640, 0, 64, IntentKind::kFree}};
  for (const ChainMode mode :
       {ChainMode::kKamino, ChainMode::kTraditional, ChainMode::kImages}) {
    EXPECT_TRUE(LogEntry::Check(sample.Entry(), mode).ok());
  }
}

// The first length between `from` and `to` that is accepted as that of an
// entry's after-images; 0: none.
uint32_t TakenLength(uint32_t from, uint32_t to) {
  const std::string entry = EntryWithImages();
  const size_t begin = entry.size() - 256;
  for (uint32_t length = from; length <= to; length += 8) {
    std::string changed = entry.substr(0, begin) + std::string(length, 'i');
    ChangeHeader(&changed, [&](EntryHeader* header) {
      header->length = static_cast<uint32_t>(changed.size());
      header->after_image_bytes = length;
    });
    if (LogEntry::Check(changed, ChainMode::kImages).ok()) return length;
  }
  return 0;
}

TEST(AfterImagesTest, AreAsLongAsTheWriteSetSays) {
  EXPECT_EQ(TakenLength(1, 247), 0u);
  EXPECT_EQ(TakenLength(8, 248), 0u);
  EXPECT_EQ(TakenLength(256, 256), 256u);
  EXPECT_EQ(TakenLength(257, 800), 0u);
  EXPECT_EQ(TakenLength(264, 800), 0u);
}

TEST(AfterImagesTest, ImagesOfAnyLengthAreDetected) {
  faults::Planted planted("entry-images-of-any-length");
  EXPECT_NE(TakenLength(8, 248), 0u);
  EXPECT_NE(TakenLength(264, 800), 0u);
}

TEST(AfterImagesTest, AreRefusedForAnotherWriteSet) {
  for (const uint32_t filled : {151u, 192u, 0u}) {
    std::string changed = EntryWithImages();
    const size_t at = changed.size() - 256 - 2 * sizeof(IntentRecord) +
                      offsetof(IntentRecord, filled);
    std::memcpy(changed.data() + at, &filled, sizeof(filled));
    FixChecksum(&changed);
    // With padding, 151 is the same length.
    EXPECT_EQ(LogEntry::Check(changed, ChainMode::kImages).ok(), filled == 151)
        << filled;
  }
}

TEST(AfterImagesTest, EveryBitCounts) {
  const std::string entry = EntryWithImages();
  for (size_t bit = 0; bit < 8 * entry.size(); ++bit) {
    std::string damaged = entry;
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(LogEntry::Check(damaged).status())) << bit;
  }
  // Even in an entry assumed to be checked, no read goes beyond the end.
  for (size_t length = sizeof(EntryHeader); length < entry.size(); ++length) {
    const std::string cut = entry.substr(0, length);
    const auto images = ImagesOf(LogEntry::Checked(cut, 41, 42));
    if (length < entry.size() - 6) {
      EXPECT_THAT(images.back(), HasSubstr("is shorter than its")) << length;
    }
  }
}

TEST(AfterImagesTest, HaveTheHashOfTheHead) {
  std::string entry = EntryWithImages();
  const auto hash = LogEntry::Check(entry)->HashImages();
  ASSERT_TRUE(hash.ok()) << hash.status();
  EXPECT_NE(*hash, LogEntry::Check(entry)->image_hash());
  const auto payload_of = [](engine::ObjectId id) {
    static const std::string* const kWritten =
        new std::string(std::string(16, 'x') + std::string(100, 'w') + "xxx");
    static const std::string* const kNew =
        new std::string(std::string(150, 'a') + std::string(42, '\0'));
    const std::string& text = id == 4096 ? *kWritten : *kNew;
    return absl::Span<const std::byte>(
        reinterpret_cast<const std::byte*>(text.data()), text.size());
  };
  EXPECT_EQ(*hash, engine::HashAfterImage(Sample().write_set,
                                          Sample().image.filled, payload_of));
}

}  // namespace
}  // namespace kamino::replica
