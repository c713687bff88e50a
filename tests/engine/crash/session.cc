#include "tests/engine/crash/session.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/index/key_value.h"

namespace kamino::engine::crash {
namespace {

constexpr uint64_t kKeys = 24;
constexpr size_t kLine = 64;
// Few such keys fill a page, so that pages split and merge.
constexpr size_t kLongKeyBytes = 700;
constexpr uint32_t kHugeBytes = 40u << 10;
constexpr size_t kMostExpected = 4;

}  // namespace

Session::Session(Rig* rig, uint32_t home, const WorldPointer* world,
                 std::mt19937_64* random, std::function<void()> stored,
                 bool brief)
    : rig_(rig),
      home_(home),
      world_(world),
      random_(random),
      stored_(std::move(stored)),
      brief_(brief),
      transaction_(rig->store().Begin(absl::ZeroDuration())) {}

uint32_t Session::RandomSize() {
  switch (Random(10)) {
    case 0:
      return 1 + Random(kHugeBytes);
    case 1:
    case 2:
      return 1000 + Random(4000);
    default:
      return 1 + Random(500);
  }
}

std::string Session::RandomBytes(size_t size) {
  std::string bytes(size, '\0');
  uint64_t state = (*random_)() | 1;
  for (char& c : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(state >> 56);
  }
  return bytes;
}

bool Session::Expected(const absl::Status& status) const {
  return transaction_->conflict().has_value()
             ? absl::IsAborted(status)
             : absl::IsResourceExhausted(status);
}

absl::Status Session::DoSomething() {
  if (Random(brief_ ? 40 : 10) < 3) return TreeOperation();
  const uint32_t number =
      brief_ || Random(6) > 0 ? home_ : Random(kDirectories);
  auto directory = ReadId(*transaction_, rig_->store().root(), 1 + number);
  if (!directory.ok()) return directory.status();
  const uint32_t slot = Random(kSlots);
  auto object = ReadId(*transaction_, *directory, slot);
  if (!object.ok()) return object.status();
  what_.clear();
  absl::Status done = LookAt(*directory);
  if (done.ok() && *object != kNullObject) done = LookAt(*object);
  if (done.ok()) done = ExpectWrites(*directory, number, slot);
  if (!done.ok()) return done;
  if (*object == kNullObject || Random(4) == 0) {
    return Replace(*directory, slot, *object);
  }
  if (rig_->cancels() && Random(3) == 0) return CancelOut(*directory, *object);
  // Sometimes about as many as a commit record holds.
  const uint64_t most = Random(25) == 0 ? 60 : brief_ ? 2 : 5;
  for (uint64_t calls = 1 + Random(most); done.ok() && calls > 0; --calls) {
    done = Touch(*object);
  }
  return done;
}

absl::Status Session::ExpectWrites(ObjectId directory, uint32_t number,
                                   uint32_t first) {
  // Not at random, so that earlier seeds keep their runs.
  if (number % 3 != 0) return absl::OkStatus();
  // Few: each one takes an intent, which later writes need.
  std::vector<ObjectId> objects = {directory};
  for (uint32_t i = 0; i < kSlots && objects.size() < kMostExpected; ++i) {
    auto object = ReadId(*transaction_, directory, (first + i) % kSlots);
    if (!object.ok()) return object.status();
    if (*object != kNullObject) objects.push_back(*object);
  }
  absl::StrAppend(&what_, " expect ", objects.size());
  return transaction_->ExpectWrites(objects);
}

// --- One object.

absl::Status Session::LookAt(ObjectId id) {
  if (world_ != nullptr || mine_.count(id) > 0) return absl::OkStatus();
  auto bytes = transaction_->Read(id);
  if (!bytes.ok()) return bytes.status();
  if (bytes->empty()) return absl::DataLossError("an object of no bytes");
  mine_[id] =
      std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return absl::OkStatus();
}

const std::string& Session::Seen(ObjectId id) const {
  const auto mine = mine_.find(id);
  return mine != mine_.end() ? mine->second : *(*world_)->objects.at(id);
}

std::string& Session::Mine(ObjectId id) {
  const auto mine = mine_.find(id);
  if (mine != mine_.end()) return mine->second;
  return mine_[id] = *(*world_)->objects.at(id);
}

// Often close to the last one, in the same word or line.
Session::Part Session::RandomPart(ObjectId id) {
  const auto size = static_cast<uint32_t>(Seen(id).size());
  const auto last = last_part_.find(id);
  Part part;
  if (last != last_part_.end() && Random(2) == 0) {
    const uint32_t end = last->second.offset + last->second.length;
    part.length = static_cast<uint32_t>(Random(13));
    const uint32_t behind = end - Random(std::min<uint64_t>(end, 3) + 1);
    part.offset = Random(2) == 0 ? behind
                                 : std::max(last->second.offset, part.length) -
                                       part.length;
    part.offset = std::min(part.offset, size);
    part.length = std::min(part.length, size - part.offset);
  } else {
    const bool whole = Random(4) == 0;
    part.offset = whole ? 0 : static_cast<uint32_t>(Random(size));
    const uint32_t most = std::min<uint32_t>(size - part.offset, 400);
    part.length = whole ? size : 1 + static_cast<uint32_t>(Random(most));
  }
  last_part_[id] = part;
  return part;
}

absl::Status Session::ReadBack(ObjectId id) {
  absl::StrAppend(&what_, " read ", id);
  auto bytes = transaction_->Read(id);
  if (!bytes.ok()) return bytes.status();
  const std::string& seen = Seen(id);
  if (bytes->size() != seen.size() ||
      std::memcmp(bytes->data(), seen.data(), seen.size()) != 0) {
    return absl::InternalError(
        absl::StrCat("object ", id, " reads otherwise than it was written"));
  }
  return absl::OkStatus();
}

void Session::Store(const Place& place, const Part& part,
                    const std::string& bytes) {
  std::memcpy(place.bytes + (part.offset - place.offset), bytes.data(),
              part.length);
  Mine(place.id).replace(part.offset, part.length, bytes, 0, part.length);
}

absl::Status Session::WriteByPointer(ObjectId id, const Part& part,
                                     bool at_once) {
  absl::StrAppend(&what_, " write ", id, " [", part.offset, " + ", part.length,
                  ")");
  // Not at random, so that earlier seeds keep their runs.
  if (++pointers_ % 4 == 0) {
    const uint32_t half = part.length / 2;
    const absl::Status declared =
        transaction_->Declare({{id, part.offset, part.length},
                               {id, part.offset + half, part.length - half}});
    if (!declared.ok()) return declared;
  }
  auto writable = transaction_->Write(id, part.offset, part.length);
  if (!writable.ok()) return writable.status();
  Mine(id);
  const Place place{id, part.offset, part.length, *writable};
  places_.push_back(place);
  if (!at_once) return absl::OkStatus();
  const uint32_t half = part.length / 2;
  Store(place, {part.offset, half}, RandomBytes(half));
  stored_();
  Store(place, {part.offset + half, part.length - half},
        RandomBytes(part.length - half));
  return absl::OkStatus();
}

absl::Status Session::WriteBytes(ObjectId id, uint32_t offset,
                                 const std::string& bytes) {
  absl::StrAppend(&what_, " overwrite ", id, " [", offset, " + ", bytes.size(),
                  ")");
  absl::Status done = transaction_->Overwrite(
      id, offset,
      {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  if (done.ok()) Mine(id).replace(offset, bytes.size(), bytes);
  return done;
}

void Session::StoreLater() {
  if (places_.empty()) return;
  for (uint64_t count = Random(3); count > 0; --count) {
    const Place& place = places_[Random(places_.size())];
    if (place.length == 0) continue;
    // Often at an end of it, where other parts share its words.
    Part part{place.offset, std::min(place.length, 4u)};
    const uint64_t where = Random(3);
    if (where == 0) {
      part.offset += place.length - part.length;
    } else if (where == 1) {
      part.offset += static_cast<uint32_t>(Random(place.length));
      part.length = 1 + static_cast<uint32_t>(Random(std::min<uint32_t>(
                            place.offset + place.length - part.offset, 60)));
    }
    absl::StrAppend(&what_, " store ", place.id, " [", part.offset, " + ",
                    part.length, ")");
    Store(place, part, RandomBytes(part.length));
  }
}

absl::Status Session::Touch(ObjectId id) {
  switch (Random(10)) {
    case 0:
    case 1:
      return ReadBack(id);
    case 2:
      return WriteByPointer(id, RandomPart(id), /*at_once=*/true);
    case 3:
    case 4:
      return WriteByPointer(id, RandomPart(id), /*at_once=*/false);
    case 5:
      StoreLater();
      return absl::OkStatus();
    default: {
      const Part part = RandomPart(id);
      return WriteBytes(id, part.offset, RandomBytes(part.length));
    }
  }
}

// Swaps two lines, or rotates three.
absl::Status Session::RotateLines(ObjectId id) {
  const std::string seen = Seen(id);
  const size_t lines = seen.size() / kLine;
  if (lines < 2) return absl::OkStatus();
  const uint64_t begin = Random(lines - 1);
  const uint64_t count = std::min<uint64_t>(lines - begin, 2 + Random(2));
  absl::StrAppend(&what_, " rotate ", count, " lines of ", id);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t from = begin + (i + 1) % count;
    absl::Status done =
        WriteBytes(id, static_cast<uint32_t>((begin + i) * kLine),
                   seen.substr(from * kLine, kLine));
    if (!done.ok()) return done;
  }
  return absl::OkStatus();
}

// Moves an amount from a word to the same place of another line, or of another
// object.
absl::Status Session::Transfer(ObjectId from, ObjectId to) {
  constexpr size_t kWord = sizeof(uint64_t);
  const size_t both = std::min(Seen(from).size(), Seen(to).size()) / kWord;
  if (both == 0) return absl::OkStatus();
  const size_t place = Random(both);
  size_t other = place;
  if (from == to) {
    constexpr size_t kInLine = kLine / kWord;
    const size_t lines = (both + kInLine - 1) / kInLine;
    other = (place / kInLine + 1) % lines * kInLine + place % kInLine;
    if (other >= both || other == place) return absl::OkStatus();
  }
  const uint64_t amount = (*random_)();
  absl::StrAppend(&what_, " transfer from ", from, " to ", to);
  const auto add = [&](ObjectId id, size_t word, uint64_t change) {
    uint64_t value;
    std::memcpy(&value, Seen(id).data() + word * kWord, kWord);
    value += change;
    return WriteBytes(
        id, static_cast<uint32_t>(word * kWord),
        std::string(reinterpret_cast<const char*>(&value), kWord));
  };
  absl::Status done = add(from, place, -amount);
  return done.ok() ? add(to, other, amount) : done;
}

absl::Status Session::CancelOut(ObjectId directory, ObjectId id) {
  if (Random(2) == 0) return RotateLines(id);
  ObjectId to = id;
  if (Random(2) == 0) {
    auto other = ReadId(*transaction_, directory, Random(kSlots));
    if (!other.ok()) return other.status();
    if (*other != kNullObject && freed_.count(*other) == 0) to = *other;
  }
  if (absl::Status done = LookAt(to); !done.ok()) return done;
  return Transfer(id, to);
}

absl::StatusOr<ObjectId> Session::Make() {
  const uint32_t size = RandomSize();
  absl::StrAppend(&what_, " allocate ", size, " bytes");
  auto id = transaction_->Alloc(size);
  if (!id.ok()) return id;
  absl::StrAppend(&what_, " as ", *id);
  mine_[*id] = std::string(transaction_->write_set().back().length, '\0');
  absl::Status done;
  switch (Random(4)) {
    case 0:
      done = WriteByPointer(*id, {0, size}, /*at_once=*/true);
      break;
    case 1:
      done = WriteBytes(*id, 0, RandomBytes(size));
      break;
    case 2: {
      const auto offset = static_cast<uint32_t>(Random(size));
      done = WriteBytes(*id, offset, RandomBytes(size - offset));
      break;
    }
    default:
      break;  // zeros
  }
  for (uint64_t calls = Random(3); done.ok() && calls > 0; --calls) {
    done = Touch(*id);
  }
  if (!done.ok()) return done;
  return id;
}

absl::Status Session::Replace(ObjectId directory, uint32_t slot, ObjectId old) {
  ObjectId made = kNullObject;
  if (old == kNullObject || Random(3) != 0) {
    auto id = Make();
    if (!id.ok()) return id.status();
    made = *id;
  }
  if (old != kNullObject) {
    if (Random(4) == 0) {
      if (absl::Status done = Touch(old); !done.ok()) return done;
    }
    absl::StrAppend(&what_, " free ", old);
    absl::Status freed = transaction_->Free(old);
    if (!freed.ok()) return freed;
    freed_.insert(old);
    mine_.erase(old);
    places_.erase(
        std::remove_if(places_.begin(), places_.end(),
                       [old](const Place& place) { return place.id == old; }),
        places_.end());
  }
  const std::string link(reinterpret_cast<const char*>(&made), sizeof(made));
  const auto offset = static_cast<uint32_t>(slot * sizeof(made));
  if (Random(2) == 0) return WriteBytes(directory, offset, link);
  auto place = transaction_->Write(directory, offset, sizeof(made));
  if (!place.ok()) return place.status();
  Store({directory, offset, sizeof(made), *place}, {offset, sizeof(made)},
        link);
  stored_();
  return absl::OkStatus();
}

absl::Status Session::TreeOperation() {
  auto root = ReadId(*transaction_, rig_->store().root(), 0);
  if (!root.ok()) return root.status();
  KeyValue tree(transaction_.get(), *root);
  const uint64_t number = Random(kKeys);
  std::string key = absl::StrCat(number < 10 ? "k0" : "k", number);
  if (number % 2 == 0) key.resize(kLongKeyBytes, '.');
  constexpr uint64_t kVersion = 1;
  const uint64_t kind = Random(10);
  what_ = absl::StrCat(kind < 5   ? "put "
                       : kind < 8 ? "delete "
                                  : "patch ",
                       key.substr(0, 3));
  absl::Status done;
  if (kind < 5) {
    const std::string value = RandomBytes(Random(300));
    done = tree.Put(key, value, kVersion);
    if (done.ok()) tree_changes_[key] = value;
    return done;
  }
  if (kind < 8) {
    done = tree.Delete(key, kVersion);
    if (done.ok()) tree_changes_[key] = std::nullopt;
  } else {
    auto entry = tree.Get(key);
    done = entry.status();
    if (done.ok() && !entry->value.empty()) {
      std::string value(entry->value);
      const size_t offset = Random(value.size());
      const std::string fresh = RandomBytes(1 + Random(value.size() - offset));
      done = tree.Patch(key, offset, fresh, kVersion);
      value.replace(offset, fresh.size(), fresh);
      if (done.ok()) tree_changes_[key] = std::move(value);
    }
  }
  return absl::IsNotFound(done) ? absl::OkStatus() : done;
}

absl::StatusOr<Change> Session::Changes() {
  Change change;
  change.tree = tree_changes_;
  for (const Intent& intent : transaction_->write_set()) {
    if (intent.kind == IntentKind::kFree) freed_.insert(intent.object);
  }
  for (ObjectId id : freed_) change.objects[id] = nullptr;
  for (const auto& [id, bytes] : mine_) {
    change.objects[id] = std::make_shared<const std::string>(bytes);
  }
  // Objects of the tree.
  for (const Intent& intent : transaction_->write_set()) {
    if (change.objects.count(intent.object) > 0) continue;
    auto bytes = transaction_->Read(intent.object);
    if (!bytes.ok()) return bytes.status();
    change.objects[intent.object] = std::make_shared<const std::string>(
        reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  return change;
}

}  // namespace kamino::engine::crash
