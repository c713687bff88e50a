#include "tests/engine/crash/session.h"

#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/index/key_value.h"

namespace kamino::engine::crash {
namespace {

constexpr uint64_t kKeys = 24;
// Few such keys fill a page, so that pages split and go.
constexpr size_t kLongKeyBytes = 700;
constexpr uint32_t kHugeBytes = 40u << 10;

}  // namespace

Session::Session(Rig* rig, uint32_t home, std::mt19937_64* random,
                 std::function<void()> stored)
    : rig_(rig),
      home_(home),
      random_(random),
      stored_(std::move(stored)),
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
  if (Random(10) < 3) return TreeOperation();
  const uint32_t number = Random(6) > 0 ? home_ : Random(kDirectories);
  auto directory = ReadId(*transaction_, rig_->store().root(), 1 + number);
  if (!directory.ok()) return directory.status();
  const uint32_t slot = Random(kSlots);
  auto object = ReadId(*transaction_, *directory, slot);
  if (!object.ok()) return object.status();
  if (*object == kNullObject || Random(4) == 0) {
    return Replace(*directory, slot, *object);
  }
  return Change(*object);
}

absl::Status Session::Change(ObjectId id) {
  auto bytes = transaction_->Read(id);
  if (!bytes.ok()) return bytes.status();
  const uint32_t size = bytes->size();
  const bool whole = Random(3) == 0;
  const uint32_t offset = whole ? 0 : Random(size);
  const uint32_t length =
      whole ? size : 1 + Random(std::min<uint32_t>(size - offset, 400));
  const std::string fresh = RandomBytes(length);
  const bool by_pointer = Random(2) == 0;
  what_ = absl::StrCat(by_pointer ? "write " : "overwrite ", id, " [", offset,
                       " + ", length, ")");
  if (!by_pointer) {
    return transaction_->Overwrite(
        id, offset,
        {reinterpret_cast<const std::byte*>(fresh.data()), fresh.size()});
  }
  auto writable = transaction_->Write(id, offset, length);
  if (!writable.ok()) return writable.status();
  std::memcpy(*writable, fresh.data(), length / 2);
  stored_();
  std::memcpy(*writable + length / 2, fresh.data() + length / 2,
              length - length / 2);
  return absl::OkStatus();
}

absl::Status Session::Replace(ObjectId directory, uint32_t slot, ObjectId old) {
  ObjectId made = kNullObject;
  const bool make = old == kNullObject || Random(3) != 0;
  if (make) {
    const uint32_t size = RandomSize();
    what_ = absl::StrCat("allocate ", size, " bytes");
    auto id = transaction_->Alloc(size);
    if (!id.ok()) return id.status();
    made = *id;
    auto bytes = transaction_->Write(made, 0, size);
    if (!bytes.ok()) return bytes.status();
    const std::string fresh = RandomBytes(size);
    std::memcpy(*bytes, fresh.data(), size);
    absl::StrAppend(&what_, " as ", made);
  } else {
    what_.clear();
  }
  if (old != kNullObject) {
    absl::StrAppend(&what_, " free ", old);
    absl::Status freed = transaction_->Free(old);
    if (!freed.ok()) return freed;
  }
  auto link = transaction_->Write(directory, slot * sizeof(made), sizeof(made));
  if (!link.ok()) return link.status();
  std::memcpy(*link, &made, sizeof(made));
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
    if (done.ok()) tree_changes_[key] = absl::nullopt;
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

absl::StatusOr<World> Session::Outcome(const World& before) {
  World after = before;
  std::set<ObjectId> freed;
  for (const Intent& intent : transaction_->write_set()) {
    if (intent.kind == IntentKind::kFree) freed.insert(intent.object);
  }
  for (const Intent& intent : transaction_->write_set()) {
    if (freed.count(intent.object) > 0) {
      after.objects.erase(intent.object);
      continue;
    }
    auto bytes = transaction_->Read(intent.object);
    if (!bytes.ok()) return bytes.status();
    after.objects[intent.object] = std::make_shared<const std::string>(
        reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  for (const auto& [key, value] : tree_changes_) {
    if (value.has_value()) {
      after.tree[key] = *value;
    } else {
      after.tree.erase(key);
    }
  }
  return after;
}

}  // namespace kamino::engine::crash
